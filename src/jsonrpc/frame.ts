// One JSON-RPC 2.0 message: its bytes, and where the members stand that the proxy routes by.
//
// A frame is read in one validating scan and holds no payload value. Spans count from the start
// of `line`; `multiline` says that a line break stands between its tokens, which must not go out.

import { ambiguity, spellings } from './ambiguity.js'
import { OPEN_OBJECT } from './ascii.js'
import { FrameError } from './errors.js'
import { type FrameLimits, defaultFrameLimits, limitMembers } from './frame-limits.js'
import { IdFinder } from './id-finder.js'
import type { Line } from './line.js'
import type { LongLine } from './fast/long-line.js'
import { Envelope } from './envelope.js'
import { Members, isKey, membersAt } from './members.js'
import { type RequestId, readId } from './request-id.js'
import { envelopeNames, metaNames, paramsNames } from './routed-names.js'
import { Scanner, type Span } from './scan.js'
import { stringAt } from './text.js'

export interface RequestFrame {
  readonly kind: 'request'
  /** Of a long request, joined when somebody asks for it. */
  readonly line: Line
  readonly long?: LongLine
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
  /** Of a long result, joined when somebody asks for it. */
  readonly line: Line
  readonly long?: LongLine
  readonly multiline: boolean
  readonly id: RequestId
  readonly idSpan: Span
  readonly result: Span
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

/**
 * Reads one message.
 *
 * @throws FrameError when the bytes are not one acceptable JSON-RPC 2.0 message
 */
export function readFrame(line: Line, limits: FrameLimits = defaultFrameLimits): Frame {
  try {
    return new FrameReader(line, limits).read()
  } catch (error) {
    throw error instanceof FrameError && isTooMuch(error) ? addressed(error, line) : error
  }
}

function isTooMuch(error: FrameError): boolean {
  return error.code === 'FRAME_DEPTH' || error.code === 'FRAME_TOO_LARGE'
}

/** The error of a message whose reading stopped at a limit, with the id that may stand behind it. */
function addressed(error: FrameError, line: Line): FrameError {
  const finder = new IdFinder()
  finder.push(line)
  return new FrameError(error.code, error.message, error.offset, finder.isCall ? finder.id : undefined)
}

/** Reads one frame; lives for one call. */
class FrameReader {
  readonly #line: Line
  readonly #limits: FrameLimits
  readonly #scanner: Scanner
  readonly #envelope = new Envelope()
  #params: Members = noMembers
  #meta: Members = noMembers
  /** The id that an error may be addressed to. */
  #asker: RequestId | undefined

  constructor(line: Line, limits: FrameLimits) {
    this.#line = line
    this.#limits = limits
    this.#scanner = new Scanner(line, limits.depthMax)
  }

  read(): Frame {
    const start = this.#scanner.skipSpace(0)
    if (this.#scanner.byte(start) !== OPEN_OBJECT) return this.#notAnObject(start)
    const end = this.#readEnvelope(start)
    this.#scanner.finish(end)
    return this.#classify(this.#scanner.hasBreaks, { start, end })
  }

  #readEnvelope(at: number): number {
    const scanner = this.#scanner
    let end = at + 1
    for (let key = scanner.firstKey(end); key >= 0; key = scanner.nextKey(end)) {
      const keyEnd = scanner.string(key)
      const value = scanner.colon(keyEnd)
      const isParams = scanner.byte(value) === OPEN_OBJECT && isKey(this.#line, key, keyEnd, 'params')
      end = isParams ? this.#readParamsObject(value) : scanner.value(value, 1)
      this.#envelope.add(this.#line, key, keyEnd, value, end)
      limitMembers(scanner, key, this.#envelope.size)
    }
    return scanner.closed(end)
  }

  #readParamsObject(at: number): number {
    this.#params = new Members(this.#line)
    return this.#collect(at, 2, this.#params)
  }

  /** Skips an object, keeps its members in `into`, and goes into `params._meta` on the way. */
  #collect(at: number, depth: number, into: Members): number {
    const scanner = this.#scanner
    scanner.checkDepth(at, depth)
    let end = at + 1
    for (let key = scanner.firstKey(end); key >= 0; key = scanner.nextKey(end)) {
      const keyEnd = scanner.string(key)
      const value = scanner.colon(keyEnd)
      const nested = scanner.byte(value) === OPEN_OBJECT ? this.#nested(key, keyEnd, depth) : undefined
      end = nested === undefined ? scanner.value(value, depth) : this.#collect(value, depth + 1, nested)
      into.add(key, keyEnd, value, end)
      limitMembers(scanner, key, into.size)
    }
    return scanner.closed(end)
  }

  /** Where the members of the object with this key go, if it is one that is gone into. */
  #nested(key: number, keyEnd: number, depth: number): Members | undefined {
    if (depth !== 2 || !isKey(this.#line, key, keyEnd, '_meta')) return undefined
    this.#meta = new Members(this.#line)
    return this.#meta
  }

  #notAnObject(start: number): never {
    this.#scanner.finish(this.#scanner.value(start, 0))
    throw new FrameError('FRAME_ENVELOPE', 'a message is one object', start)
  }

  #classify(multiline: boolean, whole: Span): Frame {
    const { id: idSpan, method } = this.#envelope
    const isNull = idSpan !== undefined && this.#line[idSpan.start] === NULL
    const id = idSpan === undefined || isNull ? undefined : readId(this.#line, idSpan.start, idSpan.end)
    // The id of an answer is not its sender's own.
    this.#asker = method === undefined && this.#hasOutcome() ? undefined : id
    this.#refuseAmbiguity(whole)
    this.#refuseOtherVersions()
    if (method === undefined) return this.#response(multiline, id, idSpan)
    return this.#call(multiline, id, idSpan, method)
  }

  #hasOutcome(): boolean {
    return this.#envelope.result !== undefined || this.#envelope.error !== undefined
  }

  #call(multiline: boolean, id: RequestId | undefined, idSpan: Span | undefined, methodSpan: Span): Frame {
    const line = this.#line
    const method = this.#method(methodSpan)
    const params = this.#readParams()
    if (this.#hasOutcome()) this.#invalid("a message with 'method' has no 'result' or 'error'")
    if (idSpan === undefined) return { kind: 'notification', line, multiline, method, params }
    if (id === undefined)
      throw new FrameError('FRAME_ID', "'id' must be a string or an integer", idSpan.start)
    return { kind: 'request', line, multiline, id, idSpan, method, params }
  }

  #method(span: Span): string {
    const method = stringAt(this.#line, span)
    if (method === undefined) return this.#invalid("'method' must be a string", span)
    if (span.end - span.start - 2 <= this.#limits.methodBytesMax) return method
    return this.#invalid(`'method' is longer than ${this.#limits.methodBytesMax} bytes`, span)
  }

  #readParams(): Params {
    const span = this.#envelope.params
    if (span !== undefined && this.#line[span.start] !== OPEN_OBJECT) {
      this.#invalid("'params' must be an object", span)
    }
    const metaSpan = this.#params.span('_meta')
    return { span, members: this.#params, metaSpan, meta: this.#meta }
  }

  #response(multiline: boolean, id: RequestId | undefined, idSpan: Span | undefined): ResponseFrame {
    const line = this.#line
    const { result, error } = this.#envelope
    if (result !== undefined && error !== undefined) {
      return this.#invalid("a response has a 'result' or an 'error', not both")
    }
    if (error !== undefined) return { kind: 'error', line, multiline, id, idSpan, error }
    if (result === undefined) return this.#invalid("a message has a 'method', a 'result' or an 'error'")
    if (id === undefined || idSpan === undefined)
      return this.#invalid("a result names the 'id' of its request")
    return { kind: 'result', line, multiline, id, idSpan, result }
  }

  #refuseAmbiguity(whole: Span): void {
    const all = this.#envelope.isOdd ? membersAt(this.#scanner, whole) : undefined
    const outer = all === undefined ? undefined : ambiguity(all, envelopeNames)
    const found = outer ?? ambiguity(this.#params, paramsNames) ?? ambiguity(this.#meta, metaNames)
    if (found === undefined) return
    // Of two ids nobody knows which one its sender waits for.
    const hasTwoIds = outer !== undefined && all !== undefined && spellings(all, 'id') > 1
    const asker = hasTwoIds ? undefined : this.#asker
    throw new FrameError('FRAME_AMBIGUOUS', found.message, found.offset, asker)
  }

  #refuseOtherVersions(): void {
    const span = this.#envelope.jsonrpc
    if (span !== undefined && isKey(this.#line, span.start, span.end, '2.0')) return
    if (stringAt(this.#line, span) !== '2.0') this.#invalid(`'jsonrpc' must be "2.0"`, span)
  }

  #invalid(message: string, span?: Span): never {
    throw new FrameError('FRAME_ENVELOPE', message, span?.start ?? 0, this.#asker)
  }
}
