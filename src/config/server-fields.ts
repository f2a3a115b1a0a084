// Every key of a server: its kind, its default, what it is for.

import type { ArgumentErrors, ArgumentStrictness, HttpAuth } from '../upstream/contracts/server-config.js'
import { boolean, choice, integer, list, map, orFalse, text } from './kinds.js'
import { field, optional } from './section.js'
import type { FieldsOf } from './section.js'
import { type TimeValues, timeFields } from './times.js'

/** Waits between attempts: an hour is already longer than anybody waits. */
const pauseMsMax = 3_600_000

const names = list(text())

/** The keys of a server that may also stand beside `mcpServers`, for all servers there. */
export interface SharedValues {
  prefix: boolean
  describe: boolean
  argumentErrors: ArgumentErrors
  argumentChecks: ArgumentStrictness
}

export const sharedFields: FieldsOf<SharedValues> = {
  prefix: field(boolean(), true, 'Public names are server__name; false passes names through untouched.'),
  describe: field(boolean(), true, 'Descriptions of tools begin with [server].'),
  argumentErrors: field(
    choice('auto', 'protocol', 'tool', 'off'),
    'auto',
    'How arguments that fail a schema are answered; auto follows the revision of the client.',
  ),
  argumentChecks: field(
    choice('lenient', 'strict'),
    'lenient',
    'Whether arguments pass that fail a schema but that a tolerant server puts right itself.',
  ),
}

export interface ServerValues extends TimeValues {
  disabled: boolean
  lazy: boolean
  keep: boolean
}

export const serverFields: FieldsOf<ServerValues> = {
  disabled: field(boolean(), false, 'A disabled server is not started.'),
  lazy: field(boolean(), false, 'Starts when a client first asks for a list or calls something of it.'),
  keep: field(
    boolean(),
    true,
    'Whether what the server lists is kept for the next start; false shows it only once it has started.',
  ),
  ...timeFields,
}

export interface ToolValues {
  allow: readonly string[] | undefined
  deny: readonly string[]
  rename: ReadonlyMap<string, string>
}

const toolName = { keyPattern: '^[^\\u0000]+$', keyWanted: 'use the name of a tool', value: text() }

export const toolFields: FieldsOf<ToolValues> = {
  allow: optional(names, "Only these tools are shown, by the server's own names."),
  deny: field(names, [], 'These tools are hidden.'),
  rename: field(map(toolName), new Map(), "The server's own name of a tool -> the name that clients see."),
}

export interface HttpServerValues {
  url: string
  serverUrl: string | undefined
  httpUrl: string | undefined
  headers: ReadonlyMap<string, string>
  retries: number
  retryDelay: number
  proxy: string | false | undefined
}

/** The keys of `tls`. */
export interface TlsValues {
  ca: string | undefined
  cert: string | undefined
  key: string | undefined
  servername: string | undefined
}

export const tlsFields: FieldsOf<TlsValues> = {
  ca: optional(
    text(),
    'A file (PEM) with the certificates of who is trusted, in place of those whom the machine trusts.',
  ),
  cert: optional(text(), 'A file (PEM) with the certificate that the proxy shows.'),
  key: optional(text(), 'A file (PEM) with its private key.'),
  servername: optional(
    text({ pattern: '^[A-Za-z0-9_-]+(\\.[A-Za-z0-9_-]+)*$', wanted: 'a host name' }),
    'The name that the certificate of the server must have. Absent: the host of the url.',
  ),
}

/** How the proxy authenticates at a remote server. */
export interface AuthValues {
  type: HttpAuth['type'] | undefined
  audience: string | undefined
  impersonateServiceAccount: string | undefined
}

export const authFields: FieldsOf<AuthValues> = {
  type: optional(
    choice('google', 'none'),
    '"google" sends ID tokens with every request; "none" sends nothing.',
  ),
  audience: optional(text(), 'Whom the ID tokens are for. Absent: the origin of the url.'),
  impersonateServiceAccount: optional(
    text({ pattern: '^[^\\s@]+@[^\\s@]+$', wanted: 'the email address of a service account' }),
    'The service account that the ID tokens are asked for as. Absent: whose the credentials are.',
  ),
}

const headerName = {
  keyPattern: "^[!#$%&'*+.^_`|~0-9A-Za-z-]+$",
  keyWanted: 'use the name of an HTTP header',
  value: text({ pattern: '^[^\\u0000\\r\\n]*$', mayBeEmpty: true, secret: true, wanted: 'one line of text' }),
}

const addressRules = {
  pattern: '^([Hh][Tt][Tt][Pp][Ss]?://[^\\u0000-\\u0020]+|[^\\u0000]*\\$\\{[^\\u0000]*)$',
  // It may hold a password or a key, wherever in it those stand.
  secret: true,
}

const address = text({ ...addressRules, wanted: 'an http:// or https:// address' })

export const httpServerFields: FieldsOf<HttpServerValues> = {
  url: field(address, '', 'Address of the MCP endpoint. ${VAR} is expanded.'),
  serverUrl: optional(address, 'Another name of url, as Windsurf has it.'),
  httpUrl: optional(address, 'Another name of url, as Gemini CLI has it.'),
  headers: field(map(headerName), new Map(), 'Headers sent with every request. ${VAR} is expanded.'),
  retries: field(integer(0, 100), 3, 'How often a failed request is tried again.'),
  retryDelay: field(integer(0, pauseMsMax), 1000, 'Milliseconds before the first retry.'),
  proxy: optional(
    orFalse(text({ ...addressRules, wanted: 'the http:// or https:// address of a proxy, or false' })),
    'The proxy on the way to the server; false for none. Absent: HTTPS_PROXY or HTTP_PROXY. ${VAR} is expanded.',
  ),
}

export interface SseServerValues {
  reconnectInterval: number
  maxRetries: number
}

export const sseServerFields: FieldsOf<SseServerValues> = {
  reconnectInterval: field(
    integer(0, pauseMsMax),
    1000,
    'Milliseconds before a lost event stream is opened again.',
  ),
  maxRetries: field(integer(0, 100), 5, 'What retries is for http; it stands above retries.'),
}

/** `type` as files write it -> the kind of server that it means. */
export const kindByType = {
  stdio: 'stdio',
  http: 'http',
  sse: 'sse',
  'streamable-http': 'http',
  streamableHttp: 'http',
} as const

export const serverTypes: ReadonlyMap<string, 'stdio' | 'http' | 'sse'> = new Map(Object.entries(kindByType))
