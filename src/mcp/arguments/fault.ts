// Describes why the arguments of a call fail their schema.
//
// ajv writes no messages: it compiles faster without, and its sentences name neither the parameter nor the values that
// would have been right.

import type { ErrorObject } from 'ajv'
import { write } from '../../jsonrpc/text.js'
import { fromPointer, inPointer, isJsonArray } from './json-value.js'

// The errors of one run, in the tree that their places in the schema make.

/** An error, and those of the branches that it sums up. */
export interface Finding {
  readonly error: ErrorObject
  readonly inner: readonly Finding[]
}

/** Keywords whose error follows the errors of their branches. */
const summing: ReadonlySet<string> = new Set(['anyOf', 'oneOf', 'if', 'contains', 'propertyNames'])

/** All errors, in the order in which ajv found them. */
export function findingsOf(errors: readonly ErrorObject[]): readonly Finding[] {
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
export function branchesOf({ error, inner }: Finding): readonly (readonly Finding[])[] {
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
export function faultOf(finding: Finding): ArgumentFault {
  const error = mostTelling(finding)
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

/** The member that a closed object does not know. */
function unknownMember({ params }: ErrorObject): string | undefined {
  const name: unknown = params['additionalProperty'] ?? params['unevaluatedProperty']
  return typeof name === 'string' ? name : undefined
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
