// Every key of the configuration outside the servers: its type, its default and its purpose.
//
// `values.ts` reads with these tables. The types of `configuration.ts`, `config.schema.json` and the reference
// in docs/configuration.md follow from them.

import { isObject } from '../text/json-object.js'
import { isLoopback } from '../text/loopback.js'
import { secretsOfUrl } from './secrets.js'
import {
  anyText,
  httpCharacter,
  lockRuleFields,
  names,
  servers,
  sharedFields,
  sharedSandboxFields,
  toolNames,
  toolPattern,
} from './server-keys.js'
import {
  Location,
  type ValueType,
  type WrittenOf,
  address,
  boolean,
  choice,
  either,
  field,
  forgiven,
  integer,
  later,
  list,
  map,
  mapped,
  milliseconds,
  object,
  objects,
  oneOrMany,
  optional,
  or,
  path,
  plainNames,
  readValues,
  required,
  secret,
  size,
  text,
  withSecrets,
  wrong,
} from './values.js'

const callTimeoutMsDefault = 30_000

const httpNames = list(text('a name as HTTP has them', `^${httpCharacter}+$`))

const fileSize = size(1024, 1024 ** 4)
const fileCount = integer(1, 1000)

/** Https, or http on this machine. Over plain http, another machine could answer. */
const safeUrl = '^(?:https://[^/?#\\s]+|http://(?:localhost|127\\.\\d+\\.\\d+\\.\\d+|\\[::1\\])(?::\\d+)?)'

const safeAddress = address(
  'an address that begins with https://, or with http:// on this machine',
  `${safeUrl}(?:/[^#\\s]*)?$`,
)

/** RFC 8414, section 2: no query and no fragment. */
const issuer = address(
  'the issuer as its tokens name it, such as "https://auth.example.com/realms/team"',
  `${safeUrl}(?:/[^?#\\s]*)?$`,
)

const writtenPublicUrl = address(
  'the address under which clients reach the front, such as "https://mcp.example.com"',
  '^https?://[^/?#\\s"]+(?:/[^?#\\s"]*)?$',
)

/** Tokens contain this address without a slash at its end. */
const publicUrl = mapped(writtenPublicUrl, (written, at) => {
  const { origin, pathname, protocol, hostname } = new URL(written)
  if (protocol === 'http:' && !isLoopback(hostname))
    at.warn(
      `is "${written}": the tokens of clients can be read on the way, and no browser keeps the cookie of its login pages; use https`,
    )
  const whole = origin + pathname.replace(/\/+$/, '')
  if (whole.endsWith('/mcp')) at.warn(`ends in /mcp, so that clients connect to ${whole}/mcp; take /mcp away`)
  return whole
})

/** Signatures that only the issuer can make, because they need a private key. */
const asymmetric = ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512', 'ES256', 'ES384', 'ES512', 'EdDSA']

const algorithm = text(
  `one of ${asymmetric.join(', ')}: the front takes no token that is unsigned or signed with a shared secret`,
  `^(?:${asymmetric.join('|')})$`,
)

/** RFC 6749, section 3.3. */
const scope = text('one scope, without spaces and quotes', '^[\\x21\\x23-\\x5b\\x5d-\\x7e]+$')

const introspectionFields = {
  /** Address of the introspection endpoint (RFC 7662). */
  url: required(safeAddress, ''),
  /** The client id of the front there. */
  clientId: required(anyText, ''),
  /** Client secret. */
  clientSecret: required(secret(), ''),
}

const issuerFields = {
  /** The authorization server, as its tokens name it. */
  issuer: required(issuer, ''),
  /** Further accepted values of "aud"; the addresses under publicUrl are always accepted. */
  audience: field(names, []),
  /** Accepted signatures. */
  algorithms: field(list(algorithm, { min: 1 }), ['RS256', 'ES256']),
  /** Address of the keys. Absent: the one in the metadata of the issuer. */
  jwksUri: optional(safeAddress),
  /** Asks the issuer about each token, also if it is no JWT. */
  introspection: optional(object(introspectionFields, { isClosed: true })),
}

const frontLoginFields = {
  /** The authorization server, one of the issuers. Absent: the first. */
  issuer: optional(issuer),
  /** The client id there, with the redirect URI PUBLICURL/login/identity. */
  clientId: required(anyText, ''),
  /** Client secret. */
  clientSecret: required(secret(), ''),
}

const authRuleFields = {
  /** A scope of the token, in "scope" or "scp". */
  scope: optional(scope),
  /** A claim of the token, such as "groups", which is or contains "value". */
  claim: optional(anyText),
  /** The text that the claim is or contains. */
  value: optional(anyText),
  /** The profiles that such tokens may use. Absent: everything. */
  profiles: optional(names),
}

const frontAuthFields = {
  /** The scopes that clients request, such as "api://mcp/mcp.read". Absent: those of the rules. */
  scopes: field(list(scope), []),
  /** The authorization servers whose tokens are accepted. */
  issuers: required(objects(issuerFields, { isClosed: true, min: 1, max: 16 }), []),
  /** The profiles that tokens may use; all matching rules count. Absent: everything. */
  rules: field(
    objects(authRuleFields, {
      isClosed: true,
      max: 256,
      oneOf: ['scope', 'claim'],
      needs: [
        ['claim', 'value'],
        ['value', 'claim'],
      ],
    }),
    [],
  ),
  /** The client with which users of the front log in first. */
  login: optional(object(frontLoginFields, { isClosed: true })),
}

const metricsFields = {
  /** TCP port for metrics without a token. Absent: only GET /metrics of the HTTP front. */
  port: optional(integer(0, 65_535)),
  /** Address that this port binds. */
  host: field(anyText, '127.0.0.1'),
  /** Whether other machines may read metrics; `host` must allow it too. */
  open: field(boolean(), false),
  /** Whether each tool has separate series, up to 500. */
  tools: field(boolean(), false),
}

/** Token names appear in log lines, and are the names of principals. */
const tokenNamePattern = '^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$'

const dateText = text(
  'a date of the calendar as YYYY-MM-DD or YYYY-MM-DDThh:mm:ssZ',
  '^\\d{4}-\\d{2}-\\d{2}(?:T\\d{2}:\\d{2}:\\d{2}Z)?$',
  { accepts: (written) => !Number.isNaN(Date.parse(written)) },
)

const date = { ...mapped(dateText, Date.parse), unit: 'AtMs' } as const

const tokenFields = {
  /** The name of the token, which is the principal of its clients. */
  name: required(text('a name of letters, digits, "_", "-" and "."', tokenNamePattern), ''),
  /** The SHA-256 of the token, as mcps-proxy token create writes it. */
  sha256: required(
    text('the SHA-256 of the token, in 64 hexadecimal digits', '^[0-9a-f]{64}$', { isSecret: true }),
    '',
  ),
  /** The profiles that its clients may use. Absent: everything. */
  profiles: optional(names),
  /** The time, in UTC, from which the token is refused. Absent: never. */
  expires: optional(date),
}

const uiFields = {
  /** Whether --ui also works on a front that other machines reach, which needs a token. */
  remote: field(boolean(), false),
  /** Whether the inspector removes secrets from the messages that it shows and exports. */
  redact: field(boolean(), true),
  /** Size of the messages kept while the page is closed. Absent: nothing, and 16 MiB while it is open. */
  history: optional(size(64 * 1024, 1024 ** 3)),
}

/** The origin that a browser sends for a page: scheme, host and port (RFC 6454). A pattern is not an origin. */
const pageOrigin = /^(?:\*|null|[a-z][a-z0-9+.-]*:\/\/[^/?#*\s]+\/?)$/i

const origin = mapped(anyText, (read, at) => {
  if (!pageOrigin.test(read))
    at.warn(`is "${read}", which no page has for its origin; one is like "https://app.example.com:8443"`)
  return read
})

const corsFields = {
  /** Whether the HTTP front answers cross-origin requests. */
  enabled: field(boolean(), true, 'MCP_ENABLE_CORS'),
  /** Origins of pages that may call; "*" is every origin, and none if the front has no token. */
  origins: field(list(origin), ['*'], 'MCP_CORS_ORIGINS'),
  /** HTTP methods that a cross-origin page may use. */
  methods: field(httpNames, ['GET', 'POST', 'DELETE', 'OPTIONS']),
  /** Whether cross-origin requests may carry credentials. */
  credentials: field(boolean(), false),
  /** Request headers that a cross-origin page may send. */
  allowedHeaders: field(httpNames, ['Content-Type', 'Authorization']),
}

/** A client that guesses the key can answer for other clients. */
const stateKey = secret('a text of at least 16 characters', '^[^\\u0000]{16,}$')

const storeAddress = withSecrets(
  secret('an address that begins with redis:// or rediss://', '^rediss?://\\S+$'),
  secretsOfUrl,
)

const hostName = text(
  'a host name with or without a port, such as "mcp.example.com"',
  '^(?:[A-Za-z0-9_](?:[A-Za-z0-9._-]{0,252}[A-Za-z0-9_.])?|\\[[0-9A-Fa-f:.]{2,45}\\])(?::[0-9]{1,5})?$',
)

/** Also the limit of a front without a configuration. */
export const SESSION_MAX_AGE_MS = 604_800_000 // 7 days

export const frontFields = {
  /** TCP port of the HTTP front; 0 takes a free one. */
  port: field(integer(0, 65_535), 3095, 'MCP_SERVER_PORT'),
  /** Address that the HTTP front binds. */
  host: field(anyText, '127.0.0.1', 'MCP_SERVER_HOST'),
  /** The name that clients see as serverInfo.name. */
  name: field(anyText, 'mcps-proxy'),
  /** The version that clients see as serverInfo.version. Absent: that of mcps-proxy. */
  version: optional(anyText),
  /** Further host names under which clients reach the HTTP front. */
  allowedHosts: field(list(hostName), []),
  /** Header field whose last address is the client's. Only for a front that nothing but a reverse proxy can reach. Absent: the address of the connection. */
  clientAddressField: optional(
    text(
      'the name of a header field that lists addresses, such as "X-Forwarded-For" (not "Forwarded")',
      `^(?![Ff]orwarded$)${httpCharacter}{1,100}$`,
    ),
  ),
  /** The address under which clients reach the HTTP front; its host is one of allowedHosts. */
  publicUrl: optional(publicUrl),
  /** Time in ms that calls may take to finish after the proxy is asked to stop. Absent: 5000. */
  drainTimeout: optional(milliseconds(0, 3_600_000)),
  /** Time in ms after SIGTERM for which the HTTP front serves everything, until balancers know by GET /ready. Absent: 5000 with a store, else 0. */
  drainDelay: optional(milliseconds(0, 3_600_000)),
  /** Bearer token of HTTP clients. MCPS_PROXY_TOKEN overrides it. */
  token: optional(
    secret('letters, digits and signs of ASCII, without spaces', '^[\\u0021-\\u007e]+$'),
    'MCPS_PROXY_TOKEN',
  ),
  /** Secret that seals session ids and signs states, the same on all instances. MCPS_PROXY_STATE_KEY overrides it. Absent: a key in ~/.mcps-proxy for ids, and a random one for states. */
  stateKey: optional(stateKey, 'MCPS_PROXY_STATE_KEY'),
  /** The previous stateKey, whose session ids and signatures stay valid. */
  previousStateKey: optional(stateKey),
  /** The name of this instance, with which session ids begin. MCPS_PROXY_INSTANCE overrides it. Absent: random at each start. */
  instance: optional(
    text('1 to 32 lower-case letters, digits and "-"', '^[a-z0-9-]{1,32}$'),
    'MCPS_PROXY_INSTANCE',
  ),
  /** Time in ms after its start in which another process may continue a session. */
  sessionMaxAge: field(milliseconds(0, undefined, 60_000), SESSION_MAX_AGE_MS),
  /** The Redis or Valkey that several instances share, such as "redis://store:6379". MCPS_PROXY_STORE overrides it. */
  store: optional(storeAddress, 'MCPS_PROXY_STORE'),
  /** Metrics for Prometheus. Absent: nothing is counted. */
  metrics: optional(object(metricsFields, { expected: 'an object like { "port": 9464 }' })),
  /** The web pages that may call the HTTP front. */
  cors: field(object(corsFields), {}),
  /** The inspector that --ui serves. */
  ui: field(object(uiFields), {}),
  /** Tokens of single clients. An empty list refuses every client. */
  tokens: optional(objects(tokenFields)),
  /** Access tokens of authorization servers, for clients that log in. */
  auth: optional(object(frontAuthFields, { isClosed: true })),
}

/** Access tokens are made for the address of the front, and only `publicUrl` contains it. */
export const frontType = object(frontFields, { needs: [['auth', 'publicUrl']] })

const stdioFields = {
  /** Encoding of the stdio front; MCP knows only UTF-8. */
  encoding: field(choice('utf8', 'utf-8'), 'utf8'),
  /** The end of a message on stdio; MCP knows only the line feed. */
  delimiter: field(choice('\n'), '\n'),
  /** Longest time in ms for a call to a server without `timeout`. */
  timeout: field(milliseconds(1, undefined, 1000), callTimeoutMsDefault),
}

const cliFields = {
  /** The stdio mode. */
  stdio: field(object(stdioFields), {}),
}

const loggingFields = {
  /** The least severe level that is logged. */
  level: field(choice('error', 'warn', 'info', 'debug'), 'info'),
  /** Log file, JSON lines; ~ is the home folder. Absent: no file. */
  file: optional(path('any')),
  /** Size at which the log file is rotated. */
  maxSize: field(fileSize, 10 * 1024 ** 2),
  /** Log files kept in all, the current one included. */
  maxFiles: field(fileCount, 5),
  /** Whether logs go to stderr. */
  console: field(boolean(), true),
}

const auditFields = {
  /** The file, JSON lines, or "stderr"; ~ is the home folder. */
  file: required(or(['stderr'], path('any', 'a file')), ''),
  /** Whether lines have arguments and results, without secrets. */
  payloads: field(boolean(), false),
  /** The methods of which every call has a line; "*" stands for any characters. Refused calls have one. */
  methods: field(names, ['tools/call', 'prompts/get', 'resources/read']),
  /** Whether calls continue or are refused while their lines may be lost. */
  onError: field(choice('continue', 'refuse'), 'continue'),
  /** Size at which the file is rotated. */
  maxSize: field(fileSize, 10 * 1024 ** 2),
  /** Files kept in all, the current one included. */
  maxFiles: field(fileCount, 5),
}

/** A text is the path of the file. */
const audit = mapped(
  either(auditFields.file.type, object(auditFields, { isClosed: true })),
  (read, { path, reading }) =>
    typeof read === 'string' ? readValues(auditFields, new Location({ file: read }, path, reading)) : read,
)

const principalPattern = text(
  'the name of a principal, in which "*" stands for any characters',
  '^[^\\u0000-\\u001f]+$',
)

const callCount = integer(1, 1_000_000)

const limitFields = {
  /** The principals that are limited, each separately: names of tokens, or ISSUER#SUBJECT. Absent: all. */
  principal: optional(principalPattern),
  /** The tools that are counted, by the names without a profile. */
  tools: field(oneOrMany(toolPattern), '*'),
  /** Calls in a minute. */
  perMinute: required(callCount, 1),
  /** Calls that may come together after a pause. Absent: perMinute. */
  burst: optional(callCount),
  /** Whether each tool is counted separately. */
  each: field(boolean(), false),
}

/** The default name of the lock file. */
export const lockFileName = 'mcps.lock'

const lockFields = {
  ...lockRuleFields,
  /** The file. Absent: mcps.lock beside the configuration file. */
  file: field(path('file', 'a file'), lockFileName),
}

const patternFields = {
  /** Only these are seen; "*" stands for any characters. Absent: all. */
  allow: optional(names),
  /** These are not seen, even if `allow` has them. */
  deny: field(names, []),
}

/** Values are JSON texts. */
const setArguments: ValueType<ReadonlyMap<string, string>, Readonly<Record<string, unknown>>> = {
  expected: 'an object of arguments',
  schema: { type: 'object' },
  read: (at) => {
    if (!isObject(at.value)) return wrong(at, 'an object of arguments', true)
    return new Map(at.members.map(([name, each]) => [name, JSON.stringify(each)]))
  },
}

const profileToolFields = {
  ...patternFields,
  /** Name of a tool -> the whole name to show instead. */
  rename: field(map(toolNames, anyText), {}),
  /** Name of a tool -> arguments that clients neither see nor change. */
  set: field(map(toolNames, setArguments, 'an object'), {}),
}

const profileFields = {
  /** The servers that are seen. Absent: all. */
  servers: optional(names),
  /** The group whose servers are seen. */
  schema: field(anyText, 'default'),
  /** Replaces `prefix` of the servers. */
  prefix: optional(boolean()),
  /** Replaces `describe` of the servers. */
  describe: optional(boolean()),
  /** The tools that are seen, and their names. */
  tools: field(object(profileToolFields), {}),
  /** The prompts that are seen. */
  prompts: field(object(patternFields), {}),
  /** The resources and templates that are seen, by their URIs. */
  resources: field(object(patternFields), {}),
}

/** Keys of `tools` that users write in the profile itself by mistake. */
const profileKeyHints = new Map(
  ['allow', 'deny', 'rename', 'set'].map((key) => [
    key,
    `write "tools": { "${key}": ${key === 'allow' || key === 'deny' ? '[…]' : '{ … }'} }`,
  ]),
)

const inputOptionFields = {
  /** The value. */
  value: required(anyText, ''),
  /** The label that an editor shows. */
  label: optional(anyText),
  /** The description that an editor shows. */
  description: optional(anyText),
}

/** A value, or an object with a value and the label that an editor shows. */
const inputOption = mapped(either(anyText, object(inputOptionFields)), (read) =>
  typeof read === 'string' ? read : read.value,
)

const inputFields = {
  /** The name of the input: ${input:ID} stands for its value. */
  id: required(anyText, ''),
  /** Whether the user types a text or picks one. */
  type: required(choice('promptString', 'pickString', 'command'), 'promptString'),
  /** The text of the question. */
  description: optional(anyText),
  /** Whether the terminal hides the typed text. */
  password: field(boolean(), false),
  /** The value of an empty answer. */
  default: optional(text('a text', undefined, { mayBeEmpty: true })),
  /** The values of pickString. */
  options: field(list(inputOption), []),
}

export const groupFields = {
  /** A group that is not enabled is not served. */
  enabled: field(boolean(), true),
  ...sharedFields,
  /** The servers of the group. */
  mcpServers: required(servers, undefined),
}

export const sharedSandbox = object(sharedSandboxFields, { isClosed: true })

export const rootFields = {
  /** The place of this schema, for editors. */
  $schema: optional(anyText),
  /** The HTTP front, and the name that clients see. */
  server: field(later(frontType), {}),
  /** Options of the command line modes. */
  cli: field(forgiven(object(cliFields)), {}),
  /** Named groups of servers; clients see each group as one server. */
  schemas: optional(later(map(plainNames, object(groupFields)))),
  /** The servers of the group "default". */
  mcpServers: optional(servers),
  /** Another name of mcpServers. */
  servers: optional(servers),
  /** Parts of the servers for some clients, by names. */
  profiles: field(map(plainNames, object(profileFields, { hints: profileKeyHints }), 'an object'), {}),
  /** How often clients may call tools. */
  limits: field(objects(limitFields, { isClosed: true }), []),
  /** Values that the terminal asks for once; ${input:ID} stands for each. */
  inputs: field(objects(inputFields), []),
  /** Logs. */
  logging: field(object(loggingFields), {}),
  /** A line for each call, in a file or on stderr. */
  audit: optional(audit),
  /** Longest time in ms that the first lists wait for servers. Absent: as long as the client waits, and 1500 if lists are kept. */
  startupGraceMs: optional(integer(0, 600_000)),
  /** Most server processes that run together, of all groups. Absent: 256. */
  processesMax: optional(integer(1, 65_536)),
  /** Whether the lists of servers are compared with mcps.lock. Absent: if the file exists. */
  lock: optional(or([true, false], object(lockFields, { isClosed: true }))),
  ...sharedFields,
  /** The settings of all sandboxes. */
  sandbox: field(later(sharedSandbox), {}),
}

/** Files of other programs have these keys at the top level, so no hint is given. */
const ambiguousKeys = new Set(['name', 'version'])

/** Keys of `server` that users write at the top level by mistake. */
const frontKeyHints = new Map(
  Object.keys(frontFields)
    .filter((key) => !ambiguousKeys.has(key))
    .map((key) => [key, `write "server": { "${key}": … }`]),
)

export const rootType = object(rootFields, { expected: 'an object', hints: frontKeyHints })

/** The servers are under one of three keys. */
type Shape = { readonly schemas: unknown } | { readonly mcpServers: unknown } | { readonly servers: unknown }

export type ConfigurationJson = WrittenOf<typeof rootFields> & Shape

/** One group of servers, which clients see as one server. */
export type SchemaJson = WrittenOf<typeof groupFields>
