// One JSON-RPC 2.0 message: its bytes, and where the members stand that the proxy routes by.
//
// A frame is read in one validating scan and holds no payload value. Spans
// count from the start of `line`.

import { ambiguity, routedNames } from './ambiguity.js'
import { FrameError } from './errors.js'
import type { Line } from './line.js'
import { Members, isKey } from './members.js'
import { type RequestId, readId } from './request-id.js'
import { Scanner, type Span } from './scan.js'
import { stringAt } from './text.js'

export interface RequestFrame {
  readonly kind: 'request'
  readonly line: Line
  readonly id: RequestId
  readonly idSpan: Span
  readonly method: string
  readonly params: Params
}

export interface NotificationFrame {
  readonly kind: 'notification'
  readonly line: Line
  readonly method: string
  readonly params: Params
}

export interface ResultFrame {
  readonly kind: 'result'
  readonly line: Line
  readonly id: RequestId
  readonly idSpan: Span
  readonly result: Span
}

/** An error response; `id` is undefined when the peer could not read the request's. */
export interface ErrorFrame {
  readonly kind: 'error'
  readonly line: Line
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

/** What a frame may be; values come from `src/limits.ts`. */
export interface FrameLimits {
  readonly depthMax: number
  readonly methodBytesMax: number
}

export const defaultFrameLimits: FrameLimits = { depthMax: 128, methodBytesMax: 256 }

const envelopeNames = routedNames(['jsonrpc', 'id', 'method', 'params', 'result', 'error'])
const paramsNames = routedNames([
  '_meta',
  'name',
  'arguments',
  'uri',
  'ref',
  'cursor',
  'level',
  'requestId',
  'progressToken',
  'protocolVersion',
  'capabilities',
])
const metaNames = routedNames(['progressToken'])

const OPEN_OBJECT = 0x7b
const OPEN_ARRAY = 0x5b
const NULL = 0x6e

/**
 * Reads one message.
 *
 * @throws FrameError when the bytes are not one acceptable JSON-RPC 2.0 message
 */
export function readFrame(line: Line, limits: FrameLimits = defaultFrameLimits): Frame {
  return new FrameReader(line, limits).read()
}

/** Whether the first byte that is not white space opens an array: a batch of messages. */
export function isBatch(line: Uint8Array): boolean {
  for (const c of line) {
    if (c !== 0x20 && c !== 0x09 && c !== 0x0a && c !== 0x0d) return c === OPEN_ARRAY
  }
  return false
}

/** Reads one frame; lives for one call. */
class FrameReader {
  readonly #line: Line
  readonly #limits: FrameLimits
  readonly #scanner: Scanner
  readonly #envelope: Members
  readonly #params: Members
  readonly #meta: Members

  constructor(line: Line, limits: FrameLimits) {
    this.#line = line
    this.#limits = limits
    this.#scanner = new Scanner(line, limits.depthMax)
    this.#envelope = new Members(line)
    this.#params = new Members(line)
    this.#meta = new Members(line)
  }

  read(): Frame {
    const start = this.#scanner.skipSpace(0)
    if (this.#scanner.byte(start) !== OPEN_OBJECT) return this.#notAnObject(start)
    this.#scanner.finish(this.#collect(start, 1, this.#envelope))
    return this.#classify()
  }

  /** Skips an object, keeps its members in `into`, and goes into `params` and `params._meta` on the way. */
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
    }
    return scanner.closed(end)
  }

  #nested(key: number, keyEnd: number, depth: number): Members | undefined {
    if (depth === 1) return isKey(this.#line, key, keyEnd, 'params') ? this.#params : undefined
    return depth === 2 && isKey(this.#line, key, keyEnd, '_meta') ? this.#meta : undefined
  }

  #notAnObject(start: number): never {
    this.#scanner.finish(this.#scanner.value(start, 0))
    throw new FrameError('FRAME_ENVELOPE', 'a message is one object', start)
  }

  #classify(): Frame {
    const idSpan = this.#envelope.span('id')
    const isNull = idSpan !== undefined && this.#line[idSpan.start] === NULL
    const id = idSpan === undefined || isNull ? undefined : readId(this.#line, idSpan.start, idSpan.end)
    this.#refuseAmbiguity(id)
    if (this.#envelope.string('jsonrpc') !== '2.0') this.#invalid(id, `'jsonrpc' must be "2.0"`)
    if (this.#envelope.span('method') !== undefined) return this.#call(id, idSpan)
    return this.#response(id, idSpan)
  }

  #call(id: RequestId | undefined, idSpan: Span | undefined): Frame {
    const method = this.#method(id)
    const line = this.#line
    const params = this.#readParams(id)
    if (this.#envelope.span('result') !== undefined || this.#envelope.span('error') !== undefined) {
      this.#invalid(id, "a message with 'method' has no 'result' or 'error'")
    }
    if (idSpan === undefined) return { kind: 'notification', line, method, params }
    if (id === undefined) throw new FrameError('FRAME_ID', "'id' must be a string or an integer", idSpan.start)
    return { kind: 'request', line, id, idSpan, method, params }
  }

  #method(id: RequestId | undefined): string {
    const span = this.#envelope.span('method')
    const method = stringAt(this.#line, span)
    if (method === undefined) return this.#invalid(id, "'method' must be a string", span)
    if (method.length <= this.#limits.methodBytesMax) return method
    return this.#invalid(id, `'method' is longer than ${this.#limits.methodBytesMax} bytes`, span)
  }

  #readParams(id: RequestId | undefined): Params {
    const span = this.#envelope.span('params')
    if (span !== undefined && this.#line[span.start] !== OPEN_OBJECT) {
      this.#invalid(id, "'params' must be an object", span)
    }
    const metaSpan = this.#params.span('_meta')
    return { span, members: this.#params, metaSpan, meta: this.#meta }
  }

  #response(id: RequestId | undefined, idSpan: Span | undefined): ResponseFrame {
    const line = this.#line
    const result = this.#envelope.span('result')
    const error = this.#envelope.span('error')
    if (result === undefined && error === undefined) {
      return this.#invalid(id, "a message has a 'method', a 'result' or an 'error'")
    }
    if (result !== undefined && error !== undefined) {
      return this.#invalid(id, "a response has a 'result' or an 'error', not both")
    }
    if (error !== undefined) return { kind: 'error', line, id, idSpan, error }
    if (result === undefined || id === undefined || idSpan === undefined) {
      return this.#invalid(id, "a result names the 'id' of its request")
    }
    return { kind: 'result', line, id, idSpan, result }
  }

  #refuseAmbiguity(id: RequestId | undefined): void {
    const found =
      ambiguity(this.#envelope, envelopeNames) ??
      ambiguity(this.#params, paramsNames) ??
      ambiguity(this.#meta, metaNames)
    if (found !== undefined) throw new FrameError('FRAME_AMBIGUOUS', found.message, found.offset, id)
  }

  #invalid(id: RequestId | undefined, message: string, span?: Span): never {
    throw new FrameError('FRAME_ENVELOPE', message, span?.start ?? 0, id)
  }
}
