// Line breaks between the tokens of a message.
//
// JSON allows them, and a body that was pretty-printed has them, but a message
// goes out as one line. Many readers also take a lone CR for the end of a line
// (Python's text files do), so a client could hide a second message behind one.
// Every break becomes a space: the spans of the message stay what they are.

import { Buffer } from 'node:buffer'
import { CR, LF } from './ascii.js'
import type { Line } from './line.js'
import { type Edit, inOrder } from './splice.js'

const BLANK = Buffer.from(' ')

/** Whether any byte is CR or LF; inside a JSON string none can be. */
export function hasLineBreaks(line: Uint8Array): boolean {
  return line.includes(CR) || line.includes(LF)
}

/** `edits`, and one for each line break that they leave; in order. */
export function lineSafe(line: Line, edits: readonly Edit[]): readonly Edit[] {
  const ordered = inOrder(edits)
  const all: Edit[] = []
  let from = 0
  for (const edit of ordered) {
    addBreaks(line, from, edit.start, all)
    all.push(edit)
    from = edit.end
  }
  addBreaks(line, from, line.length, all)
  return all.length === ordered.length ? ordered : all
}

function addBreaks(line: Line, from: number, to: number, into: Edit[]): void {
  for (let at = from; at < to; at++) {
    if (line[at] === CR || line[at] === LF)
      into.push({ start: at, end: at + 1, bytes: BLANK, why: 'line-safe' })
  }
}
