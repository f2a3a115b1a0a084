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

/** Judges the findings of one run. */
export class Leniency {
  readonly #root: JsonObject
  readonly #value: unknown
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
    if (this.#isLeftOut(finding.error)) return true
    const missing = params['missingProperty']
    if (missing !== undefined) return fillsIn(this.#schemaOf(finding.error), String(missing))
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
  #isLeftOut({ instancePath: path, schemaPath }: ErrorObject): boolean {
    if (path === '' || valueAt(this.#value, path) !== null) return false
    const token = path.slice(path.lastIndexOf('/') + 1)
    if (!isJsonObject(valueAt(this.#value, path.slice(0, -token.length - 1)))) return false
    const at = schemaPath.lastIndexOf(`/properties/${encodeURIComponent(token)}/`)
    const owner = at < 0 ? undefined : schemaAt(this.#root, schemaPath.slice(0, at))
    if (!isJsonObject(owner)) return true
    const name = fromPointer(token)
    return !listOf(owner['required']).includes(name) || hasDefault(partOf(owner['properties'], name))
  }

  #keptAt(path: string): number {
    const names = membersOf(valueAt(this.#value, path))
    return names.filter(([name]) => !this.#extras.has(`${path}/${inPointer(name)}`)).length
  }

  /** Whether the condition may be another one for a server that fills members in, and puts them right. */
  #isDoubtful({ error }: Finding): boolean {
    const { instancePath, schemaPath } = error
    const condition = schemaAt(this.#root, schemaPath)
    const schema = this.#schemaOf(error)
    const value = valueAt(this.#value, instancePath)
    return membersOf(isJsonObject(condition) ? condition['properties'] : undefined).some(([name]) => {
      const isThere = isJsonObject(value) && Object.hasOwn(value, name)
      return isThere ? this.#coercible.has(`${instancePath}/${inPointer(name)}`) : fillsIn(schema, name)
    })
  }

  /** The schema of the value that a keyword has failed, with all that it is made of. */
  #schemaOf({ schemaPath }: ErrorObject): unknown {
    const path = schemaPath.slice(0, schemaPath.lastIndexOf('/'))
    return schemaAt(this.#root, path.replace(INSIDE, ''))
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

/** Where a path goes on to schemas that judge the same value. */
const INSIDE = /(?:\/(?:(?:allOf|anyOf|oneOf)\/\d+|then|else))+$/

/** Whether a server fills in this member, by whatever branch. */
function fillsIn(schema: unknown, name: string): boolean {
  if (!isJsonObject(schema)) return false
  const { properties, allOf, anyOf, oneOf, then, else: otherwise } = schema
  const inner = [...listOf(allOf), ...listOf(anyOf), ...listOf(oneOf), then, otherwise]
  return hasDefault(partOf(properties, name)) || inner.some((each) => fillsIn(each, name))
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
