// The types of values in a configuration, and the only code that reads them.
//
// A key is declared once, in a table of fields (`keys.ts`, `server-keys.ts`). The declaration has its default,
// its variables, its path and its unit. The messages, the TypeScript types of the value and of the written
// file, the published JSON Schema and the reference in docs/configuration.md follow from it. The comment above
// a key is its description there.

import { isObject } from '../text/json-object.js'
import { memberPath } from '../text/member-path.js'
import { nearest } from '../text/nearest.js'
import { earlierKeys, keyHints, refusedKeys } from './key-hints.js'
import { type PathBase, absolute, absoluteFile } from './paths.js'
import { type ProblemReport, whatItIs } from './problems.js'

export type JsonSchema = Readonly<Record<string, unknown>>

export interface Reading extends PathBase {
  readonly problems: ProblemReport
  /** Expands variables in a text, for which `isRight` must then hold. Undefined after a problem. Absent: no expansion. */
  readonly expand?: (text: string, at: Location, rule: ExpandedRule) => string | undefined
  /** Receives each secret in a value. */
  readonly onSecret?: (value: string) => void
  /** Defaults by the paths of their keys. They replace the defaults of the tables. */
  readonly defaults?: Readonly<Record<string, unknown>>
  /** Environment variables. They override the file if `areAbove`, else they replace missing keys. */
  readonly variables?: {
    readonly env: Readonly<Record<string, string | undefined>>
    readonly areAbove: boolean
    readonly problems: ProblemReport
  }
}

export interface ExpandedRule {
  readonly expected: string
  readonly isRight: (text: string) => boolean
}

/** A place in the configuration, and the value there. The value is undefined if the place does not exist. */
export class Location {
  readonly value: unknown
  /** For example `schemas.default.mcpServers.fs.timeout`. Empty for the whole file. */
  readonly path: string
  readonly reading: Reading

  constructor(value: unknown, path: string, reading: Reading) {
    this.value = value
    this.path = path
    this.reading = reading
  }

  at(key: string | number): Location {
    const path = typeof key === 'number' ? `${this.path}[${key}]` : memberPath(this.path, key)
    return new Location(this.#own(key), path, this.reading)
  }

  /** Whether the object has this key. An object from memory may have a member whose value is undefined. */
  has(key: string): boolean {
    return this.#own(key) !== undefined
  }

  get members(): readonly (readonly [string, unknown])[] {
    return isObject(this.value) ? Object.entries(this.value) : []
  }

  /** The same place, with other settings of the reader. */
  with(more: Partial<Reading>): Location {
    return new Location(this.value, this.path, { ...this.reading, ...more })
  }

  problem(problem: string, hint: string): void {
    this.reading.problems.problem(this.path, problem, hint)
  }

  warn(message: string): void {
    this.reading.problems.warn(this.path, message)
  }

  #own(key: string | number): unknown {
    const owner = this.value
    if (Array.isArray(owner)) return owner[Number(key)]
    return isObject(owner) && Object.hasOwn(owner, key) ? owner[String(key)] : undefined
  }
}

/** One type of value: `T` after reading, `W` in a file. The name of the value gets the suffix `U`, such as `Ms`. */
export interface ValueType<T, W = T, U extends string = ''> {
  /** The right value in words, as in "must be …". */
  readonly expected: string
  readonly schema: JsonSchema
  readonly unit?: U
  /** Returns undefined after a report of the problem, which says `expected` or the words of the type. */
  read(at: Location, expected?: string): T | undefined
  /** Never set. It carries the type. */
  readonly written?: W
}

export interface Field<T, W = T, U extends string = ''> {
  readonly type: ValueType<T, W, U>
  /** The value of an absent key, in its written form. Undefined for none. */
  readonly fallback: W | undefined
  /** Replaces a missing required key, so that the reader finds further problems. */
  readonly standIn?: T
  readonly variable?: string | undefined
  /** The comment above the declaration, in Markdown. `scripts/config-schema.mjs` sets it; absent at run time. */
  readonly about?: string
}

type Fields = Readonly<Record<string, Field<unknown, unknown, string>>>

/** `variable` names a variable of the environment that may replace or override the key. */
export function field<T, W, U extends string>(
  type: ValueType<T, W, U>,
  fallback: NoInfer<W>,
  variable?: string,
): Field<T, W, U> {
  return { type, fallback, variable }
}

export function optional<T, W, U extends string>(
  type: ValueType<T, W, U>,
  variable?: string,
): Field<T | undefined, W, U> {
  return { type, fallback: undefined, variable }
}

export function required<T, W>(type: ValueType<T, W>, standIn: NoInfer<T>): RequiredField<T, W> {
  return { type, fallback: undefined, standIn }
}

export interface RequiredField<T, W> extends Field<T, W> {
  readonly standIn: T
}

/** The values of a section with these keys. Their names end in their units. */
export type ValuesOf<F> = {
  readonly [K in keyof F & string as `${K}${UnitOf<F[K]>}`]: F[K] extends Field<infer T, unknown, string>
    ? T
    : never
}
type UnitOf<F> = F extends { readonly type: { readonly unit?: infer U extends string } } ? U : never

/** A section in its written form. A key with the value undefined counts as absent. */
export type WrittenOf<F> = {
  readonly [K in keyof F as F[K] extends { readonly standIn: unknown } ? never : K]?:
    WrittenIn<F[K]> | undefined
} & {
  readonly [K in keyof F as F[K] extends { readonly standIn: unknown } ? K : never]: WrittenIn<F[K]>
} & { readonly $comment?: unknown }
type WrittenIn<F> = F extends { readonly type: { readonly written?: infer W } } ? W : never

export interface ObjectRules {
  readonly expected?: string
  /** Hints for keys that the object does not have. */
  readonly hints?: ReadonlyMap<string, string>
  /** An unknown key is a mistake: in a block that restricts something, an ignored key would permit too much. */
  readonly isClosed?: true
  /** Alternative names of one value. Exactly one must be present. */
  readonly oneOf?: readonly string[]
  /** A key, and another key that must stand beside it. */
  readonly needs?: readonly (readonly [key: string, needed: string])[]
}

export function object<F extends Fields>(
  fields: F,
  rules: ObjectRules = {},
): ValueType<ValuesOf<F>, WrittenOf<F>> {
  const expected = rules.expected ?? `an object like ${exampleOf(fields)}`
  return {
    expected,
    schema: objectSchema(fields, rules),
    read: (at, must = expected) => {
      if (!isObject(at.value)) return wrong(at, must, typeof at.value === 'string')
      checkRules(fields, at, rules)
      const values = readValues(fields, at)
      reportUnknownKeys(at, Object.keys(fields), rules)
      return values
    },
  }
}

function exampleOf(fields: Fields): string {
  const keys = Object.keys(fields)
  const needed = keys.find((key) => fields[key] !== undefined && 'standIn' in fields[key])
  return `{ "${needed ?? keys[0]}": … }`
}

/** Reads some keys of the object at a place. `fallbacks` replace the defaults. */
export function readValues<F extends Fields>(
  fields: F,
  at: Location,
  fallbacks: Partial<NoInfer<ValuesOf<F>>> = {},
): ValuesOf<F> {
  const given = new Map<string, unknown>(Object.entries(fallbacks))
  const values: Record<string, unknown> = {}
  for (const [key, each] of Object.entries(fields)) {
    const [name, place] = [`${key}${each.type.unit ?? ''}`, at.at(key)]
    values[name] = readField(each, place) ?? given.get(name) ?? defaultOf(each, place)
  }
  if (hasAll(values, fields)) return values
  throw new Error(`a key of ${at.path} was not read`)
}

function hasAll<F extends Fields>(values: object, fields: F): values is ValuesOf<F> {
  return Object.entries(fields).every(([key, { type }]) => Object.hasOwn(values, `${key}${type.unit ?? ''}`))
}

function readField<T>(one: Field<T, unknown, string>, at: Location): T | undefined {
  const place = placeOf(one, at)
  if (place.value !== undefined) return one.type.read(place) ?? one.standIn
  if ('standIn' in one) at.problem('is missing', `must be ${one.type.expected}`)
  return one.standIn
}

/** Reads a default as if the file contained it. */
function defaultOf<T>(
  { type, fallback }: Field<T, unknown, string>,
  { path, reading }: Location,
): T | undefined {
  const value = reading.defaults?.[path] ?? fallback
  return value === undefined ? undefined : type.read(new Location(value, path, reading))
}

function placeOf({ variable, type }: Field<unknown, unknown, string>, at: Location): Location {
  const { variables } = at.reading
  const written = variable === undefined ? undefined : variables?.env[variable]
  if (variables === undefined || !written || (at.value !== undefined && !variables.areAbove)) return at
  const { expand: _, ...reading } = at.reading
  return new Location(valueOfText(written, type.schema), `$${variable}`, {
    ...reading,
    problems: variables.problems,
  })
}

function valueOfText(written: string, { type }: JsonSchema): unknown {
  if (type === 'string') return written
  const text = written.trim()
  if (type === 'array') return listOfText(text)
  if (type === 'boolean') return switches.get(text.toLowerCase()) ?? text
  return /^-?\d+(?:\.\d+)?$/.test(text) ? Number(text) : text
}

function listOfText(text: string): unknown {
  try {
    if (/^[[{"]/.test(text)) return JSON.parse(text)
  } catch {
    return text
  }
  return text.split(',').map((part) => part.trim())
}

const switches: ReadonlyMap<string, boolean> = new Map([
  ...['true', '1', 'yes', 'on'].map((word) => [word, true] as const),
  ...['false', '0', 'no', 'off'].map((word) => [word, false] as const),
])

export function checkRules(fields: Fields, at: Location, { oneOf = [], needs = [] }: ObjectRules): void {
  const mustBe = (key: string): string => `must be ${fields[key]?.type.expected}`
  const given = oneOf.filter((key) => at.has(key))
  const [first] = oneOf
  if (first !== undefined && given.length === 0) at.at(first).problem('is missing', mustBe(first))
  if (given.length > 1)
    at.problem(`has ${given.map((key) => `"${key}"`).join(' and ')}, which mean the same`, 'keep one of them')
  for (const [key, needed] of needs)
    if (at.has(key) && !at.has(needed))
      at.at(needed).problem('is missing', `${mustBe(needed)} beside "${key}"`)
}

const examplesMax = 5

export function reportUnknownKeys(
  at: Location,
  keys: readonly string[],
  { hints, isClosed }: Pick<ObjectRules, 'hints' | 'isClosed'> = {},
): void {
  for (const [key] of at.members) {
    if (keys.includes(key) || key === '$comment') continue
    const replacement = earlierKeys.get(key)
    const refused = refusedKeys.get(key)
    const hint = refused ?? hints?.get(key) ?? keyHints.get(key) ?? keysLike(key, keys)
    const place = at.at(key)
    if (replacement !== undefined) place.warn(`is a key of an earlier version and is ignored; ${replacement}`)
    else if (isClosed || refused !== undefined) place.problem('is not a known key here', hint)
    else place.warn(`is not a known key here and is ignored; ${hint}`)
  }
}

function keysLike(key: string, keys: readonly string[]): string {
  const [near] = nearest(key, keys)
  if (near !== undefined) return `did you mean "${near}"?`
  const examples = keys.slice(0, examplesMax).map((known) => `"${known}"`)
  return `keys here are ${examples.join(', ')}${keys.length > examplesMax ? ', …' : ''}`
}

/** The schema allows no other keys, so that an editor marks a misspelled one. A start only warns of them. */
export function objectSchema(fields: Fields, { oneOf, needs }: ObjectRules = {}): JsonSchema {
  const needed = Object.keys(fields).filter((key) => fields[key] !== undefined && 'standIn' in fields[key])
  return {
    type: 'object',
    properties: {
      $comment: true,
      ...Object.fromEntries(Object.entries(fields).map(([key, each]) => [key, fieldSchema(each)])),
    },
    additionalProperties: false,
    ...(needed.length > 0 && { required: needed }),
    ...(oneOf && { oneOf: oneOf.map((key) => ({ required: [key] })) }),
    ...(needs && { dependentRequired: Object.fromEntries(needs.map(([key, other]) => [key, [other]])) }),
  }
}

function fieldSchema({ type, fallback, about }: Field<unknown, unknown, string>): JsonSchema {
  const isShown = Array.isArray(fallback) || (typeof fallback !== 'object' && fallback !== '')
  const description = about?.replaceAll(/\[([^\]]+)\]\([^)]+\)|`/g, '$1')
  return { ...(description && { description }), ...type.schema, ...(isShown && { default: fallback }) }
}

interface TextRules {
  readonly accepts?: (text: string) => boolean
  readonly mayBeEmpty?: true
  /** Messages never repeat the text. */
  readonly isSecret?: true
  /** The text may contain variables. The pattern holds for the expanded text. */
  readonly isExpanded?: true
}

/** A secret, which may be written as a variable. */
export const hidden = { isSecret: true, isExpanded: true } as const

/** A text that matches a pattern. By default any text without NUL, which no system accepts in an argument. */
export function text(
  expected: string = 'a non-empty string',
  pattern?: string,
  { accepts, mayBeEmpty, isSecret, isExpanded }: TextRules = {},
): ValueType<string> {
  const matches = new RegExp(pattern ?? '^[^\\u0000]*$', 'u')
  const isRight = (value: string): boolean =>
    (mayBeEmpty || value !== '') && matches.test(value) && (accepts?.(value) ?? true)
  const type = scalar({
    expected,
    schema: {
      type: 'string',
      ...(!mayBeEmpty && matches.test('') && { minLength: 1 }),
      ...(pattern !== undefined && { pattern: isExpanded ? `${pattern}|\\$\\{` : pattern }),
    },
    isSecret,
    accept: (value) => (typeof value === 'string' && isRight(value) ? value : undefined),
  })
  if (!isExpanded) return type
  const rule = { expected, isRight: pattern === undefined ? () => true : isRight }
  return {
    ...type,
    read: (at, must) => {
      const { value, reading } = at
      const hasVariable = typeof value === 'string' && value.includes('${') && !value.includes('\0')
      // The value of an environment variable is not expanded again.
      return hasVariable && reading.expand ? reading.expand(value, at, rule) : type.read(at, must)
    },
  }
}

export function address(expected: string, pattern: string, rules: TextRules = {}): ValueType<string> {
  return text(expected, pattern, { ...rules, accepts: (text) => URL.canParse(text) })
}

/** The type, with its values converted by `become`. */
export function mapped<T, W, V>(
  type: ValueType<T, W, string>,
  become: (value: T, at: Location) => V | undefined,
): ValueType<V, W> {
  return {
    ...type,
    unit: '',
    read: (at, must) => {
      const value = type.read(at, must)
      return value === undefined ? undefined : become(value, at)
    },
  }
}

/** The type, with the secrets in its values reported, so that they are never logged. */
export function withSecrets<T, W>(
  type: ValueType<T, W>,
  secretsOf: (value: T) => readonly string[],
): ValueType<T, W> {
  return mapped(type, (value, { reading }) => {
    for (const each of secretsOf(value)) reading.onSecret?.(each)
    return value
  })
}

/** A text that is a secret as a whole. */
export function secret(expected?: string, pattern?: string): ValueType<string> {
  return withSecrets(text(expected, pattern, hidden), (value) => [value])
}

/** A path with variables and `~` expanded, made absolute. The proxy obeys the content of a `file`. */
export function path(kind: 'file' | 'any', expected?: string): ValueType<string> {
  const written = text(expected, undefined, { isExpanded: true })
  return mapped(written, (read, { reading }) => (kind === 'file' ? absoluteFile : absolute)(read, reading))
}

export function boolean(): ValueType<boolean> {
  return scalar({
    expected: 'true or false',
    schema: { type: 'boolean' },
    accept: (value) => (typeof value === 'boolean' ? value : undefined),
  })
}

export function integer(minimum: number, maximum: number, what = 'an integer', like = ''): ValueType<number> {
  return scalar({
    expected: `${what} from ${minimum} to ${maximum}${like}`,
    schema: { type: 'integer', minimum, maximum },
    accept: (value) =>
      typeof value === 'number' && Number.isInteger(value) && value >= minimum && value <= maximum
        ? value
        : undefined,
  })
}

export function choice<const T extends string>(...options: readonly T[]): ValueType<T> {
  return scalar({
    expected: `one of ${options.map((option) => `"${option.replaceAll('\n', '\\n')}"`).join(', ')}`,
    schema: { enum: options },
    accept: (value) => options.find((option) => option === value),
  })
}

/** A number of bytes, or text such as `10MB`. K, M and G are powers of 1024, with or without the `i`. */
export function size(minimum: number, maximum: number): ValueType<number, number | string, 'Bytes'> {
  const pattern = '^\\d{1,15}(\\.\\d{1,3})? ?([KkMmGg]i?)?[Bb]?$'
  const matches = new RegExp(pattern, 'u')
  const number = integer(minimum, maximum)
  const type = scalar({
    expected: `a number of bytes from ${minimum} to ${maximum}, or text like "10MB"`,
    schema: { anyOf: [number.schema, { type: 'string', pattern }] },
    accept: (value) => {
      const bytes = typeof value === 'string' && matches.test(value) ? sizeInBytes(value) : value
      const isRight =
        typeof bytes === 'number' && Number.isInteger(bytes) && bytes >= minimum && bytes <= maximum
      return isRight ? bytes : undefined
    },
  })
  return { ...type, unit: 'Bytes' }
}

function sizeInBytes(value: string): number {
  const exponent = ['k', 'm', 'g'].findIndex((unit) => value.toLowerCase().includes(unit)) + 1
  return Math.round(Number.parseFloat(value) * 1024 ** exponent)
}

/** A time in milliseconds. Other programs count in seconds, so a time below `unlikelyBelow` gives a warning. */
export function milliseconds(
  minimum: number,
  maximum: number = 2_147_483_647,
  unlikelyBelow = 0,
): ValueType<number, number, 'Ms'> {
  const number = integer(minimum, maximum, 'a whole number of milliseconds', ', such as 30000')
  const whole = mapped(number, (ms, at) => {
    if (ms < unlikelyBelow) at.warn(`is ${ms} milliseconds; did you mean ${ms * 1000}?`)
    return ms
  })
  return { ...whole, unit: 'Ms' }
}

/** A time that files write in seconds. */
export function seconds(minimum: number, maximum: number): ValueType<number, number, 'Ms'> {
  return {
    ...mapped(integer(minimum, maximum, 'a whole number of seconds'), (read) => read * 1000),
    unit: 'Ms',
  }
}

/** A list, by default of texts. For other elements, `expected` describes them. */
export function list<T, W>(
  element: ValueType<T, W>,
  { expected = 'a list of strings like ["a", "b"]', min = 0, max = Infinity }: Partial<ListRules> = {},
): ValueType<readonly T[], readonly W[]> {
  return {
    expected,
    schema: { type: 'array', ...(min > 0 && { minItems: min }), items: element.schema },
    read: (at, must = expected) => {
      if (!Array.isArray(at.value))
        return wrong(at, `${must}${typeof at.value === 'string' ? ', so put it in [ ]' : ''}`, true)
      const { length } = at.value
      if (length < min) at.problem('is empty', `must be ${must}`)
      if (length > max) at.problem(`has ${length} members`, `keep at most ${max}`)
      return at.value.flatMap((_, index) => element.read(at.at(index)) ?? [])
    },
  }
}

interface ListRules {
  readonly expected: string
  readonly min: number
  readonly max: number
}

export function objects<F extends Fields>(
  fields: F,
  { min = 0, max = Infinity, ...rules }: ObjectRules & Partial<ListRules> = {},
): ValueType<readonly ValuesOf<F>[], readonly WrittenOf<F>[]> {
  return list(object(fields, rules), {
    expected: `a list of objects like [${exampleOf(fields)}]`,
    min,
    max,
  })
}

/** A value of one type, or a list or an object of the other. */
export function either<T, W, U, V>(
  plain: ValueType<T, W>,
  compound: ValueType<U, V>,
): ValueType<T | U, W | V> {
  const expected = `${plain.expected}, or ${compound.expected}`
  return {
    expected,
    schema: { anyOf: [plain.schema, compound.schema] },
    read: (at, must = expected) =>
      typeof at.value === 'object' && at.value !== null ? compound.read(at, must) : plain.read(at, must),
  }
}

export function oneOrMany(one: ValueType<string>): ValueType<readonly string[], string | readonly string[]> {
  return mapped(either(one, list(one)), (read) => (typeof read === 'string' ? [read] : read))
}

/** A value that the caller reads later, with more context. */
export function later<T, W, U extends string>(type: ValueType<T, W, U>): ValueType<Location, W> {
  return { expected: type.expected, schema: type.schema, read: (at) => at }
}

/** Mistakes in the value are warnings, and the default is used. */
export function forgiven<T, W>(type: ValueType<T, W>): ValueType<T, W> {
  return {
    ...type,
    read: (at) => {
      const { problems } = at.reading
      return type.read(
        at.with({
          problems: {
            problem: (path, problem, hint) => problems.warn(path, `${problem}; ${hint}; the default is used`),
            warn: (path, message) => problems.warn(path, message),
          },
        }),
      )
    },
  }
}

/** One of some words, or a value of the type. */
export function or<const L extends string | boolean, T, W>(
  words: readonly L[],
  type: ValueType<T, W>,
): ValueType<L | T, L | W> {
  const expected = `${words.map((word) => JSON.stringify(word)).join(', ')}, or ${type.expected}`
  return {
    expected,
    schema: { anyOf: [{ enum: words }, type.schema] },
    read: (at) => {
      const isOtherWord =
        typeof at.value === 'string' && typeof words[0] === 'string' && type.schema['type'] !== 'string'
      const word = words.find((each) => each === at.value)
      return word ?? (isOtherWord ? wrong(at, expected) : type.read(at, expected))
    },
  }
}

interface NameRule {
  readonly pattern: string
  readonly hint: string
}

/** Names that appear in addresses and in calls of clients. */
export const plainNames: NameRule = {
  pattern: '^[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}$',
  hint: 'use letters, digits, "_", "-" and "."',
}

export const namesOnOneLine: NameRule = {
  pattern: '^[^\\u0000-\\u001f\\u007f-\\u009f\\u2028\\u2029]+$',
  hint: 'use a name without control characters',
}

/** An object with such names and values of one type. A Map, so that a key such as `__proto__` is an ordinary key. */
export function map<T, W>(
  rule: NameRule,
  element: ValueType<T, W>,
  expected = 'an object of strings like { "NAME": "value" }',
): ValueType<ReadonlyMap<string, T>, Readonly<Record<string, W>>> {
  return {
    expected,
    schema: {
      type: 'object',
      propertyNames: { pattern: rule.pattern },
      additionalProperties: element.schema,
    },
    read: (at) =>
      isObject(at.value) ? readMembers(at, rule, (place) => element.read(place)) : wrong(at, expected, true),
  }
}

/** Reads each member of an object, and leaves out members whose value cannot be read. */
export function readMembers<T>(
  at: Location,
  { pattern, hint }: NameRule,
  read: (place: Location, name: string) => T | undefined,
): Map<string, T> {
  const matches = new RegExp(pattern, 'u')
  const all = new Map<string, T>()
  for (const [name] of at.members) {
    const place = at.at(name)
    if (!matches.test(name)) place.problem('has a name that cannot be used', hint)
    const value = read(place, name)
    if (value !== undefined) all.set(name, value)
  }
  return all
}

interface Scalar<T> extends Pick<ValueType<T>, 'expected' | 'schema'> {
  readonly isSecret?: boolean | undefined
  readonly accept: (value: unknown) => T | undefined
}

function scalar<T>({ expected, schema, isSecret, accept }: Scalar<T>): ValueType<T> {
  return {
    expected,
    schema,
    read: (at, must = expected) => {
      const { value } = at
      const read = accept(value)
      if (read !== undefined) return read
      at.problem(whyWrong(value, isSecret), `must be ${must}${quotesHint(value, accept)}`)
      return undefined
    },
  }
}

/** Whether the value is an object. Reports any other value. */
export function isObjectAt(at: Location): boolean {
  if (!isObject(at.value)) wrong(at, 'an object', typeof at.value === 'string')
  return isObject(at.value)
}

export function wrong(at: Location, expected: string, isSecret = false): undefined {
  at.problem(whatItIs(at.value, isSecret), `must be ${expected}`)
}

/** A message about a secret in the wrong form says nothing else about it. */
function whyWrong(value: unknown, isSecret: boolean | undefined): string {
  if (isSecret !== true || typeof value !== 'string') return whatItIs(value, isSecret)
  return value === '' ? 'is empty' : 'has a value that cannot be used'
}

/** The most frequent mistake is a value with or without its quotes. */
function quotesHint(value: unknown, accept: (value: unknown) => unknown): string {
  if (typeof value === 'number' || typeof value === 'boolean')
    return accept(String(value)) === undefined ? '' : ', so put it in quotes'
  if (typeof value !== 'string' || value.trim() === '') return ''
  const bare = value === 'true' ? true : value === 'false' ? false : Number(value)
  return accept(bare) === undefined ? '' : ', so take the quotes away'
}
