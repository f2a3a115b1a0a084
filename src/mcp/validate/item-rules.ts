// Keywords that say something about the items of a list.

import { isJsonArray } from './json-value.js'
import {
  type Errors,
  type Judge,
  NO_ERRORS,
  type NamedRule,
  type Rule,
  type Subject,
  wrong,
} from './judging.js'
import { hasUniqueItems } from './unique-items.js'

export const itemRules: readonly NamedRule[] = [
  ['prefixItems', tuple],
  ['items', items],
  ['additionalItems', additionalItems],
  count('maxItems', (length, limit) => length <= limit),
  count('minItems', (length, limit) => length >= limit),
  ['contains', contains],
  ['uniqueItems', unique],
]

function tuple(subject: Subject, wanted: unknown, judge: Judge): Errors {
  return isJsonArray(wanted) ? each(subject, (at) => wanted[at], judge) : NO_ERRORS
}

function items(subject: Subject, wanted: unknown, judge: Judge): Errors {
  if (isJsonArray(wanted)) return tuple(subject, wanted, judge)
  const { prefixItems } = subject.schema
  return isJsonArray(prefixItems)
    ? rest(subject, 'items', prefixItems.length, wanted, judge)
    : each(subject, () => wanted, judge)
}

function additionalItems(subject: Subject, wanted: unknown, judge: Judge): Errors {
  const first = subject.schema['items']
  return isJsonArray(first) ? rest(subject, 'additionalItems', first.length, wanted, judge) : NO_ERRORS
}

/** The items behind those of a tuple. */
function rest(subject: Subject, keyword: string, from: number, wanted: unknown, judge: Judge): Errors {
  const { value, path } = subject
  if (wanted === false && isJsonArray(value) && value.length > from)
    return wrong(path, keyword, { limit: from })
  return each(subject, (at) => (at < from ? undefined : wanted), judge)
}

/** Judges each item by its schema, if it has one. */
function each(subject: Subject, schemaAt: (at: number) => unknown, judge: Judge): Errors {
  const { value, path } = subject
  if (!isJsonArray(value)) return NO_ERRORS
  const changed = new Map<number, unknown>()
  for (const [at, item] of value.entries()) {
    const schema = schemaAt(at)
    if (schema === undefined) continue
    const verdict = judge.inner(schema, item, `${path}/${at}`)
    if (verdict.errors.length > 0) return verdict.errors
    subject.doubt ||= verdict.doubt
    if (verdict.value !== item) changed.set(at, verdict.value)
  }
  if (changed.size === 0) return NO_ERRORS
  judge.spend(value.length)
  subject.value = value.map((item, at) => (changed.has(at) ? changed.get(at) : item))
  return NO_ERRORS
}

function count(keyword: string, holds: (length: number, limit: number) => boolean): NamedRule {
  const rule: Rule = ({ value, path }, limit) => {
    if (!isJsonArray(value) || typeof limit !== 'number' || holds(value.length, limit)) return NO_ERRORS
    return wrong(path, keyword, { limit })
  }
  return [keyword, rule]
}

/** An item that fits only because something was forgiven may count or not. */
function contains(subject: Subject, wanted: unknown, judge: Judge): Errors {
  const { value, path, schema } = subject
  if (!isJsonArray(value)) return NO_ERRORS
  const least = judge.limit(schema, 'minContains') ?? 1
  const most = judge.limit(schema, 'maxContains') ?? Infinity
  const verdicts = value.map((item, at) => judge.inner(wanted, item, `${path}/${at}`))
  const fitting = verdicts.filter(({ errors }) => errors.length === 0)
  const certain = fitting.filter(({ doubt }) => !doubt)
  if (fitting.length < least || certain.length > most) return wrong(path, 'contains', { minContains: least })
  if (certain.length < fitting.length) subject.doubt = true
  return NO_ERRORS
}

function unique({ value, path }: Subject, wanted: unknown, judge: Judge): Errors {
  if (wanted !== true || !isJsonArray(value)) return NO_ERRORS
  return hasUniqueItems(value, (steps) => judge.spend(steps)) ? NO_ERRORS : wrong(path, 'uniqueItems')
}
