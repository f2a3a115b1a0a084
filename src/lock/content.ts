// One text for all spellings of a JSON value, one member a line: white space and the order of members have no meaning,
// numbers keep their spelling, and members that stand twice stay both. Invisible characters are escapes in it.

import { createHash } from 'node:crypto'
import { defaultFrameLimits } from '../jsonrpc/frame.js'
import { scanText } from '../jsonrpc/scan.js'
import { parse, quote } from '../jsonrpc/text.js'
import { escapeUnseen } from './unseen.js'

/** One thing that a server has listed: a tool or a prompt with its name, or the text of instructions. */
export interface Content {
  readonly hash: string
  readonly text: string
}

export type Member = readonly [name: string, json: string]

/** No item of a list is deeper. */
export const DEPTH_MAX: number = defaultFrameLimits.depthMax

/** Deeper lines are not indented any further, so that the text of a deep value stays a few times as long as the value. */
const INDENT_MAX = 12

/** @throws FrameError for bytes that are no JSON */
export function contentOf(json: Buffer): Content {
  scanText(json, DEPTH_MAX)
  const text = new Reader(json.toString()).value(0)
  return { hash: `sha256-${createHash('sha256').update(text).digest('base64')}`, text }
}

/** The members of a text that is JSON; undefined where it is no object. */
export function membersOf(json: string): readonly Member[] | undefined {
  return new Reader(json).members()
}

/** JSON of an object whose first line is indented `depth` times; the values begin one level deeper. */
export function objectText(members: readonly Member[], depth: number): string {
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

/** Reads a text that is JSON, once from its beginning to its end. */
class Reader {
  readonly #text: string
  #at = 0

  constructor(text: string) {
    this.#text = text
  }

  value(depth: number): string {
    switch (this.#next()) {
      case '{':
        return objectText(this.#list('}', () => this.#member(() => this.value(depth + 1))), depth) // prettier-ignore
      case '[':
        return block(['[', ']'], this.#list(']', () => this.value(depth + 1)), depth) // prettier-ignore
      case '"':
        return escapeUnseen(this.#string())
      default:
        return this.#word()
    }
  }

  members(): readonly Member[] | undefined {
    return this.#next() === '{' ? this.#list('}', () => this.#member(() => this.#raw())) : undefined
  }

  #member(read: () => string): Member {
    this.#next()
    const name = parse(this.#string())
    this.#next()
    this.#at++
    return [String(name), read()]
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

  #raw(): string {
    this.#next()
    const start = this.#at
    this.value(0)
    return this.#text.slice(start, this.#at)
  }

  /** In its shortest spelling. */
  #string(): string {
    const start = this.#at++
    while (this.#text[this.#at] !== '"') this.#at += this.#text[this.#at] === '\\' ? 2 : 1
    const raw = this.#text.slice(start, ++this.#at)
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
