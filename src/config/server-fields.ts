// Every key of a server: its kind, its default, what it is for.

import type { ArgumentErrors, ArgumentStrictness, HttpAuth, Isolation } from '../upstream/server-config.js'
import { boolean, choice, delayMsMax, integer, list, map, orFalse, text } from './kinds.js'
import { field, optional } from './section.js'
import type { FieldsOf } from './section.js'
import { type TimeValues, timeFields } from './times.js'

/** Waits between attempts: an hour is already longer than anybody waits. */
const pauseMsMax = 3_600_000

const secretText = text({ mayBeEmpty: true, secret: true, wanted: 'a string without NUL characters' })
const names = list(text())

/** What a server says, or what stands beside `mcpServers` for all of them. */
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

export interface StdioServerValues {
  command: string
  args: readonly string[]
  env: ReadonlyMap<string, string>
  inheritEnv: readonly string[]
  cwd: string | undefined
  restart: boolean
  restartDelay: number
  concurrency: number
  processes: number
  isolation: Isolation
  idleTimeout: number
  memoryLimitMB: number | undefined
  onTimeout: 'cancel' | 'restart'
}

const variableName = {
  keyPattern: '^[^=\\u0000]+$',
  keyWanted: 'use the name of an environment variable',
  value: secretText,
}

export const stdioServerFields: FieldsOf<StdioServerValues> = {
  command: field(text(), '', 'Program to start, found through PATH; never a shell. ${VAR} is expanded.'),
  args: field(list(secretText), [], 'Arguments of the program. ${VAR} and ${VAR:-fallback} are expanded.'),
  env: field(map(variableName), new Map(), 'Environment variables for the program. ${VAR} is expanded.'),
  inheritEnv: field(names, [], 'Names of environment variables that the program gets from the proxy.'),
  cwd: optional(text(), 'Working folder. Absent: the folder of this file. ${VAR} is expanded.'),
  restart: field(boolean(), true, 'Whether a program that ended is started again.'),
  restartDelay: field(
    integer(0, pauseMsMax),
    1000,
    'Milliseconds before the first restart; grows with every crash.',
  ),
  concurrency: field(integer(1, 10_000), 64, 'Calls in flight at once; 1 is strictly one call at a time.'),
  processes: field(integer(1, 256), 1, 'Most processes that share the calls of clients that can share.'),
  isolation: field(
    choice('auto', 'shared', 'session'),
    'auto',
    'Who shares a process: auto gives clients that can be asked something one of their own.',
  ),
  idleTimeout: field(
    integer(0, delayMsMax),
    0,
    'Stop a process that had no call for this many milliseconds; 0 never does.',
  ),
  memoryLimitMB: optional(
    integer(1, 16_777_216),
    'Most memory of one process of the server, with all that it starts, in MiB; above it they are ended.',
  ),
  onTimeout: field(
    choice('cancel', 'restart'),
    'cancel',
    'What happens to the program when a call times out, or the reading of its lists.',
  ),
}

export interface HttpServerValues {
  url: string
  headers: ReadonlyMap<string, string>
  retries: number
  retryDelay: number
  proxy: string | false | undefined
}

/** What TLS is spoken with to a remote server. */
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

export const httpServerFields: FieldsOf<HttpServerValues> = {
  url: field(
    text({
      pattern: '^([Hh][Tt][Tt][Pp][Ss]?://[^\\u0000-\\u0020]+|[^\\u0000]*\\$\\{[^\\u0000]*)$',
      wanted: 'an http:// or https:// address',
      // It may hold a password or a key, wherever in it those stand.
      secret: true,
    }),
    '',
    'Address of the MCP endpoint. ${VAR} is expanded.',
  ),
  headers: field(map(headerName), new Map(), 'Headers sent with every request. ${VAR} is expanded.'),
  retries: field(integer(0, 100), 3, 'How often a failed request is tried again.'),
  retryDelay: field(integer(0, pauseMsMax), 1000, 'Milliseconds before the first retry.'),
  proxy: optional(
    orFalse(
      text({
        pattern: '^([Hh][Tt][Tt][Pp][Ss]?://[^\\u0000-\\u0020]+|[^\\u0000]*\\$\\{[^\\u0000]*)$',
        wanted: 'the http:// or https:// address of a proxy, or false',
        secret: true,
      }),
    ),
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
  maxRetries: field(integer(0, 100), 5, 'How often a lost event stream is opened again.'),
}

/** `type` as files write it -> the kind of server that it means. */
export const serverTypes: ReadonlyMap<string, 'stdio' | 'http' | 'sse'> = new Map([
  ['stdio', 'stdio'],
  ['http', 'http'],
  ['sse', 'sse'],
  ['streamable-http', 'http'],
  ['streamableHttp', 'http'],
])
