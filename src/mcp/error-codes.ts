// The error numbers of JSON-RPC and MCP, and the errors of the proxy itself.
//
// Nothing else in the project writes an error number. Every row is one row of the error table in docs/errors.md.

import type { ErrorBody } from '../jsonrpc/build.js'
import type { FrameError } from '../jsonrpc/jsonrpc-errors.js'
import type { ErrorFrame } from '../jsonrpc/frame.js'
import { membersAt, membersOf } from '../jsonrpc/members.js'
import type { Span } from '../jsonrpc/scan.js'
import { rawAt, write } from '../jsonrpc/text.js'
import { counted } from '../text/counted.js'
import type { RequestRow } from './methods.js'

const PARSE_ERROR = -32700
const INVALID_REQUEST = -32600
const METHOD_NOT_FOUND = -32601
const INVALID_PARAMS = -32602
const INTERNAL_ERROR = -32603
const RESOURCE_NOT_FOUND = -32002
const DECLINED = -1
const HEADER_MISMATCH = -32020
const MISSING_CAPABILITY = -32021
const UNSUPPORTED_VERSION = -32022
// The numbers that other HTTP servers use and that clients expect.
const TRANSPORT_ERROR = -32000
const SESSION_NOT_FOUND = -32001
const SCHEMA_NOT_FOUND = 404
/** Numbers whose meaning only the specification defines (MCP 2026-07-28, Overview: error codes). */
const RESERVED_FIRST = -32099
const RESERVED_LAST = -32020
/** Numbers that a server may define itself (JSON-RPC 2.0, section 5.1). */
const OWN_FIRST = -32099
const OWN_LAST = -32000

/** Why a server could not answer; the value of `data.reason`. */
export type FailureReason =
  | 'unavailable'
  | 'spawn-failed'
  | 'handshake-failed'
  | 'exited'
  | 'memory-limit'
  | 'closed'
  | 'timeout'
  | 'overloaded'
  | 'too-large'
  | 'invalid-answer'
  | 'input-required'
  | 'unauthorized'
  | 'login-required'
  | 'http-status'
  | 'changed'
  | 'shutting-down'
  | 'instance-lost'

/** Further values of `data.reason`, for calls that the policy of the configuration refuses. */
const RATE_LIMITED = 'rate-limited'
const STORE_AWAY = 'store-away'

// The meaning of the error numbers of servers.

/** Whether a transport refuses the request with this number. With status 200 few numbers mean that. */
export function refusesRequest(code: number, status: number): boolean {
  if (status === 200) return [INVALID_REQUEST, TRANSPORT_ERROR, SESSION_NOT_FOUND].includes(code)
  return code === INVALID_REQUEST || (code >= OWN_FIRST && code <= OWN_LAST)
}

const refusals: ReadonlyMap<number, 'header' | 'capability' | 'version'> = new Map([
  [HEADER_MISMATCH, 'header'],
  [MISSING_CAPABILITY, 'capability'],
  [UNSUPPORTED_VERSION, 'version'],
])

/**
 * Why a stateless server refuses the request itself (MCP 2026-07-28, Transports); undefined for an error
 * about the requested tool, prompt or resource.
 */
export function statelessRefusal(code: number): 'header' | 'capability' | 'version' | undefined {
  return refusals.get(code)
}

export function isMissing(code: number): boolean {
  return code === METHOD_NOT_FOUND
}

/** Whether an error blames the request, so that the server has not failed. */
export function isClientMistake(code: number): boolean {
  return clientMistakes.has(code)
}

const clientMistakes: ReadonlySet<number> = new Set([
  PARSE_ERROR,
  INVALID_REQUEST,
  METHOD_NOT_FOUND,
  INVALID_PARAMS,
  RESOURCE_NOT_FOUND,
])

/** Whether a server's error means that a resource is missing; servers use both numbers. */
export function saysResourceNotFound(code: number): boolean {
  return code === RESOURCE_NOT_FOUND || code === INVALID_PARAMS
}

/** The number of a server's error; NaN if the code is no number. */
export function numberOfError({ line, error }: ErrorFrame): number {
  const code = membersAt(line, error)?.span('code')
  return code === undefined ? Number.NaN : numberIn(line, code)
}

/** Parses the number at a span in any notation; NaN for anything else. */
export function numberIn(line: Buffer, span: Span): number {
  return Number(rawAt(line, span))
}

/** The number of an error about a missing resource, for a client with a session. */
export function notFoundInSession(code: number): number {
  return code === INVALID_PARAMS ? RESOURCE_NOT_FOUND : code
}

/**
 * The number of a server's error, for a stateless client.
 *
 * A stateless server may use the reserved number for a missing capability. The other reserved numbers would
 * be about requests of the proxy itself, or have no meaning.
 */
export function statelessErrorCode(code: number, era: 'session' | 'stateless'): number {
  if (code === RESOURCE_NOT_FOUND) return INVALID_PARAMS
  if (code === MISSING_CAPABILITY && era === 'stateless') return code
  return code >= RESERVED_FIRST && code <= RESERVED_LAST ? INTERNAL_ERROR : code
}

/** Converts an error of the proxy for a stateless client: an unknown name is an invalid parameter. */
export function ownErrorForStateless(error: ErrorBody, { route }: RequestRow): ErrorBody {
  const isName = error.code === RESOURCE_NOT_FOUND || (error.code === METHOD_NOT_FOUND && route.to === 'name')
  return isName ? { ...error, code: INVALID_PARAMS } : error
}

// The errors of the proxy. Each row makes the number, the message and `data` from the facts of one case.

type Details = Readonly<Record<string, unknown>>
type RowText = string | readonly [message: string, data: Details | undefined]

function row<Facts extends readonly unknown[]>(
  code: number,
  say: (...facts: Facts) => RowText,
): (...facts: Facts) => ErrorBody {
  return (...facts) => {
    const said = say(...facts)
    const [message, data] = typeof said === 'string' ? [said, undefined] : said
    return data === undefined ? { code, message } : { code, message, data: write(data) }
  }
}

// Errors about a message of the client.

export function malformed(error: FrameError): ErrorBody {
  return error.unreadable ? unreadable(error) : invalidRequest(error.message)
}

const unreadable = row(PARSE_ERROR, ({ message, offset }: FrameError) => [
  `Parse error: ${message} at byte ${offset}`,
  { offset },
])
export const invalidRequest = row(INVALID_REQUEST, (why: string) => `Invalid Request: ${why}`)
export const tooLong = row(
  INVALID_REQUEST,
  (bytes: number, bytesMax: number) =>
    `Invalid Request: a message of ${bytes} bytes is over the limit of ${bytesMax}`,
)
/** `id` is the id as the client wrote it. */
export const idInUse = row(INVALID_REQUEST, (id: string) => `Invalid Request: id ${id} is in use`)
export const methodNotFound = row(METHOD_NOT_FOUND, (method: string) => `Method '${method}' not found`)
export const invalidParams = row(INVALID_PARAMS, (why: string, data?: Details) => [
  `Invalid params: ${why}`,
  data,
])
export const missingParameter = row(INVALID_PARAMS, (parameter: string) => [
  `Invalid params: Missing required parameter '${parameter}'`,
  { parameter },
])
/** A parameter has the wrong type; `what` names the right one, such as `a string`. */
export const mistyped = row(INVALID_PARAMS, (parameter: string, what: string) => [
  `Invalid params: '${parameter}' must be ${what}`,
  { parameter },
])
export const invalidArguments = row(INVALID_PARAMS, (message: string, data: Details) => [message, data])

// Unknown names. `nearest` lists the names that the caller may have meant.

export const toolNotFound = row(METHOD_NOT_FOUND, (name: string, nearest: readonly string[]) => [
  `Tool '${name}' not found`,
  nearest.length > 0 ? { nearest } : undefined,
])
export const promptNotFound = row(INVALID_PARAMS, (name: string, nearest: readonly string[]) => [
  `Prompt '${name}' not found`,
  nearest.length > 0 ? { nearest } : undefined,
])
export const resourceNotFound = row(RESOURCE_NOT_FOUND, (uri: string) => [
  `Resource '${uri}' not found`,
  { uri },
])
export const schemaNotFound = row(SCHEMA_NOT_FOUND, (name: string, known: readonly string[]) => [
  `Schema '${name}' not found or disabled`,
  { schemas: known },
])
export const sandboxToolNotFound = row(METHOD_NOT_FOUND, (name: string) => `Method not found: tool:${name}`)

// Tasks.

/** The tool requires a task (2025-11-25, Tool-Level Negotiation); `why` says why the call cannot be one. */
export const toolNeedsTask = row(
  METHOD_NOT_FOUND,
  (name: string, why: string) => `Tool '${name}' can only be called as a task, and ${why}`,
)
/** The client has started no task with this id, or the proxy does not keep it any more. */
export const taskNotFound = row(INVALID_PARAMS, (id: string) => [`Task '${id}' not found`, { taskId: id }])
/** A task has ended with its server; `why` says how the server ended. */
export const taskLost = row(
  INTERNAL_ERROR,
  (service: string, id: string, reason: FailureReason, why: string) => [
    `Task '${id}' is lost: ${why}`,
    { service, reason, taskId: id },
  ],
)
/** A server gives a task the id of another task of the same client, which the server `other` runs. */
export const taskIdTaken = row(INTERNAL_ERROR, (service: string, id: string, other: string) => [
  `'${service}' calls the task '${id}', which is the id of a task of '${other}' that is not over`,
  { service, reason: 'invalid-answer', taskId: id },
])
export const taskIdTooLong = row(INTERNAL_ERROR, (service: string, length: number, lengthMax: number) => [
  `'${service}' calls the task by an id of ${length} characters; the limit is ${lengthMax}`,
  { service, reason: 'too-large' },
])
export const tooManyTasks = row(INTERNAL_ERROR, (tasksMax: number) => [
  `Too many tasks: ${tasksMax} are not over; fetch their results, or cancel some`,
  { reason: 'overloaded' },
])

// Servers.

/** A server cannot serve a request; `message` says what happened. */
export const upstreamFailed = row(
  INTERNAL_ERROR,
  (service: string, reason: FailureReason, message: string, details?: Details) => [
    message,
    { service, reason, ...details },
  ],
)
export const noUpstream = row(
  INTERNAL_ERROR,
  (problems: readonly { readonly service: string; readonly problem: string }[]) => {
    const why = problems.map(({ service, problem }) => `${service}: ${problem}`).join('; ')
    const message = `No server is available: ${why}`.slice(0, NO_UPSTREAM_LENGTH_MAX)
    return [message, { reason: 'unavailable', services: problems.map(({ service }) => service) }]
  },
)
/** A person reads the message, and many servers may have failed. */
const NO_UPSTREAM_LENGTH_MAX = 4096
/** A server refuses our credentials; `message` names the variable that holds them, if it is known. */
export const authenticationFailed = row(
  INTERNAL_ERROR,
  (service: string, message: string, details?: Details) => [message, { service, ...details }],
)
export const notFollowed = row(INVALID_PARAMS, (service: string, uri: string) => [
  `Invalid params: '${service}' does not tell of changes of '${uri}'`,
  { service, uri },
])
export function needsLogin({ data }: ErrorBody): boolean {
  return data !== undefined && membersOf(data)?.string('reason') === 'login-required'
}

// Requests of servers for input during a call.

/** A server asks for input during a call, and the client cannot be asked; `why` is the reason. */
export const inputRefused = row(INTERNAL_ERROR, (service: string, why?: string) => [
  `'${service}' asks for input during the call: ${why ?? 'its client cannot be asked'}`,
  { service, reason: 'input-required' },
])
/** The proxy cannot use the `requestState` of a request. The client may send the request without it. */
export const stateUnknown = row(INVALID_PARAMS, (problem: StateProblem) => [
  `Invalid params: 'requestState' cannot be used: ${stateProblems[problem]}; send the request again without it`,
  { parameter: 'requestState', reason: `state-${problem}` },
])

export type StateProblem = 'unknown' | 'other-request' | 'other-server'

const stateProblems: Readonly<Record<StateProblem, string>> = {
  unknown:
    'nothing waits for it here: it may have been used or changed, or made for another client, or by another instance',
  'other-request': 'it was made for another name, URI or other arguments',
  'other-server': 'the server that gave it is not reached by this request any more',
}

export const clientUnreachable = row(INTERNAL_ERROR, () => 'The client cannot be reached')
export const clientGone = row(INTERNAL_ERROR, () => 'The client is gone')

// The proxy and its policy.

export const shuttingDown = row(INTERNAL_ERROR, () => [
  'The proxy is shutting down',
  { reason: 'shutting-down' },
])
/** One client has left, or may not use its session any more; the proxy keeps running. */
export const sessionEnded = row(INTERNAL_ERROR, () => [
  'The session has ended: its client has left, or may not use it any more',
  { reason: 'shutting-down' },
])
/** The client waits for an answer of another instance, which has ended or cannot be reached. */
export const instanceLost = row(INTERNAL_ERROR, () => [
  'The call was lost with the instance that ran it; it may have been carried out',
  { reason: 'instance-lost' },
])
export const tooManyCalls = row(INTERNAL_ERROR, () => [
  'Too many requests in flight',
  { reason: 'overloaded' },
])
/** A principal calls a tool more often than its limit allows; the next call may come after `waitMs`. */
export const rateLimited = row(INTERNAL_ERROR, (tool: string, waitMs: number) =>
  laterAgain(`'${tool}' is called too often`, RATE_LIMITED, waitMs),
)
/** The store that counts calls does not answer, and this instance has used up the calls it took from it. */
export const limitsAway = row(INTERNAL_ERROR, (tool: string, waitMs: number) =>
  laterAgain(`'${tool}' has a limit, and the store that counts calls does not answer`, STORE_AWAY, waitMs),
)
/** The audit cannot be written, and `audit.onError` forbids calls without an audit line. */
export const auditFailed = row(INTERNAL_ERROR, () => [
  'the audit cannot be written, so no call passes; the log has the reason',
  { reason: 'audit-failed' },
])
/** The user of the client did not confirm the call; `why` says what happened instead. */
export const notConfirmed = row(DECLINED, (tool: string, why: string) => [
  `'${tool}' was not called: ${why}`,
  { reason: 'not-confirmed' },
])
export const internalError = row(INTERNAL_ERROR, (why: string) => why)

const retryStatuses: ReadonlyMap<string | undefined, number> = new Map([
  [RATE_LIMITED, 429],
  [STORE_AWAY, 503],
])

/** The HTTP status and the delay of a call that the policy refuses for now; undefined for other errors. */
export function retryIn({ line, error }: ErrorFrame): { status: number; seconds: number } | undefined {
  const data = membersAt(line, membersAt(line, error)?.span('data'))
  const status = retryStatuses.get(data?.string('reason'))
  const span = data?.span('retryAfterSeconds')
  const seconds = span === undefined ? Number.NaN : numberIn(line, span)
  return status !== undefined && Number.isInteger(seconds) && seconds > 0 ? { status, seconds } : undefined
}

function laterAgain(why: string, reason: string, waitMs: number): RowText {
  const retryAfterSeconds = Math.max(1, Math.ceil(waitMs / 1000))
  return [`${why}; call it again in ${counted(retryAfterSeconds, 'second')}`, { reason, retryAfterSeconds }]
}

// HTTP and stateless requests.

export const transportRefused = row(TRANSPORT_ERROR, (why: string) => why)
export const sessionNotFound = row(SESSION_NOT_FOUND, (why: string) => why)
export const headerMismatch = row(HEADER_MISMATCH, (why: string) => `Header mismatch: ${why}`)
/** The proxy does not serve the requested revision; `supported` lists the revisions that it serves. */
export const unsupportedVersion = row(
  UNSUPPORTED_VERSION,
  (requested: string, supported: readonly string[]) => [
    `Unsupported protocol version: ${requested}`,
    { supported, requested },
  ],
)

/** The client has not declared a capability. `cause` is the server's error or result; both are raw JSON. */
export function missingCapability(required: string, cause?: string): ErrorBody {
  const data = `{"requiredCapabilities":${required}${cause === undefined ? '' : `,"cause":${cause}`}}`
  const message = `The ${cause === undefined ? 'request' : 'server'} needs a capability that the client has not declared`
  return { code: MISSING_CAPABILITY, message, data }
}

// Sandboxes.

/** Why a sandbox runs no call: it refuses the call, the arguments are wrong, or the run failed. */
export type SandboxRefusal = 'refused' | 'arguments' | 'failed'

const sandboxCodes: Readonly<Record<SandboxRefusal, number>> = {
  refused: INVALID_REQUEST,
  arguments: INVALID_PARAMS,
  failed: INTERNAL_ERROR,
}

export function sandboxRefused(kind: SandboxRefusal, message: string, data: Details): ErrorBody {
  return { code: sandboxCodes[kind], message, data: write(data) }
}
