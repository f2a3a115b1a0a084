// Converts a value of the wrong type as a tolerant server does.
//
// The texts are those that pydantic's lax mode and zod's coercion read, and JSON in a text, which the Python SDK reads:
// many servers of either kind say in their schema only what comes out. A single value is not taken for a list of one.

import { parse } from '../../jsonrpc/text.js'
import { isJsonArray } from './json-value.js'
import { isObject } from '../../text/json-object.js'

/** `value` as the first of these types of JSON Schema that it can become; undefined when it can become none. */
export function coerced(value: unknown, types: readonly unknown[]): unknown {
  for (const type of types) {
    const found = typeof type === 'string' ? readings.get(type)?.(value) : undefined
    if (found !== undefined) return found
  }
  return undefined
}

/** Whether `value` is of this type as it stands. */
export function isOfType(value: unknown, type: unknown): boolean {
  if (value === null) return type === 'null'
  if (isJsonArray(value)) return type === 'array'
  if (type === 'integer') return typeof value === 'number' && (Number.isInteger(value) || !isFinite(value))
  return typeof value === type
}

/** Whether these are types of JSON Schema. */
export function areTypes(types: readonly unknown[]): boolean {
  return types.every((type) => typeof type === 'string' && readings.has(type))
}

/** The texts that pydantic reads as a boolean. */
const truths: ReadonlyMap<string, boolean> = new Map([
  ...['true', '1', 'yes', 'on', 't', 'y'].map((text) => [text, true] as const),
  ...['false', '0', 'no', 'off', 'f', 'n'].map((text) => [text, false] as const),
])

/** The longest text that is looked up among the truths. */
const TRUTH_LENGTH_MAX = 5

/** Each gives undefined for what it cannot read. */
const readings: ReadonlyMap<string, (value: unknown) => unknown> = new Map<
  string,
  (value: unknown) => unknown
>([
  ['integer', (value) => integerIn(numberIn(value))],
  ['number', numberIn],
  ['boolean', booleanIn],
  ['string', textOf],
  ['array', (value) => jsonIn(value, '[', isJsonArray)],
  ['object', (value) => jsonIn(value, '{', isObject)],
  ['null', (value) => (value === 'null' ? null : undefined)],
])

function integerIn(number: number | undefined): number | undefined {
  return isOfType(number, 'integer') ? number : undefined
}

function numberIn(value: unknown): number | undefined {
  if (typeof value === 'boolean') return Number(value)
  if (typeof value !== 'string' || value.trim() === '') return undefined
  return isFinite(Number(value)) ? Number(value) : undefined
}

function booleanIn(value: unknown): boolean | undefined {
  if (typeof value === 'number') return truths.get(String(value))
  const isShort = typeof value === 'string' && value.length <= TRUTH_LENGTH_MAX
  return isShort ? truths.get(value.toLowerCase()) : undefined
}

/** A large integer keeps its digits: an enum may ask for nothing else. */
function textOf(value: unknown): string | undefined {
  if (typeof value === 'boolean') return String(value)
  if (typeof value !== 'number') return undefined
  return Number.isInteger(value) ? BigInt(value).toString() : String(value)
}

function jsonIn(value: unknown, open: string, isWanted: (read: unknown) => boolean): unknown {
  if (typeof value !== 'string' || !value.trimStart().startsWith(open)) return undefined
  try {
    const read = parse(value)
    return isWanted(read) ? read : undefined
  } catch {
    return undefined
  }
}
