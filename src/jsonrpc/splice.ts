// Every forwarded message is exactly `splice(input, edits)`.
//
// Anyone who has the input and the edits can compute the output, and every edit has a reason. Without edits,
// the output is the input itself.

import { Buffer } from 'node:buffer'
import { LF, OPEN_OBJECT } from './ascii.js'
import { fault } from './jsonrpc-errors.js'
import { type Line, PartReader, breaksBetween, lengthOf, lineAt, toLine, toOneLine } from './line.js'
import type { Span } from './scan.js'
import type { RequestId } from './request-id.js'
import { bytesOf, rawAt } from './text.js'

/** Why a forwarded message may differ from its input; docs/wire.md prints this list. */
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

/** Replaces the bytes of the span. An empty span inserts; empty bytes remove. */
export interface Edit<Why extends string = EditReason> extends Span {
  readonly bytes: Uint8Array
  readonly why: Why
}

export const NO_EDITS: readonly Edit[] = []

export function bothEdits(first: readonly Edit[], second: readonly Edit[]): readonly Edit[] {
  if (first.length === 0) return second
  return second.length === 0 ? first : [...first, ...second]
}

/**
 * Applies the edits to the input, which is in one piece or in the parts in which it arrived.
 *
 * @throws Error when the edits do not lie in the input, are out of order, or overlap
 */
export function splice<Why extends string>(
  input: Line | readonly Uint8Array[],
  edits: readonly Edit<Why>[],
): Message {
  return new Message(input, edits)
}

const COPIED_BYTES_MAX = 16 * 1024

/** The bytes of a message to send. Only `splice` and `build` make one. Each read applies the edits. */
export class Message {
  readonly length: number
  /** One message, or its parts in order; a line feed follows the last part. */
  readonly #input: Line | readonly Uint8Array[]
  readonly #edits: readonly Edit<string>[]

  constructor(input: Line | readonly Uint8Array[], edits: readonly Edit<string>[] = NO_EDITS) {
    this.#input = input
    this.#edits = edits
    this.length = lengthAfter(edits, input instanceof Uint8Array ? input.length : lengthOf(input))
    if (this.length <= 0) throw fault('a message is not empty')
  }

  /** The message in memory, with a line feed after the last part. A part without edits is not copied. */
  get parts(): readonly Uint8Array[] {
    const parts = this.#input instanceof Uint8Array ? [this.#input] : this.#input
    if (this.#edits.length === 0) return parts
    return this.length > COPIED_BYTES_MAX ? between(parts, this.#edits) : [this.joined]
  }

  get joined(): Line {
    if (this.#input instanceof Uint8Array && this.#edits.length === 0) return this.#input
    const memory = Buffer.allocUnsafe(this.length + 1)
    this.writeTo(memory, 0)
    return lineAt(memory, 0, this.length)
  }

  toString(): string {
    return this.joined.toString()
  }

  /** Writes the message with a line feed directly after it. Later bytes of the memory may be overwritten. */
  writeTo(memory: Buffer, start: number): void {
    const input = this.#input
    let to = start
    if (input instanceof Uint8Array) {
      // One copy puts the bytes after the edits in place, or a few bytes too far.
      const at = start + Math.max(0, this.length - input.length)
      const hasRoom = at + input.length <= memory.length
      if (hasRoom) memory.set(input, at)
      let from = 0
      for (const { bytes, start: edited, end } of this.#edits) {
        to = copy(input, from, edited, memory, to)
        to = copy(bytes, 0, bytes.length, memory, to)
        from = end
      }
      if (!hasRoom) copy(input, from, input.length, memory, to)
      else if (to < at + from) memory.copyWithin(to, at + from, at + input.length)
    } else for (const part of between(input, this.#edits)) to = copy(part, 0, part.length, memory, to)
    memory[start + this.length] = LF
  }
}

/** A native call costs more than a loop over this many bytes. */
const LOOP_BYTES_MAX = 48

/** Copies the bytes between two offsets, and returns the offset after them in `memory`. */
function copy(bytes: Uint8Array, start: number, end: number, memory: Uint8Array, at: number): number {
  const moved = at - start
  if (end - start > LOOP_BYTES_MAX) memory.set(bytes.subarray(start, end), at)
  else for (let from = start; from < end; from++) memory[from + moved] = bytes[from] ?? 0
  return end + moved
}

function between(parts: readonly Uint8Array[], edits: readonly Edit<string>[]): Uint8Array[] {
  const reader = new PartReader(parts)
  const length = lengthOf(parts)
  const all: Uint8Array[] = []
  let from = 0
  for (const { bytes, start, end } of edits) {
    reader.read(from, start, all)
    all.push(bytes)
    from = end
  }
  reader.read(from, length, all)
  // No line feed follows the bytes of an edit.
  if (from === length) all.push(toLine(''))
  return all
}

/**
 * Computes the length of a message of `length` bytes after its edits.
 *
 * @throws Error when the edits do not lie in these bytes, are out of order, or overlap
 */
function lengthAfter(edits: readonly Edit<string>[], length: number): number {
  let after = length
  let from = 0
  for (const { bytes, start, end } of edits) {
    if (start < from || end < start || end > length)
      throw fault('edits lie in the input, in order, and do not overlap')
    after += bytes.length - (end - start)
    from = end
  }
  return after
}

/** Sorts the edits as `splice` requires. */
export function inOrder<E extends Span>(edits: readonly E[]): readonly E[] {
  // Nearly always they are sorted.
  const isSorted = edits.every((edit, at) => at === 0 || compare(edits[at - 1] ?? edit, edit) <= 0)
  return isSorted ? edits : edits.toSorted(compare)
}

function compare(one: Span, other: Span): number {
  return one.start - other.start || one.end - other.end
}

/** Adds the edit that sets this id. `line`, which joins a long message, is read only if there is no id. */
export function withId(
  edits: readonly Edit[],
  frame: { readonly line: Line; readonly idSpan: Span | undefined },
  id: RequestId,
): readonly Edit[] {
  const { idSpan } = frame
  const start = idSpan?.start ?? frame.line.indexOf(OPEN_OBJECT) + 1
  const text = idSpan === undefined ? `"id":${id},` : id
  const own: readonly Edit[] = [{ start, end: idSpan?.end ?? start, bytes: bytesOf(text), why: 'id' }]
  const [first] = edits
  return first === undefined || first.start > start ? bothEdits(own, edits) : bothEdits(edits, own)
}

/** The edit that writes `text` at `span`; empty if the same text stands there already. */
export function writing(bytes: Buffer, span: Span, text: string, why: EditReason): readonly Edit[] {
  if (rawAt(bytes, span) === text) return []
  return [{ start: span.start, end: span.end, bytes: Buffer.from(text), why }]
}

/** Adds one edit for the line breaks in each gap between the sorted edits. Only a tap needs these edits. */
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
