import { resolve } from 'node:path'
import { type ChangeAction, changeActions } from '../upstream/contracts/list-guard.js'
import {
  type SandboxNetwork,
  type SandboxVolume,
  allowedHostPattern,
} from '../upstream/contracts/sandbox-config.js'
import type { ConfirmRule, ServerProtocol } from '../upstream/contracts/server-config.js'
import { absolute } from './paths.js'
import { secretsOfArguments, secretsOfEnv, secretsOfHeaders, secretsOfUrl } from './secrets.js'
import { latestStateless, sessionRevisions } from '../mcp/revisions.js'
import {
  type Location,
  type ObjectRules,
  type ValueType,
  type WrittenOf,
  address,
  boolean,
  choice,
  either,
  field,
  hidden,
  integer,
  list,
  map,
  mapped,
  milliseconds,
  object,
  oneOrMany,
  optional,
  or,
  path,
  plainNames,
  required,
  seconds,
  secret,
  size,
  text,
  withSecrets,
} from './values.js'

/** At most an hour. A longer pause between two attempts helps no person. */
const pauseMs = milliseconds(0, 3_600_000)
const timeMs = milliseconds(1)
export const anyText: ValueType<string> = text()
export const names: ValueType<readonly string[]> = list(anyText)
const plainText = text('a string without NUL characters', undefined, { ...hidden, mayBeEmpty: true })
const variableNames = { pattern: '^[^=\\u0000]+$', hint: 'use the name of an environment variable' }
const environment = withSecrets(map(variableNames, plainText), secretsOfEnv)

export const protocols: ReadonlyMap<string, ServerProtocol> = new Map([
  ['auto', 'auto'],
  ['legacy', 'handshake'],
  ...sessionRevisions.map(({ version }) => [version, 'handshake'] as const),
  [latestStateless.version, 'stateless'],
])

/** A package runner with an empty cache needs most of this time. */
const startMs = 30_000

/** Names of tools contain no special characters of globs and regular expressions, so these are mistakes. */
export const toolPattern = text(
  'the name of a tool, in which "*" stands for any characters',
  '^[^\\u0000-\\u0020?\\[\\]{}()|^$\\\\]+$',
)

const confirmRuleFields = {
  /** The tools that are not annotated as harmless. */
  annotations: required(choice('destructive'), 'destructive'),
}

const confirmRule: ValueType<ConfirmRule> = either(toolPattern, object(confirmRuleFields, { isClosed: true }))

const onOrOff = choice('on', 'off')

/** `lenient` is an older name of `on`. */
const argumentChecks: ValueType<'on' | 'off'> = {
  ...onOrOff,
  read: (at) => {
    if (at.value === 'lenient') return 'on'
    if (at.value !== 'strict') return onOrOff.read(at)
    at.problem(
      'is "strict", which is gone',
      'write "on", by which arguments pass that a tolerant server puts right itself',
    )
    return undefined
  },
}

export const sharedFields = {
  /** Whether public names are `server__name`; `false` passes names through. */
  prefix: field(boolean(), true),
  /** Whether descriptions of tools begin with `[server]`. */
  describe: field(boolean(), true),
  /** Whether [arguments are checked](errors.md#how-arguments-are-checked) against the schema of the tool; `off` checks nothing. */
  argumentChecks: field(argumentChecks, 'on'),
  /** The tools that [need the user's consent](policy.md#confirmations): patterns of the server's names, or `annotations`. */
  confirm: field(
    list(confirmRule, { expected: 'a list of names of tools and of { "annotations": "destructive" }' }),
    [],
  ),
}

export const lockRuleFields = {
  /** The effect of a change: a line in the log, a hidden item, or a server that is not used. Absent: warn. */
  onChange: optional<ChangeAction, ChangeAction, ''>(choice(...changeActions)),
}

const lockRule = object(lockRuleFields, { isClosed: true })

/** Tools by the names of the server, or by the names that clients see. */
export const toolNames = { pattern: '^[^\\u0000]+$', hint: 'use the name of a tool' }

const toolFields = {
  /** Only these tools are shown, by the server's own names. */
  allow: optional(names),
  /** These tools are hidden. */
  deny: field(names, []),
  /** The server's own name of a tool -> the name that clients see. */
  rename: field(map(toolNames, anyText), {}),
}

export const anyServerFields = {
  /** Whether the server is not started. */
  disabled: field(boolean(), false),
  /** `false` disables the server, as in other clients. */
  enabled: field(boolean(), true),
  /** Whether the server starts only when a client lists or calls it, and is `disconnected` before. */
  lazy: field(boolean(), false),
  /** Whether the lists of the server are [cached on disk](lists.md#kept-lists). */
  keep: field(boolean(), true),
  /** The protocol of the server: `auto` [asks it](eras.md#servers), `legacy` begins with initialize, and a version requests exactly that version. */
  protocol: field(choice(...protocols.keys()), 'auto'),
  /** Longest time in ms for the start, and for reading one list; 120000 by default for a program that [never listed](lists.md#the-first-list). */
  startTimeout: field(timeMs, startMs),
  /** [Longest time](#time-limits) for a call in ms; progress restarts it. Absent: `cli.stdio.timeout`, 30000. */
  timeout: optional(milliseconds(1, undefined, 1000)),
  /** Longest time for a call in ms, progress and questions included. Absent: 600000, or `timeout` if that is longer. */
  totalTimeout: optional(timeMs),
  /** The tools that clients see: `allow` and `deny` are lists of names, `rename` has the name to show for a name. */
  tools: field(object(toolFields), {}),
  /** Whether the server's lists are compared with [mcps.lock](lock.md): `false`, or `{ "onChange" }`. Absent: the `lock` beside the servers. */
  lock: optional(or([true, false], lockRule)),
  ...sharedFields,
}

const allowedHost = text(
  'a name with a dot, such as "example.com", "*.example.org" or "api.example.com:8443"; letters beyond ASCII as xn--',
  allowedHostPattern,
)
const hosts = { expected: 'a list of hosts like ["api.example.com"]' }

const paths = list(path('any', 'a path'))

export const sharedSandboxFields = {
  /** Folders to search for bwrap and the like, before /usr/bin, /usr/local/bin and /bin. */
  programs: optional(paths),
}

const filesystemFields = {
  /** Files and folders that the program may read. */
  read: field(paths, []),
  /** Folders the program may read and write. */
  write: field(paths, []),
}

const processSandboxFields = {
  /** The hosts that the program reaches by HTTPS, "none" (the default) or "host". */
  network: field(or(['none', 'host'], list(allowedHost, hosts)), 'none'),
  /** The files, beyond the system's, that the program may use. */
  filesystem: field(
    object(filesystemFields, {
      isClosed: true,
    }),
    {},
  ),
  ...sharedSandboxFields,
}

const processSandbox = object(processSandboxFields, {
  expected:
    'an object like { "network": ["api.example.com"], "filesystem": { "read": ["/srv"], "write": [] } }',
  isClosed: true,
  hints: new Map(Object.keys(filesystemFields).map((key) => [key, `write "filesystem": { "${key}": […] }`])),
})

const inheritedName = text(
  'the name of a variable; for all of them write "inheritEnv": true',
  '^[^=*?\\s\\u0000]+$',
)

export const stdioFields = {
  /** The program, found through PATH, without a shell. */
  command: required(text('the program to start', '^[^\\u0000]+$', { isExpanded: true }), ''),
  /** Program arguments. */
  args: field(withSecrets(list(plainText), secretsOfArguments), []),
  /** Environment variables of the program. */
  env: field(environment, {}),
  /** A file with more variables in dotenv format (`NAME=value`); `env` takes precedence. */
  envFile: optional(text('a path', undefined, { isExpanded: true })),
  /** Names of variables that the program inherits from the proxy; `true`: all but `MCPS_PROXY_*`. */
  inheritEnv: field(or([true], list(inheritedName)), []),
  /** Working folder, relative to the folder of the file, or to the project of a file in `.vscode` or `.cursor`. */
  cwd: field(path('any'), '.'),
  /** Whether the program restarts after it ended. */
  restart: field(boolean(), true),
  /** Time in ms before the first restart; [doubles with every crash](processes.md#restarts), up to 30 s. */
  restartDelay: field(pauseMs, 1000),
  /** This many crashes within a minute prevent [restarts](processes.md#restarts) for 30 s. Absent: 5. */
  crashesMax: optional(integer(1, 1000)),
  /** Calls in flight on each process; further calls wait. `1` sends one call after another. */
  concurrency: field(integer(1, 10_000), 64),
  /** Most processes that share the calls of clients that can share. */
  processes: field(integer(1, 256), 1),
  /** [Which clients share a process](processes.md#which-clients-share-a-process); `auto` gives a client that can answer questions a separate process. */
  isolation: field(choice('auto', 'shared', 'session'), 'auto'),
  /** Time in ms without a call after which the process stops until the next call; `0` disables this. */
  idleTimeout: field(milliseconds(0), 0),
  /** Time in ms between SIGTERM and SIGKILL when [a process is stopped](processes.md#how-a-process-ends). */
  stopTimeout: field(milliseconds(1, 3_600_000), 5000),
  /** [Most memory](processes.md#memory-limit) of the process and of the processes that it starts, in MiB. */
  memoryLimitMB: optional(integer(1, 16_777_216)),
  /** [Limits the files and hosts](sandboxed-servers.md) of the program to those that are named (Linux, bubblewrap). */
  sandbox: optional(processSandbox),
  /** Whether a call or a list that times out is cancelled, or its process is started again. */
  onTimeout: field(choice('cancel', 'restart'), 'cancel'),
}

const pemFile = path('file', 'a file')

const tlsFields = {
  /** A file (PEM) with the trusted certificates, in place of those of the machine. */
  ca: optional(path('file')),
  /** A file (PEM) with the certificate that the proxy shows. */
  cert: optional(pemFile),
  /** A file (PEM) with the private key. */
  key: optional(pemFile),
  /** The name that the certificate of the server must have. Absent: the host of the url. */
  servername: optional(text('a host name', '^[A-Za-z0-9_-]+(\\.[A-Za-z0-9_-]+)*$')),
}

const identityProviderFields = {
  /** The identity provider, as its metadata names it. */
  issuer: required(anyText, ''),
  /** The client at the identity provider. */
  clientId: optional(anyText),
  /** The secret of that client. */
  clientSecret: optional(secret()),
}

const authFields = {
  /** "google" sends ID tokens, "oauth" the token of a login, "none" nothing. */
  type: required(choice('google', 'oauth', 'none'), 'none'),
  /** The audience of the ID tokens. Absent: the origin of the url. */
  audience: optional(anyText),
  /** The service account of ID tokens. Absent: the account of the credentials. */
  impersonateServiceAccount: optional(text('the email address of a service account', '^[^\\s@]+@[^\\s@]+$')),
  /** The client id. Absent: the proxy registers itself. */
  clientId: optional(anyText),
  /** The secret of that client. */
  clientSecret: optional(secret()),
  /** The way to get tokens: "code" in the browser, "device" by a code that is shown, the others without a person. */
  grant: field(
    choice('code', 'device', 'client_credentials', 'jwt_bearer', 'token_exchange', 'id_jag'),
    'code',
  ),
  /** A private key (PEM) in place of the secret. */
  clientKey: optional(secret()),
  /** The token that jwt_bearer, token_exchange and id_jag exchange for access tokens. */
  assertion: optional(secret()),
  /** A file with that token, read before each use. */
  assertionFile: optional(path('file')),
  /** The server that turns the token of id_jag into one for the authorization server. */
  identityProvider: optional(object(identityProviderFields, { isClosed: true })),
  /** The address of the metadata document of the client (CIMD). */
  clientMetadataUrl: optional(text('an https:// address with a path', '^https://[^/?#\\s]+/[^\\s#]+$')),
  /** The scopes to request. Absent: those that the server names. */
  scope: optional(anyText),
  /** The only authorization server that is accepted. Absent: the first that the server names. */
  issuer: optional(anyText),
  /** "assume": metadata without PKCE methods is no reason to refuse a login. */
  pkce: field(choice('require', 'assume'), 'require'),
  /** The resource for which tokens are requested. Absent: as the server names it; false sends none. */
  resource: optional(or([false], anyText)),
  /** The port of the redirect URI, if the client is registered for one. */
  callbackPort: optional(integer(1, 65_535)),
  /** Whether a login on a desktop opens a browser. */
  login: field(choice('auto', 'manual'), 'auto'),
  /** Whether each user of the HTTP front has a separate login. */
  perUser: field(boolean(), false),
}

const auth = object(authFields, { isClosed: true })

const otherLogin = object({
  clientId: authFields.clientId,
  clientSecret: authFields.clientSecret,
  callbackPort: authFields.callbackPort,
  /** The scopes to request, as a text or a list. */
  scopes: optional(oneOrMany(anyText)),
  /** The address of the metadata of the authorization server. */
  authServerMetadataUrl: optional(anyText),
})

/** A character of a header name (RFC 9110, section 5.6.2). */
export const httpCharacter = "[!#$%&'*+.^_`|~0-9A-Za-z-]"

const headerNames = { pattern: `^${httpCharacter}+$`, hint: 'use the name of an HTTP header' }

const headerValue = text('one line of text', '^[^\\u0000\\r\\n]*$', { ...hidden, mayBeEmpty: true })

const scheme = '[Hh][Tt][Tt][Pp][Ss]?://'
/** URL parsers disagree where a host ends if `"` or a backslash stands before the path. */
const host = '[^\\u0000-\\u0020/?#"\\\\]+'

/** Any part of an address may contain a password or a key. */
const secretAddress = (expected: string, pattern: string): ValueType<string> =>
  withSecrets(address(expected, pattern, hidden), secretsOfUrl)

const serverAddress = secretAddress(
  'an http:// or https:// address, such as "https://mcp.example.com/mcp"',
  `^${scheme}${host}([/?#][^\\u0000-\\u0020]*)?$`,
)

const proxyAddress = secretAddress(
  'the http:// or https:// address of a proxy, like "http://host:3128" or "http://name:password@host:3128"',
  `^${scheme}${host}/?$`,
)

/** `url`, and its names in Windsurf and Gemini CLI. */
export const urlKeys = ['url', 'serverUrl', 'httpUrl'] as const

export const httpFields = {
  /** The address of the MCP endpoint. */
  url: optional(serverAddress),
  /** Another name of `url`, as Windsurf has it. */
  serverUrl: optional(serverAddress),
  /** Another name of `url`, as Gemini CLI has it. */
  httpUrl: optional(serverAddress),
  /** Header fields of every request, sent to that origin only. */
  headers: field(withSecrets(map(headerNames, headerValue), secretsOfHeaders), {}),
  /** Most retries of a message that was not accepted, or that only reads. */
  retries: field(integer(0, 100), 3),
  /** Time in ms before the first retry; doubles with every retry. `Retry-After` takes precedence. */
  retryDelay: field(pauseMs, 1000),
  /** [The proxy](#proxies-and-certificates) to this server, `"http://name:password@host:3128"`, or `false` for none. Absent: `HTTPS_PROXY` or `HTTP_PROXY`. */
  proxy: optional(or([false], proxyAddress)),
  /** `{ "type": "oauth" }` with the keys of [a login](login.md#keys-of-the-configuration), `{ "type": "google" }` with ID tokens for [Cloud Run](command-line.md#cloud-run), `audience` and `impersonateServiceAccount`, or `{ "type": "none" }`. Absent: the token of a login, if `headers` and the address have no key. */
  auth: optional(auth),
  /** A login as other clients write it: `clientId`, `clientSecret`, `callbackPort`, `scopes`, `authServerMetadataUrl`. */
  oauth: optional(otherLogin),
  /** [Certificates](#proxies-and-certificates): `ca`, `cert` and `key` are PEM files; `servername` is the name in the certificate of the server. */
  tls: optional(
    // A certificate is useless without its key, and a key without its certificate.
    object(tlsFields, {
      needs: [
        ['cert', 'key'],
        ['key', 'cert'],
      ],
    }),
  ),
}

export const sseFields = {
  /** Only `sse`: time in ms before a lost event stream is opened again. */
  reconnectInterval: field(pauseMs, 1000),
  /** Only `sse`: as `retries` for `http`. */
  maxRetries: field(integer(0, 100), 5),
}

const day = 86_400

const allowFields = {
  /** Hosts that code reaches over https://. Without a port: 443. */
  allow: required(list(allowedHost, { ...hosts, min: 1 }), []),
}

const network = mapped(
  or(['none', 'host'], object(allowFields, { expected: 'an object like { "allow": ["example.com"] }' })),
  (read): SandboxNetwork =>
    typeof read === 'string' ? { kind: read } : { kind: 'allow', hosts: read.allow },
)

const writtenVolume = text(
  'like "/srv/data:/data" or "/srv/data:/data:ro"',
  '^[^:\\u0000]+:/[^:\\u0000]*(:r[ow])?$',
  { isExpanded: true },
)

const volume = mapped(writtenVolume, (written, { reading }): SandboxVolume => {
  const [host = '', guest = '', access] = written.split(':')
  return { hostPath: absolute(host, reading), guestPath: resolve('/', guest), isReadOnly: access === 'ro' }
})

/** The built-in templates. A configured template of the same name replaces one. */
export const ownTemplates = ['python', 'node'] as const

const templateFields = {
  /** The language of the code. */
  language: optional(choice(...ownTemplates)),
  /** The interpreter, a path on this machine. Absent: the proxy finds one. */
  interpreter: optional(path('any')),
  /** The image, for runtimes that have images. */
  image: optional(anyText),
  /** Environment variables for all programs of a session. */
  env: field(mapped(environment, Object.fromEntries<string>), {}),
}

export const sandboxFields = {
  /** [The program that runs the code](sandbox.md#runtimes); `auto` takes `bubblewrap`, or `container` if that cannot be used. */
  runtime: field(choice('auto', 'bubblewrap', 'container', 'microsandbox-server'), 'auto', 'MSB_RUNTIME'),
  /** The address of the microsandbox server. */
  serverUrl: optional(
    secretAddress('an http:// or https:// address', `^${scheme}[^\\u0000-\\u0020]+$`),
    'MSB_SERVER_URL',
  ),
  /** The key of that server. */
  apiKey: optional(secret(), 'MSB_API_KEY'),
  /** Seconds after which an unused session ends. */
  sessionTimeout: field(seconds(1, 30 * day), 1800, 'MSB_SESSION_TIMEOUT'),
  /** Seconds between two checks for unused sessions. Absent: 60, or `sessionTimeout` if that is shorter. */
  cleanupInterval: optional(seconds(1, day), 'MSB_CLEANUP_INTERVAL'),
  /** Seconds between two checks for remains of killed services. */
  orphanCleanupInterval: field(seconds(1, day), 600, 'MSB_ORPHAN_CLEANUP_INTERVAL'),
  /** Most sessions at the same time. */
  maxSessions: field(integer(1, 10_000), 10, 'MSB_MAX_SESSIONS'),
  /** Whether a new session may end the longest idle session. */
  enableLruEviction: field(boolean(), true, 'MSB_ENABLE_LRU_EVICTION'),
  /** Most memory of all sessions together, by their flavors, in MiB. Absent: no limit. */
  maxTotalMemoryMb: optional(integer(1, 16_777_216), 'MSB_MAX_TOTAL_MEMORY_MB'),
  /** The flavor of a session that names none. `small`: 1 CPU, 1024 MiB, 256 processes, 1 GiB of files; `medium`: 2, 2048, 512, 2; `large`: 4, 4096, 1024, 4. */
  defaultFlavor: field(choice('small', 'medium', 'large'), 'small', 'MSB_DEFAULT_FLAVOR'),
  /** Longest time for the start of a session, in seconds. */
  sandboxStartTimeout: field(seconds(1, 3600), 180, 'MSB_SANDBOX_START_TIMEOUT'),
  /** Longest time for a call that names none, in seconds. */
  executionTimeout: field(seconds(1, day), 300, 'MSB_EXECUTION_TIMEOUT'),
  /** Longest time that a call may name, in seconds. Absent: 300, or `executionTimeout` if that is longer. */
  maxTimeout: optional(seconds(1, day)),
  /** Folders of this machine that sessions see, each as `host:guest` or `host:guest:ro`. */
  volumes: field(list(volume), [], 'MSB_SHARED_VOLUME_PATH'),
  /** [User for the code](sandbox.md#bubblewrap) if the proxy is root: user and group numbers, like `1000:1000`. Absent: a user for each session. */
  runAs: optional(text('the numbers of a user and a group, like "1000:1000"', '^\\d{1,10}:\\d{1,10}$')),
  /** The network of the code: nothing, [the hosts](sandbox.md#hosts-that-code-may-reach) of `{ "allow": ["example.com"] }`, or with `host` everything that this machine reaches. */
  network: field(network, 'none'),
  /** Whether clients can read and write files of sessions. */
  files: field(boolean(), true),
  /** Most bytes of one stream in a result; the middle of a longer one is left out. */
  outputMax: field(size(1024, 16 * 1024 ** 2), 64 * 1024),
  /** `client` hides a session from other users, `shared` shows it to all clients. Absent: `client` if the front has a token, else `shared`. */
  sessions: optional(choice('shared', 'client')),
  /** Templates by name, each with `language` (`python` or `node`), `interpreter` (a path), `image` and `env`; `python` and `node` always exist. */
  templates: field(map(plainNames, object(templateFields), 'an object'), {}),
}

export const typeNames = {
  stdio: ['stdio'],
  http: ['http', 'streamable-http', 'streamableHttp'],
  sse: ['sse'],
  sandbox: ['sandbox'],
} as const

export const serverFields = {
  stdio: { ...anyServerFields, type: optional(choice(...typeNames.stdio)), ...stdioFields },
  http: { ...anyServerFields, type: optional(choice(...typeNames.http)), ...httpFields },
  sse: {
    ...anyServerFields,
    type: required(choice(...typeNames.sse), 'sse'),
    ...httpFields,
    ...sseFields,
  },
  sandbox: {
    ...anyServerFields,
    type: required(choice(...typeNames.sandbox), 'sandbox'),
    ...sandboxFields,
  },
}

export const remoteRules: ObjectRules = { oneOf: urlKeys }

type Address = Readonly<Record<'url', string> | Record<'serverUrl', string> | Record<'httpUrl', string>>

/** A program that the proxy starts and that speaks MCP on stdin and stdout. */
export type StdioServerJson = WrittenOf<typeof serverFields.stdio>
/** A server that is reached over Streamable HTTP. */
export type HttpServerJson = WrittenOf<typeof serverFields.http> & Address
/** A server that is reached over the older HTTP+SSE transport. */
export type SseServerJson = WrittenOf<typeof serverFields.sse> & Address
/** A server of the proxy that runs code of clients in sandboxes. */
export type SandboxServerJson = WrittenOf<typeof serverFields.sandbox>
export type ServerJson = StdioServerJson | HttpServerJson | SseServerJson | SandboxServerJson

/** The servers under one key. `servers.ts` reads each of them, and `json-schema.ts` has the schema of one. */
export const servers: ValueType<Location | undefined, Readonly<Record<string, ServerJson>>> = {
  expected: 'an object',
  schema: { $ref: '#/$defs/servers' },
  read: (at) => at,
}
