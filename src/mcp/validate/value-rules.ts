// Keywords that say something about the value of a subject itself.

import { coerced, isOfType } from './coercion.js'
import { isEqual, isJsonArray } from './json-value.js'
import {
  type Errors,
  type Judge,
  NO_ERRORS,
  type NamedRule,
  type Rule,
  type Subject,
  wrong,
} from './judging.js'
import { hasAtLeast, hasAtMost } from './text-length.js'

/** What is first: the others judge the value as this leaves it. */
export const typeRules: readonly NamedRule[] = [['type', typed]]

export const valueRules: readonly NamedRule[] = [
  bound('maximum', '<=', (value, limit) => value <= limit),
  bound('minimum', '>=', (value, limit) => value >= limit),
  bound('exclusiveMaximum', '<', (value, limit) => value < limit),
  bound('exclusiveMinimum', '>', (value, limit) => value > limit),
  ['multipleOf', multiple],
  textLength('maxLength', hasAtMost),
  textLength('minLength', hasAtLeast),
  ['pattern', pattern],
  ['const', constant],
  ['enum', listed],
]

function typed(subject: Subject, wanted: unknown, judge: Judge): Errors {
  const types = isJsonArray(wanted) ? wanted : [wanted]
  const isNullable = subject.schema['nullable'] === true
  if (types.some((type) => isOfType(subject.value, type)) || (isNullable && subject.value === null))
    return NO_ERRORS
  const found = coerced(subject.value, types, (steps) => judge.spend(steps))
  if (found === undefined) return wrong(subject.path, 'type', { type: wanted })
  subject.doubt = true
  subject.value = found.value
  return NO_ERRORS
}

function constant(subject: Subject, wanted: unknown, judge: Judge): Errors {
  if (isOneOf(subject, [wanted], judge)) return NO_ERRORS
  return wrong(subject.path, 'const', { allowedValue: wanted })
}

function listed(subject: Subject, wanted: unknown, judge: Judge): Errors {
  if (!isJsonArray(wanted) || isOneOf(subject, wanted, judge)) return NO_ERRORS
  return wrong(subject.path, 'enum', { allowedValues: wanted })
}

/** Of another type, a value may still become one of those allowed. */
function isOneOf(subject: Subject, allowed: readonly unknown[], judge: Judge): boolean {
  const spend = (steps: number): void => judge.spend(steps)
  const { value } = subject
  if (allowed.some((each) => isEqual(value, each, spend))) return true
  const meant = allowed.find((each) => becomes(value, each, spend))
  if (meant === undefined) return false
  subject.doubt = true
  subject.value = meant
  return true
}

function becomes(value: unknown, allowed: unknown, spend: (steps: number) => void): boolean {
  if (typeof allowed === 'object') return false
  const found = coerced(value, [typeof allowed], spend)
  return found !== undefined && found.value === allowed
}

function bound(
  keyword: string,
  comparison: string,
  holds: (value: number, limit: number) => boolean,
): NamedRule {
  const rule: Rule = ({ value, path }, limit) => {
    if (typeof value !== 'number' || typeof limit !== 'number' || holds(value, limit)) return NO_ERRORS
    return wrong(path, keyword, { comparison, limit })
  }
  return [keyword, rule]
}

function multiple({ value, path }: Subject, wanted: unknown): Errors {
  if (typeof value !== 'number' || typeof wanted !== 'number' || isMultiple(value, wanted)) return NO_ERRORS
  return wrong(path, 'multipleOf', { multipleOf: wanted })
}

function isMultiple(value: number, step: number): boolean {
  return step !== 0 && Number.isInteger(value / step)
}

type HasLength = (text: string, limit: number, spend: (steps: number) => void) => boolean

function textLength(keyword: string, holds: HasLength): NamedRule {
  const rule: Rule = ({ value, path }, limit, judge) => {
    if (typeof value !== 'string' || typeof limit !== 'number') return NO_ERRORS
    return holds(value, limit, (steps) => judge.spend(steps)) ? NO_ERRORS : wrong(path, keyword, { limit })
  }
  return [keyword, rule]
}

function pattern({ value, path }: Subject, wanted: unknown, judge: Judge): Errors {
  if (typeof value !== 'string' || typeof wanted !== 'string') return NO_ERRORS
  return judge.matches(wanted, value) ? NO_ERRORS : wrong(path, 'pattern', { pattern: wanted })
}
