// One message in memory: its bytes, with a line feed directly after them.
//
// A stream that is split at line feeds already has this form. With the line feed in place, a message without
// edits leaves as a slice of the chunk that contained it, and adjacent messages leave as one slice.

import { Buffer } from 'node:buffer'
import { CR, LF, SPACE } from './ascii.js'
import { fault } from './jsonrpc-errors.js'

declare const lineBrand: unique symbol

/** The bytes of one message. They contain no line feed, and one follows directly after their end. */
export type Line = Buffer & { readonly [lineBrand]: true }

function endsAtFeed(view: Buffer, chunk: Buffer, start: number): view is Line {
  return chunk[start + view.length] === LF
}

/** The view of `chunk` from `start` to the line feed at `end`. */
export function lineAt(chunk: Buffer, start: number, end: number): Line {
  const view = chunk.subarray(start, end)
  if (endsAtFeed(view, chunk, start)) return view
  throw fault('a line ends at a line feed')
}

export function lengthOf(parts: readonly Uint8Array[]): number {
  let length = 0
  for (const part of parts) length += part.length
  return length
}

/** Joins `parts`, whose total length is `length`, into one line in new memory. */
export function joinLine(parts: readonly Uint8Array[], length: number = lengthOf(parts)): Line {
  const memory = Buffer.allocUnsafe(length + 1)
  let at = 0
  for (const part of parts) {
    memory.set(part, at)
    at += part.length
  }
  if (at !== length) throw fault('the parts fill the line')
  memory[length] = LF
  return lineAt(memory, 0, length)
}

/** Copies `bytes` into a line in new memory. */
export function toLine(bytes: Uint8Array | string): Line {
  if (typeof bytes !== 'string') return joinLine([bytes], bytes.length)
  const length = Buffer.byteLength(bytes)
  const memory = Buffer.allocUnsafe(length + 1)
  memory.write(bytes, 0)
  memory[length] = LF
  return lineAt(memory, 0, length)
}

/** Reads ascending ranges of the joined parts without a copy. */
export class PartReader {
  readonly #parts: readonly Uint8Array[]
  #index = 0
  #offset = 0

  constructor(parts: readonly Uint8Array[]) {
    this.#parts = parts
  }

  /** Adds the bytes from `from` to `to` as views of the parts. */
  read(from: number, to: number, into: Uint8Array[]): void {
    for (let part = this.#parts[this.#index]; part !== undefined; part = this.#parts[this.#index]) {
      const end = this.#offset + part.length
      const first = Math.max(from, this.#offset)
      const last = Math.min(to, end)
      const isWhole = last - first === part.length
      if (last > first) into.push(isWhole ? part : part.subarray(first - this.#offset, last - this.#offset))
      if (to <= end) return
      this.#offset = end
      this.#index++
    }
  }
}

// Line breaks between the tokens of a message.
//
// JSON allows them, but the proxy sends each message as one line. Many readers (Python's text files, for
// example) also end a line at a lone CR, so a client could hide a second message behind one. A space replaces
// every break, so the spans stay valid. A JSON string contains no raw break.

function isBreak(c: number): boolean {
  return c === LF || c === CR
}

export function hasLineBreaks(line: Uint8Array): boolean {
  return line.includes(CR) || line.includes(LF)
}

export function overwriteBreaks(bytes: Uint8Array): void {
  for (let at = 0; at < bytes.length; at++) if (isBreak(bytes[at] ?? 0)) bytes[at] = SPACE
}

/** Copies the message and replaces each line break with a space. */
export function toOneLine(message: Uint8Array | string): Line {
  const copy = toLine(message)
  overwriteBreaks(copy)
  return copy
}

/** The range from the first to the last line break between two offsets; undefined without a line break. */
export function breaksBetween(
  line: Line,
  from: number,
  to: number,
): { start: number; end: number } | undefined {
  const part = line.subarray(from, to)
  const first = part.findIndex(isBreak)
  return first < 0 ? undefined : { start: from + first, end: from + part.findLastIndex(isBreak) + 1 }
}
