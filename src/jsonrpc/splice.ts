// A forwarded message is `splice(input, edits)`, and nothing else is.
//
// The output can be recomputed from the input by anyone who holds the edits, and
// every edit says why it was made. With no edit the output is the input itself.

import { Buffer } from 'node:buffer'
import { LF, OPEN_OBJECT } from './ascii.js'
import { fault } from './jsonrpc-errors.js'
import { type Line, breaksBetween, lineAt, toOneLine } from './line.js'
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

/** Those of `first`, and behind them those of `second`. */
export function bothEdits(first: readonly Edit[], second: readonly Edit[]): readonly Edit[] {
  if (second.length === 0) return first
  if (first.length === 0) return second
  const [one] = first
  const [other] = second
  // Nearly always there is one of each, and to spread them takes several times as long.
  const areTwo = first.length === 1 && second.length === 1 && one !== undefined && other !== undefined
  return areTwo ? [one, other] : [...first, ...second]
}

declare const wireBrand: unique symbol

/** The bytes of a message that may be sent: made by `splice` or by `build`. */
export type WireBytes = Line & { readonly [wireBrand]: true }

function saysSomething(line: Line): line is WireBytes {
  return line.length > 0
}

/** Marks a message that this process says itself; only `build` and `splice` may. */
export function wireBytes(line: Line): WireBytes {
  if (saysSomething(line)) return line
  throw fault('a message is not empty')
}

/** The input with each edit in its place; edits are in order and do not overlap. */
export function splice<Why extends string>(input: Line, edits: readonly Edit<Why>[]): WireBytes {
  return edits.length === 0 ? wireBytes(input) : new SplicedLine(input, edits).joined
}

/** A message that may be sent, whose edits are made where it is written. */
export class SplicedLine {
  readonly #input: Line
  readonly #edits: readonly Edit<string>[]
  /** By how much the output is ahead of the input at most, behind any of the edits. */
  readonly #ahead: number
  readonly length: number

  /** The edits are in order and do not overlap. They are checked here, so that `writeTo` cannot fail halfway. */
  constructor(input: Line, edits: readonly Edit<string>[]) {
    checkOrder(edits, input.length)
    let growth = 0
    let greatest = 0
    for (const { bytes, start, end } of edits) {
      growth += bytes.length - (end - start)
      if (growth > greatest) greatest = growth
    }
    this.#input = input
    this.#edits = edits
    this.#ahead = greatest
    this.length = input.length + growth
    if (this.length <= 0) throw fault('a message is not empty')
  }

  /** How many bytes `writeTo` needs. */
  get room(): number {
    return this.#input.length + this.#ahead + 1
  }

  /** A copy of the message with its edits. */
  get joined(): WireBytes {
    const memory = Buffer.allocUnsafe(this.room)
    return wireBytes(lineAt(memory, 0, this.writeTo(memory, 0)))
  }

  /**
   * Writes the message, and a line feed directly behind it; gives where that is.
   *
   * All of the input is copied once, and what stands between edits is moved from there: to copy a part costs twice as
   * much as to move it, since the engine makes a view for that.
   */
  writeTo(memory: Buffer, start: number): number {
    const size = this.#input.length
    const input = start + this.#ahead
    memory.set(this.#input, input)
    let from = 0
    let to = start
    for (const edit of this.#edits) {
      move(memory, to, input + from, input + edit.start)
      to += edit.start - from
      put(edit.bytes, memory, to)
      to += edit.bytes.length
      from = edit.end
    }
    move(memory, to, input + from, input + size)
    to += size - from
    memory[to] = LF
    return to
  }
}

/** @throws Error when the edits do not lie in the `length` bytes of the input, are out of order, or overlap */
export function checkOrder(edits: readonly Span[], length: number): void {
  let from = 0
  for (const { start, end } of edits) {
    const isInOrder = start >= from && end >= start && end <= length
    if (!isInOrder) throw fault('edits lie in the input, in order, and do not overlap')
    from = end
  }
}

/** So many bytes are copied one by one sooner than the engine is called for them. */
const FEW_BYTES = 24

/** `to <= from` always holds, so a forward copy does not overwrite unread input. */
function move(memory: Buffer, to: number, from: number, end: number): void {
  if (to === from) return
  if (end - from > FEW_BYTES) memory.copyWithin(to, from, end)
  else for (let i = from; i < end; i++) memory[to + i - from] = memory[i] ?? 0
}

function put(bytes: Uint8Array, memory: Buffer, to: number): void {
  if (bytes.length > FEW_BYTES) memory.set(bytes, to)
  else for (let i = 0; i < bytes.length; i++) memory[to + i] = bytes[i] ?? 0
}

/** Edits in the order in which `splice` wants them. */
export function inOrder<E extends Span>(edits: readonly E[]): readonly E[] {
  for (let i = 1; i < edits.length; i++) {
    const before = edits[i - 1]
    const edit = edits[i]
    if (before === undefined || edit === undefined || !isBehind(before, edit)) continue
    // Nearly always there are two.
    return edits.length === 2 ? [edit, before] : [...edits].sort((a, b) => a.start - b.start || a.end - b.end)
  }
  return edits
}

function isBehind(one: Span, other: Span): boolean {
  return one.start > other.start || (one.start === other.start && one.end > other.end)
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
