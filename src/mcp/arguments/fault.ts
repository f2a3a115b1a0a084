// The first fault of arguments that fail their schema, in words.
//
// ajv writes no messages: it compiles faster without, and its sentences name neither the parameter nor the values that
// would have been right. Faults that a tolerant server puts right itself are forgiven: the errors of a run are judged one
// by one, on the value as the client sent it, and a form of `anyOf` or `oneOf` is forgiven if all of its errors are.

import type { ErrorObject } from 'ajv'
import { parse, write } from '../../jsonrpc/text.js'
import { isObject } from '../../text/json-object.js'
import { entriesOf, fromPointer, inPointer, isJsonArray, listOf } from './json-value.js'
import { Place } from './schema.js'

/** The first of the errors of a run that is not forgiven. */
export function firstFault(errors: readonly ErrorObject[]): ArgumentFault | undefined {
  if (errors.length === 0) return undefined
  const findings = findingsOf(errors)
  const mistyped = new Set(
    findings.filter(({ error }) => error.keyword === 'type').map(({ error }) => error.instancePath),
  )
  const found = findings.find((finding) => !isForgiven(finding, mistyped))
  return found && faultOf(found)
}

// The errors of one run, in the tree that their places in the schema make.

/** An error, and those of the branches that it sums up. */
interface Finding {
  readonly error: ErrorObject
  readonly inner: readonly Finding[]
}

/** Keywords whose error follows the errors of their branches. */
const summing: ReadonlySet<string> = new Set(['anyOf', 'oneOf', 'if', 'contains', 'propertyNames'])

/** All errors, in the order in which ajv found them. */
function findingsOf(errors: readonly ErrorObject[]): readonly Finding[] {
  let at = errors.length - 1
  const take = (isInside: (error: ErrorObject) => boolean): Finding[] => {
    const found: Finding[] = []
    for (let error = errors[at]; error !== undefined && isInside(error); error = errors[at]) {
      at--
      found.push({ error, inner: summing.has(error.keyword) ? take(insideOf(error)) : [] })
    }
    return found.toReversed()
  }
  return take(() => true)
}

function insideOf({ keyword, schemaPath, instancePath }: ErrorObject): (error: ErrorObject) => boolean {
  const parent = schemaPath.slice(0, -'if'.length)
  const prefixes = keyword === 'if' ? [`${parent}then/`, `${parent}else/`] : [`${schemaPath}/`]
  return (error) =>
    error.instancePath.startsWith(instancePath) &&
    prefixes.some((prefix) => error.schemaPath.startsWith(prefix))
}

/** The findings inside of one, by branch; of `contains` by item. */
function branchesOf({ error, inner }: Finding): readonly (readonly Finding[])[] {
  const path = error.keyword === 'contains' ? 'instancePath' : 'schemaPath'
  const branches = new Map<string | undefined, Finding[]>()
  for (const finding of inner) {
    const branch = finding.error[path].slice(error[path].length + 1).split('/', 1)[0]
    const findings = branches.get(branch)
    // No copies: a list may have as many findings in one branch as it has items.
    if (findings === undefined) branches.set(branch, [finding])
    else findings.push(finding)
  }
  return [...branches.values()]
}

// Which faults a tolerant server puts right itself.

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
function isOfType(value: unknown, type: unknown): boolean {
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

// The words for one finding.

/** The first fault of a call's arguments. */
export interface ArgumentFault {
  /** The error's whole message: `Invalid params: …`. */
  readonly message: string
  /** A missing parameter's bare name, or a JSON pointer into the arguments. */
  readonly parameter: string
  /** The other members of the error's data: the keyword that failed, and the values that it allows. */
  readonly details: Details
}

type Details = Readonly<Record<string, unknown>>

/** Describes one finding by the error in it that helps most. */
function faultOf(finding: Finding): ArgumentFault {
  const error = mostTelling(finding)
  const { instancePath: path, keyword, params } = error
  const missing = params['missingProperty']
  if (typeof missing === 'string') {
    const parameter = path === '' ? missing : `${path}/${inPointer(missing)}`
    return fault(`Missing required parameter '${clip(parameter)}'`, parameter, {})
  }
  const allowed = keyword === 'const' ? [params['allowedValue']] : params['allowedValues']
  if (isJsonArray(allowed)) {
    const named = allowed.slice(0, VALUES_NAMED_MAX)
    const texts = named.map((value) => clip(write(value)))
    if (allowed.length > named.length) texts.push(`… (${allowed.length} in all)`)
    const one = texts.length === 1 ? '' : 'one of '
    const short = named.filter((value) => write(value).length <= CLIP_LENGTH)
    return fault(`${nameOf(path)} must be ${one}${texts.join(', ')}`, path, { keyword, allowed: short })
  }
  const problem = problems[keyword]?.(params) ?? `does not fit the schema (${keyword})`
  return fault(`${nameOf(path)} ${problem}`, path, { keyword })
}

/** For arguments that are no object at all. */
export function notAnObject(): ArgumentFault {
  return fault('arguments must be object', '', { keyword: 'type' })
}

function fault(what: string, parameter: string, details: Details): ArgumentFault {
  return { message: `Invalid params: ${what}`, parameter, details }
}

/** A parameter goes by its bare name, what is inside one by its pointer. */
function nameOf(path: string): string {
  if (path === '') return 'arguments'
  return path.includes('/', 1) ? `'${clip(path)}'` : `'${clip(fromPointer(path.slice(1)))}'`
}

/**
 * A branch whose constants or type do not fit was not meant. When the others leave a single error,
 * that one helps more than "none of the forms".
 */
function mostTelling({ error, inner }: Finding): ErrorObject {
  const [first] = inner
  if (error.keyword === 'if' && first !== undefined) return mostTelling(first)
  const isChoice =
    error.keyword === 'anyOf' || (error.keyword === 'oneOf' && error.params['passingSchemas'] === null)
  if (!isChoice) return error
  const firsts = branchesOf({ error, inner }).flatMap(([each]) => each ?? [])
  const others = firsts.filter((each) => !isTypeOf(each.error, error))
  if (others.length === 0 && firsts.length > 0) return withTypesOf(firsts, error)
  const [meant, ...more] = others.filter((each) => !isConstant(each.error))
  return meant === undefined || more.length > 0 ? error : mostTelling(meant)
}

/** Whether an error is about the type of the value that another one is about. */
function isTypeOf({ keyword, instancePath }: ErrorObject, other: ErrorObject): boolean {
  return keyword === 'type' && instancePath === other.instancePath
}

function isConstant(error: ErrorObject): boolean {
  return error.keyword === 'const' || error.keyword === 'enum'
}

function withTypesOf(findings: readonly Finding[], choice: ErrorObject): ErrorObject {
  const types = findings.flatMap(({ error }) => oneOrMore(error.params['type']))
  return { ...choice, keyword: 'type', params: { type: [...new Set(types)] } }
}

function oneOrMore(value: unknown): readonly unknown[] {
  return isJsonArray(value) ? value : [value]
}

type Params = Readonly<Record<string, unknown>>

const atLeast =
  (unit: string) =>
  ({ limit }: Params): string =>
    `must have at least ${count(limit, unit)}`
const atMost =
  (unit: string) =>
  ({ limit }: Params): string =>
    `must have at most ${count(limit, unit)}`
const bound = ({ comparison, limit }: Params): string => `must be ${String(comparison)} ${String(limit)}`

const problems: Readonly<Record<string, (params: Params) => string>> = {
  type: ({ type }) => `must be ${oneOrMore(type).join(' or ')}`,
  minimum: bound,
  maximum: bound,
  exclusiveMinimum: bound,
  exclusiveMaximum: bound,
  multipleOf: ({ multipleOf }) => `must be a multiple of ${String(multipleOf)}`,
  minLength: atLeast('character'),
  maxLength: atMost('character'),
  minItems: atLeast('item'),
  maxItems: atMost('item'),
  items: atMost('item'),
  additionalItems: atMost('item'),
  unevaluatedItems: atMost('item'),
  contains: ({ minContains }) => `must have at least ${count(minContains ?? 1, 'item')} of the required form`,
  minProperties: atLeast('member'),
  maxProperties: atMost('member'),
  propertyNames: ({ propertyName }) => `must not have a member named '${clip(String(propertyName))}'`,
  anyOf: () => 'must have one of the allowed forms',
  oneOf: () => 'must have exactly one of the allowed forms',
  not: () => 'must not have the form it has',
  'false schema': () => 'is not allowed',
}

function count(number: unknown, unit: string): string {
  return `${String(number)} ${unit}${number === 1 ? '' : 's'}`
}

/** Values that one message names. */
const VALUES_NAMED_MAX = 20

const CLIP_LENGTH = 100

/** Names and values are as long as strangers make them. */
function clip(text: string): string {
  return text.length <= CLIP_LENGTH ? text : `${text.slice(0, CLIP_LENGTH)}…`
}
