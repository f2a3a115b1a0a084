// Writes all spellings of a JSON value as one text, with sorted members, one a line. Invisible characters become
// escapes. Numbers keep their spelling, and objects keep members with the same name.

import { createHash } from 'node:crypto'
import { OPEN_ARRAY, OPEN_OBJECT, QUOTE } from '../jsonrpc/ascii.js'
import { itemsAt, membersAt } from '../jsonrpc/members.js'
import { type Span, scanText } from '../jsonrpc/scan.js'
import { onOneLine, quote, rawAt, stringAt } from '../jsonrpc/text.js'
import { escapeUnseen } from './unseen.js'

/** The content of one listed tool or prompt, or of the instructions of a server. */
export interface Content {
  readonly hash: string
  readonly text: string
}

export type JsonMember = readonly [name: string, json: string]

/** Deeper lines have no further indent, so that the text of a deep value stays a few times as long as the value. */
const INDENT_MAX = 12

/** @throws FrameError if the bytes are not valid JSON */
export function contentOf(json: Buffer): Content {
  const text = textOf(json, scanText(json), 0)
  return { hash: `sha256-${createHash('sha256').update(text).digest('base64')}`, text }
}

function textOf(json: Buffer, span: Span, depth: number): string {
  switch (json[span.start] ?? 0) {
    case OPEN_OBJECT: {
      const members = membersAt(json, span)
      // `membersAt` gives up at 10,000 members. The source text of such an object stays unchanged.
      if (members === undefined) return escapeUnseen(onOneLine(rawAt(json, span)))
      const named = [...members].map(({ key, value }): JsonMember => [
        stringAt(json, key) ?? '',
        textOf(json, value, depth + 1),
      ])
      return objectText(named, depth)
    }
    case OPEN_ARRAY: {
      const items = itemsAt(json, span, Number.POSITIVE_INFINITY)
      return block(['[', ']'], items.map((item) => textOf(json, item, depth + 1)), depth) // prettier-ignore
    }
    case QUOTE:
      // The shortest spelling of the string.
      return escapeUnseen(quote(stringAt(json, span) ?? ''))
    default:
      return rawAt(json, span)
  }
}

/** Writes an object whose first line has `depth` indents. The values begin one level deeper. */
export function objectText(members: readonly JsonMember[], depth: number): string {
  const sorted = [...members].sort(([one], [other]) => (one < other ? -1 : one > other ? 1 : 0))
  const lines = sorted.map(([name, text]) => `${escapeUnseen(quote(name))}: ${text}`)
  return block(['{', '}'], lines, depth)
}

/** Returns the text with `depth` more indents. */
export function indented({ text }: Content, depth: number): string {
  return text.replaceAll('\n', `\n${'  '.repeat(depth)}`)
}

function block([open, close]: readonly [string, string], parts: readonly string[], depth: number): string {
  if (parts.length === 0) return open + close
  const outer = `\n${'  '.repeat(Math.min(depth, INDENT_MAX))}`
  const inner = `\n${'  '.repeat(Math.min(depth + 1, INDENT_MAX))}`
  return `${open}${inner}${parts.join(`,${inner}`)}${outer}${close}`
}
