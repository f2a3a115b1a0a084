// Keys of the configuration outside the servers: the kind, the default and the purpose of each.
//
// A key is declared once, in a table like these. The validator reads with the table, the types of the values and of a
// written configuration follow from it, and `config.schema.json` is printed from it.

import { frontAuthKind, publicUrl } from './front-auth.js'
import { type Kind, boolean, choice, integer, list, size, text, timeout } from './kinds.js'
import { type ValuesOf, type Rules, defaultsOf, field, object, objects, optional } from './section.js'
import { isObject } from '../text/json-object.js'

/** The time that a call may take when nothing says otherwise. */
const callTimeoutMsDefault = 30_000

const names = list(text())

/** RFC 9110, section 5.6.2: what a name in a header may be. */
const httpNames = list(
  text({ pattern: "^[!#$%&'*+.^_`|~0-9A-Za-z\\-]+$", wanted: 'a name as HTTP has them' }),
)

const metricsFields = {
  port: optional(
    integer(0, 65_535),
    'TCP port on which metrics are served without a token; 0 takes a free one. Absent: only GET /metrics of the HTTP front.',
  ),
  host: field(text(), '127.0.0.1', 'Address that this port binds.'),
  open: field(boolean(), false, 'Whether other machines may read the metrics, which host must allow too.'),
  tools: field(boolean(), false, 'Whether each tool has series of its own, up to 500.'),
}

const tokenRules: Rules = { required: ['name', 'sha256'] }

/** Names stand in log lines, and are principals. */
export const tokenNamePattern = '^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$'

const tokenFields = {
  name: field(
    text({ pattern: tokenNamePattern, wanted: 'a name of letters, digits, "_", "-" and "."' }),
    '',
    'The name of the token; clients that present it are one principal of this name.',
  ),
  sha256: field(
    text({
      pattern: '^[0-9a-f]{64}$',
      wanted: 'the SHA-256 of the token, in 64 hexadecimal digits',
      secret: true,
    }),
    '',
    'The SHA-256 of the token, as mcps-proxy token create writes it.',
  ),
  profiles: optional(names, 'The profiles that its clients may use. Absent: everything.'),
  expires: optional(
    text({
      pattern: '^\\d{4}-\\d{2}-\\d{2}(?:T\\d{2}:\\d{2}:\\d{2}Z)?$',
      wanted: 'a date as YYYY-MM-DD or YYYY-MM-DDThh:mm:ssZ',
    }),
    'The time, in UTC, from which the token is refused. Absent: never.',
  ),
}

export type TokenValues = ValuesOf<typeof tokenFields>

const uiFields = {
  remote: field(
    boolean(),
    false,
    'Whether --ui serves the inspector on a front that other machines reach; the front needs a token then.',
  ),
  redact: field(
    boolean(),
    true,
    'Whether the inspector takes secrets out of the messages that it shows and exports.',
  ),
  history: optional(
    size(64 * 1024, 1024 ** 3),
    'How much of the latest messages the inspector keeps while nobody looks. Absent: nothing, and 16 MiB while somebody looks.',
  ),
}

export type UiValues = ValuesOf<typeof uiFields>

/** Text whose value depends on a variable is checked once that is put in. */
const withVariable = '[^\\u0000]*\\$\\{[^\\u0000]*'

/** A client that guesses the key can answer in the place of others. */
export const stateKeyLengthMin = 16

const stateKey = text({
  secret: true,
  pattern: `^([^\\u0000]{${stateKeyLengthMin},}|${withVariable})$`,
  wanted: `a text of at least ${stateKeyLengthMin} characters`,
})

const hostName = text({
  pattern:
    '^(?:[A-Za-z0-9_](?:[A-Za-z0-9._-]{0,252}[A-Za-z0-9_.])?|\\[[0-9A-Fa-f:.]{2,45}\\])(?::[0-9]{1,5})?$',
  wanted: 'a host name with or without a port, such as "mcp.example.com"',
})

export const frontFields = {
  port: field(integer(0, 65_535), 3095, 'TCP port of the HTTP front; 0 takes a free one.'),
  host: field(text(), '127.0.0.1', 'Address that the HTTP front binds.'),
  name: field(text(), 'mcps-proxy', 'The name that clients see as serverInfo.name.'),
  version: optional(
    text(),
    'The version that clients see as serverInfo.version. Absent: the version of mcps-proxy.',
  ),
  allowedHosts: field(
    list(hostName),
    [],
    'Host names under which clients reach the HTTP front besides its own, as behind a reverse proxy.',
  ),
  clientAddressField: optional(
    text({
      pattern: "^(?![Ff]orwarded$)[!#$%&'*+.^_`|~0-9A-Za-z-]{1,100}$",
      wanted: 'the name of a header field that lists addresses, such as "X-Forwarded-For" (not "Forwarded")',
    }),
    'Header field in which a reverse proxy writes the address of the client; the last address in it counts. Only for a front that nothing but the reverse proxy can reach. Absent: the address of the connection.',
  ),
  publicUrl: optional(
    publicUrl,
    'The address under which clients reach the HTTP front, as behind a reverse proxy; its host is one of allowedHosts.',
  ),
  drainTimeout: optional(
    integer(0, 3_600_000),
    'How long calls may finish once the proxy is asked to stop, in milliseconds. Absent: 5000.',
  ),
  token: optional(
    text({
      secret: true,
      pattern: `^([\\u0021-\\u007e]+|${withVariable})$`,
      wanted: 'letters, digits and signs of ASCII, without spaces',
    }),
    'Bearer token that HTTP clients must present; ${VAR} is expanded. MCPS_PROXY_TOKEN overrides it.',
  ),
  stateKey: optional(
    stateKey,
    'Secret with which the requestState of servers is signed where there are several principals, equal on all instances; ${VAR} is expanded. MCPS_PROXY_STATE_KEY overrides it. Absent: by chance at each start.',
  ),
  previousStateKey: optional(
    stateKey,
    'The stateKey of before, which still verifies what was signed with it; ${VAR} is expanded.',
  ),
  metrics: optional(
    object(metricsFields, 'an object such as { "port": 9464 }'),
    'Metrics for Prometheus. Absent: nothing is counted.',
  ),
  ui: field(object(uiFields), defaultsOf(uiFields), 'The inspector that --ui serves.'),
  tokens: optional(
    objects(tokenFields, 'One token.', tokenRules),
    'Tokens of single clients, by their hashes. An empty list refuses every client.',
  ),
  auth: optional(frontAuthKind, 'Access tokens of authorization servers, for clients that log in.'),
}

export type FrontValues = ValuesOf<typeof frontFields>

/** Files of other programs have these at the top level for themselves. */
const ambiguousKeys = new Set(['name', 'version'])

/** Keys of `server` that stand at the top level by mistake. */
export const frontKeyHints: ReadonlyMap<string, string> = new Map(
  Object.keys(frontFields)
    .filter((key) => !ambiguousKeys.has(key))
    .map((key) => [key, `write "server": { "${key}": … }`]),
)

/** Access tokens are made for the address of the front, which only `publicUrl` says. */
export const frontRules: Rules = { needs: [['auth', 'publicUrl']] }

export const corsFields = {
  enabled: field(boolean(), true, 'Whether the HTTP front answers cross-origin requests.'),
  origins: field(
    names,
    ['*'],
    'Origins of pages that may call; "*" is any where a token is asked for, and none without one.',
  ),
  methods: field(
    httpNames,
    ['GET', 'POST', 'DELETE', 'OPTIONS'],
    'HTTP methods that a cross-origin page may use.',
  ),
  credentials: field(boolean(), false, 'Whether cross-origin requests may carry credentials.'),
  allowedHeaders: field(
    httpNames,
    ['Content-Type', 'Authorization'],
    'Request headers that a cross-origin page may send.',
  ),
}

export const stdioFields = {
  encoding: field(choice('utf8', 'utf-8'), 'utf8', 'Encoding of the stdio front; MCP knows only UTF-8.'),
  delimiter: field(choice('\n'), '\n', 'What ends a message on stdio; MCP knows only the line feed.'),
  timeout: field(
    timeout(),
    callTimeoutMsDefault,
    'Longest time, in milliseconds, for a call to a server that sets no timeout of its own.',
  ),
}

export type StdioValues = ValuesOf<typeof stdioFields>

const loggingFields = {
  level: field(choice('error', 'warn', 'info', 'debug'), 'info', 'The least severe level that is logged.'),
  file: optional(text(), 'Log file, JSON lines; ~ is the home folder. Absent: no file.'),
  maxSize: field(size(1024, 1024 ** 4), 10 * 1024 ** 2, 'Size at which the log file is rotated.'),
  maxFiles: field(integer(1, 1000), 5, 'Log files kept in all, the current one included.'),
  console: field(boolean(), true, 'Whether logs go to stderr.'),
}

export type LoggingValues = ValuesOf<typeof loggingFields>

export const logFields = {
  logging: field(object(loggingFields), defaultsOf(loggingFields), 'Logs.'),
}

export const rootFields = {
  startupGraceMs: optional(
    integer(0, 600_000),
    'How long, in milliseconds, the first lists wait for servers that are still starting. Absent: as long as the client waits for an answer, and 1500 where lists are kept.',
  ),
  processesMax: optional(
    integer(1, 65_536),
    'Most processes of servers at once, of all schemas together. Absent: 256.',
  ),
}

export type RootValues = ValuesOf<typeof rootFields>

export const schemaFields = {
  enabled: field(boolean(), true, 'A schema that is not enabled is not served.'),
}

export type SchemaValues = ValuesOf<typeof schemaFields>

/** A value, or an object with a value and the label that an editor shows for it. */
const inputOption: Kind<string> = {
  wanted: 'a string, or an object with a "value"',
  schema: { anyOf: [text().schema, { type: 'object', required: ['value'] }] },
  read: (value, spot) => text().read(isObject(value) ? value['value'] : value, spot),
}

/** Of one member of `inputs`, as VS Code has them. */
const inputFields = {
  id: field(text(), '', 'The name of the input: ${input:ID} stands for its value.'),
  type: field(
    choice('promptString', 'pickString', 'command'),
    'promptString',
    'Whether a text is asked for, or one of several; a command of an editor cannot be run here.',
  ),
  description: optional(text(), 'The text of the question.'),
  password: field(boolean(), false, 'Whether the terminal shows nothing of what is typed.'),
  default: optional(text({ mayBeEmpty: true }), 'The value of an empty answer.'),
  options: field(list(inputOption), [], 'The values of pickString.'),
}

export const inputsFields = {
  inputs: optional(
    objects(inputFields, 'One value.', { required: ['id', 'type'] }),
    'Values that are asked for once, on the terminal; ${input:ID} stands for each.',
  ),
}
