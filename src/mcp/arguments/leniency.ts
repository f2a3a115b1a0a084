// Which faults of arguments a tolerant server puts right itself.
//
// The errors of a run are judged one by one, on the value as the client sent it. A form of `anyOf` or `oneOf` is forgiven
// if all of its errors are.

import type { ErrorObject } from 'ajv'
import { coerced } from './coercion.js'
import { branchesOf, type Finding } from './findings.js'
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
