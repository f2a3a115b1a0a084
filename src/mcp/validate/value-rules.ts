// Keywords that say something about the value of a subject itself.

import { coerced, isOfType } from './coercion.js'
import { isEqual, isJsonArray, listOf } from './json-value.js'
import {
  type Errors,
  type LenientJudge,
  NO_ERRORS,
  type NamedRule,
  type Subject,
  wrong,
} from './lenient-judge.js'
import type { RunBudget } from './run-budget.js'
import { hasAtLeast, hasAtMost } from './text-length.js'
import { hasUniqueItems } from './unique-items.js'

/** What is first: the others judge the value as this leaves it. */
export const typeRules: readonly NamedRule[] = [['type', typed]]

export const lengthRules: readonly NamedRule[] = [
  limit('maxItems', isJsonArray, ({ length }, most) => length <= most),
  limit('minItems', isJsonArray, ({ length }, least) => length >= least),
]

export const valueRules: readonly NamedRule[] = [
  ['uniqueItems', unique],
  limit('maximum', isNumber, (value, most) => value <= most, '<='),
  limit('minimum', isNumber, (value, least) => value >= least, '>='),
  limit('exclusiveMaximum', isNumber, (value, end) => value < end, '<'),
  limit('exclusiveMinimum', isNumber, (value, end) => value > end, '>'),
  limit('multipleOf', isNumber, (value, step) => step !== 0 && Number.isInteger(value / step)),
  limit('maxLength', isText, hasAtMost),
  limit('minLength', isText, hasAtLeast),
  ['pattern', pattern],
  ['const', (subject, wanted, judge) => listed(subject, [wanted], judge, 'const', { allowedValue: wanted })],
  ['enum', (subject, wanted, judge) => listed(subject, wanted, judge, 'enum', { allowedValues: wanted })],
]

function typed(subject: Subject, wanted: unknown, judge: LenientJudge): Errors {
  const types = isJsonArray(wanted) ? wanted : [wanted]
  const isNullable = subject.schema['nullable'] === true
  if (types.some((type) => isOfType(subject.value, type)) || (isNullable && subject.value === null))
    return NO_ERRORS
  const found = coerced(subject.value, types, judge.spend)
  if (found === undefined) return wrong(subject.path, 'type', { type: wanted })
  subject.doubt = true
  subject.value = found
  return NO_ERRORS
}

/** Of another type, a value may still become one of those allowed. */
function listed(
  subject: Subject,
  wanted: unknown,
  { spend }: LenientJudge,
  keyword: string,
  params: Readonly<Record<string, unknown>>,
): Errors {
  const allowed = listOf(wanted)
  if (allowed.some((each) => isEqual(subject.value, each, spend))) return NO_ERRORS
  const meant = allowed.find(
    (each) => typeof each !== 'object' && coerced(subject.value, [typeof each], spend) === each,
  )
  if (meant === undefined) return wrong(subject.path, keyword, params)
  subject.doubt = true
  subject.value = meant
  return NO_ERRORS
}

function limit<Value>(
  keyword: string,
  isMeant: (value: unknown) => value is Value,
  holds: (value: Value, limit: number, spend: RunBudget['spend']) => boolean,
  comparison?: string,
): NamedRule {
  return [
    keyword,
    ({ value, path }, wanted, { spend }) => {
      if (!isMeant(value) || typeof wanted !== 'number' || holds(value, wanted, spend)) return NO_ERRORS
      return wrong(path, keyword, { comparison, limit: wanted, [keyword]: wanted })
    },
  ]
}

function isNumber(value: unknown): value is number {
  return typeof value === 'number'
}

function isText(value: unknown): value is string {
  return typeof value === 'string'
}

function pattern({ value, path }: Subject, wanted: unknown, judge: LenientJudge): Errors {
  if (!isText(value) || !isText(wanted) || judge.matches(wanted, value)) return NO_ERRORS
  return wrong(path, 'pattern', { pattern: wanted })
}

function unique({ value, path }: Subject, wanted: unknown, { spend }: LenientJudge): Errors {
  const fits = wanted !== true || !isJsonArray(value) || hasUniqueItems(value, spend)
  return fits ? NO_ERRORS : wrong(path, 'uniqueItems')
}
