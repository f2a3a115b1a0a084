// A forwarded message is `splice(input, edits)`, and nothing else is.
//
// The output can be recomputed from the input by anyone who holds the edits, and
// every edit says why it was made. With no edit the output is the input itself.

import { Buffer } from 'node:buffer'
import { LF, OPEN_OBJECT } from './ascii.js'
import { fault } from './jsonrpc-errors.js'
import { PartReader } from './fast/long-line.js'
import { type Line, breaksBetween, lengthOf, lineAt, toLine, toOneLine } from './line.js'
import type { Span } from './scan.js'
import type { RequestId } from './request-id.js'
import { rawAt } from './text.js'

/** Why a forwarded message may differ from what came in; docs/wire.md prints this list. */
export const editReasons = [
  'id',
  'name',
  'uri',
  'describe',
  'repair',
  'argument',
  'progress-token',
  'capability',
  'task',
  'meta',
  'input',
  'request-state',
  'result-type',
  'cache-hint',
  'error-code',
  'subscription',
  'structured-wrap',
  'trace',
  'line-safe',
] as const
export type EditReason = (typeof editReasons)[number]

/** Replaces the bytes of the span; an empty span inserts, empty bytes remove. */
export interface Edit<Why extends string = EditReason> extends Span {
  readonly bytes: Uint8Array
  readonly why: Why
}

export const NO_EDITS: readonly Edit[] = []

export function bothEdits(first: readonly Edit[], second: readonly Edit[]): readonly Edit[] {
  if (second.length === 0) return first
  return first.length === 0 ? second : first.concat(second)
}

/** The input, in one piece or in the parts in which it came, with each edit in its place. @throws Error as `checkOrder` does */
export function splice<Why extends string>(
  input: Line | readonly Uint8Array[],
  edits: readonly Edit<Why>[],
): Message {
  return new Message(input, edits)
}

const COPIED_BYTES_MAX = 16 * 1024

/** The bytes of a message that may be sent; `splice` and `build` alone make them. Edits are made where it is written. */
export class Message {
  readonly length: number
  /** A line feed lies behind the last; in order, and without the edits that are still to be made. */
  #parts: readonly Uint8Array[]
  #edits: readonly Edit<string>[]
  /** The message in one piece, where it is. */
  #line: Line | undefined

  constructor(input: Line | readonly Uint8Array[], edits: readonly Edit<string>[] = NO_EDITS) {
    const isWhole = input instanceof Uint8Array
    const parts = isWhole ? [input] : input
    const size = lengthOf(parts)
    checkOrder(edits, size)
    this.#parts = parts
    this.#edits = edits
    this.length = edits.reduce((sum, { bytes, start, end }) => sum + bytes.length - (end - start), size)
    if (this.length <= 0) throw fault('a message is not empty')
    if (isWhole && edits.length === 0) this.#line = input
  }

  /** The message as it lies in memory, with a line feed behind the last part. What no edit touches stays where it lies. */
  get parts(): readonly Uint8Array[] {
    if (this.#edits.length === 0) return this.#parts
    return this.length > COPIED_BYTES_MAX ? this.#become(between(this.#parts, this.#edits)) : [this.joined]
  }

  get joined(): Line {
    if (this.#line !== undefined) return this.#line
    const memory = Buffer.allocUnsafe(this.length + 1)
    this.#line = lineAt(memory, 0, this.writeTo(memory, 0))
    this.#become([this.#line])
    return this.#line
  }

  toString(): string {
    return this.joined.toString()
  }

  #become(parts: readonly Uint8Array[]): readonly Uint8Array[] {
    this.#edits = NO_EDITS
    return (this.#parts = parts)
  }

  /** Writes the message, and a line feed directly behind it; gives where that is. */
  writeTo(memory: Buffer, start: number): number {
    const [first] = this.#parts
    const input = this.#parts.length === 1 && Buffer.isBuffer(first) ? first : Buffer.concat(this.#parts)
    let from = 0
    let to = start
    for (const edit of this.#edits) {
      to += input.copy(memory, to, from, edit.start)
      memory.set(edit.bytes, to)
      to += edit.bytes.length
      from = edit.end
    }
    to += input.copy(memory, to, from)
    memory[to] = LF
    return to
  }
}

function between(parts: readonly Uint8Array[], edits: readonly Edit<string>[]): Uint8Array[] {
  const reader = new PartReader(parts)
  const length = lengthOf(parts)
  const all: Uint8Array[] = []
  let from = 0
  for (const edit of edits) {
    reader.read(from, edit.start, all)
    all.push(edit.bytes)
    from = edit.end
  }
  reader.read(from, length, all)
  // Behind the bytes of an edit there is no line feed.
  if (from === length) all.push(toLine(''))
  return all
}

/** @throws Error when the edits do not lie in the `length` bytes of the input, are out of order, or overlap */
function checkOrder(edits: readonly Span[], length: number): void {
  let from = 0
  for (const { start, end } of edits) {
    const isInOrder = start >= from && end >= start && end <= length
    if (!isInOrder) throw fault('edits lie in the input, in order, and do not overlap')
    from = end
  }
}

/** Edits in the order in which `splice` wants them. */
export function inOrder<E extends Span>(edits: readonly E[]): readonly E[] {
  // Nearly always they are.
  const isSorted = edits.every((edit, at) => at === 0 || compare(edits[at - 1] ?? edit, edit) <= 0)
  return isSorted ? edits : edits.toSorted(compare)
}

function compare(one: Span, other: Span): number {
  return one.start - other.start || one.end - other.end
}

/** `edits`, and one that gives the message this id; only an error may come without one. */
export function withId(
  edits: readonly Edit[],
  frame: { readonly line: Line; readonly idSpan: Span | undefined },
  id: RequestId,
): readonly Edit[] {
  const { idSpan } = frame
  if (idSpan !== undefined)
    return bothEdits(edits, [{ start: idSpan.start, end: idSpan.end, bytes: Buffer.from(id), why: 'id' }])
  const start = frame.line.indexOf(OPEN_OBJECT) + 1
  return bothEdits(edits, [{ start, end: start, bytes: Buffer.from(`"id":${id},`), why: 'id' }])
}

/** The edit that writes `text` at `span`; none where it stands there already. */
export function writing(bytes: Buffer, span: Span, text: string, why: EditReason): readonly Edit[] {
  if (rawAt(bytes, span) === text) return []
  return [{ start: span.start, end: span.end, bytes: Buffer.from(text), why }]
}

/** `edits`, in order, and one for the line breaks of each stretch that they leave. Only a tap needs these edits. */
export function lineBreakEdits(line: Line, edits: readonly Edit[]): readonly Edit[] {
  const spaced = toOneLine(line)
  const all: Edit[] = []
  let from = 0
  const addBreaks = (to: number): void => {
    const span = breaksBetween(line, from, to)
    if (span !== undefined)
      all.push({ ...span, bytes: spaced.subarray(span.start, span.end), why: 'line-safe' })
  }
  for (const edit of inOrder(edits)) {
    addBreaks(edit.start)
    all.push(edit)
    from = edit.end
  }
  addBreaks(line.length)
  return all
}
