// JSON values for comparison: white space and the order of members have no meaning, and numbers keep their spelling.

import { createHash } from 'node:crypto'
import { defaultFrameLimits } from '../jsonrpc/frame.js'
import { itemsAt, membersAt } from '../jsonrpc/members.js'
import { type Span, scanText } from '../jsonrpc/scan.js'
import { parse, quote, rawAt, stringAt } from '../jsonrpc/text.js'
import { escapeUnseen } from './unseen.js'

/** A JSON value. Members stand in the order of their names, and may stand twice. */
export type Json =
  | { readonly kind: 'object'; readonly members: readonly Member[] }
  | { readonly kind: 'array'; readonly items: readonly Json[] }
  /** A string in its shortest spelling, or a number, `true`, `false` or `null` as it was written. */
  | { readonly kind: 'plain'; readonly text: string }

export type Member = readonly [name: string, value: Json]

/** The lock nests what servers list a few levels deeper. */
const DEPTH_MAX = defaultFrameLimits.depthMax + 16

/** @throws FrameError for bytes that are no JSON */
export function readJson(bytes: Buffer): Json {
  return valueAt(bytes, scanText(bytes, DEPTH_MAX))
}

function valueAt(bytes: Buffer, span: Span): Json {
  const members = membersAt(bytes, span)
  if (members !== undefined)
    return objectOf(
      [...members].map(({ key, value }): Member => [stringAt(bytes, key) ?? '', valueAt(bytes, value)]),
    )
  const first = String.fromCharCode(bytes[span.start] ?? 0)
  // An object with more members than are read is compared by its bytes.
  if (first !== '[') return plain(first === '"' ? quote(stringAt(bytes, span) ?? '') : rawAt(bytes, span))
  const items = itemsAt(bytes, span, Number.POSITIVE_INFINITY)
  return { kind: 'array', items: items.map((item) => valueAt(bytes, item)) }
}

export function plain(text: string): Json {
  return { kind: 'plain', text }
}

export function string(text: string): Json {
  return plain(quote(text))
}

export function objectOf(members: readonly Member[]): Json {
  return { kind: 'object', members: [...members].sort(([one], [other]) => compareText(one, other)) }
}

/** By code units, so that the order is the same on every machine. */
function compareText(one: string, other: string): number {
  return one < other ? -1 : one > other ? 1 : 0
}

/** The last member of that name, as most readers take it. */
export function memberOf(json: Json | undefined, name: string): Json | undefined {
  if (json?.kind !== 'object') return undefined
  return json.members.findLast(([each]) => each === name)?.[1]
}

export function membersIn(json: Json | undefined): readonly Member[] {
  return json?.kind === 'object' ? json.members : []
}

export function itemsIn(json: Json | undefined): readonly Json[] {
  return json?.kind === 'array' ? json.items : []
}

/** Undefined for what is no string. */
export function textOf(json: Json | undefined): string | undefined {
  if (json?.kind !== 'plain' || !json.text.startsWith('"')) return undefined
  const text = parse(json.text)
  return typeof text === 'string' ? text : undefined
}

/** One text for all spellings of a value. */
export function canonical(json: Json): string {
  switch (json.kind) {
    case 'plain':
      return json.text
    case 'array':
      return `[${json.items.map(canonical).join(',')}]`
    case 'object':
      return `{${json.members.map(([name, value]) => `${quote(name)}:${canonical(value)}`).join(',')}}`
  }
}

export function isSame(one: Json | undefined, other: Json | undefined): boolean {
  if (one === undefined || other === undefined) return one === other
  return canonical(one) === canonical(other)
}

export function hashOf(json: Json): string {
  return `sha256-${createHash('sha256').update(canonical(json)).digest('base64')}`
}

/** A line of the file; longer values are broken into one member a line. */
const COLUMNS = 100

/** For people and `git diff`; invisible characters are written as escapes. `depth` is the indentation of the first line. */
export function printed(json: Json, depth = 0): string {
  const line = escapeUnseen(canonical(json))
  if (json.kind === 'plain' || line.length <= COLUMNS - 2 * depth || line.length <= 2) return line
  const inner = '  '.repeat(depth + 1)
  const parts =
    json.kind === 'array'
      ? json.items.map((item) => printed(item, depth + 1))
      : json.members.map(([name, value]) => `${escapeUnseen(quote(name))}: ${printed(value, depth + 1)}`)
  const [open, close] = json.kind === 'array' ? '[]' : '{}'
  return `${open}\n${inner}${parts.join(`,\n${inner}`)}\n${'  '.repeat(depth)}${close}`
}
