// One message in memory: its bytes, and a line feed directly behind them.
//
// Reading a stream gives that for free, since the delimiter stays where it was
// read. Keeping it means that a message without edits leaves as a slice of the
// chunk it came in, and that neighbours leave as one slice.

import { Buffer } from 'node:buffer'
import { LF } from './ascii.js'
import { fault } from './jsonrpc-errors.js'

declare const lineBrand: unique symbol

/** The bytes of one message, which contain no line feed and have one directly behind their end. */
export type Line = Buffer & { readonly [lineBrand]: true }

/** `view` begins at `start` of `chunk`. */
function endsAtFeed(view: Buffer, chunk: Buffer, start: number): view is Line {
  return chunk[start + view.length] === LF
}

/** The view of `chunk` from `start` to the line feed at `end`. */
export function lineAt(chunk: Buffer, start: number, end: number): Line {
  const view = chunk.subarray(start, end)
  if (endsAtFeed(view, chunk, start)) return view
  throw fault('a line ends at a line feed')
}

/** How long they are together. */
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
