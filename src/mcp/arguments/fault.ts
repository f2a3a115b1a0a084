// The first fault of arguments that fail their schema, in words.
//
// ajv writes no messages: it compiles faster without, and its sentences name neither the parameter nor the values that
// would have been right. Faults that a tolerant server puts right itself are forgiven: the errors of a run are judged one
// by one, on the value as the client sent it, and a form of `anyOf` is forgiven if all of its errors are.

import type { ErrorObject } from 'ajv'
import { parse, write } from '../../jsonrpc/text.js'
import { counted } from '../../text/counted.js'
import { isObject } from '../../text/json-object.js'
import { fromPointer, inPointer, isJsonArray, listOf } from './json-value.js'

/** The first of the errors of a run that is not forgiven. */
export function firstFault(errors: readonly ErrorObject[]): ArgumentFault | undefined {
  const found = errors.length === 0 ? undefined : findingsOf(errors).find((each) => !isForgiven(each))
  return found && faultOf(found)
}

/** An error; that of `anyOf` with those of each form, as far as these have some. */
interface Finding {
  readonly error: ErrorObject
  readonly forms: readonly (readonly Finding[])[]
}

/** All errors, in the order in which ajv found them: that of `anyOf` comes behind those of its forms. */
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
    // No copies: a list may have as many findings in one form as it has items.
    if (findings === undefined) forms.set(form, [finding])
    else findings.push(finding)
  }
  return [...forms.values()]
}

/** Whether a tolerant server puts the fault right itself. */
function isForgiven({ error, forms }: Finding): boolean {
  const { params, data, keyword, parentSchema } = error
  // A null counts as a missing member where that may be missing.
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
 * A form whose constants or type do not fit was not meant. When the others leave a single error,
 * that one helps more than "none of the forms".
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

/** Whether an error is about the type of the value that another one is about. */
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

/** Values that one message names. */
const VALUES_NAMED_MAX = 20

const CLIP_LENGTH = 100

/** Names and values are as long as strangers make them. */
function clip(text: string): string {
  return text.length <= CLIP_LENGTH ? text : `${text.slice(0, CLIP_LENGTH)}…`
}
