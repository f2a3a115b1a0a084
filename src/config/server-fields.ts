// The keys that servers of several kinds have: type, default and purpose of each. `stdio-server.ts` has those of stdio alone.

import type { ServerConfig, ServerProtocol, UnattendedGrant } from '../upstream/contracts/server-config.js'
import { sessionRevisions, latestStateless } from '../mcp/revisions.js'
import {
  type Kind,
  type NameRule,
  boolean,
  choice,
  integer,
  list,
  map,
  milliseconds,
  oneOrMany,
  or,
  text,
  timeout,
  toolNames,
} from './kinds.js'
import { confirmRules } from './policy.js'
import { type ValuesOf, type Rules, defaultsOf, field, object, optional } from './section.js'

/** Waits between attempts: an hour is already longer than a person waits. */
const pauseMsMax = 3_600_000

const names = list(text())

const onOrOff = choice('on', 'off')

const argumentChecks: Kind<'on' | 'off'> = {
  ...onOrOff,
  read: (value, spot) => {
    if (value !== 'strict') return onOrOff.read(value === 'lenient' ? 'on' : value, spot)
    spot.findings.problem(
      spot.path,
      'is "strict", which is gone',
      'write "on", by which arguments pass that a tolerant server puts right itself',
    )
    return undefined
  },
}

export const sharedFields = {
  prefix: field(boolean(), true, 'Public names are server__name; false passes names through untouched.'),
  describe: field(boolean(), true, 'Descriptions of tools begin with [server].'),
  argumentChecks: field(
    argumentChecks,
    'on',
    'Whether arguments that fail the schema of their tool are refused, except those that a tolerant server puts right itself.',
  ),
  confirm: field(
    confirmRules,
    [],
    "The tools before whose calls the user of the client is asked, by the server's own names or their annotations.",
  ),
}

export type SharedValues = ValuesOf<typeof sharedFields>

/** The times of one tool, or of all tools of a server. */
export type CallTimeValues = Pick<ServerValues, 'timeout' | 'totalTimeout'>

/** `protocol` as files write it -> what the server is taken to speak. */
export const protocols: ReadonlyMap<string, ServerProtocol> = new Map([
  ['auto', 'auto'],
  ['legacy', 'handshake'],
  ...sessionRevisions.map(({ version }) => [version, 'handshake'] as const),
  [latestStateless.version, 'stateless'],
])

const time = milliseconds(1)
/** A cold package runner needs most of this. */
const startMs = 30_000

export const serverFields = {
  disabled: field(boolean(), false, 'A disabled server is not started.'),
  enabled: field(boolean(), true, 'As other clients write it: false is disabled.'),
  lazy: field(boolean(), false, 'Starts when a client first asks for a list or calls something of it.'),
  keep: field(
    boolean(),
    true,
    'Whether what the server lists is kept for the next start; false shows it only once it has started.',
  ),
  protocol: field(
    choice(...protocols.keys()),
    'auto',
    'What the server speaks; auto asks it, legacy begins with initialize, a version with sessions offers that version, and one without asks for nothing else.',
  ),
  startTimeout: field(
    time,
    startMs,
    'Longest time for a start with the handshake, and for reading one list, in milliseconds.',
  ),
  timeout: optional(
    timeout(),
    'Longest time for a call in milliseconds, extended by progress. Absent: cli.stdio.timeout.',
  ),
  totalTimeout: optional(
    time,
    'Longest time for a call in milliseconds, whatever its progress. Absent: 600000, or timeout where that is longer.',
  ),
}

export type ServerValues = ValuesOf<typeof serverFields>

const toolFields = {
  allow: optional(names, "Only these tools are shown, by the server's own names."),
  deny: field(names, [], 'These tools are hidden.'),
  rename: field(
    map(toolNames, text()),
    new Map(),
    "The server's own name of a tool -> the name that clients see.",
  ),
}

/** The key `tools` of every server. */
export const toolsFields = {
  tools: field(object(toolFields), defaultsOf(toolFields), 'Which tools clients see, and under which names.'),
}

const file = text({ wanted: 'a file' })

const tlsFields = {
  ca: optional(
    text(),
    'A file (PEM) with the certificates of who is trusted, in place of those whom the machine trusts.',
  ),
  cert: optional(file, 'A file (PEM) with the certificate that the proxy shows.'),
  key: optional(file, 'A file (PEM) with its private key.'),
  servername: optional(
    text({ pattern: '^[A-Za-z0-9_-]+(\\.[A-Za-z0-9_-]+)*$', wanted: 'a host name' }),
    'The name that the certificate of the server must have. Absent: the host of the url.',
  ),
}

/** How tokens are got: `code` and `device` need a person. */
export type LoginGrant = 'code' | 'device' | UnattendedGrant['kind']

const identityProviderFields = {
  issuer: field(text(), '', 'The identity provider, as its metadata names it.'),
  clientId: optional(text(), 'The client at the identity provider.'),
  clientSecret: optional(text({ secret: true }), 'The secret of that client. ${VAR} is expanded.'),
}

const authFields = {
  type: optional(
    choice('google', 'oauth', 'none'),
    '"google" sends ID tokens with every request; "oauth" sends the token of a login; "none" sends nothing.',
  ),
  audience: optional(text(), 'Whom the ID tokens are for. Absent: the origin of the url.'),
  impersonateServiceAccount: optional(
    text({ pattern: '^[^\\s@]+@[^\\s@]+$', wanted: 'the email address of a service account' }),
    'The service account that the ID tokens are asked for as. Absent: whose the credentials are.',
  ),
  clientId: optional(text(), 'The client at the authorization server. Absent: the proxy registers itself.'),
  clientSecret: optional(text({ secret: true }), 'The secret of that client. ${VAR} is expanded.'),
  grant: optional(
    choice('code', 'device', 'client_credentials', 'jwt_bearer', 'token_exchange', 'id_jag'),
    'How tokens are got. "code" is a login in the browser, "device" one by a code that is shown; the others need no person. Absent: code.',
  ),
  clientKey: optional(
    text({ secret: true }),
    'A private key (PEM) with which the client signs, in place of its secret. ${VAR} is expanded.',
  ),
  assertion: optional(
    text({ secret: true }),
    'The token that is shown for access tokens, of the grants jwt_bearer, token_exchange and id_jag. ${VAR} is expanded.',
  ),
  assertionFile: optional(text(), 'A file with that token, read whenever it is shown. ${VAR} is expanded.'),
  identityProvider: optional(
    object(identityProviderFields, undefined, { required: ['issuer'], isClosed: true }),
    'The authorization server that turns the token into one for the authorization server, of the grant id_jag.',
  ),
  clientMetadataUrl: optional(
    text({ pattern: '^https://[^/?#\\s]+/[^\\s#]+$', wanted: 'an https:// address with a path' }),
    'The address of the document about the client (CIMD), for authorization servers that read one.',
  ),
  scope: optional(text(), 'The scopes to ask for. Absent: what the server wants.'),
  issuer: optional(
    text(),
    'The only authorization server that is accepted, exactly as its metadata names it. Absent: the first that the server names.',
  ),
  pkce: optional(
    choice('require', 'assume'),
    '"assume" logs in at an authorization server whose metadata does not name its PKCE methods. Absent: require.',
  ),
  resource: optional(
    or([false], text()),
    'The resource that tokens are asked for. Absent: as the server names it; false sends none.',
  ),
  callbackPort: optional(
    integer(1, 65_535),
    'The port on this machine to which the browser comes back, where the client is registered for one.',
  ),
  login: optional(
    choice('auto', 'manual'),
    'Whether a browser opens by itself for a login, on a desktop. Absent: auto.',
  ),
  perUser: optional(
    boolean(),
    'Whether each user of the HTTP front has a login, by the name of the token or by issuer and subject. Absent: one login for all.',
  ),
}

export type AuthValues = ValuesOf<typeof authFields>

const grantsOfTokens: readonly LoginGrant[] = ['jwt_bearer', 'token_exchange', 'id_jag']
const unattendedGrants: readonly LoginGrant[] = ['client_credentials', ...grantsOfTokens]

const authRules: Rules = {
  isClosed: true,
  required: ['type'],
  excludes: [['assertion', 'assertionFile']],
  cases: [
    {
      key: 'grant',
      values: unattendedGrants,
      keys: ['clientId'],
      wanted: 'the id of the client at the authorization server',
    },
    {
      key: 'grant',
      values: ['client_credentials'],
      keys: ['clientSecret', 'clientKey'],
      wanted: 'the secret of the client; or write its private key in "clientKey"',
    },
    {
      key: 'grant',
      values: grantsOfTokens,
      keys: ['assertion', 'assertionFile'],
      wanted: 'the token that is shown; or name a file with it in "assertionFile"',
    },
    {
      key: 'grant',
      values: ['id_jag'],
      keys: ['identityProvider'],
      wanted: 'like { "issuer": "https://idp.example.com", "clientId": "…" }',
    },
  ],
}

const otherLoginFields = {
  clientId: authFields.clientId,
  clientSecret: authFields.clientSecret,
  callbackPort: authFields.callbackPort,
  scopes: optional(oneOrMany(text()), 'The scopes to ask for, as a text or a list.'),
  authServerMetadataUrl: optional(text(), 'The address of the metadata of the authorization server.'),
}

const headerNames: NameRule = {
  pattern: "^[!#$%&'*+.^_`|~0-9A-Za-z-]+$",
  hint: 'use the name of an HTTP header',
}

const headerValue = text({
  pattern: '^[^\\u0000\\r\\n]*$',
  mayBeEmpty: true,
  secret: true,
  wanted: 'one line of text',
})

const scheme = '[Hh][Tt][Tt][Pp][Ss]?://'
/** Readers of addresses do not agree where a host ends that has `"` or a backslash before its path. */
const host = '[^\\u0000-\\u0020/?#"\\\\]+'
/** An address with a variable is checked after the variable is expanded. */
const withVariable = '[^\\u0000]*\\$\\{[^\\u0000]*'

const address = text({
  pattern: `^(${scheme}${host}([/?#][^\\u0000-\\u0020]*)?|${withVariable})$`,
  // An address may hold a password or a key at any place.
  secret: true,
  wanted: 'an http:// or https:// address, such as "https://mcp.example.com/mcp"',
})

const proxyAddress = text({
  pattern: `^(${scheme}${host}/?|${withVariable})$`,
  secret: true,
  wanted:
    'the http:// or https:// address of a proxy, like "http://host:3128" or "http://name:password@host:3128", or false',
})

/** `url`, and its names in Windsurf and Gemini CLI. */
export const urlKeys = ['url', 'serverUrl', 'httpUrl'] as const

export const httpServerRules: Rules = { oneOf: urlKeys }

export const httpServerFields = {
  url: field(address, '', 'Address of the MCP endpoint. ${VAR} is expanded.'),
  serverUrl: optional(address, 'Another name of url, as Windsurf has it.'),
  httpUrl: optional(address, 'Another name of url, as Gemini CLI has it.'),
  headers: field(
    map(headerNames, headerValue),
    new Map(),
    'Headers sent with every request. ${VAR} is expanded.',
  ),
  retries: field(integer(0, 100), 3, 'How often a failed request is tried again.'),
  retryDelay: field(integer(0, pauseMsMax), 1000, 'Milliseconds before the first retry.'),
  proxy: optional(
    or([false], proxyAddress),
    'The proxy on the way to the server; false for none. Absent: HTTPS_PROXY or HTTP_PROXY. ${VAR} is expanded.',
  ),
  auth: optional(
    object(authFields, undefined, authRules),
    'How the proxy authenticates, besides the headers.',
  ),
  oauth: optional(object(otherLoginFields), 'The login, as other clients write it.'),
  tls: optional(
    // A certificate is of no use without its key, and a key without its certificate.
    object(tlsFields, undefined, {
      needs: [
        ['cert', 'key'],
        ['key', 'cert'],
      ],
    }),
    'What TLS is spoken with, besides what the machine has.',
  ),
}

export type HttpServerValues = ValuesOf<typeof httpServerFields>

export const sseServerFields = {
  reconnectInterval: field(
    integer(0, pauseMsMax),
    1000,
    'Milliseconds before a lost event stream is opened again.',
  ),
  maxRetries: field(integer(0, 100), 5, 'What retries is for http; it stands above retries.'),
}

export type SseServerValues = ValuesOf<typeof sseServerFields>

/** `type` as files write it -> the kind of server that it means. */
export const kindByType = {
  stdio: 'stdio',
  http: 'http',
  sse: 'sse',
  'streamable-http': 'http',
  streamableHttp: 'http',
  sandbox: 'sandbox',
} as const

export const serverTypes: ReadonlyMap<string, ServerConfig['kind']> = new Map(Object.entries(kindByType))

/** Keys of a server in other clients' files that the proxy does not have, with what to write instead. */
export const serverKeyHints: ReadonlyMap<string, string> = new Map([
  ['includeTools', 'write "tools": { "allow": […] }'],
  ['excludeTools', 'write "tools": { "deny": […] }'],
  ['disabledTools', 'write "tools": { "deny": […] }'],
  ...['trust', 'alwaysAllow', 'autoApprove', 'alwaysLoad'].map(
    (key) => [key, 'clients decide that for themselves, so take it out'] as const,
  ),
])
