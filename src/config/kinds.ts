// The kinds of values that a configuration is made of.
//
// A kind says three things about a value from one place: how it is read, what
// a message calls it, and its JSON Schema. The validator of the start-up path
// and the published schema are made from the same kinds, so they cannot part.

import { type Findings, whatItIs } from './problems.js'
import { isObject } from '../text/json-object.js'
import { memberPath } from '../text/member-path.js'

/** The longest delay that a Node timer takes. */
const delayMsMax = 2_147_483_647

/** A piece of JSON Schema 2020-12. */
export type JsonSchema = Readonly<Record<string, unknown>>

/** The place of a value, and where its problems are reported. */
export interface Spot {
  readonly path: string
  readonly findings: Findings
}

/** How one kind of value is read. */
export interface Kind<T> {
  /** The right value in words, as in "must be …". */
  readonly wanted: string
  readonly schema: JsonSchema
  /** Undefined after the problem was reported. */
  read(value: unknown, spot: Spot): T | undefined
}

/** The strings that are right, beyond text without NUL, which no operating system takes in an argument. */
export interface TextRules {
  readonly wanted?: string
  readonly pattern?: string
  readonly mayBeEmpty?: boolean
  /** Its text is never repeated in a message. */
  readonly secret?: boolean
}

const noNul = '^[^\\u0000]*$'

export function text(rules: TextRules = {}): Kind<string> {
  const pattern = rules.pattern ?? noNul
  const matches = new RegExp(pattern, 'u')
  const mayBeEmpty = rules.mayBeEmpty === true
  return scalar({
    wanted: rules.wanted ?? 'a non-empty string',
    schema: { type: 'string', ...(mayBeEmpty ? {} : { minLength: 1 }), pattern },
    secret: rules.secret === true,
    accept: (value) =>
      typeof value === 'string' && (mayBeEmpty || value !== '') && matches.test(value) ? value : undefined,
  })
}

export function boolean(): Kind<boolean> {
  return scalar({
    wanted: 'true or false',
    schema: { type: 'boolean' },
    accept: (value) => (typeof value === 'boolean' ? value : undefined),
  })
}

export function integer(minimum: number, maximum: number): Kind<number> {
  return scalar({
    wanted: `an integer from ${minimum} to ${maximum}`,
    schema: { type: 'integer', minimum, maximum },
    accept: (value) =>
      typeof value === 'number' && Number.isInteger(value) && value >= minimum && value <= maximum
        ? value
        : undefined,
  })
}

export function choice<const T extends string>(...options: readonly T[]): Kind<T> {
  return scalar({
    wanted: `one of ${options.map((option) => `"${option.replaceAll('\n', '\\n')}"`).join(', ')}`,
    schema: { enum: options },
    accept: (value) => options.find((option) => option === value),
  })
}

/** A number of bytes, or text such as `10MB`; K, M and G are powers of 1024 with or without the `i`. */
export function size(minimum: number, maximum: number): Kind<number> {
  // A number without a unit has as many digits as the smallest size, so that an editor marks "1B".
  const pattern = `^(?:\\d{1,15}(\\.\\d{1,3})? ?[KkMmGg]i?|\\d{${String(minimum).length},15}(\\.\\d{1,3})? ?)[Bb]?$`
  const matches = new RegExp(pattern, 'u')
  return scalar({
    wanted: `a number of bytes from ${minimum} to ${maximum}, or text like "10MB"`,
    schema: {
      anyOf: [
        { type: 'integer', minimum, maximum },
        { type: 'string', pattern },
      ],
    },
    accept: (value) => {
      const bytes = typeof value === 'string' && matches.test(value) ? sizeInBytes(value) : value
      return typeof bytes === 'number' && Number.isInteger(bytes) && bytes >= minimum && bytes <= maximum
        ? bytes
        : undefined
    },
  })
}

function sizeInBytes(value: string): number {
  const exponent = ['k', 'm', 'g'].findIndex((unit) => value.toLowerCase().includes(unit)) + 1
  return Math.round(Number.parseFloat(value) * 1024 ** exponent)
}

export function list(element: Kind<string>): Kind<readonly string[]> {
  return {
    wanted: 'a list of strings like ["a", "b"]',
    schema: { type: 'array', items: element.schema },
    read: (value, { path, findings }) => {
      if (!Array.isArray(value)) {
        const fix = typeof value === 'string' ? ', so put it in [ ]' : ''
        findings.problem(path, whatItIs(value, true), `must be a list of strings${fix || ' like ["a", "b"]'}`)
        return undefined
      }
      return value.flatMap((item, at) => element.read(item, { path: `${path}[${at}]`, findings }) ?? [])
    },
  }
}

/** A text, or a list of them. */
export function oneOrMany(one: Kind<string>): Kind<string | readonly string[]> {
  const many = list(one)
  return {
    wanted: 'a text like "a", or a list of texts like ["a", "b"]',
    schema: { anyOf: [one.schema, many.schema] },
    read: (value, spot) => (Array.isArray(value) ? many.read(value, spot) : one.read(value, spot)),
  }
}

/** The values of this kind, or one of these. */
export function or<const L extends string | boolean, T>(
  words: readonly L[],
  kind: Kind<T>,
  wanted: string = kind.wanted,
): Kind<L | T> {
  return {
    wanted,
    schema: { anyOf: [{ enum: words }, kind.schema] },
    read: (value, spot) => words.find((word) => word === value) ?? kind.read(value, spot),
  }
}

/** The names that can be used, as a pattern and in words. */
export interface NameRule {
  readonly pattern: string
  readonly hint: string
}

/** Names that stand in addresses and in calls of clients. */
export const plainNames: NameRule = {
  pattern: '^[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}$',
  hint: 'use letters, digits, "_", "-" and "."',
}

/** Any text that can be shown on one line. */
export const namesOnOneLine: NameRule = {
  pattern: '^[^\\u0000-\\u001f\\u007f-\\u009f\\u2028\\u2029]+$',
  hint: 'use a name without control characters',
}

/** The server's own names of its tools, or those that clients see. */
export const toolNames: NameRule = { pattern: '^[^\\u0000]+$', hint: 'use the name of a tool' }

export const variableNames: NameRule = {
  pattern: '^[^=\\u0000]+$',
  hint: 'use the name of an environment variable',
}

/** An object with such names, whose values are all of one kind; a Map, so that a key such as `__proto__` is only a key. */
export function map<T>(
  { pattern, hint }: NameRule,
  element: Kind<T>,
  wanted = 'an object of strings like { "NAME": "value" }',
): Kind<ReadonlyMap<string, T>> {
  const matches = new RegExp(pattern, 'u')
  return {
    wanted,
    schema: { type: 'object', propertyNames: { pattern }, additionalProperties: element.schema },
    read: (value, { path, findings }) => {
      if (!isObject(value)) {
        findings.problem(path, whatItIs(value, true), `must be ${wanted}`)
        return undefined
      }
      const members = Object.entries(value).flatMap(([name, item]): [string, T][] => {
        const at = memberPath(path, name)
        if (!matches.test(name)) findings.problem(at, 'has a name that cannot be used', hint)
        const read = element.read(item, { path: at, findings })
        return read === undefined ? [] : [[name, read]]
      })
      return new Map(members)
    },
  }
}

/** A time. */
export function milliseconds(minimum: number): Kind<number> {
  const whole = integer(minimum, delayMsMax)
  return {
    ...whole,
    read: (value, spot) => {
      if (typeof value !== 'string' || !/[a-z]/i.test(value)) return whole.read(value, spot)
      const must = `must be ${whole.wanted}: a number of milliseconds, such as ${msOf(value) ?? 30_000}`
      spot.findings.problem(spot.path, whatItIs(value), must)
      return undefined
    },
  }
}

const unitsMs = new Map([
  ['ms', 1],
  ['s', 1000],
  ['m', 60_000],
  ['min', 60_000],
  ['h', 3_600_000],
])

/** Of a text with a unit, such as `30s`. */
function msOf(text: string): number | undefined {
  const [, count, unit = ''] = /^(\d{1,6}) ?([a-z]{1,3})$/i.exec(text) ?? []
  const unitMs = unitsMs.get(unit.toLowerCase())
  const ms = unitMs === undefined ? 0 : Number(count) * unitMs
  return ms > 0 && ms <= delayMsMax ? ms : undefined
}

/** The longest time of a call. Other programs count time-outs in seconds, so that a short one is a warning. */
export function timeout(): Kind<number> {
  const whole = milliseconds(1)
  return {
    ...whole,
    read: (value, spot) => {
      const ms = whole.read(value, spot)
      if (ms !== undefined && ms < 1000)
        spot.findings.warn(spot.path, `is ${ms} milliseconds; did you mean ${ms * 1000}?`)
      return ms
    },
  }
}

interface Scalar<T> extends Pick<Kind<T>, 'wanted' | 'schema'> {
  readonly secret?: boolean
  readonly accept: (value: unknown) => T | undefined
}

function scalar<T>({ wanted, schema, secret, accept }: Scalar<T>): Kind<T> {
  return {
    wanted,
    schema,
    read: (value, { path, findings }) => {
      const read = accept(value)
      if (read === undefined)
        findings.problem(path, whyWrong(value, secret), `must be ${wanted}${quotesHint(value, accept)}`)
      return read
    },
  }
}

/** Of a secret that has the wrong form, only that is said. */
function whyWrong(value: unknown, secret: boolean | undefined): string {
  if (secret !== true || typeof value !== 'string') return whatItIs(value, secret)
  return value === '' ? 'is empty' : 'has a value that cannot be used'
}

/** The commonest mistake by far is a value with or without its quotes. */
function quotesHint(value: unknown, accept: (value: unknown) => unknown): string {
  if (typeof value === 'number' || typeof value === 'boolean')
    return accept(String(value)) === undefined ? '' : ', so put it in quotes'
  if (typeof value !== 'string' || value.trim() === '') return ''
  const bare = value === 'true' ? true : value === 'false' ? false : Number(value)
  return accept(bare) === undefined ? '' : ', so take the quotes away'
}
