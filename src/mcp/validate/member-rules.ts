// Keywords that say something about the members of an object, or the items of a list.

import { isJsonArray, isJsonObject, type JsonObject, listOf, membersOf } from './json-value.js'
import {
  type Errors,
  firstErrors,
  type LenientJudge,
  NO_ERRORS,
  type NamedRule,
  type Subject,
  wrong,
} from './lenient-judge.js'

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

export const itemRules: readonly NamedRule[] = [
  ['prefixItems', tuple],
  ['items', items],
  ['additionalItems', additionalItems],
]

export const containsRules: readonly NamedRule[] = [['contains', contains]]

function required(subject: Subject, wanted: unknown, judge: LenientJudge): Errors {
  return isJsonObject(subject.value) ? missing(subject, subject.value, wanted, judge) : NO_ERRORS
}

/** A member with a default is filled in. */
function missing(subject: Subject, value: JsonObject, names: unknown, judge: LenientJudge): Errors {
  const all = listOf(names)
  judge.spend(all.length)
  return firstErrors(all, (name) => {
    if (typeof name !== 'string' || Object.hasOwn(value, name)) return NO_ERRORS
    if (!subject.facts.defaults.has(name)) return wrong(subject.path, 'required', { missingProperty: name })
    subject.doubt = true
    return NO_ERRORS
  })
}

/** Members that must be there, or a schema for the whole object, where a member is there. */
function dependencies(subject: Subject, wanted: unknown, judge: LenientJudge): Errors {
  const { value } = subject
  if (!isJsonObject(value)) return NO_ERRORS
  return firstErrors(membersOf(wanted), ([name, dependency]) => {
    if (!Object.hasOwn(value, name)) return NO_ERRORS
    return isJsonArray(dependency)
      ? missing(subject, value, dependency, judge)
      : judge.also(dependency, subject)
  })
}

function properties(subject: Subject, wanted: unknown, judge: LenientJudge): Errors {
  const { value, facts } = subject
  if (!isJsonObject(value) || !isJsonObject(wanted)) return NO_ERRORS
  const named = Object.keys(wanted)
  judge.spend(named.length)
  const there = named.filter((name) => Object.hasOwn(value, name))
  // What is filled in may be what a condition asks for.
  subject.doubt ||= named.some((name) => !Object.hasOwn(value, name) && facts.defaults.has(name))
  return judge.each(
    subject,
    there,
    (name) => wanted[name],
    (name) => judge.isOptional(subject, String(name)),
  )
}

function patternProperties(subject: Subject, wanted: unknown, judge: LenientJudge): Errors {
  return firstErrors(membersOf(wanted), ([pattern, schema]) => {
    const names = judge.names(subject.value)
    return judge.each(subject, names, (name) => (judge.matches(pattern, String(name)) ? schema : undefined))
  })
}

/** A closed object forgives what it does not know. */
function additionalProperties(subject: Subject, wanted: unknown, judge: LenientJudge): Errors {
  const extra = judge.names(subject.value).filter((name) => !isKnown(subject.schema, name, judge))
  if (wanted !== false) return judge.each(subject, extra, () => wanted)
  subject.doubt ||= extra.length > 0
  return NO_ERRORS
}

/** Which members others have judged is not followed: any may be an extra one, which is forgiven. */
function unevaluatedProperties(subject: Subject, wanted: unknown): Errors {
  subject.doubt ||= wanted !== true && isJsonObject(subject.value)
  return NO_ERRORS
}

function propertyNames(subject: Subject, wanted: unknown, judge: LenientJudge): Errors {
  const { path } = subject
  return firstErrors(keptNames(subject, judge), (name) => {
    const { errors, doubt } = judge.inner(wanted, name, path)
    subject.doubt ||= doubt
    return errors.length === 0
      ? NO_ERRORS
      : [...errors, ...wrong(path, 'propertyNames', { propertyName: name })]
  })
}

function count(keyword: string, holds: (members: number, limit: number) => boolean): NamedRule {
  return [
    keyword,
    (subject, limit, judge) => {
      const { value, path } = subject
      if (!isJsonObject(value) || typeof limit !== 'number') return NO_ERRORS
      const fits = holds(judge.names(value).length, limit) || holds(keptNames(subject, judge).length, limit)
      return fits ? NO_ERRORS : wrong(path, keyword, { limit })
    },
  ]
}

/** The names of the members, without those that a closed object does not know. */
function keptNames({ value, schema }: Subject, judge: LenientJudge): readonly string[] {
  const names = judge.names(value)
  const isClosed = schema['additionalProperties'] === false
  return isClosed ? names.filter((name) => isKnown(schema, name, judge)) : names
}

function isKnown(
  { properties: named, patternProperties: patterned }: JsonObject,
  name: string,
  judge: LenientJudge,
) {
  judge.spend(1)
  if (isJsonObject(named) && Object.hasOwn(named, name)) return true
  return membersOf(patterned).some(([pattern]) => judge.matches(pattern, name))
}

function tuple(subject: Subject, wanted: unknown, judge: LenientJudge): Errors {
  const schemas = listOf(wanted)
  return judge.each(subject, listOf(subject.value).keys(), (at) => schemas[Number(at)])
}

function items(subject: Subject, wanted: unknown, judge: LenientJudge): Errors {
  if (isJsonArray(wanted)) return tuple(subject, wanted, judge)
  const { prefixItems } = subject.schema
  return isJsonArray(prefixItems)
    ? rest(subject, 'items', prefixItems.length, wanted, judge)
    : judge.each(subject, listOf(subject.value).keys(), () => wanted)
}

function additionalItems(subject: Subject, wanted: unknown, judge: LenientJudge): Errors {
  const first = subject.schema['items']
  return isJsonArray(first) ? rest(subject, 'additionalItems', first.length, wanted, judge) : NO_ERRORS
}

/** The items behind those of a tuple. */
function rest(subject: Subject, keyword: string, from: number, wanted: unknown, judge: LenientJudge): Errors {
  const all = listOf(subject.value)
  if (wanted === false && all.length > from) return wrong(subject.path, keyword, { limit: from })
  return judge.each(subject, all.keys(), (at) => (Number(at) < from ? undefined : wanted))
}

/** An item that fits only because something was forgiven may count or not. */
function contains(subject: Subject, wanted: unknown, judge: LenientJudge): Errors {
  const { value, path, schema } = subject
  if (!isJsonArray(value)) return NO_ERRORS
  const least = judge.limit(schema, 'minContains') ?? 1
  const most = judge.limit(schema, 'maxContains') ?? Infinity
  const verdicts = value.map((item, at) => judge.inner(wanted, item, `${path}/${at}`))
  const fitting = verdicts.filter(({ errors }) => errors.length === 0)
  const certain = fitting.filter(({ doubt }) => !doubt)
  if (fitting.length < least || certain.length > most) return wrong(path, 'contains', { minContains: least })
  subject.doubt ||= certain.length < fitting.length
  return NO_ERRORS
}
