// Reads one JSON object of a configuration, field by field.

import { nearest } from '../text/nearest.js'
import { earlierKeys, refusedKeys } from './key-hints.js'
import type { JsonSchema, Kind, NameRule } from './kinds.js'
import { type Findings, whatItIs } from './problems.js'
import { isObject } from '../text/json-object.js'
import { memberPath } from '../text/member-path.js'

/** One key of the configuration: its kind, its default, and its purpose. */
export interface Field<T> {
  readonly kind: Kind<T>
  readonly fallback: T
  /** One line; the published schema and the documentation show it. */
  readonly about: string
}

/** A key that has a default. */
export function field<T>(kind: Kind<T>, fallback: NoInfer<T>, about: string): Field<T> {
  return { kind, fallback, about }
}

/** A key that has none. */
export function optional<T>(kind: Kind<T>, about: string): Field<T | undefined> {
  return { kind, fallback: undefined, about }
}

/** The keys of one section, named as in the file. */
export type FieldsOf<T> = { readonly [K in keyof T]: Field<T[K]> }

/** The values of a section with these keys. */
export type ValuesOf<Table> = {
  readonly [K in keyof Table]: Table[K] extends Field<infer T> ? T : never
}

/** Rules between the keys of one section. The reader checks them, and the published schema has them. */
export interface Rules {
  readonly required?: readonly string[]
  /** Names of one value, of which exactly one must be there. */
  readonly oneOf?: readonly string[]
  /** A key, and another one that must be beside it. */
  readonly needs?: readonly (readonly [key: string, needed: string])[]
  /** Keys of which one alone may be there. */
  readonly excludes?: readonly (readonly [key: string, other: string])[]
  /** Keys of which at least one is required where another key has one of some values. */
  readonly cases?: readonly RuleCase[]
  /** Another key is a mistake: of a block that holds something back, a key that does nothing would let it pass. */
  readonly isClosed?: true
}

/** At least one of `keys` must be there, where `key` has one of `values`; `wanted` says what the first of them must be. */
export interface RuleCase {
  readonly key: string
  readonly values: readonly string[]
  readonly keys: readonly string[]
  readonly wanted: string
}

/** An object with these keys, as the value of a key; `hints` say what to write in place of some others. */
export function object<T extends object>(
  fields: FieldsOf<T>,
  words?: string,
  rules: Rules = {},
  hints?: ReadonlyMap<string, string>,
): Kind<T> {
  const wanted = words ?? `an object${exampleOf(fields, rules)}`
  return {
    wanted,
    schema: objectSchema(fields, rules),
    read: (value, { path, findings }) => {
      const section = Section.of(value, path, findings, wanted)
      section?.check(rules, fields)
      return section?.readOnly(fields, hints, rules.isClosed)
    },
  }
}

function exampleOf(fields: Fields, { required = [] }: Rules): string {
  const [key] = [...required, ...Object.keys(fields)]
  return key === undefined ? '' : ` like { "${key}": … }`
}

/** A list of objects with these keys; `about` is the line for one of them. A list with another item has no value. */
export function objects<T extends object>(
  fields: FieldsOf<T>,
  about: string,
  rules: Rules = {},
  more: JsonSchema = {},
): Kind<readonly T[]> {
  const one = object(fields, undefined, rules)
  const wanted = `a list of objects like [${exampleOf(fields, rules).replace(' like ', '')}]`
  return {
    wanted,
    schema: { type: 'array', ...more, items: { description: about, ...one.schema } },
    read: (value, { path, findings }) => {
      if (!Array.isArray(value)) {
        findings.problem(path, whatItIs(value, true), `must be ${wanted}`)
        return undefined
      }
      const items = value.map((item, at) => one.read(item, { path: `${path}[${at}]`, findings }))
      return items.every((item) => item !== undefined) ? items : undefined
    },
  }
}

/** The values of a section that is absent. */
export function defaultsOf<T extends object>(fields: FieldsOf<T>): T {
  const values: Partial<T> = {}
  for (const key in fields) values[key] = fields[key].fallback
  if (hasAll(values, fields)) return values
  throw new Error('a key has no default')
}

/** So many keys of a section stand in a message. */
const examplesMax = 5

type Fields = Readonly<Record<string, Field<unknown>>>

/** An object without other keys, so that an editor marks a misspelled one. A start only warns of it. */
export function objectSchema(fields: Fields, rules: Rules = {}, more: JsonSchema = {}): JsonSchema {
  const { required, oneOf, needs, excludes = [], cases = [] } = rules
  const allOf = [...excludes.map((keys) => ({ not: { required: keys } })), ...cases.map(caseSchema)]
  return {
    type: 'object',
    properties: { $comment: true, ...propertySchemas(fields), ...more },
    additionalProperties: false,
    ...(required && { required }),
    ...(oneOf && { oneOf: oneOf.map((key) => ({ required: [key] })) }),
    ...(needs && { dependentRequired: Object.fromEntries(needs.map(([key, needed]) => [key, [needed]])) }),
    ...(allOf.length > 0 && { allOf }),
  }
}

function caseSchema({ key, values, keys }: RuleCase): JsonSchema {
  const condition = { required: [key], properties: { [key]: { enum: values } } }
  // oxlint-disable-next-line unicorn/no-thenable -- `then` is a keyword of JSON Schema.
  return { if: condition, then: { anyOf: keys.map((each) => ({ required: [each] })) } }
}

export function propertySchemas(fields: Fields): JsonSchema {
  return Object.fromEntries(Object.entries(fields).map(([key, each]) => [key, propertySchema(each)]))
}

export function propertySchema({ kind, fallback, about }: Field<unknown>): JsonSchema {
  const shown = fallback !== '' && ['string', 'number', 'boolean'].includes(typeof fallback)
  const hasDefault = shown || Array.isArray(fallback)
  return { description: about, ...kind.schema, ...(hasDefault ? { default: fallback } : {}) }
}

/** An object of the file; it remembers which keys were asked for, so that the others can be named. */
export class Section {
  readonly path: string
  readonly findings: Findings
  readonly #members: Readonly<Record<string, unknown>>
  readonly #known = new Set<string>()

  private constructor(members: Readonly<Record<string, unknown>>, path: string, findings: Findings) {
    this.#members = members
    this.path = path
    this.findings = findings
  }

  /** The section, or undefined after reporting that the value is not an object. */
  static of(value: unknown, path: string, findings: Findings, wanted = 'an object'): Section | undefined {
    if (isObject(value)) return new Section(value, path, findings)
    findings.problem(path, whatItIs(value, typeof value === 'string'), `must be ${wanted}`)
    return undefined
  }

  has(key: string): boolean {
    this.#known.add(key)
    // Of an object that no file was read from, a member may be there without a value.
    return Object.hasOwn(this.#members, key) && this.#members[key] !== undefined
  }

  /** Whether the reader has asked for this key. */
  knows(key: string): boolean {
    return this.#known.has(key)
  }

  /** The value under a key as it stands, undefined when absent. */
  raw(key: string): unknown {
    return this.has(key) ? this.#members[key] : undefined
  }

  pathOf(key: string): string {
    return memberPath(this.path, key)
  }

  /** The value of a field, or its default when it is absent or was reported as wrong. */
  read<T, K extends keyof T & string>(fields: FieldsOf<T>, key: K, fallback?: T[K]): T[K] {
    const field: Field<T[K]> = fields[key]
    const spot = { path: this.pathOf(key), findings: this.findings }
    const read = this.has(key) ? field.kind.read(this.#members[key], spot) : undefined
    return read ?? fallback ?? field.fallback
  }

  /** The values of all fields of a table; `fallbacks` take the place of the defaults. */
  readAll<T extends object>(fields: FieldsOf<T>, fallbacks: Partial<NoInfer<T>> = {}): T {
    const values: Partial<T> = {}
    for (const key in fields) values[key] = this.read(fields, key, fallbacks[key])
    if (hasAll(values, fields)) return values
    throw new Error(`a key of ${this.path} was not read`)
  }

  /** The same of a section that has no other keys. */
  readOnly<T extends object>(fields: FieldsOf<T>, hints?: ReadonlyMap<string, string>, isClosed = false): T {
    const values = this.readAll(fields)
    this.reportUnknownKeys(hints, isClosed)
    return values
  }

  /** Reports every rule that the keys of this section break. */
  check(
    { required = [], oneOf = [], needs = [], excludes = [], cases = [] }: Rules,
    fields: Readonly<Record<string, Field<unknown>>>,
  ): void {
    const wanted = new Map(Object.entries(fields).map(([key, { kind }]) => [key, kind.wanted]))
    const given = oneOf.filter((key) => this.has(key))
    const missing = required.filter((key) => !this.has(key))
    if (oneOf.length > 0 && given.length === 0) missing.push(...oneOf.slice(0, 1))
    for (const key of missing) this.problem(key, 'is missing', `must be ${wanted.get(key)}`)
    if (given.length > 1) {
      const names = given.map((key) => `"${key}"`).join(' and ')
      this.findings.problem(this.path, `has ${names}, which mean the same`, 'keep one of them')
    }
    for (const [key, needed] of needs)
      if (this.has(key) && !this.has(needed))
        this.problem(needed, 'is missing', `must be ${wanted.get(needed)} beside "${key}"`)
    for (const [key, other] of excludes)
      if (this.has(key) && this.has(other)) this.problem(key, `stands beside "${other}"`, 'keep one of them')
    for (const each of cases) this.#checkCase(each)
  }

  #checkCase({ key, values, keys, wanted }: RuleCase): void {
    const value = values.find((each) => each === this.raw(key))
    const [first = ''] = keys
    if (value !== undefined && !keys.some((each) => this.has(each)))
      this.problem(first, `is missing beside the ${key} ${value}`, `must be ${wanted}`)
  }

  /** Reports a problem of the value under a key. */
  problem(key: string, problem: string, hint: string): void {
    this.findings.problem(this.pathOf(key), problem, hint)
  }

  /** Warns of the value under a key. */
  warn(key: string, message: string): void {
    this.findings.warn(this.pathOf(key), message)
  }

  /** The object under a key; an empty one when it is absent or was reported as wrong. */
  section(key: string, findings: Findings = this.findings): Section {
    const path = this.pathOf(key)
    const members = this.has(key) ? this.#members[key] : {}
    return Section.of(members, path, findings) ?? new Section({}, path, findings)
  }

  /** The members under a key, or of this section itself, in the order of the file. */
  entries(key?: string): [string, unknown][] {
    if (key === undefined) return Object.entries(this.#members)
    const value = this.raw(key)
    if (isObject(value)) return Object.entries(value)
    this.problem(key, whatItIs(value, true), 'must be an object')
    return []
  }

  /** Warns of every key that nothing asked for, or refuses it; `hints` say what to write in place of some. */
  reportUnknownKeys(hints: ReadonlyMap<string, string> = new Map(), isClosed = false): void {
    for (const key of Object.keys(this.#members)) {
      if (this.#known.has(key) || key === '$comment') continue
      const replacement = earlierKeys.get(key)
      const refused = refusedKeys.get(key)
      const hint = refused ?? hints.get(key) ?? this.#keysLike(key)
      if (replacement !== undefined)
        this.warn(key, `is a key of an earlier version and is ignored; ${replacement}`)
      else if (isClosed || refused !== undefined) this.problem(key, 'is not a known key here', hint)
      else this.warn(key, `is not a known key here and is ignored; ${hint}`)
    }
  }

  /** The key that was meant, or examples of keys. */
  #keysLike(key: string): string {
    const [near] = nearest(key, this.#known)
    if (near !== undefined) return `did you mean "${near}"?`
    const examples = [...this.#known].slice(0, examplesMax).map((known) => `"${known}"`)
    return `keys here are ${examples.join(', ')}${this.#known.size > examplesMax ? ', …' : ''}`
  }
}

function hasAll<T extends object>(values: Partial<T>, fields: FieldsOf<T>): values is T {
  return Object.keys(fields).every((key) => Object.hasOwn(values, key))
}

/** Reads each object under a key, which may be absent; those that are no objects are reported and left out. */
export function readNamed<T>(
  owner: Section,
  key: string,
  { pattern, hint }: NameRule,
  read: (name: string, section: Section) => T,
): Map<string, T> {
  const { findings } = owner
  const matches = new RegExp(pattern, 'u')
  const all = new Map<string, T>()
  // Names that differ only in case are two names, but rarely meant to be.
  const seen = new Map<string, string>()
  for (const [name, value] of owner.has(key) ? owner.entries(key) : []) {
    const path = memberPath(owner.pathOf(key), name)
    if (!matches.test(name)) findings.problem(path, 'has a name that cannot be used', hint)
    const twin = seen.get(name.toLowerCase())
    if (twin !== undefined) findings.warn(path, `differs from "${twin}" only in case`)
    else seen.set(name.toLowerCase(), name)
    const section = Section.of(value, path, findings)
    if (section !== undefined) all.set(name, read(name, section))
  }
  return all
}
