// One JSON-RPC 2.0 message: its bytes, and the places of the members that the proxy routes by.
//
// One validating scan reads a frame and stores no payload value. Spans count from the start of `line`.
// `multiline` means that line breaks stand between tokens; the proxy must not send them.

import { OPEN_ARRAY, OPEN_OBJECT, isSpace } from './ascii.js'
import { FrameError } from './jsonrpc-errors.js'
import { findId } from './id-finder.js'
import { type Line, toLine } from './line.js'
import type { LongLine } from './long-line.js'
import { LONG_BYTES_MIN, longStrings } from './long-strings.js'
import { Members, itemsAt } from './members.js'
import { type RequestId, readId } from './request-id.js'
import { ambiguity, messageNames, metaNames, paramsNames } from './routed-names.js'
import { DEPTH_MAX, Scanner, type Span, scanText } from './scan.js'
import { isKey, stringAt } from './text.js'

const METHOD_BYTES_MAX = 256

export interface RequestFrame {
  readonly kind: 'request'
  readonly line: Line
  readonly multiline: boolean
  readonly id: RequestId
  readonly idSpan: Span
  readonly method: string
  readonly params: Params
}

export interface NotificationFrame {
  readonly kind: 'notification'
  readonly line: Line
  readonly multiline: boolean
  readonly method: string
  readonly params: Params
}

export interface ResultFrame {
  readonly kind: 'result'
  /** The line of a long result is joined when it is first read. */
  readonly line: Line
  readonly long?: LongLine
  readonly multiline: boolean
  readonly id: RequestId
  readonly idSpan: Span
  readonly result: Span
  /** The members of the result, if it is an object. */
  readonly members: Members | undefined
}

/** An error response; `id` is undefined if the peer could not read the id of the request. */
export interface ErrorFrame {
  readonly kind: 'error'
  readonly line: Line
  readonly multiline: boolean
  readonly id: RequestId | undefined
  readonly idSpan: Span | undefined
  readonly error: Span
}

export type ResponseFrame = ResultFrame | ErrorFrame
export type Frame = RequestFrame | NotificationFrame | ResponseFrame

export interface UnreadableMessage {
  readonly kind: 'unreadable'
  readonly error: FrameError
  readonly line: Line
}

export type ReceivedMessage = Frame | UnreadableMessage

/** `params` and `params._meta`, whose members the proxy routes by and edits. */
export interface Params {
  readonly span: Span | undefined
  readonly members: Members
  readonly metaSpan: Span | undefined
  readonly meta: Members
}

const NULL = 0x6e

/** Stands for a missing object: most messages have no `_meta`, and answers have no `params`. */
const noMembers = new Members(Buffer.alloc(0))

/** Reads one message. @throws FrameError when the bytes are not one acceptable JSON-RPC 2.0 message */
export function readFrame(line: Line): Frame {
  const message = readMessage(line)
  if (message.kind === 'unreadable') throw message.error
  return message
}

/** Reads one message, or returns why it is unreadable. `strings` are the offsets of its long strings. */
export function readMessage(
  line: Line,
  strings: readonly number[] | undefined = line.length < LONG_BYTES_MIN ? undefined : longStrings([line]),
): ReceivedMessage {
  try {
    const members = new Members(line, messageNames)
    const scanner = new Scanner(line, DEPTH_MAX, strings)
    const start = line[0] === OPEN_OBJECT ? 0 : scanner.skipSpace(0)
    const isObject = line[start] === OPEN_OBJECT
    scanner.finish(isObject ? scanner.object(start, 1, members) : scanner.value(start, 0))
    if (!isObject) return unreadable(line, new FrameError('FRAME_ENVELOPE', 'a message is one object', start))
    return classify(line, members, scanner.hasBreaks)
  } catch (error) {
    if (!(error instanceof FrameError)) throw error
    return unreadable(line, error.unreadable ? error : addressed(error, line))
  }
}

function unreadable(line: Line, error: FrameError): UnreadableMessage {
  return { kind: 'unreadable', error, line }
}

/** Adds the id of a request to the error. The id of an answer belongs to a request of another sender. */
function addressed({ code, message, offset }: FrameError, line: Line): FrameError {
  const { claims, isCall, isAnswer } = findId(line)
  const [id] = claims.length === 1 && (isCall || !isAnswer) ? claims : []
  return new FrameError(code, message, offset, id)
}

function classify(line: Line, members: Members, multiline: boolean): Frame {
  const idSpan = members.span('id')
  const method = members.span('method')
  const result = members.span('result')
  const error = members.span('error')
  const isNull = idSpan !== undefined && line[idSpan.start] === NULL
  const id = idSpan === undefined || isNull ? undefined : readId(line, idSpan.start, idSpan.end)
  refuseAmbiguity(members)
  refuseOtherVersions(line, members.span('jsonrpc'))
  if (method !== undefined) {
    if (result !== undefined || error !== undefined)
      return invalid("a message with 'method' has no 'result' or 'error'")
    const name = methodAt(line, method)
    const params = readParams(line, members)
    if (idSpan === undefined) return { kind: 'notification', line, multiline, method: name, params }
    if (id === undefined)
      throw new FrameError('FRAME_ID', "'id' must be a string or an integer", idSpan.start)
    return { kind: 'request', line, multiline, id, idSpan, method: name, params }
  }
  if (result !== undefined && error !== undefined)
    return invalid("a response has a 'result' or an 'error', not both")
  if (error !== undefined) return { kind: 'error', line, multiline, id, idSpan, error }
  if (result === undefined) return invalid("a message has a 'method', a 'result' or an 'error'")
  if (id === undefined || idSpan === undefined) return invalid("a result names the 'id' of its request")
  return { kind: 'result', line, multiline, id, idSpan, result, members: members.inner('result') }
}

function methodAt(line: Line, span: Span): string {
  const method = stringAt(line, span)
  if (method === undefined) return invalid("'method' must be a string", span)
  if (span.end - span.start - 2 <= METHOD_BYTES_MAX) return method
  return invalid(`'method' is longer than ${METHOD_BYTES_MAX} bytes`, span)
}

function readParams(line: Line, message: Members): Params {
  const span = message.span('params')
  if (span !== undefined && line[span.start] !== OPEN_OBJECT) invalid("'params' must be an object", span)
  const members = message.inner('params')
  if (members === undefined) return { span, members: noMembers, metaSpan: undefined, meta: noMembers }
  return { span, members, metaSpan: members.span('_meta'), meta: members.inner('_meta') ?? noMembers }
}

/** Compares all keys if one is not a routed name or appears twice. */
function refuseAmbiguity(message: Members): void {
  const params = message.inner('params')
  const meta = params?.inner('_meta')
  if (!message.isOdd && params?.isOdd !== true && meta?.isOdd !== true) return
  const found =
    ambiguity(message, messageNames) ?? ambiguity(params, paramsNames) ?? ambiguity(meta, metaNames)
  if (found !== undefined) throw new FrameError('FRAME_AMBIGUOUS', found.message, found.offset)
}

function refuseOtherVersions(line: Line, span: Span | undefined): void {
  if (span !== undefined && isKey(line, span.start, span.end, '2.0')) return
  if (stringAt(line, span) !== '2.0') invalid(`'jsonrpc' must be "2.0"`, span)
}

function invalid(message: string, span?: Span): never {
  throw new FrameError('FRAME_ENVELOPE', message, span?.start ?? 0)
}

// A batch: an array of messages on one line (JSON-RPC 2.0 section 6).

const BATCH_MAX = 100

/** Whether the first byte that is not white space opens an array: a batch of messages. */
export function isBatch(line: Uint8Array): boolean {
  return line[0] !== OPEN_OBJECT && line.find((c) => !isSpace(c)) === OPEN_ARRAY
}

/** Whether a line contains only white space: a person pressed a key, and no message was sent. */
export function isBlank(line: Uint8Array): boolean {
  return line.every(isSpace)
}

/**
 * Splits a batch into its messages, each as a separate line.
 *
 * @throws FrameError when the line is not JSON, is empty, or holds more messages than allowed
 */
export function splitBatch(line: Line): Line[] {
  const span = scanText(line)
  const items = itemsAt(line, span, BATCH_MAX)
  if (items.length === 0) throw new FrameError('FRAME_ENVELOPE', 'a batch is not empty', span.start)
  if (items.length > BATCH_MAX) {
    throw new FrameError('FRAME_TOO_LARGE', `a batch holds at most ${BATCH_MAX} messages`, span.start)
  }
  return items.map((item) => toLine(line.subarray(item.start, item.end)))
}

/** Splits a batch. Returns a broken batch as one unreadable message, so that the sender gets an error. */
export function batchMembers(line: Line): readonly Line[] {
  try {
    return splitBatch(line)
  } catch (error) {
    if (!(error instanceof FrameError)) throw error
    return [line]
  }
}
