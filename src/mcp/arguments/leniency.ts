// Which faults of arguments a tolerant server puts right itself.
//
// The errors of a run are judged one by one, on the value as the client sent it. A form of `anyOf` or `oneOf` is forgiven
// if all of its errors are.

import type { ErrorObject } from 'ajv'
import { parse } from '../../jsonrpc/text.js'
import { branchesOf, type Finding } from './fault.js'
import { entriesOf, inPointer, isJsonArray, listOf } from './json-value.js'
import { Place } from './schema.js'
import { isObject } from '../../text/json-object.js'

/** Gives for each of the findings whether a tolerant server accepts what is wrong. */
export function leniencyFor(findings: readonly Finding[]): (finding: Finding) => boolean {
  const mistyped = new Set(
    findings.filter(({ error }) => error.keyword === 'type').map(({ error }) => error.instancePath),
  )
  return (finding) => isForgiven(finding, mistyped)
}

/** `mistyped` are the pointers to all values of the wrong type. */
function isForgiven(finding: Finding, mistyped: ReadonlySet<string>): boolean {
  const { error, inner } = finding
  const { params, data, keyword } = error
  const place = placeOf(error)
  const areForgiven = (some: readonly Finding[]): boolean => some.every((each) => isForgiven(each, mistyped))
  // A null counts as a missing member where that may be missing. A member that must not be there has no place.
  if (data === null && (place?.isOptional ?? keyword === 'false schema')) return true
  const missing = params['missingProperty']
  if (missing !== undefined) return place?.filled.has(String(missing)) === true
  switch (keyword) {
    case 'type':
      return becomes(error)
    case 'additionalProperties':
    case 'unevaluatedProperties':
      return true
    case 'enum':
      return isMeant(data, listOf(params['allowedValues']))
    case 'const':
      return isMeant(data, [params['allowedValue']])
    case 'oneOf':
      return params['passingSchemas'] === null && branchesOf(finding).some(areForgiven)
    case 'anyOf':
    case 'contains':
      return branchesOf(finding).some(areForgiven)
    case 'if':
      return isDoubtful(error, mistyped) || (inner.length > 0 && areForgiven(inner))
    default:
      return false
  }
}

/** Whether a server that fills members in and puts them right may find another condition to hold. */
function isDoubtful(error: ErrorObject, mistyped: ReadonlySet<string>): boolean {
  const condition: unknown = error.parentSchema?.['if']
  const { data, instancePath } = error
  return entriesOf(isObject(condition) ? condition['properties'] : undefined).some(([name]) =>
    isObject(data) && Object.hasOwn(data, name)
      ? mistyped.has(`${instancePath}/${inPointer(name)}`)
      : placeOf(error)?.filled.has(name) === true,
  )
}

function becomes({ data, params: { type } }: ErrorObject): boolean {
  return coerced(data, isJsonArray(type) ? type : [type]) !== undefined
}

function isMeant(value: unknown, allowed: readonly unknown[]): boolean {
  return allowed.some((each) => typeof each !== 'object' && coerced(value, [typeof each]) === each)
}

function placeOf({ parentSchema }: ErrorObject): Place | undefined {
  const place: unknown = parentSchema?.['place']
  return place instanceof Place ? place : undefined
}

// How a tolerant server converts a value of the wrong type.
//
// The texts are those that pydantic's lax mode and zod's coercion read, and JSON in a text, which the Python SDK reads:
// many servers of either kind say in their schema only what comes out. A single value is not taken for a list of one.

/** `value` as the first of these types of JSON Schema that it can become; undefined when it can become none. */
function coerced(value: unknown, types: readonly unknown[]): unknown {
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
