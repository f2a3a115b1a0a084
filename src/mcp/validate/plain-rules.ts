// Arguments that plainly fit their schema, as their bytes show.
//
// Most tools take a few members of simple types. That each is there once and of its type can be seen without making
// values of them, which would be most of what a check costs. What cannot be seen is not wrong: the compiled schema alone
// finds faults.

import { OPEN_ARRAY, OPEN_OBJECT, QUOTE } from '../../jsonrpc/ascii.js'
import { indexOfName } from '../../jsonrpc/routed-names.js'
import { type MemberSink, Scanner } from '../../jsonrpc/scan.js'
import { hasEscapes } from '../../jsonrpc/text.js'
import { isJsonObject, type JsonObject, listOf, membersOf } from './json-value.js'

/** As bits of one number. */
const NAMES_MAX = 31

const DOT = 0x2e
const NINE = 0x39

/** A longer number may be none that a double holds. */
const NUMBER_BYTES_MAX = 15

const STRING = 1
const OBJECT = 2
const ARRAY = 4
const BOOLEAN = 8
const NULL = 16
const NUMBER = 32
const INTEGER = 64
const ANY = 127
const types: ReadonlyMap<unknown, number> = new Map([
  ['string', STRING],
  ['object', OBJECT],
  ['array', ARRAY],
  ['boolean', BOOLEAN],
  ['null', NULL],
  ['number', NUMBER],
  ['integer', INTEGER],
])

/** Of a schema of arguments, as a plan has it. */
const rootKeywords: ReadonlySet<string> = new Set([
  'type',
  'properties',
  'required',
  'additionalProperties',
  '$defs',
  'default',
  'steps',
  'stepsPerMember',
])
/** Of the schema of a member about whose value nothing but its type is asked. */
const typeKeywords: ReadonlySet<string> = new Set(['type', 'default', 'steps', 'stepsPerMember'])

const NOTHING = Buffer.alloc(0)

/** What one schema says about members, as far as it is plain. */
export class PlainRules implements MemberSink {
  readonly #names: readonly Uint8Array[]
  /** By name, the types that a value may have, as bits; none where it has to be read. */
  readonly #allowed: readonly number[]
  /** The names that must be there, as bits. */
  readonly #required: number
  readonly #allowsOthers: boolean
  #bytes: Buffer = NOTHING
  #seen = 0
  #isPlain = true

  private constructor(
    rules: ReadonlyMap<string, number>,
    required: readonly unknown[],
    allowsOthers: boolean,
  ) {
    const names = [...rules.keys()]
    this.#names = names.map((name) => Buffer.from(name))
    this.#allowed = [...rules.values()]
    this.#required = names.reduce((bits, name, at) => (required.includes(name) ? bits | (1 << at) : bits), 0)
    this.#allowsOthers = allowsOthers
  }

  /** Undefined where the schema says something about the arguments as a whole; `schema` must come from a plan. */
  static of(schema: JsonObject): PlainRules | undefined {
    const { properties, required, additionalProperties: others } = schema
    if (!hasOnly(schema, rootKeywords) || (allowedBy(schema['type']) & OBJECT) === 0) return undefined
    const rules = new Map<string, number>()
    const allowsOthers = others === undefined || others === true
    // A name that must be there is one of the others until a property has it.
    for (const name of listOf(required)) rules.set(String(name), allowsOthers ? ANY : 0)
    for (const [name, property] of membersOf(properties)) rules.set(name, allowedIn(property))
    if (rules.size > NAMES_MAX) return undefined
    return new PlainRules(rules, listOf(required), allowsOthers)
  }

  /** Whether the value that begins at `start` of `bytes`, which are valid JSON, plainly fits. */
  fit(bytes: Buffer, start: number): boolean {
    if (bytes[start] !== OPEN_OBJECT) return false
    this.#bytes = bytes
    this.#seen = 0
    this.#isPlain = true
    new Scanner(bytes, Number.MAX_SAFE_INTEGER).object(start, 1, this)
    this.#bytes = NOTHING
    return this.#isPlain && (this.#seen & this.#required) === this.#required
  }

  inside(): undefined {}

  add(key: number, keyEnd: number, start: number, end: number): boolean {
    const bytes = this.#bytes
    const at = indexOfName(bytes, key, keyEnd, this.#names)
    if (at < 0) this.#isPlain &&= this.#isOther(key, keyEnd)
    else {
      const bit = 1 << at
      // Of two members with one name, the last one counts.
      this.#isPlain &&=
        (this.#seen & bit) === 0 && (kindOf(bytes, start, end) & (this.#allowed[at] ?? 0)) !== 0
      this.#seen |= bit
    }
    return true
  }

  /** One with escapes may be another spelling of a name that has a rule. */
  #isOther(start: number, end: number): boolean {
    return this.#allowsOthers && !hasEscapes(this.#bytes, { start, end })
  }
}

function hasOnly(schema: JsonObject, known: ReadonlySet<string>): boolean {
  return Object.keys(schema).every((keyword) => known.has(keyword))
}

function allowedIn(property: unknown): number {
  if (property === true) return ANY
  return isJsonObject(property) && hasOnly(property, typeKeywords) ? allowedBy(property['type']) : 0
}

/** The types that the keyword names. */
function allowedBy(type: unknown): number {
  if (type === undefined) return ANY
  const named = Array.isArray(type) ? listOf(type) : [type]
  return named.reduce<number>((bits, name) => bits | (types.get(name) ?? 0), 0)
}

/** What types the value has; none for a number that has to be read. */
function kindOf(bytes: Buffer, start: number, end: number): number {
  switch (bytes[start] ?? 0) {
    case QUOTE:
      return STRING
    case OPEN_OBJECT:
      return OBJECT
    case OPEN_ARRAY:
      return ARRAY
    case 0x74:
    case 0x66:
      return BOOLEAN
    case 0x6e:
      return NULL
    default:
      return numberKind(bytes, start, end)
  }
}

/** Of one with an exponent nothing is seen, and of one with a fraction not that it is no integer. */
function numberKind(bytes: Buffer, start: number, end: number): number {
  if (end - start > NUMBER_BYTES_MAX) return 0
  let kind = NUMBER | INTEGER
  for (let at = start; at < end; at++) {
    const c = bytes[at] ?? 0
    if (c > NINE) return 0
    if (c === DOT) kind = NUMBER
  }
  return kind
}
