// JSON values for comparison: white space and the order of members have no meaning, and numbers keep their spelling.

import { createHash } from 'node:crypto'
import { defaultFrameLimits } from '../jsonrpc/frame.js'
import { scanText } from '../jsonrpc/scan.js'
import { parse, quote } from '../jsonrpc/text.js'
import { escapeUnseen } from './unseen.js'

/** A JSON value. Members stand in the order of their names, and may stand twice. */
export type Json =
  | { readonly kind: 'object'; readonly members: readonly JsonMember[] }
  | { readonly kind: 'array'; readonly items: readonly Json[] }
  /** A string in its shortest spelling, or a number, `true`, `false` or `null` as it was written. */
  | { readonly kind: 'plain'; readonly text: string }

export type JsonMember = readonly [name: string, value: Json]

/** The lock nests what servers list a few levels deeper. */
const DEPTH_MAX = defaultFrameLimits.depthMax + 16

/** @throws FrameError for bytes that are no JSON */
export function readComparable(bytes: Buffer): Json {
  scanText(bytes, DEPTH_MAX)
  return new Reader(bytes.toString()).value()
}

/** Reads a text that is JSON, once from its beginning to its end. */
class Reader {
  readonly #text: string
  #at = 0

  constructor(text: string) {
    this.#text = text
  }

  value(): Json {
    switch (this.#next()) {
      case '{':
        return objectOf(this.#list('}', () => this.#member()))
      case '[':
        return { kind: 'array', items: this.#list(']', () => this.value()) }
      case '"':
        return plain(this.#string())
      default:
        return plain(this.#word())
    }
  }

  #member(): JsonMember {
    this.#next()
    const name = parse(this.#string())
    this.#next()
    this.#at++
    return [String(name), this.value()]
  }

  #list<T>(end: string, read: () => T): T[] {
    const items: T[] = []
    this.#at++
    while (this.#next() !== end) {
      items.push(read())
      if (this.#next() === ',') this.#at++
    }
    this.#at++
    return items
  }

  /** In its shortest spelling. */
  #string(): string {
    const start = this.#at
    let end = this.#text.indexOf('"', start + 1)
    while (isEscaped(this.#text, end)) end = this.#text.indexOf('"', end + 1)
    this.#at = end + 1
    const raw = this.#text.slice(start, this.#at)
    return raw.includes('\\') ? quote(String(parse(raw))) : raw
  }

  #word(): string {
    const start = this.#at
    while (/[-+.\w]/.test(this.#text[this.#at] ?? ' ')) this.#at++
    return this.#text.slice(start, this.#at)
  }

  /** The next character that is no white space. */
  #next(): string {
    while (' \n\r\t'.includes(this.#text[this.#at] ?? '!')) this.#at++
    return this.#text[this.#at] ?? ''
  }
}

/** Whether an odd number of backslashes stands before the quote. */
function isEscaped(text: string, at: number): boolean {
  let from = at
  while (text[from - 1] === '\\') from--
  return (at - from) % 2 === 1
}

export function plain(text: string): Json {
  return { kind: 'plain', text }
}

export function string(text: string): Json {
  return plain(quote(text))
}

export function objectOf(members: readonly JsonMember[]): Json {
  return { kind: 'object', members: [...members].sort(([one], [other]) => compareText(one, other)) }
}

/** By code units, so that the order is the same on every machine. */
function compareText(one: string, other: string): number {
  return one < other ? -1 : one > other ? 1 : 0
}

/** The last member of that name, as most readers take it. */
export function memberOf(json: Json | undefined, name: string): Json | undefined {
  if (json?.kind !== 'object') return undefined
  // By halves, since a server may list a schema of a hundred thousand members.
  let [low, high] = [0, json.members.length]
  while (low < high) {
    const middle = (low + high) >>> 1
    if (compareText(json.members[middle]?.[0] ?? '', name) <= 0) low = middle + 1
    else high = middle
  }
  const found = json.members[low - 1]
  return found?.[0] === name ? found[1] : undefined
}

export function membersOfJson(json: Json | undefined): readonly JsonMember[] {
  return json?.kind === 'object' ? json.members : []
}

export function itemsIn(json: Json | undefined): readonly Json[] {
  return json?.kind === 'array' ? json.items : []
}

/** Undefined for what is no string. */
export function stringIn(json: Json | undefined): string | undefined {
  if (json?.kind !== 'plain' || !json.text.startsWith('"')) return undefined
  const text = parse(json.text)
  return typeof text === 'string' ? text : undefined
}

/** One text for all spellings of a value. */
export function canonicalText(json: Json): string {
  switch (json.kind) {
    case 'plain':
      return json.text
    case 'array':
      return `[${json.items.map(canonicalText).join(',')}]`
    case 'object':
      return `{${json.members.map(([name, value]) => `${quote(name)}:${canonicalText(value)}`).join(',')}}`
  }
}

export function isSame(one: Json | undefined, other: Json | undefined): boolean {
  if (one === undefined || other === undefined) return one === other
  return canonicalText(one) === canonicalText(other)
}

export function hashOfJson(json: Json): string {
  return `sha256-${createHash('sha256').update(canonicalText(json)).digest('base64')}`
}

/** A line of the file; longer values are broken into one member a line. */
const COLUMNS = 100

/** For people and `git diff`; invisible characters are written as escapes. `depth` is the indentation of the first line. */
export function printed(json: Json, depth = 0): string {
  const line = canonicalText(json)
  if (json.kind === 'plain' || line.length <= Math.max(COLUMNS - 2 * depth, 2)) return escapeUnseen(line)
  const inner = '  '.repeat(depth + 1)
  const parts =
    json.kind === 'array'
      ? json.items.map((item) => printed(item, depth + 1))
      : json.members.map(([name, value]) => `${escapeUnseen(quote(name))}: ${printed(value, depth + 1)}`)
  const [open, close] = json.kind === 'array' ? '[]' : '{}'
  return `${open}\n${inner}${parts.join(`,\n${inner}`)}\n${'  '.repeat(depth)}${close}`
}
