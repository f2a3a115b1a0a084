// Describes why the arguments of a call fail their schema.
//
// ajv writes no messages: it compiles faster without, and its sentences name neither the parameter nor the values that
// would have been right.

import type { ErrorObject } from 'ajv'
import { write } from '../../jsonrpc/text.js'
import { fromPointer, inPointer, isJsonArray } from './json-value.js'
import { unknownMember } from './leniency.js'

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

/** Chooses among the errors of one finding, which must not be empty. */
export function faultOf(errors: readonly ErrorObject[]): ArgumentFault {
  const error = mostTelling(errors)
  const { instancePath: path, keyword, params } = error
  const missing = params['missingProperty']
  if (typeof missing === 'string') {
    const parameter = path === '' ? missing : `${path}/${inPointer(missing)}`
    return fault(`Missing required parameter '${clip(parameter)}'`, parameter, {})
  }
  const unknown = unknownMember(error)
  if (unknown !== undefined) {
    const parameter = `${path}/${inPointer(unknown)}`
    return fault(`Unknown parameter ${nameOf(parameter)}`, parameter, { keyword })
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
 * The last error is the one that failed the value; before it stand the errors of the branches tried.
 *
 * A branch whose constants or type do not fit was not meant. When the others leave a single error,
 * that one helps more than "none of the forms".
 */
function mostTelling(errors: readonly ErrorObject[]): ErrorObject {
  const last = errors.at(-1)
  if (last === undefined) return NO_ERROR
  const before = errors.slice(0, -1)
  if (last.keyword === 'if' && before.length > 0) return mostTelling(before)
  const isChoice =
    last.keyword === 'anyOf' || (last.keyword === 'oneOf' && last.params['passingSchemas'] === null)
  if (!isChoice) return last
  const types = before.filter((error) => error.keyword === 'type' && error.instancePath === last.instancePath)
  if (types.length === before.length && types.length > 0) return withTypesOf(types, last)
  const meant = before.filter((error) => !types.includes(error) && !isConstant(error))
  return (meant.length === 1 ? meant[0] : undefined) ?? last
}

/** Stands in where ajv failed a value without an error. */
const NO_ERROR: ErrorObject = { keyword: 'schema', instancePath: '', schemaPath: '', params: {} }

function isConstant(error: ErrorObject): boolean {
  return error.keyword === 'const' || error.keyword === 'enum'
}

function withTypesOf(errors: readonly ErrorObject[], choice: ErrorObject): ErrorObject {
  const types = errors.flatMap((error) => oneOrMore(error.params['type']))
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
