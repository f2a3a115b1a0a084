// A message without its id and one value: the arguments of a request, or a result.

import { Buffer } from 'node:buffer'
import { ZERO, isDigit } from './ascii.js'
import { FrameError } from './errors.js'
import type { Frame, Params, RequestFrame, ResultFrame } from './frame.js'
import type { Line } from './line.js'
import type { KnownText } from './members.js'
import { type RequestId, numericId } from './request-id.js'
import { Scanner, type Span } from './scan.js'

/** More fixed bytes than this are not worth comparing. */
const FIXED_BYTES_MAX = 512

/** Longer ids are read as a whole. */
const ID_DIGITS_MAX = 9

/** Where the two places that change end in another message. */
interface Ends {
  readonly first: number
  readonly second: number
}

/** What all requests of a shape have in common; the offsets are those of the first. */
interface Call {
  readonly method: string
  readonly params: Params
  readonly known: KnownText | undefined
}

/** One message that was read as a whole, and how to read others like it. */
export class FamiliarShape {
  /** Of a request; undefined of a result. */
  readonly #call: Call | undefined
  readonly #idFirst: boolean
  /** The two places that change, in the order in which they stand. */
  readonly #first: Span
  readonly #second: Span
  /** What stands before, between and behind them. */
  readonly #head: Uint8Array
  readonly #middle: Uint8Array
  readonly #tail: Uint8Array

  private constructor(frame: RequestFrame | ResultFrame, value: Span) {
    const { line, idSpan } = frame
    this.#idFirst = idSpan.start < value.start
    this.#first = this.#idFirst ? idSpan : value
    this.#second = this.#idFirst ? value : idSpan
    this.#head = Uint8Array.from(line.subarray(0, this.#first.start))
    this.#middle = Uint8Array.from(line.subarray(this.#first.end, this.#second.start))
    this.#tail = Uint8Array.from(line.subarray(this.#second.end))
    if (frame.kind === 'request') this.#call = callOf(frame)
  }

  /** Undefined when other messages of this kind cannot be told by their bytes. */
  static of(frame: Frame): FamiliarShape | undefined {
    if ((frame.kind !== 'request' && frame.kind !== 'result') || frame.multiline) return undefined
    // A progress token is another with each call.
    if (frame.kind === 'request' && frame.params.metaSpan !== undefined) return undefined
    const { line, idSpan } = frame
    const value = frame.kind === 'request' ? frame.params.members.span('arguments') : frame.result
    if (value === undefined || idEnd(line, idSpan.start) !== idSpan.end) return undefined
    const fixed = line.length - (value.end - value.start) - (idSpan.end - idSpan.start)
    return fixed > FIXED_BYTES_MAX ? undefined : new FamiliarShape(frame, value)
  }

  /** The message in `line`, if it is one like this and in order. */
  read(line: Line, depthMax: number): RequestFrame | ResultFrame | undefined {
    if (!has(line, 0, this.#head)) return undefined
    const scanner = new Scanner(line, depthMax)
    try {
      const first = this.#end(scanner, this.#first.start, this.#idFirst)
      if (!has(line, first, this.#middle)) return undefined
      const second = this.#end(scanner, first + this.#middle.length, !this.#idFirst)
      if (!has(line, second, this.#tail) || second + this.#tail.length !== line.length) return undefined
      scanner.finish(line.length)
      return this.#frame(line, scanner.hasBreaks, { first, second })
    } catch (error) {
      if (error instanceof FrameError) return undefined
      throw error
    }
  }

  /** Where the id or the value that begins at `start` ends; -1 when it is not such an id. */
  #end(scanner: Scanner, start: number, isId: boolean): number {
    return isId ? idEnd(scanner.bytes, start) : scanner.value(start, this.#call === undefined ? 1 : 2)
  }

  #frame(line: Line, multiline: boolean, ends: Ends): RequestFrame | ResultFrame {
    const [id, value] = this.#idFirst ? [this.#first, this.#second] : [this.#second, this.#first]
    const idSpan = this.#moved(id, ends)
    const call = this.#call
    if (call === undefined) {
      return {
        kind: 'result',
        line,
        multiline,
        id: idAt(line, idSpan),
        idSpan,
        result: this.#moved(value, ends),
      }
    }
    const { span, members, metaSpan, meta } = call.params
    const params = {
      span: span && this.#moved(span, ends),
      members: members.moved(line, (at) => this.#move(at, ends), call.known),
      metaSpan,
      meta,
    }
    return { kind: 'request', line, multiline, id: idAt(line, idSpan), idSpan, method: call.method, params }
  }

  #moved({ start, end }: Span, ends: Ends): Span {
    return { start: this.#move(start, ends), end: this.#move(end, ends) }
  }

  #move(at: number, ends: Ends): number {
    if (at <= this.#first.start) return at
    return at <= this.#second.start ? at + ends.first - this.#first.end : at + ends.second - this.#second.end
  }
}

/** Without the bytes of the message, which would keep alive the chunk that it came in. */
function callOf({ method, params }: RequestFrame): Call {
  const text = params.members.string('name')
  const members = params.members.moved(NOTHING, (at) => at)
  return {
    method,
    params: { ...params, members },
    known: text === undefined ? undefined : { name: 'name', text },
  }
}

const NOTHING = Buffer.alloc(0)

function has(line: Line, at: number, bytes: Uint8Array): boolean {
  if (at < 0) return false
  for (let i = 0; i < bytes.length; i++) if (line[at + i] !== bytes[i]) return false
  return true
}

/** Where the digits that begin at `start` end; -1 when they are not such as nearly every id has. */
function idEnd(bytes: Buffer, start: number): number {
  let end = start
  while (end - start <= ID_DIGITS_MAX && isDigit(bytes[end] ?? 0)) end++
  const digits = end - start
  return digits === 0 || digits > ID_DIGITS_MAX || (bytes[start] === ZERO && digits > 1) ? -1 : end
}

function idAt(line: Line, { start, end }: Span): RequestId {
  let value = 0
  for (let at = start; at < end; at++) value = value * 10 + (line[at] ?? 0) - ZERO
  return numericId(value)
}
