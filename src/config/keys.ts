// Every key of the configuration outside the servers: its type, its default and its purpose.
//
// `values.ts` reads with these tables; the types of `configuration.ts`, `config.schema.json` and the reference in
// docs/configuration.md follow from them.

import { isObject } from '../text/json-object.js'
import { isLoopback } from '../text/loopback.js'
import { wholeFileKeyHints } from './key-hints.js'
import {
  anyText,
  httpCharacter,
  names,
  onChange,
  orSwitch,
  sandboxPrograms,
  servers,
  sharedFields,
  toolNames,
  toolPattern,
} from './server-keys.js'
import {
  Location,
  type ValueType,
  type ValuesOf,
  type WrittenOf,
  boolean,
  choice,
  field,
  forgiven,
  integer,
  later,
  list,
  map,
  milliseconds,
  object,
  objects,
  oneOrMany,
  optional,
  or,
  orVariable,
  path,
  plainNames,
  required,
  size,
  text,
  wrong,
} from './values.js'

const callTimeoutMsDefault = 30_000

const httpNames = list(text({ pattern: `^${httpCharacter}+$`, expected: 'a name as HTTP has them' }))

const fileSize = size(1024, 1024 ** 4)
const fileCount = integer(1, 1000)

/** Https, or http on this machine: a machine on the way could answer in the place of the other end otherwise. */
const safeUrl = '^(?:https://[^/?#\\s]+|http://(?:localhost|127\\.\\d+\\.\\d+\\.\\d+|\\[::1\\])(?::\\d+)?)'

const safeAddress = text({
  pattern: `${safeUrl}(?:/[^#\\s]*)?$`,
  accepts: (text) => URL.canParse(text),
  expected: 'an address that begins with https://, or with http:// on this machine',
})

/** RFC 8414, section 2: no query and no fragment. */
const issuer = text({
  pattern: `${safeUrl}(?:/[^?#\\s]*)?$`,
  accepts: (text) => URL.canParse(text),
  expected: 'the issuer as its tokens name it, such as "https://auth.example.com/realms/team"',
})

const writtenPublicUrl = text({
  pattern: '^https?://[^/?#\\s"]+(?:/[^?#\\s"]*)?$',
  accepts: (text) => URL.canParse(text),
  expected: 'the address under which clients reach the front, such as "https://mcp.example.com"',
})

/** In the form in which tokens have it: without a slash at its end. */
const publicUrl: ValueType<string> = {
  ...writtenPublicUrl,
  read: (at) => {
    const written = writtenPublicUrl.read(at)
    if (written === undefined) return undefined
    const { origin, pathname, protocol, hostname } = new URL(written)
    if (protocol === 'http:' && !isLoopback(hostname))
      at.warn(
        `is "${written}": the tokens of clients can be read on the way, and no browser keeps the cookie of its login pages; use https`,
      )
    const whole = origin + pathname.replace(/\/+$/, '')
    if (whole.endsWith('/mcp'))
      at.warn(`ends in /mcp, so that clients connect to ${whole}/mcp; take /mcp away`)
    return whole
  },
}

/** Signatures that everybody can check and one side can make. A shared secret makes none of these. */
const asymmetric = ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512', 'ES256', 'ES384', 'ES512', 'EdDSA']

const algorithm = text({
  pattern: `^(?:${asymmetric.join('|')})$`,
  expected: `one of ${asymmetric.join(', ')}: the front takes no token that is unsigned or signed with a shared secret`,
})

/** RFC 6749, section 3.3. */
const scope = text({
  pattern: '^[\\x21\\x23-\\x5b\\x5d-\\x7e]+$',
  expected: 'one scope, without spaces and quotes',
})

const frontSecret = text({ isSecret: true, isExpanded: true })

const introspectionFields = {
  url: required(safeAddress, '', 'Address of the introspection endpoint (RFC 7662).'),
  clientId: required(anyText, '', 'The client id of the front at the authorization server.'),
  clientSecret: required(frontSecret, '', 'Its secret; ${VAR} is expanded.'),
}

const issuerFields = {
  issuer: required(issuer, '', 'The authorization server, exactly as its tokens and its metadata write it.'),
  audience: field(
    names,
    [],
    'What tokens may have in "aud" besides the addresses under publicUrl, such as the identifier of an API.',
  ),
  algorithms: field(list(algorithm, { min: 1 }), ['RS256', 'ES256'], 'Signatures that are accepted.'),
  jwksUri: optional(safeAddress, 'Address of the keys. Absent: the one in the metadata of the issuer.'),
  introspection: optional(
    object(introspectionFields, { isClosed: true }),
    'Asks the issuer about each token, also about those that are no JWT.',
  ),
}

const frontLoginFields = {
  issuer: optional(issuer, 'The authorization server, one of the issuers. Absent: the first.'),
  clientId: required(
    anyText,
    '',
    'The client id of the front there, with the redirect URI PUBLICURL/login/identity.',
  ),
  clientSecret: required(frontSecret, '', 'Its secret; ${VAR} is expanded.'),
}

const authRuleFields = {
  scope: optional(scope, 'A scope of the token, in "scope" or "scp".'),
  claim: optional(anyText, 'A claim of the token, such as "groups", which is or contains "value".'),
  value: optional(anyText, 'The text that the claim is or contains.'),
  profiles: optional(names, 'The profiles that such tokens may use. Absent: everything.'),
}

const frontAuthFields = {
  scopes: field(
    list(scope),
    [],
    'Scopes as clients must ask for them where that differs from the token, such as "api://mcp/mcp.read". Absent: those of the rules.',
  ),
  issuers: required(
    objects(issuerFields, 'One authorization server.', { isClosed: true, min: 1, max: 16 }),
    [],
    'Whose tokens are accepted.',
  ),
  rules: field(
    objects(authRuleFields, 'One rule.', {
      isClosed: true,
      max: 256,
      oneOf: ['scope', 'claim'],
      needs: [
        ['claim', 'value'],
        ['value', 'claim'],
      ],
    }),
    [],
    'Which profiles tokens may use. Absent: everything. Of several rules that fit, all count.',
  ),
  login: optional(
    object(frontLoginFields, { isClosed: true }),
    'The client of the front, by which users show who they are before they log in to a server.',
  ),
}

const metricsFields = {
  port: optional(
    integer(0, 65_535),
    'TCP port on which metrics are served without a token; 0 takes a free one. Absent: only GET /metrics of the HTTP front.',
  ),
  host: field(anyText, '127.0.0.1', 'Address that this port binds.'),
  open: field(boolean(), false, 'Whether other machines may read the metrics, which host must allow too.'),
  tools: field(boolean(), false, 'Whether each tool has series of its own, up to 500.'),
}

/** Names stand in log lines, and are principals. */
export const tokenNamePattern = '^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$'

const dateText = text({
  pattern: '^\\d{4}-\\d{2}-\\d{2}(?:T\\d{2}:\\d{2}:\\d{2}Z)?$',
  accepts: (written) => !Number.isNaN(Date.parse(written)),
  expected: 'a date of the calendar as YYYY-MM-DD or YYYY-MM-DDThh:mm:ssZ',
})

const date: ValueType<number, string, 'AtMs'> = {
  ...dateText,
  unit: 'AtMs',
  read: (at) => {
    const written = dateText.read(at)
    return written === undefined ? undefined : Date.parse(written)
  },
}

const tokenFields = {
  name: required(
    text({ pattern: tokenNamePattern, expected: 'a name of letters, digits, "_", "-" and "."' }),
    '',
    'The name of the token; clients that present it are one principal of this name.',
  ),
  sha256: required(
    text({
      pattern: '^[0-9a-f]{64}$',
      expected: 'the SHA-256 of the token, in 64 hexadecimal digits',
      isSecret: true,
    }),
    '',
    'The SHA-256 of the token, as mcps-proxy token create writes it.',
  ),
  profiles: optional(names, 'The profiles that its clients may use. Absent: everything.'),
  expires: optional(date, 'The time, in UTC, from which the token is refused. Absent: never.'),
}

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

/** The origin that a browser sends for a page: scheme, host and port (RFC 6454); patterns are none. */
const pageOrigin = /^(?:\*|null|[a-z][a-z0-9+.-]*:\/\/[^/?#*\s]+\/?)$/i

const origin: ValueType<string> = {
  ...anyText,
  read: (at) => {
    const read = anyText.read(at)
    if (read !== undefined && !pageOrigin.test(read))
      at.warn(`is "${read}", which no page has for its origin; one is like "https://app.example.com:8443"`)
    return read
  },
}

const corsFields = {
  enabled: orVariable(
    'MCP_ENABLE_CORS',
    field(boolean(), true, 'Whether the HTTP front answers cross-origin requests.'),
  ),
  origins: orVariable(
    'MCP_CORS_ORIGINS',
    field(
      list(origin),
      ['*'],
      'Origins of pages that may call; "*" is any where a token is asked for, and none without one.',
    ),
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

/** A client that guesses the key can answer in the place of others. */
const stateKey = text({
  isSecret: true,
  isExpanded: true,
  pattern: '^[^\\u0000]{16,}$',
  expected: 'a text of at least 16 characters',
})

const hostName = text({
  pattern:
    '^(?:[A-Za-z0-9_](?:[A-Za-z0-9._-]{0,252}[A-Za-z0-9_.])?|\\[[0-9A-Fa-f:.]{2,45}\\])(?::[0-9]{1,5})?$',
  expected: 'a host name with or without a port, such as "mcp.example.com"',
})

export const frontFields = {
  port: orVariable(
    'MCP_SERVER_PORT',
    field(integer(0, 65_535), 3095, 'TCP port of the HTTP front; 0 takes a free one.'),
  ),
  host: orVariable('MCP_SERVER_HOST', field(anyText, '127.0.0.1', 'Address that the HTTP front binds.')),
  name: field(anyText, 'mcps-proxy', 'The name that clients see as serverInfo.name.'),
  version: optional(
    anyText,
    'The version that clients see as serverInfo.version. Absent: the version of mcps-proxy.',
  ),
  allowedHosts: field(
    list(hostName),
    [],
    'Host names under which clients reach the HTTP front besides its own, as behind a reverse proxy.',
  ),
  clientAddressField: optional(
    text({
      pattern: `^(?![Ff]orwarded$)${httpCharacter}{1,100}$`,
      expected:
        'the name of a header field that lists addresses, such as "X-Forwarded-For" (not "Forwarded")',
    }),
    'Header field in which a reverse proxy writes the address of the client; the last address in it counts. Only for a front that nothing but the reverse proxy can reach. Absent: the address of the connection.',
  ),
  publicUrl: optional(
    publicUrl,
    'The address under which clients reach the HTTP front, as behind a reverse proxy; its host is one of allowedHosts.',
  ),
  drainTimeout: optional(
    milliseconds(0, { maximum: 3_600_000 }),
    'How long calls may finish once the proxy is asked to stop, in milliseconds. Absent: 5000.',
  ),
  token: orVariable(
    'MCPS_PROXY_TOKEN',
    optional(
      text({
        isSecret: true,
        isExpanded: true,
        pattern: '^[\\u0021-\\u007e]+$',
        expected: 'letters, digits and signs of ASCII, without spaces',
      }),
      'Bearer token that HTTP clients must present; ${VAR} is expanded. MCPS_PROXY_TOKEN overrides it.',
    ),
  ),
  stateKey: orVariable(
    'MCPS_PROXY_STATE_KEY',
    optional(
      stateKey,
      'Secret with which the requestState of servers is signed where there are several principals, equal on all instances; ${VAR} is expanded. MCPS_PROXY_STATE_KEY overrides it. Absent: by chance at each start.',
    ),
  ),
  previousStateKey: optional(
    stateKey,
    'The stateKey of before, which still verifies what was signed with it; ${VAR} is expanded.',
  ),
  metrics: optional(
    object(metricsFields, {
      expected: 'an object such as { "port": 9464 }',
      check: ({ port, host, open }, at) => {
        // The port of the metrics has no token.
        if (port !== undefined && !open && !isLoopback(host))
          at.at('host').problem(
            `is "${host}", which other machines can reach, and this port asks for no token`,
            'add "open": true if they may read the metrics, or leave "port" out and scrape GET /metrics of the HTTP front',
          )
      },
    }),
    'Metrics for Prometheus. Absent: nothing is counted.',
  ),
  cors: field(object(corsFields), {}, 'Which web pages may call the HTTP front.'),
  ui: field(object(uiFields), {}, 'The inspector that --ui serves.'),
  tokens: optional(
    objects(tokenFields, 'One token.'),
    'Tokens of single clients, by their hashes. An empty list refuses every client.',
  ),
  auth: optional(
    object(frontAuthFields, { isClosed: true }),
    'Access tokens of authorization servers, for clients that log in.',
  ),
}

/** Access tokens are made for the address of the front, which only `publicUrl` says. */
export const frontType = object(frontFields, { needs: [['auth', 'publicUrl']], hints: wholeFileKeyHints })

const stdioFields = {
  encoding: field(choice('utf8', 'utf-8'), 'utf8', 'Encoding of the stdio front; MCP knows only UTF-8.'),
  delimiter: field(choice('\n'), '\n', 'What ends a message on stdio; MCP knows only the line feed.'),
  timeout: field(
    milliseconds(1, { unlikelyBelow: 1000 }),
    callTimeoutMsDefault,
    'Longest time, in milliseconds, for a call to a server that sets no timeout of its own.',
  ),
}

const loggingFields = {
  level: field(choice('error', 'warn', 'info', 'debug'), 'info', 'The least severe level that is logged.'),
  file: optional(path('any'), 'Log file, JSON lines; ~ is the home folder. Absent: no file.'),
  maxSize: field(fileSize, 10 * 1024 ** 2, 'Size at which the log file is rotated.'),
  maxFiles: field(fileCount, 5, 'Log files kept in all, the current one included.'),
  console: field(boolean(), true, 'Whether logs go to stderr.'),
}

const auditFields = {
  file: required(
    or(['stderr'], path('any', 'a file, or "stderr"')),
    '',
    'The file, JSON lines, or "stderr"; ~ is the home folder.',
  ),
  payloads: field(boolean(), false, 'Whether lines have arguments and results, without secrets.'),
  methods: field(
    names,
    ['tools/call', 'prompts/get', 'resources/read'],
    'The methods of which every call has a line; "*" stands for any characters. Refused calls always have one.',
  ),
  onError: field(
    choice('continue', 'refuse'),
    'continue',
    'What becomes of calls while no line can be written: they go on and lines are lost, or they are refused.',
  ),
  maxSize: field(fileSize, 10 * 1024 ** 2, 'Size at which the file is rotated.'),
  maxFiles: field(fileCount, 5, 'Files kept in all, the current one included.'),
}

const wholeAudit = object(auditFields, { expected: 'a file, or "stderr", or an object', isClosed: true })

const auditType: ValueType<ValuesOf<typeof auditFields>, string | WrittenOf<typeof auditFields>> = {
  ...wholeAudit,
  schema: {
    anyOf: [auditFields.file.type.schema, { description: 'Where, and what.', ...wholeAudit.schema }],
  },
  read: (at) =>
    wholeAudit.read(
      typeof at.value === 'string' ? new Location({ file: at.value }, at.path, at.reading) : at,
    ),
}

const principalPattern = text({
  pattern: '^[^\\u0000-\\u001f]+$',
  expected: 'the name of a principal, in which "*" stands for any characters',
})

const callCount = integer(1, 1_000_000)

const limitFields = {
  principal: optional(
    principalPattern,
    'The principals that are limited: names of tokens, or ISSUER#SUBJECT. Each is counted for itself. Absent: all.',
  ),
  tools: field(
    oneOrMany(toolPattern),
    '*',
    'The tools that are counted, as clients without a profile see them.',
  ),
  perMinute: required(callCount, 1, 'Calls in a minute.'),
  burst: optional(callCount, 'Calls that may come together, after a pause. Absent: perMinute.'),
  each: field(boolean(), false, 'Whether each tool is counted for itself.'),
}

/** The name of the file, unless the configuration has another. */
export const lockFileName = 'mcps.lock'

const lockFields = {
  file: field(
    path('file', 'a file'),
    lockFileName,
    `The file. Absent: ${lockFileName} beside the configuration file.`,
  ),
  onChange,
}

const patternFields = {
  allow: optional(names, 'Only what fits one of these is seen; "*" stands for any characters. Absent: all.'),
  deny: field(names, [], 'What fits one of these is not seen; it stands above allow.'),
}

/** Arguments as JSON texts. */
const setArguments: ValueType<ReadonlyMap<string, string>, Readonly<Record<string, unknown>>> = {
  expected: 'an object of arguments',
  schema: { type: 'object' },
  unit: '',
  read: (at) => {
    if (!isObject(at.value)) return wrong(at, 'an object of arguments', true)
    return new Map(at.members.map(([name, each]) => [name, JSON.stringify(each)]))
  },
}

const profileToolFields = {
  ...patternFields,
  rename: field(map(toolNames, anyText), {}, 'Name of a tool -> the whole name to show instead.'),
  set: field(
    map(toolNames, setArguments, 'an object'),
    {},
    'Name of a tool -> its arguments that are set, which clients neither see nor change.',
  ),
}

const profileFields = {
  servers: optional(names, 'The servers that are seen. Absent: all.'),
  schema: field(anyText, 'default', 'The group whose servers are seen.'),
  prefix: optional(boolean(), 'In the place of prefix of the servers.'),
  describe: optional(boolean(), 'In the place of describe of the servers.'),
  tools: field(object(profileToolFields), {}, 'Which tools are seen, under which names.'),
  prompts: field(object(patternFields), {}, 'Which prompts are seen.'),
  resources: field(object(patternFields), {}, 'Which resources and templates are seen, by their URIs.'),
}

/** Keys of `tools` that stand in the profile itself by mistake. */
const profileKeyHints = new Map(
  ['allow', 'deny', 'rename', 'set'].map((key) => [
    key,
    `write "tools": { "${key}": ${key === 'allow' || key === 'deny' ? '[…]' : '{ … }'} }`,
  ]),
)

export const profileType = object(profileFields, { hints: profileKeyHints })

/** A value, or an object with a value and the label that an editor shows for it. */
const inputOption: ValueType<string, string | Readonly<Record<string, unknown>>> = {
  expected: 'a string, or an object with a "value"',
  schema: { anyOf: [anyText.schema, { type: 'object', required: ['value'] }] },
  unit: '',
  read: (at) => anyText.read(isObject(at.value) ? at.at('value') : at),
}

const inputFields = {
  id: required(anyText, '', 'The name of the input: ${input:ID} stands for its value.'),
  type: required(
    choice('promptString', 'pickString', 'command'),
    'promptString',
    'Whether a text is asked for, or one of several; a command of an editor cannot be run here.',
  ),
  description: optional(anyText, 'The text of the question.'),
  password: field(boolean(), false, 'Whether the terminal shows nothing of what is typed.'),
  default: optional(text({ mayBeEmpty: true }), 'The value of an empty answer.'),
  options: field(list(inputOption), [], 'The values of pickString.'),
}

export const sharedSandbox = object({ programs: sandboxPrograms }, { isClosed: true })

export const groupFields = {
  enabled: field(boolean(), true, 'A group that is not enabled is not served.'),
  ...sharedFields,
  mcpServers: required(servers, undefined, 'The servers of the group.'),
}

const profiles = later(map(plainNames, profileType))

export const rootFields = {
  $schema: optional(anyText, 'Where this schema is, for editors.'),
  server: field(later(frontType), {}, 'The HTTP front, and the name that clients see.'),
  cli: field(
    forgiven(object({ stdio: field(object(stdioFields), {}, 'The stdio mode.') })),
    {},
    'Options of the command line modes.',
  ),
  schemas: optional(
    later(map(plainNames, object(groupFields))),
    'Named groups of servers; clients see each group as one server.',
  ),
  mcpServers: optional(servers, 'The servers of the group "default".'),
  servers: optional(servers, 'Another name of mcpServers.'),
  profiles: field(profiles, {}, 'What some clients see of the servers, by names that stand in addresses.'),
  limits: field(
    objects(limitFields, 'One limit.', { isClosed: true }),
    [],
    'How often clients may call tools.',
  ),
  inputs: field(
    objects(inputFields, 'One value.'),
    [],
    'Values that are asked for once, on the terminal; ${input:ID} stands for each.',
  ),
  logging: field(object(loggingFields), {}, 'Logs.'),
  audit: optional(auditType, 'A line for each call, in a file or on stderr.'),
  startupGraceMs: optional(
    integer(0, 600_000),
    'How long, in milliseconds, the first lists wait for servers that are still starting. Absent: as long as the client waits for an answer, and 1500 where lists are kept.',
  ),
  processesMax: optional(
    integer(1, 65_536),
    'Most processes of servers at once, of all groups together. Absent: 256.',
  ),
  lock: optional(
    orSwitch(object(lockFields, { expected: 'an object like { "onChange": "hide" }', isClosed: true })),
    `Whether what servers list is compared with ${lockFileName}. Absent: if the file exists.`,
  ),
  ...sharedFields,
  sandbox: optional(later(sharedSandbox), 'What all sandboxes have in common.'),
}

/** Files of other programs have these at the top level for themselves. */
const ambiguousKeys = new Set(['name', 'version'])

/** Keys of `server` that stand at the top level by mistake. */
const frontKeyHints = new Map(
  Object.keys(frontFields)
    .filter((key) => !ambiguousKeys.has(key))
    .map((key) => [key, `write "server": { "${key}": … }`]),
)

export const rootType = object(rootFields, { expected: 'an object', hints: frontKeyHints })

/** The servers stand under one of three keys. */
type Shape = { readonly schemas: unknown } | { readonly mcpServers: unknown } | { readonly servers: unknown }

export type ConfigurationJson = WrittenOf<typeof rootFields> & Shape

/** One group of servers, which clients see as one. */
export type SchemaJson = WrittenOf<typeof groupFields>
