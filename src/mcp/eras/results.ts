// Converts results and errors of servers of one era for clients of the other.
//
// Since 2026-07-28 each result has its type, and a result that a client may keep says for how long (Overview:
// results; Utilities: caching). Earlier revisions have neither, nor the error numbers that 2026-07-28
// reserves.

import { type ErrorBody, buildError, buildResult } from '../../jsonrpc/build.js'
import type { ErrorFrame, ResponseFrame, ResultFrame } from '../../jsonrpc/frame.js'
import { type Members, membersAt } from '../../jsonrpc/members.js'
import type { Peer } from '../../jsonrpc/peer.js'
import type { RequestId } from '../../jsonrpc/request-id.js'
import { type Edit, NO_EDITS, bothEdits, type Message } from '../../jsonrpc/splice.js'
import { rawAt, stringAt, write } from '../../jsonrpc/text.js'
import { type Call, type Outcome, toolFailure } from '../../calls/call.js'
import {
  inputRefused,
  internalError,
  missingCapability,
  notFoundInSession,
  numberIn,
  numberOfError,
  ownErrorForStateless,
  statelessErrorCode,
  statelessRefusal,
} from '../error-codes.js'
import { type GivenMembers, cutMembers, insertMembers } from '../member-edits.js'
import type { RequestRow } from '../methods.js'
import { saysError, typeNamed } from '../result-type.js'
import type { Revision } from '../revisions.js'
import { wrapping } from '../structured-wrap.js'

/** The member of a result that is complete, as raw JSON. */
const COMPLETE = '"resultType":"complete"'

/** The answer that the client gets. The server's answer may have been of the other kind. */
export interface Answer {
  readonly kind: ResponseFrame['kind']
  readonly message: Message
}

/** Builds the bytes of an answer; the peer of the client does so. */
export type ClientWriter = Pick<Peer<unknown>, 'answerBytes'>

type Answered = Outcome & { readonly kind: 'answered' }

/** The answer to a client's call; undefined if the call was cancelled. */
export function answerOf(call: Call, outcome: Outcome, writer: ClientWriter): Answer | undefined {
  const { frame, service, row, context } = call
  const isStateless = context.revision.era === 'stateless'
  switch (outcome.kind) {
    case 'answered':
      return serverAnswer(call, outcome, writer)
    case 'result':
      return resultAnswer(
        frame.id,
        isStateless ? statelessResult(outcome.result, row.route.to === 'merge') : outcome.result,
      )
    case 'asked':
      // A client with a session gets the requests of servers during the call.
      return isStateless
        ? { kind: 'result', message: writer.answerBytes(outcome.frame, outcome.edits, frame.id) }
        : errorAnswer(frame.id, inputRefused(service ?? ''))
    case 'failed':
      return errorAnswer(frame.id, isStateless ? statelessError(call, outcome.error) : outcome.error)
    case 'cancelled':
      return undefined
  }
}

function resultAnswer(id: RequestId, result: string | Uint8Array): Answer {
  return { kind: 'result', message: buildResult(id, result) }
}

function errorAnswer(id: RequestId, error: ErrorBody): Answer {
  return { kind: 'error', message: buildError(id, error) }
}

function serverAnswer(call: Call, { frame, edits, era, isTask }: Answered, writer: ClientWriter): Answer {
  const { id } = call.frame
  const isStateless = call.context.revision.era === 'stateless'
  const passed = isStateless
    ? statelessAnswer(call, frame, era, isTask)
    : era === 'session'
      ? unedited
      : sessionAnswer(call, frame)
  switch (passed.kind) {
    case 'edited':
      return { kind: frame.kind, message: writer.answerBytes(frame, bothEdits(edits, passed.edits), id) }
    case 'result':
      return resultAnswer(id, passed.result)
    case 'error':
      return errorAnswer(id, passed.error)
  }
}

type PassedAnswer =
  | { readonly kind: 'edited'; readonly edits: readonly Edit[] }
  /** A result for the model that replaces the server's answer, as raw JSON. */
  | { readonly kind: 'result'; readonly result: string }
  | { readonly kind: 'error'; readonly error: ErrorBody }

const unedited: PassedAnswer = { kind: 'edited', edits: NO_EDITS }

function statelessAnswer(
  { row, service, missingCapabilities: missing }: Call,
  frame: ResponseFrame,
  era: Revision['era'],
  isTask?: boolean,
): PassedAnswer {
  // The call failed after its server asked for an undeclared capability (2026-07-28, Overview: capabilities).
  if (missing !== undefined && (frame.kind === 'error' || saysError(frame))) {
    const cause = rawAt(frame.line, frame.kind === 'error' ? frame.error : frame.result)
    return { kind: 'error', error: missingCapability(missing, cause) }
  }
  const edits = frame.kind === 'error' ? errorEdits(frame, era) : resultEdits(frame, era, row, isTask)
  if (edits !== undefined) return { kind: 'edited', edits }
  const what = `'${service ?? ''}' has given a result of a type that does not pass this proxy`
  return { kind: 'error', error: internalError(what) }
}

function statelessError({ missingCapabilities: missing, row }: Call, error: ErrorBody): ErrorBody {
  if (missing === undefined) return ownErrorForStateless(error, row)
  const { code, message } = error
  return missingCapability(missing, write({ code, message }))
}

/** Adds the type to a result of the proxy, which is raw JSON. A list also says that it is out of date. */
export function statelessResult(result: string | Uint8Array, isList: boolean): string | Uint8Array {
  const head = `{${isList ? `${COMPLETE},"ttlMs":0,"cacheScope":"private"` : COMPLETE}`
  if (typeof result === 'string') return result === '{}' ? `${head}}` : `${head},${result.slice(1)}`
  return Buffer.concat([Buffer.from(`${head},`), result.subarray(1)])
}

interface Given extends GivenMembers {
  readonly name: string
}

const complete: readonly Given[] = [{ name: 'resultType', text: COMPLETE, why: 'result-type' }]

/** The hints for a resource whose server gives none: out of date, and for this client alone. */
const stale: readonly Given[] = [
  ...complete,
  { name: 'ttlMs', text: '"ttlMs":0', why: 'cache-hint' },
  { name: 'cacheScope', text: '"cacheScope":"private"', why: 'cache-hint' },
]

/**
 * The edits that give a server's result its type; undefined if it is no object or has an unknown type.
 *
 * `isTask` says that the client has started a task with the call.
 */
export function resultEdits(
  frame: ResultFrame,
  era: Revision['era'],
  { route }: RequestRow,
  isTask = false,
): readonly Edit[] | undefined {
  const { members, result } = frame
  if (members === undefined) return undefined
  // A result without a type is `complete`, the only type that every result may have.
  const type = era === 'stateless' ? typeNamed(frame) : undefined
  if (type !== undefined) return isTask || type === 'complete' ? NO_EDITS : undefined
  const given = era === 'session' && route.to === 'uri' ? stale : complete
  // In a result without types, a member of this name means something else. A client may read either of two.
  const isGiven = given.some(({ name }) => members.span(name) !== undefined)
  const cuts = isGiven
    ? cutMembers(members, (_member, index) => given.find(({ name }) => name === members.name(index))?.why)
    : NO_EDITS
  return bothEdits(insertMembers(result.start, members, cuts, given), cuts)
}

/** The edits that convert a server's error for a stateless client. */
export function errorEdits(frame: ErrorFrame, era: Revision['era']): readonly Edit[] {
  return codeEdits(frame, (code) => statelessErrorCode(code, era))
}

function codeEdits({ line, error }: ErrorFrame, known: (code: number) => number): readonly Edit[] {
  // Edits every `code`: a client may read either of two members, or one with escapes in its name.
  return [...(membersAt(line, error) ?? [])].flatMap(({ key, value }): Edit[] => {
    if (stringAt(line, key) !== 'code') return []
    const code = numberIn(line, value)
    const meant = known(code)
    // A code that is no number has no meaning and stays.
    return Object.is(meant, code) ? [] : [{ ...value, bytes: Buffer.from(String(meant)), why: 'error-code' }]
  })
}

/** Converts the answer of a stateless server for a client with a session. */
export function sessionAnswer(call: Call, frame: ResponseFrame): PassedAnswer {
  return frame.kind === 'error' ? sessionError(call, frame) : sessionResult(call, frame)
}

function sessionResult({ row, service, isWrapped }: Call, frame: ResultFrame): PassedAnswer {
  const type = typeNamed(frame)
  if (type !== undefined && type !== 'complete') {
    const what = `'${service ?? ''}' has given a result of the type '${type}', which does not pass this proxy`
    return { kind: 'error', error: internalError(what) }
  }
  const { members } = frame
  const structured = isWrapped ? members?.span('structuredContent') : undefined
  const edits = [
    ...(members === undefined ? NO_EDITS : untyped(members, row.route.to === 'uri')),
    ...(structured === undefined ? NO_EDITS : wrapping(structured)),
  ]
  return { kind: 'edited', edits }
}

/** The edits that cut the type, the name of the server, and the hints of a resource. */
function untyped(members: Members, isRead: boolean): readonly Edit[] {
  const inner = members.inner('_meta')
  const isOfServer = (index: number): boolean => inner?.name(index) !== undefined
  const isOfServerAlone = [...(inner ?? [])].every((_member, index) => isOfServer(index))
  const meta = inner !== undefined && inner.size > 0 && isOfServerAlone ? members.span('_meta') : undefined
  const cuts = cutMembers(members, ({ value }, index) => {
    const name = members.name(index)
    if (name === 'resultType') return 'result-type'
    if (isRead && (name === 'ttlMs' || name === 'cacheScope')) return 'cache-hint'
    return meta !== undefined && value.start === meta.start ? 'meta' : undefined
  })
  if (inner === undefined || meta !== undefined) return cuts
  return [...cuts, ...cutMembers(inner, (_member, index) => (isOfServer(index) ? 'meta' : undefined))]
}

function sessionError({ row, service }: Call, frame: ErrorFrame): PassedAnswer {
  if (statelessRefusal(numberOfError(frame)) === undefined)
    return { kind: 'edited', edits: row.route.to === 'uri' ? codeEdits(frame, notFoundInSession) : NO_EDITS }
  const why = membersAt(frame.line, frame.error)?.string('message') ?? ''
  const message = `'${service ?? ''}' has refused the request: ${why}`
  const isCall = row.route.to === 'name' && row.route.list === 'tools'
  return isCall
    ? { kind: 'result', result: toolFailure(message) }
    : { kind: 'error', error: internalError(message) }
}
