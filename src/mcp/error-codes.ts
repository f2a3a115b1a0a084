// The numbers of JSON-RPC and MCP, and the errors that the proxy says itself.
//
// Nothing else in the project writes an error number. Every builder is one row of
// the error table in docs/errors.md.

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
const URL_ELICITATION_REQUIRED = -32042
// The numbers of other servers over HTTP, which clients look for.
const TRANSPORT_ERROR = -32000
const SESSION_NOT_FOUND = -32001
const SCHEMA_NOT_FOUND = 404
/** Numbers that only the specification gives a meaning (MCP 2026-07-28, Overview: error codes). */
const RESERVED_FIRST = -32099
const RESERVED_LAST = -32020
/** Numbers of a server's own (JSON-RPC 2.0, section 5.1). */
const OWN_FIRST = -32099
const OWN_LAST = -32000

/** Why an upstream could not answer; the value of `data.reason`. */
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

/** Why the policy of the configuration refuses a call; the value of `data.reason` too. */
const RATE_LIMITED = 'rate-limited'

// The meaning of the numbers of others.

/** Transports refuse with an error of the server's own or an invalid request; tools do not. With status 200 few numbers mean that. */
export function refusesRequest(code: number, status: number): boolean {
  if (status === 200) return [INVALID_REQUEST, TRANSPORT_ERROR, SESSION_NOT_FOUND].includes(code)
  return code === INVALID_REQUEST || (code >= OWN_FIRST && code <= OWN_LAST)
}

type Refusal = 'header' | 'capability' | 'version'

const refusals: ReadonlyMap<number, Refusal> = new Map([
  [HEADER_MISMATCH, 'header'],
  [MISSING_CAPABILITY, 'capability'],
  [UNSUPPORTED_VERSION, 'version'],
])

/**
 * The reason for which a stateless server refuses the request itself (MCP 2026-07-28, Transports); undefined for
 * every error about the thing that was asked for.
 */
export function statelessRefusal(code: number): Refusal | undefined {
  return refusals.get(code)
}

/** Whether an error means that the method is unknown. */
export function isMissing(code: number): boolean {
  return code === METHOD_NOT_FOUND
}

/** Whether an error is about the request, so that the server that refuses it has not failed. */
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

/** Whether an upstream's error means that it has no such resource; servers use both numbers. */
export function saysResourceNotFound(code: number): boolean {
  return code === RESOURCE_NOT_FOUND || code === INVALID_PARAMS
}

/** The number of an upstream's error; NaN where that is no number. */
export function numberOfError({ line, error }: ErrorFrame): number {
  const code = membersAt(line, error)?.span('code')
  return code === undefined ? Number.NaN : numberIn(line, code)
}

/** The number at a span, however it is written; NaN for anything else. */
export function numberIn(line: Buffer, span: Span): number {
  return Number(rawAt(line, span))
}

/** The number with which a client of a session learns that a resource is missing. */
export function notFoundInSession(code: number): number {
  return code === INVALID_PARAMS ? RESOURCE_NOT_FOUND : code
}

/**
 * The number with which a stateless client gets a server's error.
 *
 * Of the reserved ones a server that writes its results with a type may use the one for a missing capability; the others
 * would be about requests of the proxy itself, or have no meaning.
 */
export function statelessErrorCode(code: number, era: 'session' | 'stateless'): number {
  if (code === RESOURCE_NOT_FOUND) return INVALID_PARAMS
  if (code === MISSING_CAPABILITY && era === 'stateless') return code
  return code >= RESERVED_FIRST && code <= RESERVED_LAST ? INTERNAL_ERROR : code
}

/** An error of the proxy for a stateless client, to which the unknown name of a tool or resource is an invalid parameter. */
export function ownErrorForStateless(error: ErrorBody, { route }: RequestRow): ErrorBody {
  const isName = error.code === RESOURCE_NOT_FOUND || (error.code === METHOD_NOT_FOUND && route.to === 'name')
  return isName ? { ...error, code: INVALID_PARAMS } : error
}

// The errors of the proxy.

export function malformed(error: FrameError): ErrorBody {
  if (!error.unreadable) return invalidRequest(error.message)
  const { message, offset } = error
  return failure(PARSE_ERROR, `Parse error: ${message} at byte ${offset}`, { offset })
}

export function invalidRequest(why: string): ErrorBody {
  return failure(INVALID_REQUEST, `Invalid Request: ${why}`)
}

export function tooLong(bytes: number, bytesMax: number): ErrorBody {
  return invalidRequest(`a message of ${bytes} bytes is over the limit of ${bytesMax}`)
}

/** `id` is the id as it was written. */
export function idInUse(id: string): ErrorBody {
  return invalidRequest(`id ${id} is in use`)
}

export function methodNotFound(method: string): ErrorBody {
  return failure(METHOD_NOT_FOUND, `Method '${method}' not found`)
}

/** `nearest` are the names that the caller may have meant. */
export function toolNotFound(name: string, nearest: readonly string[]): ErrorBody {
  return failure(METHOD_NOT_FOUND, `Tool '${name}' not found`, nearest.length > 0 ? { nearest } : undefined)
}

/** The error of servers for a call that is no task (2025-11-25, Tool-Level Negotiation); `why` is the reason why it cannot be one. */
export function toolNeedsTask(name: string, why: string): ErrorBody {
  return failure(METHOD_NOT_FOUND, `Tool '${name}' can only be called as a task, and ${why}`)
}

/** The client has begun no task of this id, or does not have it any more. */
export function taskNotFound(id: string): ErrorBody {
  return failure(INVALID_PARAMS, `Task '${id}' not found`, { taskId: id })
}

/** A task has ended with its server; `why` says how that has ended. */
export function taskLost(service: string, id: string, reason: FailureReason, why: string): ErrorBody {
  return upstreamFailed(service, reason, `Task '${id}' is lost: ${why}`, { taskId: id })
}

/** A server gives a task the id of another task of the same client, which the server `other` has. */
export function taskIdTaken(service: string, id: string, other: string): ErrorBody {
  const what = `'${service}' calls the task '${id}', which is the id of a task of '${other}' that is not over`
  return upstreamFailed(service, 'invalid-answer', what, { taskId: id })
}

export function taskIdTooLong(service: string, length: number, lengthMax: number): ErrorBody {
  const what = `'${service}' calls the task by an id of ${length} characters; the limit is ${lengthMax}`
  return upstreamFailed(service, 'too-large', what)
}

export function tooManyTasks(tasksMax: number): ErrorBody {
  const what = `Too many tasks: ${tasksMax} are not over; fetch their results, or cancel some`
  return failure(INTERNAL_ERROR, what, { reason: 'overloaded' })
}

export function promptNotFound(name: string, nearest: readonly string[]): ErrorBody {
  return failure(INVALID_PARAMS, `Prompt '${name}' not found`, nearest.length > 0 ? { nearest } : undefined)
}

export function resourceNotFound(uri: string): ErrorBody {
  return failure(RESOURCE_NOT_FOUND, `Resource '${uri}' not found`, { uri })
}

/** A request lacks a parameter that it must have. */
export function missingParameter(parameter: string): ErrorBody {
  return invalidParams(`Missing required parameter '${parameter}'`, { parameter })
}

/** A parameter is something else than it must be, such as `a string`. */
export function mistyped(parameter: string, what: string): ErrorBody {
  return invalidParams(`'${parameter}' must be ${what}`, { parameter })
}

export function invalidParams(why: string, data?: Details): ErrorBody {
  return failure(INVALID_PARAMS, `Invalid params: ${why}`, data)
}

/** Arguments that do not fit; `message` is the whole sentence. */
export function invalidArguments(message: string, data: Details): ErrorBody {
  return failure(INVALID_PARAMS, message, data)
}

/** An upstream cannot serve; `message` says what happened, in words. */
export function upstreamFailed(
  service: string,
  reason: FailureReason,
  message: string,
  details: Details = {},
): ErrorBody {
  return failure(INTERNAL_ERROR, message, { service, reason, ...details })
}

/** Every configured server has failed; each problem is a sentence. */
export function noUpstream(
  problems: readonly { readonly service: string; readonly problem: string }[],
): ErrorBody {
  const why = problems.map(({ service, problem }) => `${service}: ${problem}`).join('; ')
  const message = `No server is available: ${why}`.slice(0, NO_UPSTREAM_LENGTH_MAX)
  const services = problems.map(({ service }) => service)
  return failure(INTERNAL_ERROR, message, { reason: 'unavailable', services })
}

/** A person reads it, and many servers may have failed for the same reason. */
const NO_UPSTREAM_LENGTH_MAX = 4096

/** An upstream refuses our credentials; `message` says which variable holds them, where that is known. */
export function authenticationFailed(service: string, message: string, details: Details = {}): ErrorBody {
  return failure(INTERNAL_ERROR, message, { service, ...details })
}

/** Whether a person has to log in to the server first. */
export function needsLogin({ data }: ErrorBody): boolean {
  return data !== undefined && membersOf(data)?.string('reason') === 'login-required'
}

/** A page that a person has to open (MCP 2025-11-25, Elicitation: URL mode). */
export interface RequiredPage {
  readonly elicitationId: string
  readonly url: string
  readonly message: string
}

/** The client has to let its user open this page before it sends the request again. */
export function pageRequired(service: string, page: RequiredPage): ErrorBody {
  return failure(URL_ELICITATION_REQUIRED, `'${service}' needs a login`, {
    elicitations: [{ mode: 'url', ...page }],
  })
}

/** A server asks for input during a call whose client cannot be asked; `why` is the reason. */
export function inputRefused(service: string, why = 'its client cannot be asked'): ErrorBody {
  return upstreamFailed(service, 'input-required', `'${service}' asks for input during the call: ${why}`)
}

/** Why a `requestState` cannot be used. */
export type StateProblem = 'unknown' | 'other-request' | 'other-server'

const stateProblems: Readonly<Record<StateProblem, string>> = {
  unknown:
    'nothing waits for it here: it may have been used or changed, or made for another client, or by another instance',
  'other-request': 'it was made for another name, URI or other arguments',
  'other-server': 'the server that gave it is not reached by this request any more',
}

/** A client comes again with a state that opens nothing; it may call again without one. */
export function stateUnknown(problem: StateProblem): ErrorBody {
  const why = `'requestState' cannot be used: ${stateProblems[problem]}; send the request again without it`
  return invalidParams(why, { parameter: 'requestState', reason: `state-${problem}` })
}

export function shuttingDown(): ErrorBody {
  return failure(INTERNAL_ERROR, 'The proxy is shutting down', { reason: 'shutting-down' })
}

/** One client has left or may not come any more, and the proxy goes on. */
export function sessionEnded(): ErrorBody {
  const why = 'The session has ended: its client has left, or may not use it any more'
  return failure(INTERNAL_ERROR, why, { reason: 'shutting-down' })
}

/** Said to a server whose question did not get to a client. */
export function clientUnreachable(): ErrorBody {
  return failure(INTERNAL_ERROR, 'The client cannot be reached')
}

/** The error for a server whose request was to a client that has left. */
export function clientGone(): ErrorBody {
  return failure(INTERNAL_ERROR, 'The client is gone')
}

export function tooManyCalls(): ErrorBody {
  return failure(INTERNAL_ERROR, 'Too many requests in flight', { reason: 'overloaded' })
}

/** A principal calls a tool more often than its limit allows; `waitMs` is the time until the next call may come. */
export function rateLimited(tool: string, waitMs: number): ErrorBody {
  const retryAfterSeconds = Math.max(1, Math.ceil(waitMs / 1000))
  const what = `'${tool}' is called too often; call it again in ${counted(retryAfterSeconds, 'second')}`
  return failure(INTERNAL_ERROR, what, { reason: RATE_LIMITED, retryAfterSeconds })
}

/** The seconds after which a call may come again that was refused by a limit; undefined for every other error. */
export function retryAfterIn({ line, error }: ErrorFrame): number | undefined {
  const data = membersAt(line, membersAt(line, error)?.span('data'))
  const seconds = data?.span('retryAfterSeconds')
  const isLimit = seconds !== undefined && data?.string('reason') === RATE_LIMITED
  const value = isLimit ? numberIn(line, seconds) : Number.NaN
  return Number.isInteger(value) && value > 0 ? value : undefined
}

/** `audit.onError` says that no call passes without its line. */
export function auditFailed(): ErrorBody {
  return failure(INTERNAL_ERROR, 'the audit cannot be written, so no call passes; the log has the reason', {
    reason: 'audit-failed',
  })
}

/** A call was to be confirmed by the user of its client and was not; `why` says what happened instead. */
export function notConfirmed(tool: string, why: string): ErrorBody {
  return failure(DECLINED, `'${tool}' was not called: ${why}`, { reason: 'not-confirmed' })
}

/** Header fields of a request say something else than its message. */
export function headerMismatch(why: string): ErrorBody {
  return failure(HEADER_MISMATCH, `Header mismatch: ${why}`)
}

/** A request names a revision that is not served; `supported` are those that may be named. */
export function unsupportedVersion(requested: string, supported: readonly string[]): ErrorBody {
  return failure(UNSUPPORTED_VERSION, `Unsupported protocol version: ${requested}`, { supported, requested })
}

/** A server does not tell of changes of a resource. */
export function notFollowed(service: string, uri: string): ErrorBody {
  return invalidParams(`'${service}' does not tell of changes of '${uri}'`, { service, uri })
}

/** A request needs a capability that its client has not declared; both are raw JSON, and `cause` is the server's error or result. */
export function missingCapability(required: string, cause?: string): ErrorBody {
  const data = `{"requiredCapabilities":${required}${cause === undefined ? '' : `,"cause":${cause}`}}`
  return {
    code: MISSING_CAPABILITY,
    message: `The ${cause === undefined ? 'request' : 'server'} needs a capability that the client has not declared`,
    data,
  }
}

/** An HTTP request that is refused before it reaches a session. */
export function transportRefused(why: string): ErrorBody {
  return failure(TRANSPORT_ERROR, why)
}

export function sessionNotFound(why: string): ErrorBody {
  return failure(SESSION_NOT_FOUND, why)
}

export function internalError(why: string): ErrorBody {
  return failure(INTERNAL_ERROR, why)
}

/** `known` are the schemas that are served. */
export function schemaNotFound(name: string, known: readonly string[]): ErrorBody {
  return failure(SCHEMA_NOT_FOUND, `Schema '${name}' not found or disabled`, { schemas: known })
}

/** How much of a call a sandbox takes: not now, not with these arguments, or it took it and could not. */
export type SandboxRefusal = 'refused' | 'arguments' | 'failed'

const sandboxCodes: Readonly<Record<SandboxRefusal, number>> = {
  refused: INVALID_REQUEST,
  arguments: INVALID_PARAMS,
  failed: INTERNAL_ERROR,
}

/** The error of a sandbox for a call. */
export function sandboxRefused(kind: SandboxRefusal, message: string, data: Details): ErrorBody {
  return failure(sandboxCodes[kind], message, data)
}

/** A tool that a sandbox does not have. */
export function sandboxToolNotFound(name: string): ErrorBody {
  return failure(METHOD_NOT_FOUND, `Method not found: tool:${name}`)
}

type Details = Readonly<Record<string, unknown>>

function failure(code: number, message: string, data?: Details): ErrorBody {
  return data === undefined ? { code, message } : { code, message, data: write(data) }
}
