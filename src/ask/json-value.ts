// A JSON text as a tree that loses nothing: numbers keep their spelling, and members their order and duplicates.

import { OPEN_ARRAY, OPEN_OBJECT, QUOTE } from '../jsonrpc/ascii.js'
import { itemsAt, membersAt } from '../jsonrpc/members.js'
import { type Span, scanText } from '../jsonrpc/scan.js'
import { rawAt, stringAt } from '../jsonrpc/text.js'
import { memberPath } from '../text/member-path.js'

/** A text may nest deeper here than the proxy allows, and still cannot overflow the stack. */
const DEPTH_MAX = 1000

/** A member of an object, which starts at its key, or an item of an array. */
export interface Part {
  /** Empty for an item. */
  readonly name: string
  /** The path from the object or the array that contains the part. */
  readonly path: string
  readonly start: number
  readonly value: JsonValue
}

/** One value and its place in the bytes of a text. The members or items are read when a caller first needs them. */
export class JsonValue implements Span {
  readonly start: number
  readonly end: number
  readonly #bytes: Buffer
  #parts: readonly Part[] | undefined

  constructor(bytes: Buffer, { start, end }: Span) {
    this.#bytes = bytes
    this.start = start
    this.end = end
  }

  get kind(): 'object' | 'array' | 'string' | 'number' | 'boolean' | 'null' {
    const first = this.#bytes[this.start]
    if (first === OPEN_OBJECT) return 'object'
    if (first === OPEN_ARRAY) return 'array'
    if (first === QUOTE) return 'string'
    const { raw } = this
    return raw === 'null' ? 'null' : raw === 'true' || raw === 'false' ? 'boolean' : 'number'
  }

  get bytes(): Buffer {
    return this.#bytes.subarray(this.start, this.end)
  }

  /** The source text. */
  get raw(): string {
    return rawAt(this.#bytes, this)
  }

  /** The decoded text of a string; the source text of any other value. */
  get text(): string {
    return stringAt(this.#bytes, this) ?? this.raw
  }

  /** The members of an object or the items of an array. */
  get parts(): readonly Part[] {
    this.#parts ??= this.kind === 'object' ? this.#members() : this.#items()
    return this.#parts
  }

  get items(): readonly JsonValue[] {
    return this.kind === 'array' ? this.parts.map(({ value }) => value) : []
  }

  /** Follows the names into nested objects. The last member with a name counts, as in `JSON.parse`. */
  member(...names: readonly string[]): JsonValue | undefined {
    return names.reduce<JsonValue | undefined>(
      (at, name) => at?.parts.findLast((part) => part.name === name)?.value,
      this,
    )
  }

  /** Returns the text of a member; undefined if the member is missing or no string. */
  string(name: string): string | undefined {
    const value = this.member(name)
    return value?.kind === 'string' ? value.text : undefined
  }

  #members(): Part[] {
    return [...(membersAt(this.#bytes, this) ?? [])].map(({ key, value }) => {
      const name = stringAt(this.#bytes, key) ?? ''
      const path = memberPath('$', name).slice(1)
      return { name, path, start: key.start, value: new JsonValue(this.#bytes, value) }
    })
  }

  #items(): Part[] {
    return itemsAt(this.#bytes, this, Number.POSITIVE_INFINITY).map((item, at) => {
      return { name: '', path: `[${at}]`, start: item.start, value: new JsonValue(this.#bytes, item) }
    })
  }
}

/** Reads one JSON text. @throws FrameError when the bytes are not valid JSON */
export function readTree(bytes: Buffer): JsonValue {
  return new JsonValue(bytes, scanText(bytes, DEPTH_MAX))
}

/** Returns the tree of a text; undefined if the bytes are not valid JSON. */
export function jsonTreeOf(bytes: Buffer): JsonValue | undefined {
  try {
    return readTree(bytes)
  } catch {
    return undefined
  }
}
