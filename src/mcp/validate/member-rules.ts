// Keywords that say something about the members of an object.

import { inPointer } from './argument-fault.js'
import { isJsonArray, isJsonObject, type JsonObject } from './json-value.js'
import {
  adopt,
  type Errors,
  type Judge,
  NO_ERRORS,
  type NamedRule,
  type Rule,
  type Subject,
  wrong,
} from './judging.js'

export const memberRules: readonly NamedRule[] = [
  ['required', required],
  ['dependentRequired', dependencies],
  ['properties', properties],
  ['patternProperties', patternProperties],
  ['additionalProperties', additionalProperties],
  ['unevaluatedProperties', unevaluatedProperties],
  ['dependencies', dependencies],
  ['dependentSchemas', dependencies],
  ['propertyNames', propertyNames],
  count('maxProperties', (members, limit) => members <= limit),
  count('minProperties', (members, limit) => members >= limit),
]

function required(subject: Subject, wanted: unknown, judge: Judge): Errors {
  const { value, path } = subject
  if (!isJsonObject(value) || !isJsonArray(wanted)) return NO_ERRORS
  const missing = firstMissing(subject, value, wanted, judge)
  return missing === undefined ? NO_ERRORS : wrong(path, 'required', { missingProperty: missing })
}

/** A member with a default is filled in. */
function firstMissing(
  subject: Subject,
  value: JsonObject,
  names: readonly unknown[],
  judge: Judge,
): string | undefined {
  judge.spend(names.length)
  for (const name of names) {
    if (typeof name !== 'string' || Object.hasOwn(value, name)) continue
    if (!subject.facts.defaults.has(name)) return name
    subject.doubt = true
  }
  return undefined
}

/** Members that must be there, or a schema for the whole object, where a member is there. */
function dependencies(subject: Subject, wanted: unknown, judge: Judge): Errors {
  const { value, path } = subject
  if (!isJsonObject(value) || !isJsonObject(wanted)) return NO_ERRORS
  for (const [name, dependency] of Object.entries(wanted)) {
    if (!Object.hasOwn(value, name)) continue
    const missing = isJsonArray(dependency) ? firstMissing(subject, value, dependency, judge) : undefined
    if (missing !== undefined) return wrong(path, 'dependentRequired', { missingProperty: missing })
    const errors = isJsonArray(dependency) ? NO_ERRORS : adopt(subject, judge.same(dependency, subject))
    if (errors.length > 0) return errors
  }
  return NO_ERRORS
}

function properties(subject: Subject, wanted: unknown, judge: Judge): Errors {
  const { value, facts } = subject
  if (!isJsonObject(value) || !isJsonObject(wanted)) return NO_ERRORS
  const changed = new Map<string, unknown>()
  const named = Object.entries(wanted)
  judge.spend(named.length)
  for (const [name, schema] of named) {
    // What is filled in may be what a condition asks for.
    if (!Object.hasOwn(value, name)) subject.doubt ||= facts.defaults.has(name)
    else {
      const errors = member(subject, name, schema, changed, judge)
      if (errors.length === 0) continue
      if (value[name] !== null || !judge.isOptional(subject, name)) return errors
      // A null where none may be means that the member is not there.
      changed.set(name, undefined)
    }
  }
  replace(subject, value, changed, judge)
  return NO_ERRORS
}

function patternProperties(subject: Subject, wanted: unknown, judge: Judge): Errors {
  const { value } = subject
  if (!isJsonObject(value) || !isJsonObject(wanted)) return NO_ERRORS
  const changed = new Map<string, unknown>()
  for (const [pattern, schema] of Object.entries(wanted)) {
    for (const name of judge.names(value)) {
      const errors = judge.matches(pattern, name) ? member(subject, name, schema, changed, judge) : NO_ERRORS
      if (errors.length > 0) return errors
    }
  }
  replace(subject, value, changed, judge)
  return NO_ERRORS
}

/** A closed object forgives what it does not know. */
function additionalProperties(subject: Subject, wanted: unknown, judge: Judge): Errors {
  const { value, schema } = subject
  if (!isJsonObject(value)) return NO_ERRORS
  const extra = judge.names(value).filter((name) => !isKnown(schema, name, judge))
  if (wanted === false) {
    if (extra.length > 0) subject.doubt = true
    return NO_ERRORS
  }
  const changed = new Map<string, unknown>()
  for (const name of extra) {
    const errors = member(subject, name, wanted, changed, judge)
    if (errors.length > 0) return errors
  }
  replace(subject, value, changed, judge)
  return NO_ERRORS
}

/** Which members others have judged is not followed: any may be an extra one, which is forgiven. */
function unevaluatedProperties(subject: Subject, wanted: unknown): Errors {
  if (wanted !== true && isJsonObject(subject.value)) subject.doubt = true
  return NO_ERRORS
}

function propertyNames(subject: Subject, wanted: unknown, judge: Judge): Errors {
  const { path } = subject
  for (const name of keptNames(subject, judge)) {
    const { errors, doubt } = judge.inner(wanted, name, path)
    subject.doubt ||= doubt
    if (errors.length > 0) return [...errors, ...wrong(path, 'propertyNames', { propertyName: name })]
  }
  return NO_ERRORS
}

function count(keyword: string, holds: (members: number, limit: number) => boolean): NamedRule {
  const rule: Rule = (subject, limit, judge) => {
    const { value, path } = subject
    if (!isJsonObject(value) || typeof limit !== 'number') return NO_ERRORS
    if (holds(judge.names(value).length, limit) || holds(keptNames(subject, judge).length, limit))
      return NO_ERRORS
    return wrong(path, keyword, { limit })
  }
  return [keyword, rule]
}

/** The names of the members, without those that a closed object does not know. */
function keptNames({ value, schema }: Subject, judge: Judge): readonly string[] {
  if (!isJsonObject(value)) return []
  const names = judge.names(value)
  const isClosed = schema['additionalProperties'] === false
  return isClosed ? names.filter((name) => isKnown(schema, name, judge)) : names
}

function isKnown(
  { properties: named, patternProperties: patterned }: JsonObject,
  name: string,
  judge: Judge,
) {
  judge.spend(1)
  if (isJsonObject(named) && Object.hasOwn(named, name)) return true
  return isJsonObject(patterned) && Object.keys(patterned).some((pattern) => judge.matches(pattern, name))
}

/** Judges one member; what becomes of it goes into `changed`. */
function member(
  subject: Subject,
  name: string,
  schema: unknown,
  changed: Map<string, unknown>,
  judge: Judge,
): Errors {
  const { value, path } = subject
  const before = changed.has(name) ? changed.get(name) : isJsonObject(value) ? value[name] : undefined
  const verdict = judge.inner(schema, before, `${path}/${inPointer(name)}`)
  if (verdict.errors.length > 0) return verdict.errors
  subject.doubt ||= verdict.doubt
  if (verdict.value !== before) changed.set(name, verdict.value)
  return NO_ERRORS
}

function replace(
  subject: Subject,
  value: JsonObject,
  changed: ReadonlyMap<string, unknown>,
  judge: Judge,
): void {
  if (changed.size === 0) return
  subject.doubt = true
  const names = judge.names(value)
  const members = names.map((name) => [name, changed.has(name) ? changed.get(name) : value[name]] as const)
  subject.value = Object.fromEntries(members.filter(([, each]) => each !== undefined))
}
