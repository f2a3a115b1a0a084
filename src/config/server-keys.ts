// Every key of a server: its type, its default and its purpose.

import { type ChangeAction, changeActions } from '../upstream/contracts/list-guard.js'
import { allowedHostPattern } from '../upstream/contracts/sandbox-config.js'
import type { ConfirmRule, ServerProtocol, UnattendedGrant } from '../upstream/contracts/server-config.js'
import { isObject } from '../text/json-object.js'
import { latestStateless, sessionRevisions } from '../mcp/revisions.js'
import {
  type Field,
  type Location,
  type ObjectRules,
  type ValueType,
  type ValuesOf,
  type WrittenOf,
  boolean,
  choice,
  field,
  integer,
  list,
  map,
  milliseconds,
  object,
  oneOrMany,
  optional,
  or,
  orVariable,
  path,
  plainNames,
  required,
  seconds,
  size,
  text,
} from './values.js'

/** An hour between two attempts is already longer than a person waits. */
const pauseMs = milliseconds(0, { maximum: 3_600_000 })
const timeMs = milliseconds(1)
export const anyText: ValueType<string> = text()
export const names: ValueType<readonly string[]> = list(anyText)
const expanded = text({ isExpanded: true })
const secret = text({ isSecret: true, isExpanded: true })
const plainText = text({
  mayBeEmpty: true,
  isSecret: true,
  isExpanded: true,
  expected: 'a string without NUL characters',
})
const variableNames = { pattern: '^[^=\\u0000]+$', hint: 'use the name of an environment variable' }

export const protocols: ReadonlyMap<string, ServerProtocol> = new Map([
  ['auto', 'auto'],
  ['legacy', 'handshake'],
  ...sessionRevisions.map(({ version }) => [version, 'handshake'] as const),
  [latestStateless.version, 'stateless'],
])

/** A cold package runner needs most of this. */
const startMs = 30_000

/** The signs of other languages of patterns stand in no name of a tool. */
export const toolPattern = text({
  pattern: '^[^\\u0000-\\u0020?\\[\\]{}()|^$\\\\]+$',
  expected: 'the name of a tool, in which "*" stands for any characters',
})

const destructive: ConfirmRule = { annotations: 'destructive' }

const confirmRule: ValueType<ConfirmRule> = {
  ...toolPattern,
  schema: {
    anyOf: [
      toolPattern.schema,
      {
        type: 'object',
        properties: { annotations: { enum: ['destructive'] } },
        required: ['annotations'],
        additionalProperties: false,
      },
    ],
  },
  read: (at) => {
    if (!isObject(at.value)) return toolPattern.read(at)
    if (at.members.length === 1 && at.value['annotations'] === 'destructive') return destructive
    at.problem('is an object', 'the only one is { "annotations": "destructive" }')
    return undefined
  },
}

const onOrOff = choice('on', 'off')

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
  prefix: field(boolean(), true, 'Whether public names are `server__name`; `false` passes names through.'),
  describe: field(boolean(), true, 'Whether descriptions of tools begin with `[server]`.'),
  argumentChecks: field(
    argumentChecks,
    'on',
    'Whether [arguments are checked](errors.md#how-arguments-are-checked) against the schema of the tool; `off` checks nothing.',
  ),
  confirm: field(
    list(confirmRule, { expected: 'a list of names of tools and of { "annotations": "destructive" }' }),
    [],
    "The tools that [need the user's consent](policy.md#confirmations): patterns of the server's names, or `annotations`.",
  ),
}

export const onChange: Field<ChangeAction | undefined, ChangeAction> = optional(
  choice(...changeActions),
  'What follows from a change: a line in the log, an item that no client sees, or a server that is not used. Absent: warn.',
)

export function orSwitch<T, W>(type: ValueType<T, W>): ValueType<T | boolean, W | boolean> {
  return or([true, false], type, `true, false, or ${type.expected}`)
}

const serverLock: ValueType<
  boolean | ValuesOf<{ onChange: typeof onChange }>,
  boolean | WrittenOf<{ onChange: typeof onChange }>
> = orSwitch(object({ onChange }, { expected: 'an object like { "onChange": "fail" }', isClosed: true }))

/** The server's own names of its tools, or those that clients see. */
export const toolNames = { pattern: '^[^\\u0000]+$', hint: 'use the name of a tool' }

const toolFields = {
  allow: optional(names, "Only these tools are shown, by the server's own names."),
  deny: field(names, [], 'These tools are hidden.'),
  rename: field(map(toolNames, anyText), {}, "The server's own name of a tool -> the name that clients see."),
}

export const anyServerFields = {
  disabled: field(boolean(), false, 'Whether the server is not started.'),
  enabled: field(boolean(), true, 'As other clients write it: false is disabled.'),
  lazy: field(
    boolean(),
    false,
    'Whether it starts when a client first lists or calls it; it is `disconnected` until then.',
  ),
  keep: field(boolean(), true, 'Whether the lists of the server are [cached on disk](lists.md#kept-lists).'),
  protocol: field(
    choice(...protocols.keys()),
    'auto',
    'What the server speaks: `auto` [asks it](eras.md#servers), `legacy` begins with initialize, and a version is the one that is asked for.',
  ),
  startTimeout: field(
    timeMs,
    startMs,
    'Longest time in ms for the start, and for reading one list; 120000 by default for a program that [never listed](lists.md#the-first-list).',
  ),
  timeout: optional(
    milliseconds(1, { unlikelyBelow: 1000 }),
    '[Longest time](#time-limits) for a call in ms, which starts anew with progress. Absent: `cli.stdio.timeout`, 30000.',
  ),
  totalTimeout: optional(
    timeMs,
    'Longest time for a call in ms, progress and questions included. Absent: 600000, or `timeout` where that is longer.',
  ),
  tools: field(
    object(toolFields),
    {},
    'Which tools clients see: `allow` and `deny` are lists of names, `rename` has the name to show for a name.',
  ),
  lock: optional(
    serverLock,
    'Whether its lists are compared with [mcps.lock](lock.md): `false`, or `{ "onChange" }`. Absent: as beside the servers.',
  ),
  ...sharedFields,
}

const allowedHost = text({
  pattern: allowedHostPattern,
  expected:
    'a name with a dot, such as "example.com", "*.example.org" or "api.example.com:8443"; letters beyond ASCII as xn--',
})
const hosts = { expected: 'a list of hosts like ["api.example.com"]' }

const paths = list(path('any', 'a path'))

export const sandboxPrograms: Field<readonly string[] | undefined, readonly string[]> = optional(
  paths,
  'Folders in which bwrap and other programs for sandboxes are looked for, before /usr/bin, /usr/local/bin and /bin.',
)

const filesystemFields = {
  read: field(paths, [], 'Files and folders that the program may read. ${VAR} and ~ are expanded.'),
  write: field(paths, [], 'Folders that it may read and write. ${VAR} and ~ are expanded.'),
}

const processSandboxFields = {
  network: field(
    or(
      ['none', 'host'],
      list(allowedHost, hosts),
      'one of "none", "host", or a list of hosts like ["api.example.com"]',
    ),
    'none',
    'The hosts that the program reaches by HTTPS, "none" (the default) or "host".',
  ),
  filesystem: field(
    object(filesystemFields, {
      expected: 'an object like { "read": ["/srv"], "write": [] }',
      isClosed: true,
    }),
    {},
    'The files that it reads and writes besides those of the system.',
  ),
  programs: sandboxPrograms,
}

const processSandbox = object(processSandboxFields, {
  expected:
    'an object like { "network": ["api.example.com"], "filesystem": { "read": ["/srv"], "write": [] } }',
  isClosed: true,
  hints: new Map(Object.keys(filesystemFields).map((key) => [key, `write "filesystem": { "${key}": […] }`])),
})

const inheritedName = text({
  pattern: '^[^=*?\\s\\u0000]+$',
  expected: 'the name of a variable; for all of them write "inheritEnv": true',
})

export const stdioFields = {
  command: required(
    text({ pattern: '^[^\\u0000]+$', isExpanded: true, expected: 'the program to start' }),
    '',
    'The program, found through PATH, without a shell.',
  ),
  args: field(list(plainText), [], 'Its arguments.'),
  env: field(map(variableNames, plainText), {}, 'Environment variables for it.'),
  envFile: optional(
    expanded,
    'A file with more variables in dotenv format (`NAME=value`); `env` takes precedence.',
  ),
  inheritEnv: field(
    or([true], list(inheritedName), 'a list of strings, or true'),
    [],
    'Names of variables that it inherits from the proxy; `true` passes on all but `MCPS_PROXY_*`.',
  ),
  cwd: field(
    path('any'),
    '.',
    'Working folder, from the folder of the file; for a file in `.vscode` or `.cursor`, from the project around it.',
  ),
  restart: field(boolean(), true, 'Whether it is started again after it ended.'),
  restartDelay: field(
    pauseMs,
    1000,
    'Time in ms before the first restart; [doubles with every crash](processes.md#restarts), up to 30 s.',
  ),
  crashesMax: optional(
    integer(1, 1000),
    'After so many crashes within a minute, [no restart](processes.md#restarts) for 30 s. Absent: 5.',
  ),
  concurrency: field(
    integer(1, 10_000),
    64,
    'Calls in flight on each process; further ones wait. `1` sends a call when the one before it has ended.',
  ),
  processes: field(integer(1, 256), 1, 'Most processes that share the calls of clients that can share.'),
  isolation: field(
    choice('auto', 'shared', 'session'),
    'auto',
    '[Which clients share a process](processes.md#which-clients-share-a-process); `auto` gives clients that can be asked something one of their own.',
  ),
  idleTimeout: field(
    milliseconds(0),
    0,
    'Time in ms without a call after which the process stops until the next call; `0` disables this.',
  ),
  stopTimeout: field(
    milliseconds(1, { maximum: 3_600_000 }),
    5000,
    'Time in ms between SIGTERM and SIGKILL when [a process is stopped](processes.md#how-a-process-ends).',
  ),
  memoryLimitMB: optional(
    integer(1, 16_777_216),
    '[Most memory](processes.md#memory-limit) of the process and of the processes that it starts, in MiB.',
  ),
  sandbox: optional(
    processSandbox,
    '[Limits the files and hosts](sandboxed-servers.md) of the program to those that are named (Linux, bubblewrap).',
  ),
  onTimeout: field(
    choice('cancel', 'restart'),
    'cancel',
    'What happens to the process when a call or a list times out.',
  ),
}

const pemFile = path('file', 'a file')

const tlsFields = {
  ca: optional(
    path('file'),
    'A file (PEM) with the certificates of who is trusted, in place of those whom the machine trusts.',
  ),
  cert: optional(pemFile, 'A file (PEM) with the certificate that the proxy shows.'),
  key: optional(pemFile, 'A file (PEM) with its private key.'),
  servername: optional(
    text({ pattern: '^[A-Za-z0-9_-]+(\\.[A-Za-z0-9_-]+)*$', expected: 'a host name' }),
    'The name that the certificate of the server must have. Absent: the host of the url.',
  ),
}

/** How tokens are got: `code` and `device` need a person. */
type LoginGrant = 'code' | 'device' | UnattendedGrant['kind']

const identityProviderFields = {
  issuer: required(anyText, '', 'The identity provider, as its metadata names it.'),
  clientId: optional(anyText, 'The client at the identity provider.'),
  clientSecret: optional(secret, 'The secret of that client. ${VAR} is expanded.'),
}

const authFields = {
  type: required(
    choice('google', 'oauth', 'none'),
    'none',
    '"google" sends ID tokens with every request; "oauth" sends the token of a login; "none" sends nothing.',
  ),
  audience: optional(anyText, 'Whom the ID tokens are for. Absent: the origin of the url.'),
  impersonateServiceAccount: optional(
    text({ pattern: '^[^\\s@]+@[^\\s@]+$', expected: 'the email address of a service account' }),
    'The service account that the ID tokens are asked for as. Absent: whose the credentials are.',
  ),
  clientId: optional(anyText, 'The client at the authorization server. Absent: the proxy registers itself.'),
  clientSecret: optional(secret, 'The secret of that client. ${VAR} is expanded.'),
  grant: field(
    choice('code', 'device', 'client_credentials', 'jwt_bearer', 'token_exchange', 'id_jag'),
    'code',
    'How tokens are got. "code" is a login in the browser, "device" one by a code that is shown; the others need no person.',
  ),
  clientKey: optional(
    secret,
    'A private key (PEM) with which the client signs, in place of its secret. ${VAR} is expanded.',
  ),
  assertion: optional(
    secret,
    'The token that is shown for access tokens, of the grants jwt_bearer, token_exchange and id_jag. ${VAR} is expanded.',
  ),
  assertionFile: optional(
    path('file'),
    'A file with that token, read whenever it is shown. ${VAR} is expanded.',
  ),
  identityProvider: optional(
    object(identityProviderFields, { isClosed: true }),
    'The authorization server that turns the token into one for the authorization server, of the grant id_jag.',
  ),
  clientMetadataUrl: optional(
    text({ pattern: '^https://[^/?#\\s]+/[^\\s#]+$', expected: 'an https:// address with a path' }),
    'The address of the document about the client (CIMD), for authorization servers that read one.',
  ),
  scope: optional(anyText, 'The scopes to ask for. Absent: what the server wants.'),
  issuer: optional(
    anyText,
    'The only authorization server that is accepted, exactly as its metadata names it. Absent: the first that the server names.',
  ),
  pkce: field(
    choice('require', 'assume'),
    'require',
    '"assume" logs in at an authorization server whose metadata does not name its PKCE methods.',
  ),
  resource: optional(
    or([false], anyText),
    'The resource that tokens are asked for. Absent: as the server names it; false sends none.',
  ),
  callbackPort: optional(
    integer(1, 65_535),
    'The port on this machine to which the browser comes back, where the client is registered for one.',
  ),
  login: field(
    choice('auto', 'manual'),
    'auto',
    'Whether a browser opens by itself for a login, on a desktop.',
  ),
  perUser: field(
    boolean(),
    false,
    'Whether each user of the HTTP front has a login, by the name of the token or by issuer and subject. Otherwise all have one.',
  ),
}

const grantsOfTokens: readonly LoginGrant[] = ['jwt_bearer', 'token_exchange', 'id_jag']

const auth = object(authFields, {
  isClosed: true,
  excludes: [['assertion', 'assertionFile']],
  cases: [
    {
      key: 'grant',
      values: ['client_credentials', ...grantsOfTokens],
      keys: ['clientId'],
      expected: 'the id of the client at the authorization server',
    },
    {
      key: 'grant',
      values: ['client_credentials'],
      keys: ['clientSecret', 'clientKey'],
      expected: 'the secret of the client; or write its private key in "clientKey"',
    },
    {
      key: 'grant',
      values: grantsOfTokens,
      keys: ['assertion', 'assertionFile'],
      expected: 'the token that is shown; or name a file with it in "assertionFile"',
    },
    {
      key: 'grant',
      values: ['id_jag'],
      keys: ['identityProvider'],
      expected: 'like { "issuer": "https://idp.example.com", "clientId": "…" }',
    },
  ],
})

const otherLogin = object({
  clientId: authFields.clientId,
  clientSecret: authFields.clientSecret,
  callbackPort: authFields.callbackPort,
  scopes: optional(oneOrMany(anyText), 'The scopes to ask for, as a text or a list.'),
  authServerMetadataUrl: optional(anyText, 'The address of the metadata of the authorization server.'),
})

/** A character of a name in a header (RFC 9110, section 5.6.2). */
export const httpCharacter = "[!#$%&'*+.^_`|~0-9A-Za-z-]"

const headerNames = { pattern: `^${httpCharacter}+$`, hint: 'use the name of an HTTP header' }

const headerValue = text({
  pattern: '^[^\\u0000\\r\\n]*$',
  mayBeEmpty: true,
  isSecret: true,
  isExpanded: true,
  expected: 'one line of text',
})

const scheme = '[Hh][Tt][Tt][Pp][Ss]?://'
/** Readers of addresses do not agree where a host ends that has `"` or a backslash before its path. */
const host = '[^\\u0000-\\u0020/?#"\\\\]+'

/** An address may hold a password or a key at any place. */
const address = text({
  pattern: `^${scheme}${host}([/?#][^\\u0000-\\u0020]*)?$`,
  accepts: (text) => URL.canParse(text),
  isSecret: true,
  isExpanded: true,
  expected: 'an http:// or https:// address, such as "https://mcp.example.com/mcp"',
})

const proxyAddress = text({
  pattern: `^${scheme}${host}/?$`,
  accepts: (text) => URL.canParse(text),
  isSecret: true,
  isExpanded: true,
  expected:
    'the http:// or https:// address of a proxy, like "http://host:3128" or "http://name:password@host:3128", or false',
})

/** `url`, and its names in Windsurf and Gemini CLI. */
export const urlKeys = ['url', 'serverUrl', 'httpUrl'] as const

export const httpFields = {
  url: optional(address, 'The address of the MCP endpoint.'),
  serverUrl: optional(address, 'Another name of `url`, as Windsurf has it.'),
  httpUrl: optional(address, 'Another name of `url`, as Gemini CLI has it.'),
  headers: field(
    map(headerNames, headerValue),
    {},
    'Header fields of every request, sent to that origin only.',
  ),
  retries: field(
    integer(0, 100),
    3,
    'How often a message is sent again that was not accepted, or that only reads.',
  ),
  retryDelay: field(
    pauseMs,
    1000,
    'Time in ms before the first retry; doubles with every retry. `Retry-After` takes precedence.',
  ),
  proxy: optional(
    or([false], proxyAddress),
    '[The proxy](#proxies-and-certificates) to this server, `"http://name:password@host:3128"`, or `false` for none. Absent: `HTTPS_PROXY` or `HTTP_PROXY`.',
  ),
  auth: optional(
    auth,
    '`{ "type": "oauth" }` with the keys of [a login](login.md#keys-of-the-configuration), `{ "type": "google" }` with ID tokens for [Cloud Run](command-line.md#cloud-run), `audience` and `impersonateServiceAccount`, or `{ "type": "none" }`. Absent: the token of a login, if `headers` and the address have no key.',
  ),
  oauth: optional(
    otherLogin,
    'A login as other clients write it: `clientId`, `clientSecret`, `callbackPort`, `scopes`, `authServerMetadataUrl`.',
  ),
  tls: optional(
    // A certificate is of no use without its key, and a key without its certificate.
    object(tlsFields, {
      needs: [
        ['cert', 'key'],
        ['key', 'cert'],
      ],
    }),
    '[Certificates](#proxies-and-certificates): `ca`, `cert` and `key` are PEM files; `servername` is the name in the certificate of the server.',
  ),
}

/** The older transport has no revision without sessions. */
const sseProtocols = [...protocols.keys()].filter((name) => protocols.get(name) !== 'stateless')

/** The keys of every server, as those of the older transport have them. */
export const anySseFields = {
  ...anyServerFields,
  protocol: field(choice(...sseProtocols), 'auto', anyServerFields.protocol.about),
}

export const sseFields = {
  reconnectInterval: field(
    pauseMs,
    1000,
    'Only `sse`: time in ms before a lost event stream is opened again.',
  ),
  maxRetries: field(integer(0, 100), 5, 'Only `sse`: what `retries` is for `http`.'),
}

const day = 86_400

const allowFields = {
  allow: required(
    list(allowedHost, { ...hosts, min: 1 }),
    [],
    'Hosts that code reaches over https://; "*." stands for every name below. Without a port: 443.',
  ),
}

const network = or(
  ['none', 'host'],
  object(allowFields),
  'one of "none", "host", or an object like { "allow": ["example.com"] }',
)

/** The templates that always exist; a configured one of the same name replaces it. Others name their language. */
export const ownTemplates = ['python', 'node'] as const

const templateFields = {
  language: optional(choice(...ownTemplates), 'The language of its code.'),
  interpreter: optional(path('any'), 'The interpreter, a path on this machine. Absent: it is looked for.'),
  image: optional(anyText, 'The image, for runtimes that have images.'),
  env: field(
    map(variableNames, plainText),
    {},
    'Environment variables for all programs of a session. ${VAR} is expanded.',
  ),
}

export const template = object(templateFields)
const templateRef = { $ref: '#/$defs/template' }
const anyTemplates = map(plainNames, template, 'an object')

const templates: typeof anyTemplates = {
  ...anyTemplates,
  schema: {
    ...anyTemplates.schema,
    properties: Object.fromEntries(ownTemplates.map((name) => [name, templateRef])),
    additionalProperties: { type: 'object', ...templateRef, required: ['language'] },
  },
  read: (at) => {
    for (const [name] of at.members)
      if (
        !ownTemplates.some((own) => own === name) &&
        isObject(at.at(name).value) &&
        !at.at(name).has('language')
      )
        at.at(name).at('language').problem('is missing', `must be ${templateFields.language.type.expected}`)
    return anyTemplates.read(at)
  },
}

export const sandboxFields = {
  runtime: orVariable(
    'MSB_RUNTIME',
    field(
      choice('auto', 'bubblewrap', 'container', 'microsandbox-server'),
      'auto',
      '[What runs the code](sandbox.md#runtimes); `auto` takes `bubblewrap`, else `container`, whichever can be used here.',
    ),
  ),
  serverUrl: orVariable(
    'MSB_SERVER_URL',
    optional(
      text({
        pattern: `^${scheme}[^\\u0000-\\u0020]+$`,
        isSecret: true,
        isExpanded: true,
        expected: 'an http:// or https:// address',
      }),
      'The address of a microsandbox server, for the runtime of that name.',
    ),
  ),
  apiKey: orVariable('MSB_API_KEY', optional(secret, 'Its key.')),
  sessionTimeout: orVariable(
    'MSB_SESSION_TIMEOUT',
    field(seconds(1, 30 * day), 1800, 'An unused session ends after so many seconds.'),
  ),
  cleanupInterval: orVariable(
    'MSB_CLEANUP_INTERVAL',
    optional(
      seconds(1, day),
      'Seconds between two looks for such sessions. Absent: 60, or `sessionTimeout` where that is shorter.',
    ),
  ),
  orphanCleanupInterval: orVariable(
    'MSB_ORPHAN_CLEANUP_INTERVAL',
    field(seconds(1, day), 600, 'Seconds between two looks for what services left behind that were killed.'),
  ),
  maxSessions: orVariable('MSB_MAX_SESSIONS', field(integer(1, 10_000), 10, 'Most sessions at once.')),
  enableLruEviction: orVariable(
    'MSB_ENABLE_LRU_EVICTION',
    field(boolean(), true, 'Whether a new session may end the one that was idle for longest.'),
  ),
  maxTotalMemoryMb: orVariable(
    'MSB_MAX_TOTAL_MEMORY_MB',
    optional(
      integer(1, 16_777_216),
      'Most memory of all sessions together, by their flavors, in MiB. Absent: no limit.',
    ),
  ),
  defaultFlavor: orVariable(
    'MSB_DEFAULT_FLAVOR',
    field(
      choice('small', 'medium', 'large'),
      'small',
      'What a session gets that names no flavor. `small`: 1 CPU, 1024 MiB, 256 processes, 1 GiB of files; `medium`: 2, 2048, 512, 2; `large`: 4, 4096, 1024, 4.',
    ),
  ),
  sandboxStartTimeout: orVariable(
    'MSB_SANDBOX_START_TIMEOUT',
    field(seconds(1, 3600), 180, 'Longest time for the start of a session, in seconds.'),
  ),
  executionTimeout: orVariable(
    'MSB_EXECUTION_TIMEOUT',
    field(seconds(1, day), 300, 'Longest time for a call that names none, in seconds.'),
  ),
  maxTimeout: optional(
    seconds(1, day),
    'Longest time that a call may name, in seconds. Absent: 300, or `executionTimeout` where that is longer.',
  ),
  volumes: orVariable(
    'MSB_SHARED_VOLUME_PATH',
    field(
      list(
        text({
          pattern: '^[^:\\u0000]+:/[^:\\u0000]*(:r[ow])?$',
          isExpanded: true,
          expected: 'like "/srv/data:/data" or "/srv/data:/data:ro"',
        }),
      ),
      [],
      'Folders of this machine that sessions see, each as `host:guest` or `host:guest:ro`.',
    ),
  ),
  runAs: optional(
    text({
      pattern: '^[^:\\s\\u0000]+(:[^:\\s\\u0000]+)?$',
      expected: 'like "ann", "ann:staff" or "1000:1000"',
    }),
    '[User for the code](sandbox.md#bubblewrap) if the proxy is root: `ann`, `ann:staff`, or numbers as `1000:1000`. Absent: a user for each session.',
  ),
  network: field(
    network,
    'none',
    'What code may reach: nothing, [the hosts](sandbox.md#hosts-that-code-may-reach) of `{ "allow": ["example.com"] }`, or with `host` all that this machine can.',
  ),
  files: field(boolean(), true, 'Whether clients can read and write files of sessions.'),
  outputMax: field(
    size(1024, 16 * 1024 ** 2),
    64 * 1024,
    'Most bytes of one stream in a result; the middle of a longer one is left out.',
  ),
  sessions: optional(
    choice('shared', 'client'),
    'Who sees a session: with `client` each user, with `shared` all clients. Absent: `client` where the front has a token, else `shared`.',
  ),
  templates: field(
    templates,
    {},
    'Name to `language` (`python` or `node`), `interpreter` (a path), `image` and `env`; `python` and `node` always exist.',
  ),
}

export const typeNames = {
  stdio: ['stdio'],
  http: ['http', 'streamable-http', 'streamableHttp'],
  sse: ['sse'],
  sandbox: ['sandbox'],
} as const

const aboutType = 'Absent: stdio when there is a command, http when there is a url.'

export const serverFields = {
  stdio: { ...anyServerFields, type: optional(choice(...typeNames.stdio), aboutType), ...stdioFields },
  http: { ...anyServerFields, type: optional(choice(...typeNames.http), aboutType), ...httpFields },
  sse: {
    ...anySseFields,
    type: required(choice(...typeNames.sse), 'sse', aboutType),
    ...httpFields,
    ...sseFields,
  },
  sandbox: {
    ...anyServerFields,
    type: required(choice(...typeNames.sandbox), 'sandbox', aboutType),
    ...sandboxFields,
  },
}

export const remoteRules: ObjectRules = { oneOf: urlKeys }

type Address = Readonly<Record<'url', string> | Record<'serverUrl', string> | Record<'httpUrl', string>>

/** A program that is started and spoken to on its stdin and stdout. */
export type StdioServerJson = WrittenOf<typeof serverFields.stdio>
/** A server reached over Streamable HTTP. */
export type HttpServerJson = WrittenOf<typeof serverFields.http> & Address
/** A server reached over the older HTTP+SSE transport. */
export type SseServerJson = WrittenOf<typeof serverFields.sse> & Address
/** Code of clients, run in sandboxes of this process. */
export type SandboxServerJson = WrittenOf<typeof serverFields.sandbox>
export type ServerJson = StdioServerJson | HttpServerJson | SseServerJson | SandboxServerJson

/** The servers under one key, which are read one by one; `json-schema.ts` has the schema of one. */
export const servers: ValueType<Location | undefined, Readonly<Record<string, ServerJson>>> = {
  expected: 'an object',
  schema: { $ref: '#/$defs/servers' },
  unit: '',
  read: (at) => at,
}
