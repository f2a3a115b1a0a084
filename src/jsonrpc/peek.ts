// What a message is, from its first members alone.
//
// A transport that matches answers to exchanges needs to know no more, and must
// not read ten megabytes twice for it. Every writer puts `jsonrpc`, `id` and
// `method` before what is long, or `result` and `error` before what is behind.

import { isSpace, COLON, COMMA, OPEN_OBJECT, QUOTE, BACKSLASH } from './ascii.js'
import { readFrame } from './frame.js'
import type { Line } from './line.js'
import { LongLine } from './fast/long-line.js'
import { type RequestId, canonical, readId } from './request-id.js'

/** Beyond this the whole message is read. */
const PEEK_BYTES_MAX = 1024

/**
 * Whether the message is an answer: it has a `result` or an `error`, and no `method`.
 *
 * With `to` it must be the one to that request, as far as its id stands before what is long.
 */
export function isAnswer(message: Line | LongLine, to?: RequestId): boolean {
  const isLong = message instanceof LongLine
  const beginning = isLong ? (message.head[0] ?? message.last) : message
  return peek(beginning, to) ?? isAnswerAtAll(isLong ? message.line : message, to)
}

/** Undefined when the beginning does not say. */
function peek(line: Buffer, to: RequestId | undefined): boolean | undefined {
  let at = skipSpace(line, 0)
  if (line[at] !== OPEN_OBJECT) return at < line.length ? false : undefined
  for (;;) {
    at = skipSpace(line, at + 1)
    const end = stringEnd(line, at)
    if (end === undefined) return undefined
    const key = line.toString('latin1', at + 1, end - 1)
    if (key === 'method') return false
    if (key === 'result' || key === 'error') return true
    at = skipSpace(line, end)
    if (line[at] !== COLON) return at < line.length ? false : undefined
    const value = skipSpace(line, at + 1)
    const valueEnd = shortValueEnd(line, value)
    if (valueEnd === undefined || valueEnd === line.length) return undefined
    if (key === 'id' && to !== undefined && !isId(line, value, valueEnd, to)) return false
    at = skipSpace(line, valueEnd)
    if (line[at] !== COMMA) return undefined
  }
}

function skipSpace(line: Buffer, from: number): number {
  let at = from
  while (isSpace(line[at] ?? -1)) at++
  return at
}

/** Behind the plain string at `at`; undefined when there is none, or none that is short and plain. */
function stringEnd(line: Buffer, at: number): number | undefined {
  if (line[at] !== QUOTE) return undefined
  for (let i = at + 1; i < PEEK_BYTES_MAX; i++) {
    if (line[i] === QUOTE) return i + 1
    if (line[i] === BACKSLASH) return undefined
  }
  return undefined
}

/** Behind the string, number or literal at `at`. */
function shortValueEnd(line: Buffer, at: number): number | undefined {
  return line[at] === QUOTE ? stringEnd(line, at) : wordEnd(line, at)
}

/** Nearly every server writes an id as it was written to it. */
function isId(line: Buffer, start: number, end: number, id: RequestId): boolean {
  if (line.toString('latin1', start, end) === id) return true
  try {
    return canonical(readId(line, start, end)) === canonical(id)
  } catch {
    return false
  }
}

function wordEnd(line: Buffer, at: number): number | undefined {
  let end = at
  while (isWord(line[end] ?? -1)) end++
  return end === at || end > PEEK_BYTES_MAX ? undefined : end
}

/** Digits, letters, and the signs of numbers. */
function isWord(c: number): boolean {
  return (
    (c >= 0x30 && c <= 0x39) ||
    (c >= 0x61 && c <= 0x7a) ||
    c === 0x2b ||
    c === 0x2d ||
    c === 0x2e ||
    c === 0x45
  )
}

function isAnswerAtAll(line: Line, to: RequestId | undefined): boolean {
  try {
    const frame = readFrame(line)
    if (frame.kind !== 'result' && frame.kind !== 'error') return false
    return to === undefined || (frame.id !== undefined && canonical(frame.id) === canonical(to))
  } catch {
    return false
  }
}
