// Which faults of arguments a tolerant server puts right itself.
//
// The errors of a run are judged one by one, on the value as the client sent it. Where one of several forms has to fit, a
// form that is wrong only in ways that are forgiven is forgiven too.

import { coerced } from './coercion.js'
import {
  fromPointer,
  inPointer,
  isJsonArray,
  isJsonObject,
  type JsonObject,
  listOf,
  membersOf,
} from './json-value.js'
import type { ErrorObject } from 'ajv'

/** What all schemas that judge one object say of its members together. */
interface MemberFacts {
  /** Those that a server fills in, by whatever branch. */
  readonly defaults: ReadonlySet<unknown>
  /** Those that must be there whatever branch holds. */
  readonly required: ReadonlySet<unknown>
}

/** A schema at a place of the value; `isCertain` where it holds whatever branch does. */
interface Place {
  readonly schema: JsonObject
  readonly isCertain: boolean
}

/** Judges the findings of one run. */
export class Leniency {
  readonly #root: JsonObject
  readonly #value: unknown
  readonly #facts = new Map<string, MemberFacts>()
  /** Pointers to members that a closed object does not know. */
  readonly #extras = new Set<string>()
  /** Pointers to values that can become what they should be. */
  readonly #coercible = new Set<string>()

  /** `root` is the copy of the schema that `value` was judged by. */
  constructor(root: JsonObject, value: unknown, findings: readonly Finding[]) {
    this.#root = root
    this.#value = value
    for (const { error } of findings) {
      const extra = error.params['additionalProperty'] ?? error.params['unevaluatedProperty']
      if (typeof extra === 'string') this.#extras.add(`${error.instancePath}/${inPointer(extra)}`)
      else if (error.keyword === 'type' && this.#becomes(error.instancePath, error.params['type']))
        this.#coercible.add(error.instancePath)
    }
  }

  /** Whether a tolerant server accepts this. */
  forgives(finding: Finding): boolean {
    const { instancePath: path, keyword, params } = finding.error
    if (this.#isLeftOut(path)) return true
    const missing = params['missingProperty']
    if (missing !== undefined) return this.#factsAt(path).defaults.has(missing)
    switch (keyword) {
      case 'type':
        return this.#becomes(path, params['type'])
      case 'additionalProperties':
      case 'unevaluatedProperties':
        return true
      case 'enum':
        return this.#isMeant(path, listOf(params['allowedValues']))
      case 'const':
        return this.#isMeant(path, [params['allowedValue']])
      case 'maxProperties':
        return this.#keptAt(path) <= Number(params['limit'])
      case 'propertyNames':
        return this.#extras.has(`${path}/${inPointer(String(params['propertyName']))}`)
      case 'oneOf':
        return params['passingSchemas'] === null && this.#forgivesSome(finding)
      case 'anyOf':
      case 'contains':
        return this.#forgivesSome(finding)
      case 'if':
        return this.#isDoubtful(finding) || (finding.inner.length > 0 && this.#forgivesAll(finding.inner))
      default:
        return false
    }
  }

  #forgivesAll(findings: readonly Finding[]): boolean {
    return findings.every((finding) => this.forgives(finding))
  }

  #forgivesSome(finding: Finding): boolean {
    return branches(finding).some((branch) => this.#forgivesAll(branch))
  }

  #becomes(path: string, type: unknown): boolean {
    return coerced(valueAt(this.#value, path), isJsonArray(type) ? type : [type]) !== undefined
  }

  #isMeant(path: string, allowed: readonly unknown[]): boolean {
    const value = valueAt(this.#value, path)
    return allowed.some((each) => typeof each !== 'object' && coerced(value, [typeof each]) === each)
  }

  /** A null counts as a missing member where that may be missing. */
  #isLeftOut(path: string): boolean {
    if (path === '' || valueAt(this.#value, path) !== null) return false
    const end = path.lastIndexOf('/')
    const name = fromPointer(path.slice(end + 1))
    const parent = path.slice(0, end)
    if (!isJsonObject(valueAt(this.#value, parent))) return false
    const { defaults, required } = this.#factsAt(parent)
    return !required.has(name) || defaults.has(name)
  }

  #keptAt(path: string): number {
    const names = membersOf(valueAt(this.#value, path))
    return names.filter(([name]) => !this.#extras.has(`${path}/${inPointer(name)}`)).length
  }

  /** Whether the condition may be another one for a server that fills members in, and puts them right. */
  #isDoubtful({ error: { instancePath, schemaPath } }: Finding): boolean {
    const condition = schemaAt(this.#root, schemaPath)
    const value = valueAt(this.#value, instancePath)
    const { defaults } = this.#factsAt(instancePath)
    return membersOf(isJsonObject(condition) ? condition['properties'] : undefined).some(([name]) => {
      const isThere = isJsonObject(value) && Object.hasOwn(value, name)
      return isThere ? this.#coercible.has(`${instancePath}/${inPointer(name)}`) : defaults.has(name)
    })
  }

  #factsAt(path: string): MemberFacts {
    const known = this.#facts.get(path)
    if (known !== undefined) return known
    const [defaults, required] = [new Set<unknown>(), new Set<unknown>()]
    for (const { schema, isCertain } of placesAt(this.#root, path)) {
      if (isCertain) for (const name of listOf(schema['required'])) required.add(name)
      for (const [name, member] of membersOf(schema['properties'])) if (hasDefault(member)) defaults.add(name)
    }
    const facts = { defaults, required }
    this.#facts.set(path, facts)
    return facts
  }
}

function tokensOf(path: string): string[] {
  return path.split('/').slice(1).map(fromPointer)
}

function valueAt(root: unknown, path: string): unknown {
  let value = root
  for (const token of tokensOf(path)) value = partOf(value, token)
  return value
}

/** The names in the path of a schema are written as in a URI. */
function schemaAt(root: JsonObject, path: string): unknown {
  return valueAt(root, decodeURIComponent(path.slice(1)))
}

function partOf(value: unknown, token: string): unknown {
  if (isJsonArray(value)) return value[Number(token)]
  return isJsonObject(value) && Object.hasOwn(value, token) ? value[token] : undefined
}

/** The schemas that judge the value at `path`, as far as they say something about members. */
function placesAt(root: JsonObject, path: string): readonly Place[] {
  let places = sameValue([{ schema: root, isCertain: true }])
  for (const token of tokensOf(path)) {
    const next = places.flatMap(({ schema, isCertain }) =>
      innerOf(schema, token).flatMap((inner) => (isJsonObject(inner) ? [{ schema: inner, isCertain }] : [])),
    )
    places = sameValue(next)
  }
  return places
}

function innerOf(schema: JsonObject, token: string): readonly unknown[] {
  const named = partOf(schema['properties'], token)
  return [named ?? schema['additionalProperties'], partOf(schema['prefixItems'], token), schema['items']]
}

/** These, and the schemas in them that judge the same value. */
function sameValue(places: readonly Place[]): readonly Place[] {
  return places.flatMap((place): readonly Place[] => {
    const { schema, isCertain } = place
    const always = listOf(schema['allOf'])
    const perhaps = [
      ...listOf(schema['anyOf']),
      ...listOf(schema['oneOf']),
      schema['then'],
      schema['else'],
      ...membersOf(schema['dependentSchemas']).map(([, each]) => each),
      ...membersOf(schema['dependencies']).map(([, each]) => each),
    ]
    const inner = [
      ...always.map((each) => ({ schema: each, isCertain })),
      ...perhaps.map((each) => ({ schema: each, isCertain: false })),
    ].flatMap((each): Place[] => (isJsonObject(each.schema) ? [{ ...each, schema: each.schema }] : []))
    return [place, ...sameValue(inner)]
  })
}

function hasDefault(schema: unknown): boolean {
  if (!isJsonObject(schema)) return false
  if (Object.hasOwn(schema, 'default')) return true
  return ['allOf', 'anyOf', 'oneOf'].some((keyword) => listOf(schema[keyword]).some(hasDefault))
}

// The errors of one run, in the tree that their places in the schema make.

/** An error, and those of the branches that it sums up. */
export interface Finding {
  readonly error: ErrorObject
  readonly inner: readonly Finding[]
}

/** They follow the errors of their branches. */
const summing: ReadonlySet<string> = new Set(['anyOf', 'oneOf', 'if', 'contains', 'propertyNames'])

/** All of them, in the order in which they were found. */
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
  const prefixes = keyword === 'if' ? branchesOf(schemaPath) : [`${schemaPath}/`]
  return (error) =>
    error.instancePath.startsWith(instancePath) &&
    prefixes.some((prefix) => error.schemaPath.startsWith(prefix))
}

function branchesOf(condition: string): string[] {
  const parent = condition.slice(0, -'if'.length)
  return [`${parent}then/`, `${parent}else/`]
}

/** The findings inside of one, by branch, or by item where the items are what it sums up. */
function branches({ error, inner }: Finding): readonly (readonly Finding[])[] {
  const groups = new Map<string, Finding[]>()
  for (const finding of inner) {
    const key =
      error.keyword === 'contains'
        ? tokenBehind(finding.error.instancePath, error.instancePath)
        : tokenBehind(finding.error.schemaPath, error.schemaPath)
    const group = groups.get(key)
    if (group === undefined) groups.set(key, [finding])
    else group.push(finding)
  }
  return [...groups.values()]
}

function tokenBehind(path: string, prefix: string): string {
  return path.slice(prefix.length + 1).split('/', 1)[0] ?? ''
}

/** A finding as the errors that a run gives which stops at the first: those of each branch, and the one that sums up. */
export function errorsOf(finding: Finding): readonly ErrorObject[] {
  const { error } = finding
  const isChoice = error.keyword === 'anyOf' || error.keyword === 'oneOf'
  const firsts = isChoice
    ? branches(finding).map(([first]) => first)
    : error.keyword === 'contains'
      ? []
      : [finding.inner[0]]
  return [...firsts.flatMap((first) => (first === undefined ? [] : errorsOf(first))), error]
}
