// One text for all spellings of a JSON value, one member a line: white space and the order of members have no meaning,
// numbers keep their spelling, and members that stand twice stay both. Invisible characters are escapes in it.

import { createHash } from 'node:crypto'
import { OPEN_ARRAY, OPEN_OBJECT, QUOTE } from '../jsonrpc/ascii.js'
import { itemsAt, membersAt } from '../jsonrpc/members.js'
import { type Span, scanText } from '../jsonrpc/scan.js'
import { onOneLine, quote, rawAt, stringAt } from '../jsonrpc/text.js'
import { escapeUnseen } from './unseen.js'

/** One thing that a server has listed: a tool or a prompt with its name, or the text of instructions. */
export interface Content {
  readonly hash: string
  readonly text: string
}

export type JsonMember = readonly [name: string, json: string]

/** Deeper lines are not indented any further, so that the text of a deep value stays a few times as long as the value. */
const INDENT_MAX = 12

/** @throws FrameError for bytes that are no JSON */
export function contentOf(json: Buffer): Content {
  const text = textOf(json, scanText(json), 0)
  return { hash: `sha256-${createHash('sha256').update(text).digest('base64')}`, text }
}

function textOf(json: Buffer, span: Span, depth: number): string {
  switch (json[span.start] ?? 0) {
    case OPEN_OBJECT: {
      const members = membersAt(json, span)
      // The text of one with more than 10,000 members is not changed.
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
      // In its shortest spelling.
      return escapeUnseen(quote(stringAt(json, span) ?? ''))
    default:
      return rawAt(json, span)
  }
}

/** JSON of an object whose first line is indented `depth` times; the values begin one level deeper. */
export function objectText(members: readonly JsonMember[], depth: number): string {
  const sorted = [...members].sort(([one], [other]) => (one < other ? -1 : one > other ? 1 : 0))
  const lines = sorted.map(([name, text]) => `${escapeUnseen(quote(name))}: ${text}`)
  return block(['{', '}'], lines, depth)
}

/** A text of `contentOf`, all of whose lines are indented further. */
export function indented({ text }: Content, depth: number): string {
  return text.replaceAll('\n', `\n${'  '.repeat(depth)}`)
}

function block([open, close]: readonly [string, string], parts: readonly string[], depth: number): string {
  if (parts.length === 0) return open + close
  const outer = `\n${'  '.repeat(Math.min(depth, INDENT_MAX))}`
  const inner = `\n${'  '.repeat(Math.min(depth + 1, INDENT_MAX))}`
  return `${open}${inner}${parts.join(`,${inner}`)}${outer}${close}`
}
