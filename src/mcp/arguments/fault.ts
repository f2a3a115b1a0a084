// Describes the first fault of arguments that fail their schema.
//
// ajv writes no messages: it compiles faster without, and its messages name neither the parameter nor the
// allowed values. The proxy forgives faults that a tolerant server corrects itself. It judges each error
// separately, on the value as the client sent it. It forgives a form of `anyOf` if it forgives all errors of
// the form.

import type { ErrorObject } from 'ajv'
import { parse, write } from '../../jsonrpc/text.js'
import { counted } from '../../text/counted.js'
import { isObject } from '../../text/json-object.js'
import { fromPointer, inPointer, isJsonArray, listOf } from './json-value.js'

export function firstFault(errors: readonly ErrorObject[]): ArgumentFault | undefined {
  const found = errors.length === 0 ? undefined : findingsOf(errors).find((each) => !isForgiven(each))
  return found && faultOf(found)
}

/** An error. An error of `anyOf` has the errors of each form, if the form has errors. */
interface Finding {
  readonly error: ErrorObject
  readonly forms: readonly (readonly Finding[])[]
}

/** All errors, in the order of ajv: an error of `anyOf` follows the errors of its forms. */
function findingsOf(errors: readonly ErrorObject[]): readonly Finding[] {
  let at = errors.length - 1
  const take = (path: string, instancePath: string): Finding[] => {
    const found: Finding[] = []
    for (let error = errors[at]; error !== undefined; error = errors[at]) {
      if (!error.schemaPath.startsWith(path) || !error.instancePath.startsWith(instancePath)) break
      at--
      const isChoice = error.keyword === 'anyOf'
      const inner = isChoice ? take(`${error.schemaPath}/`, error.instancePath) : []
      found.push({ error, forms: formsOf(error, inner) })
    }
    return found.toReversed()
  }
  return take('', '')
}

function formsOf({ schemaPath }: ErrorObject, inner: readonly Finding[]): readonly (readonly Finding[])[] {
  const forms = new Map<string | undefined, Finding[]>()
  for (const finding of inner) {
    const form = finding.error.schemaPath.slice(schemaPath.length + 1).split('/', 1)[0]
    const findings = forms.get(form)
    // The list grows in place, because one form may have as many findings as a list has items.
    if (findings === undefined) forms.set(form, [finding])
    else findings.push(finding)
  }
  return [...forms.values()]
}

function isForgiven({ error, forms }: Finding): boolean {
  const { params, data, keyword, parentSchema } = error
  // A null counts as a missing member if the member is optional.
  if (data === null && parentSchema?.['isOptional'] === true) return true
  switch (keyword) {
    case 'type':
      return coerced(data, oneOrMore(params['type'])) !== undefined
    case 'enum':
      return isMeant(data, listOf(params['allowedValues']))
    case 'const':
      return isMeant(data, [params['allowedValue']])
    case 'anyOf':
      return forms.some((form) => form.every(isForgiven))
    default:
      return false
  }
}

function isMeant(value: unknown, allowed: readonly unknown[]): boolean {
  return allowed.some((each) => typeof each !== 'object' && coerced(value, [typeof each]) === each)
}

// How a tolerant server converts a value of the wrong type.
//
// The proxy accepts texts that pydantic's lax mode and zod's coercion accept, and JSON in a text, which the
// Python SDK accepts: the schemas of many such servers describe only the converted value. A single value is
// not a list of one.

/** Converts `value` to the first of these JSON Schema types that is possible; undefined if none is. */
function coerced(value: unknown, types: readonly unknown[]): unknown {
  for (const type of types) {
    const found = typeof type === 'string' ? readings.get(type)?.(value) : undefined
    if (found !== undefined) return found
  }
  return undefined
}

/** The texts that pydantic reads as a boolean. */
const truths: ReadonlyMap<string, boolean> = new Map([
  ...['true', '1', 'yes', 'on', 't', 'y'].map((text) => [text, true] as const),
  ...['false', '0', 'no', 'off', 'f', 'n'].map((text) => [text, false] as const),
])

/** The length of the longest key of `truths`. */
const TRUTH_LENGTH_MAX = 5

/** Each returns undefined for a value that it cannot convert. */
const readings: ReadonlyMap<string, (value: unknown) => unknown> = new Map<
  string,
  (value: unknown) => unknown
>([
  ['integer', (value) => (Number.isInteger(numberIn(value)) ? numberIn(value) : undefined)],
  ['number', numberIn],
  ['boolean', booleanIn],
  ['string', (value) => (['number', 'boolean'].includes(typeof value) ? String(value) : undefined)],
  ['array', (value) => jsonIn(value, '[', isJsonArray)],
  ['object', (value) => jsonIn(value, '{', isObject)],
  ['null', (value) => (value === 'null' ? null : undefined)],
])

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

function jsonIn(value: unknown, open: string, isWanted: (read: unknown) => boolean): unknown {
  if (typeof value !== 'string' || !value.trimStart().startsWith(open)) return undefined
  try {
    const read = parse(value)
    return isWanted(read) ? read : undefined
  } catch {
    return undefined
  }
}

// The description of one finding.

/** The first fault of a call's arguments. */
export interface ArgumentFault {
  /** The error's whole message: `Invalid params: …`. */
  readonly message: string
  /** The bare name of a missing parameter, or a JSON pointer into the arguments. */
  readonly parameter: string
  /** Further members of the error's data: the keyword that failed, and the values that it allows. */
  readonly details: Details
}

type Details = Readonly<Record<string, unknown>>

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

export function notAnObject(): ArgumentFault {
  return fault('arguments must be object', '', { keyword: 'type' })
}

function fault(what: string, parameter: string, details: Details): ArgumentFault {
  return { message: `Invalid params: ${what}`, parameter, details }
}

/** A parameter has its bare name, and a value inside a parameter has its JSON pointer. */
function nameOf(path: string): string {
  if (path === '') return 'arguments'
  return path.includes('/', 1) ? `'${clip(path)}'` : `'${clip(fromPointer(path.slice(1)))}'`
}

/**
 * Ignores forms whose constants or type do not fit: the client did not mean them. If the other forms have a
 * single error, that error helps more than "none of the forms".
 */
function mostTelling({ error, forms }: Finding): ErrorObject {
  const firsts = forms.flatMap(([each]) => each ?? [])
  const others = firsts.filter((each) => !isTypeOf(each.error, error))
  if (others.length === 0 && firsts.length > 0) return withTypesOf(firsts, error)
  const [meant, ...more] = others.filter(
    ({ error: { keyword } }) => keyword !== 'const' && keyword !== 'enum',
  )
  return meant === undefined || more.length > 0 ? error : mostTelling(meant)
}

function isTypeOf({ keyword, instancePath }: ErrorObject, other: ErrorObject): boolean {
  return keyword === 'type' && instancePath === other.instancePath
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
    `must have at least ${counted(Number(limit), unit)}`
const atMost =
  (unit: string) =>
  ({ limit }: Params): string =>
    `must have at most ${counted(Number(limit), unit)}`
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
  minProperties: atLeast('member'),
  maxProperties: atMost('member'),
  anyOf: () => 'must have one of the allowed forms',
  'false schema': () => 'is not allowed',
}

const VALUES_NAMED_MAX = 20

const CLIP_LENGTH = 100

/** Shortens names and values, which come from strangers. */
function clip(text: string): string {
  return text.length <= CLIP_LENGTH ? text : `${text.slice(0, CLIP_LENGTH)}…`
}
