// Which faults of arguments a tolerant server puts right itself.
//
// The errors of a run are judged one by one, on the value as the client sent it. A form of `anyOf` or `oneOf` is forgiven
// if all of its errors are.

import type { ErrorObject } from 'ajv'
import { coerced } from './coercion.js'
import { entriesOf, inPointer, isJsonArray, listOf } from './json-value.js'
import { Place } from './schema.js'
import { isObject } from '../../text/json-object.js'

/** Whether a tolerant server accepts what is wrong with a value; `findings` are all faults of the same arguments. */
export function leniencyFor(findings: readonly Finding[]): (finding: Finding) => boolean {
  /** Pointers to members that a closed object does not know. */
  const extras = new Set<string>()
  /** Pointers to values that can become what they should be. */
  const coercible = new Set<string>()
  for (const { error } of findings) {
    const extra = unknownMember(error)
    if (extra !== undefined) extras.add(memberAt(error, extra))
    else if (error.keyword === 'type' && becomes(error)) coercible.add(error.instancePath)
  }

  const forgives = (finding: Finding): boolean => {
    const { error } = finding
    const { params, data } = error
    const place = placeOf(error)
    // A null counts as a missing member where that may be missing. A member that must not be there has no place.
    if (data === null && (place?.isOptional ?? error.keyword === 'false schema')) return true
    const missing = params['missingProperty']
    if (missing !== undefined) return place?.filled.has(String(missing)) === true
    switch (error.keyword) {
      case 'type':
        return becomes(error)
      case 'additionalProperties':
      case 'unevaluatedProperties':
        return true
      case 'enum':
        return isMeant(data, listOf(params['allowedValues']))
      case 'const':
        return isMeant(data, [params['allowedValue']])
      case 'maxProperties':
        return (
          entriesOf(data).filter(([name]) => !extras.has(memberAt(error, name))).length <= params['limit']
        )
      case 'propertyNames':
        return extras.has(memberAt(error, String(params['propertyName'])))
      case 'oneOf':
        return params['passingSchemas'] === null && forgivesSome(finding)
      case 'anyOf':
      case 'contains':
        return forgivesSome(finding)
      case 'if':
        return isDoubtful(error) || (finding.inner.length > 0 && finding.inner.every(forgives))
      default:
        return false
    }
  }

  const forgivesSome = (finding: Finding): boolean =>
    branchesOf(finding).some((branch) => branch.every(forgives))

  /** Whether a server that fills members in and puts them right may find another condition to hold. */
  const isDoubtful = (error: ErrorObject): boolean => {
    const condition: unknown = error.parentSchema?.['if']
    const { data } = error
    return entriesOf(isObject(condition) ? condition['properties'] : undefined).some(([name]) =>
      isObject(data) && Object.hasOwn(data, name)
        ? coercible.has(memberAt(error, name))
        : placeOf(error)?.filled.has(name) === true,
    )
  }
  return forgives
}

/** The member that a closed object does not know. */
export function unknownMember({ params }: ErrorObject): string | undefined {
  const name: unknown = params['additionalProperty'] ?? params['unevaluatedProperty']
  return typeof name === 'string' ? name : undefined
}

function memberAt({ instancePath }: ErrorObject, name: string): string {
  return `${instancePath}/${inPointer(name)}`
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
function branchesOf({ error, inner }: Finding): readonly (readonly Finding[])[] {
  const path = error.keyword === 'contains' ? 'instancePath' : 'schemaPath'
  const branchOf = (finding: Finding): string | undefined =>
    finding.error[path].slice(error[path].length + 1).split('/', 1)[0]
  const groups = new Map<string | undefined, Finding[]>()
  for (const finding of inner) {
    const branch = branchOf(finding)
    groups.set(branch, [...(groups.get(branch) ?? []), finding])
  }
  return [...groups.values()]
}

/** The errors of a run that stops at the first one: the first of each branch, and the error that sums the branches up. */
export function errorsOf(finding: Finding): readonly ErrorObject[] {
  const { error, inner } = finding
  const isChoice = error.keyword === 'anyOf' || error.keyword === 'oneOf'
  const firsts = isChoice ? branchesOf(finding).map(([first]) => first) : inner.slice(0, 1)
  const shown = error.keyword === 'contains' ? [] : firsts
  return [...shown.flatMap((first) => (first === undefined ? [] : errorsOf(first))), error]
}
