// Line breaks between the tokens of a message.
//
// JSON allows them, and a pretty-printed body has them, but a message leaves as one line. Many readers also take a lone
// CR for the end of a line (Python's text files do), so a client could hide a second message behind one. Every break
// becomes a space, so the spans of the message stay valid. Inside a JSON string no raw break can stand.

import { CR, LF } from './ascii.js'
import { type Line, toLine } from './line.js'
import { type Edit, inOrder } from './splice.js'
import { overwriteBreaks } from './text.js'

/** The number of runs of breaks between two other edits that have an edit each; one edit covers all further runs. */
const RUNS_MAX = 256

/** Whether any byte is CR or LF. */
export function hasLineBreaks(line: Uint8Array): boolean {
  return line.includes(CR) || line.includes(LF)
}

/** A copy of the message with a space in the place of each line break. */
export function toOneLine(message: Uint8Array | string): Line {
  const copy = toLine(message)
  overwriteBreaks(copy)
  return copy
}

/**
 * `edits`, in order, and one for each run of line breaks that they leave.
 *
 * Only a tap needs these edits. A message can have millions of breaks, so a stretch between two of `edits` has at most
 * `RUNS_MAX` + 1 of them, the last of which may replace what stands between breaks by itself.
 */
export function lineBreakEdits(line: Line, edits: readonly Edit[]): readonly Edit[] {
  const spaced = toOneLine(line)
  const all: Edit[] = []
  let from = 0
  for (const edit of inOrder(edits)) {
    addRuns(line, spaced, from, edit.start, all)
    all.push(edit)
    from = edit.end
  }
  addRuns(line, spaced, from, line.length, all)
  return all
}

function addRuns(line: Line, spaced: Line, from: number, to: number, into: Edit[]): void {
  let at = breakFrom(line, from, to)
  for (let runs = 0; at < to; runs++) {
    const end = runs < RUNS_MAX ? runEnd(line, at, to) : lastBreak(line, to) + 1
    into.push({ start: at, end, bytes: spaced.subarray(at, end), why: 'line-safe' })
    at = breakFrom(line, end, to)
  }
}

function isBreak(c: number | undefined): boolean {
  return c === LF || c === CR
}

function breakFrom(line: Line, from: number, to: number): number {
  let at = from
  while (at < to && !isBreak(line[at])) at++
  return at
}

function runEnd(line: Line, from: number, to: number): number {
  let at = from
  while (at < to && isBreak(line[at])) at++
  return at
}

function lastBreak(line: Line, to: number): number {
  let at = to - 1
  while (!isBreak(line[at])) at--
  return at
}
