// One JSON-RPC 2.0 message: its bytes, and where the members stand that the proxy routes by.
//
// A frame is read in one validating scan and holds no payload value. Spans count from the start
// of `line`; `multiline` says that a line break stands between its tokens, which must not go out.

import { OPEN_ARRAY, OPEN_OBJECT, isSpace } from './ascii.js'
import { FrameError } from './jsonrpc-errors.js'
import { findId } from './id-finder.js'
import { type Line, toLine } from './line.js'
import type { LongLine } from './fast/long-line.js'
import { Members, itemsAt } from './members.js'
import { type RequestId, readId } from './request-id.js'
import {
  type RoutedNames,
  ambiguity,
  forwardedNames,
  metaNames,
  paramsNames,
  spellings,
} from './routed-names.js'
import { type KnownValues, Scanner, type Span, scanText } from './scan.js'
import { isKey, stringAt } from './text.js'

/** The limits of a frame; `src/limits.ts` has the values. */
export interface FrameLimits {
  readonly depthMax: number
  readonly methodBytesMax: number
  /** The members of a message by which it is routed; `messageNamesWith` adds those of results. */
  readonly names?: RoutedNames | undefined
}

export const defaultFrameLimits: FrameLimits = { depthMax: 128, methodBytesMax: 256 }

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
  /** Its members, where its frame limits name some of them, and it is an object. */
  readonly named?: Members | undefined
}

/** An error response; `id` is undefined when the peer could not read the request's. */
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

/** `params` and `params._meta`, whose members the proxy routes by and edits. */
export interface Params {
  /** Undefined when the message has none. */
  readonly span: Span | undefined
  readonly members: Members
  readonly metaSpan: Span | undefined
  readonly meta: Members
}

const NULL = 0x6e

/** Of an object that is not there; most messages have no `_meta`, and answers no `params`. */
const noMembers = new Members(Buffer.alloc(0))

/** Reads one message. @throws FrameError when the bytes are not one acceptable JSON-RPC 2.0 message */
export function readFrame(line: Line, limits: FrameLimits = defaultFrameLimits): Frame {
  const frame = frameOrError(line, limits)
  if (frame instanceof FrameError) throw frame
  return frame
}

/** Reads one message, or says why it cannot be read: where invalid input is common. */
export function frameOrError(
  line: Line,
  limits: FrameLimits = defaultFrameLimits,
  known?: KnownValues,
): Frame | FrameError {
  try {
    return new FrameReader(line, limits, known).read()
  } catch (error) {
    if (!(error instanceof FrameError)) throw error
    const isTooMuch = error.code === 'FRAME_DEPTH' || error.code === 'FRAME_TOO_LARGE'
    return isTooMuch ? addressed(error, line) : error
  }
}

/** The error of a message whose reading stopped at a limit, with the id that may stand behind it. */
function addressed(error: FrameError, line: Line): FrameError {
  const { id, isCall } = findId(line)
  return new FrameError(error.code, error.message, error.offset, isCall ? id : undefined)
}

/** Reads one frame; lives for one call. */
class FrameReader {
  readonly #line: Line
  readonly #limits: FrameLimits
  readonly #known: KnownValues | undefined
  readonly #members: Members
  /** The id that an error may be addressed to. */
  #asker: RequestId | undefined

  constructor(line: Line, limits: FrameLimits, known?: KnownValues) {
    this.#line = line
    this.#limits = limits
    this.#known = known
    this.#members = new Members(line, limits.names ?? forwardedNames)
  }

  read(): Frame {
    const line = this.#line
    const scanner = new Scanner(line, this.#limits.depthMax, this.#known?.spans)
    const start = line[0] === OPEN_OBJECT ? 0 : scanner.skipSpace(0)
    const isObject = line[start] === OPEN_OBJECT
    scanner.finish(isObject ? scanner.object(start, 1, this.#members) : scanner.value(start, 0))
    if (!isObject) throw new FrameError('FRAME_ENVELOPE', 'a message is one object', start)
    return this.#classify(scanner.hasBreaks || this.#known?.hasBreaks === true)
  }

  #classify(multiline: boolean): Frame {
    const line = this.#line
    const members = this.#members
    const idSpan = members.span('id')
    const method = members.span('method')
    const result = members.span('result')
    const error = members.span('error')
    const isNull = idSpan !== undefined && line[idSpan.start] === NULL
    const id = idSpan === undefined || isNull ? undefined : readId(line, idSpan.start, idSpan.end)
    // The id of an answer is not its sender's own.
    const hasOutcome = result !== undefined || error !== undefined
    this.#asker = method === undefined && hasOutcome ? undefined : id
    this.#refuseAmbiguity()
    this.#refuseOtherVersions(members.span('jsonrpc'))
    if (method !== undefined) {
      if (hasOutcome) this.#invalid("a message with 'method' has no 'result' or 'error'")
      return this.#call(
        multiline,
        id,
        idSpan,
        this.#methodAt(method),
        this.#readParams(members.span('params')),
      )
    }
    if (result !== undefined && error !== undefined)
      return this.#invalid("a response has a 'result' or an 'error', not both")
    if (error !== undefined) return { kind: 'error', line, multiline, id, idSpan, error }
    if (result === undefined) return this.#invalid("a message has a 'method', a 'result' or an 'error'")
    if (id === undefined || idSpan === undefined)
      return this.#invalid("a result names the 'id' of its request")
    return { kind: 'result', line, multiline, id, idSpan, result, named: members.inner('result') }
  }

  #call(
    multiline: boolean,
    id: RequestId | undefined,
    idSpan: Span | undefined,
    method: string,
    params: Params,
  ): RequestFrame | NotificationFrame {
    const line = this.#line
    if (idSpan === undefined) return { kind: 'notification', line, multiline, method, params }
    if (id === undefined)
      throw new FrameError('FRAME_ID', "'id' must be a string or an integer", idSpan.start)
    return { kind: 'request', line, multiline, id, idSpan, method, params }
  }

  #methodAt(span: Span): string {
    const method = stringAt(this.#line, span)
    if (method === undefined) return this.#invalid("'method' must be a string", span)
    if (span.end - span.start - 2 <= this.#limits.methodBytesMax) return method
    return this.#invalid(`'method' is longer than ${this.#limits.methodBytesMax} bytes`, span)
  }

  #readParams(span: Span | undefined): Params {
    if (span !== undefined && this.#line[span.start] !== OPEN_OBJECT) {
      this.#invalid("'params' must be an object", span)
    }
    const members = this.#members.inner('params')
    if (members === undefined) return { span, members: noMembers, metaSpan: undefined, meta: noMembers }
    return { span, members, metaSpan: members.span('_meta'), meta: members.inner('_meta') ?? noMembers }
  }

  /** Looks at all keys where one is no routed name, or stands twice. */
  #refuseAmbiguity(): void {
    const whole = this.#members
    const params = whole.inner('params')
    if (!whole.isOdd && params?.isOdd !== true && params?.inner('_meta')?.isOdd !== true) return
    const outer = ambiguity(whole, forwardedNames)
    const found = outer ?? ambiguity(params, paramsNames) ?? ambiguity(params?.inner('_meta'), metaNames)
    if (found === undefined) return
    // With two ids it is unknown which one the sender waits for.
    const hasTwoIds = outer !== undefined && spellings(whole, 'id') > 1
    throw new FrameError('FRAME_AMBIGUOUS', found.message, found.offset, hasTwoIds ? undefined : this.#asker)
  }

  #refuseOtherVersions(span: Span | undefined): void {
    if (span !== undefined && isKey(this.#line, span.start, span.end, '2.0')) return
    if (stringAt(this.#line, span) !== '2.0') this.#invalid(`'jsonrpc' must be "2.0"`, span)
  }

  #invalid(message: string, span?: Span): never {
    throw new FrameError('FRAME_ENVELOPE', message, span?.start ?? 0, this.#asker)
  }
}

// A batch: an array of messages on one line (JSON-RPC 2.0 section 6).

/** How many messages one batch may hold. */
const BATCH_MAX = 100

/** Whether the first byte that is not white space opens an array: a batch of messages. */
export function isBatch(line: Uint8Array): boolean {
  for (const c of line) {
    if (!isSpace(c)) return c === OPEN_ARRAY
  }
  return false
}

/** Whether a line has white space alone: a person who presses a key, and no message. */
export function isBlank(line: Uint8Array): boolean {
  return line.every(isSpace)
}

/**
 * The messages of a batch, each as a separate line.
 *
 * @throws FrameError when the line is not JSON, is empty, or holds more messages than allowed
 */
export function splitBatch(line: Line, limits: FrameLimits = defaultFrameLimits): Line[] {
  const span = scanText(line, limits.depthMax)
  const items = itemsAt(line, span, BATCH_MAX)
  if (items.length === 0) throw new FrameError('FRAME_ENVELOPE', 'a batch is not empty', span.start)
  if (items.length > BATCH_MAX) {
    throw new FrameError('FRAME_TOO_LARGE', `a batch holds at most ${BATCH_MAX} messages`, span.start)
  }
  return items.map((item) => toLine(line.subarray(item.start, item.end)))
}

/** The same where the sender must be heard in any case: a batch that is broken is one message, which cannot be read. */
export function batchMembers(line: Line): readonly Line[] {
  try {
    return splitBatch(line)
  } catch (error) {
    if (!(error instanceof FrameError)) throw error
    return [line]
  }
}
