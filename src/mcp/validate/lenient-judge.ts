// Arguments judged as a tolerant server would, once they have failed their schema.
//
// ajv can fill in, coerce and remove, but it does so while it tries branches, in
// the one value, and its coercions are its own. So this walks the copied schema
// itself, on what the strict run has left of the budget. What a tolerant server
// puts right is put right in the value that is judged on, and noted as a doubt.

import type { ErrorObject } from 'ajv'
import type { CompiledSchema } from './ajv-compile.js'
import { UNREAD } from './coercion.js'
import { inPointer, isJsonArray, isJsonObject, type JsonObject } from './json-value.js'
import { type MemberFacts, memberFacts } from './member-facts.js'
import type { RunBudget } from './run-budget.js'

export type Errors = readonly ErrorObject[]

export const NO_ERRORS: Errors = []

export interface Verdict {
  /** The first fault that was not forgiven, behind those of the branches that were tried; empty when there is none. */
  readonly errors: Errors
  /** Whether anything was forgiven. */
  readonly doubt: boolean
  /** The value as it was put right. */
  readonly value: unknown
}

/** One schema at one value. */
export interface Subject {
  readonly schema: JsonObject
  /** Of the value, as a JSON pointer into the arguments. */
  readonly path: string
  /** What is known of the members, from all schemas that judge the value. */
  readonly facts: MemberFacts
  value: unknown
  doubt: boolean
}

/** What one keyword says: the errors that remain, and in the subject what was forgiven. */
export type Rule = (subject: Subject, wanted: unknown, judge: LenientJudge) => Errors

/** The keyword, and what it says. */
export type NamedRule = readonly [keyword: string, rule: Rule]

/** What one rule costs: it is not compiled as those of ajv are. */
const STEPS_PER_RULE = 6

interface Prepared {
  readonly uses: readonly (readonly [rule: Rule, wanted: unknown])[]
  readonly facts: MemberFacts
}

/** One schema, to judge by. */
export class LenientJudge {
  readonly spend: RunBudget['spend']
  readonly #rules: readonly NamedRule[]
  readonly #root: JsonObject
  readonly #compiled: CompiledSchema
  readonly #budget: RunBudget
  readonly #prepared = new Map<JsonObject, Prepared>()

  /** `root` is the copy that was compiled; the first rules come first. */
  constructor(rules: readonly NamedRule[], root: JsonObject, compiled: CompiledSchema, budget: RunBudget) {
    this.#rules = rules
    this.#root = root
    this.#compiled = compiled
    this.#budget = budget
    this.spend = budget.spend
  }

  /** Judges arguments. Throws a RangeError when the budget is spent. */
  judge(value: unknown): Verdict {
    return this.inner(this.#root, value, '')
  }

  /** Judges the value of the subject by another schema, and leaves it as it is. */
  same(schema: unknown, { value, path, facts }: Subject): Verdict {
    return this.inner(schema, value, path, facts)
  }

  /** Judges the value of the subject by another schema, and goes on with it as that leaves it. */
  also(schema: unknown, subject: Subject): Errors {
    const { errors, doubt, value } = this.same(schema, subject)
    subject.doubt ||= doubt
    subject.value = value
    return errors
  }

  /** Judges a value inside that of a subject; `facts` are those of the subject where it is the same value. */
  inner(schema: unknown, value: unknown, path: string, facts?: MemberFacts): Verdict {
    this.spend(STEPS_PER_RULE)
    if (value === UNREAD) return { errors: NO_ERRORS, doubt: true, value }
    if (!isJsonObject(schema))
      return { errors: schema === false ? wrong(path, 'false schema') : NO_ERRORS, doubt: false, value }
    const { uses, facts: own } = this.#prepare(schema)
    this.spend(STEPS_PER_RULE * uses.length)
    const subject: Subject = { schema, path, facts: facts ?? own, value, doubt: false }
    const errors = firstErrors(uses, ([rule, wanted]) =>
      subject.value === UNREAD ? NO_ERRORS : rule(subject, wanted, this),
    )
    return { errors, doubt: subject.doubt, value: subject.value }
  }

  /** Judges each of these items or members by its schema, if it has one; a null may count as a missing member. */
  each(
    subject: Subject,
    keys: Iterable<string | number>,
    schemaOf: (key: string | number) => unknown,
    mayBeNull: (key: string | number) => boolean = () => false,
  ): Errors {
    const { value, path } = subject
    const changed = new Map<unknown, unknown>()
    for (const key of keys) {
      const schema = schemaOf(key)
      if (schema === undefined) continue
      const before = partOf(value, key)
      const verdict = this.inner(schema, before, `${path}/${inPointer(String(key))}`)
      const isLeftOut = verdict.errors.length > 0 && before === null && mayBeNull(key)
      if (verdict.errors.length > 0 && !isLeftOut) return verdict.errors
      subject.doubt ||= verdict.doubt || isLeftOut
      if (isLeftOut) changed.set(key, undefined)
      else if (verdict.value !== before) changed.set(key, verdict.value)
    }
    if (changed.size > 0) subject.value = this.#changed(value, changed)
    return NO_ERRORS
  }

  /** Whether the member may be left out: it has a default, or nothing requires it. */
  isOptional({ schema, facts }: Subject, name: string): boolean {
    const isRequired = facts.required.has(name) || this.#prepare(schema).facts.required.has(name)
    return !isRequired || facts.defaults.has(name)
  }

  /** The number that a keyword has in a schema, where this dialect has the keyword. */
  limit(schema: JsonObject, keyword: string): number | undefined {
    const value = this.#compiled.knows(keyword) ? schema[keyword] : undefined
    return typeof value === 'number' ? value : undefined
  }

  /** The schema that a reference of the copy leads to. */
  target(reference: unknown): unknown {
    if (reference === '#') return this.#root
    const { $defs } = this.#root
    return isJsonObject($defs) ? $defs[String(reference).slice('#/$defs/'.length)] : true
  }

  /** Whether the text has the pattern; true when that may not be found out. */
  matches(pattern: string, text: string): boolean {
    return this.#compiled.patterns.matches(pattern, text)
  }

  /** The names of the members, none of what is no object; pays for listing them. */
  names(value: unknown): readonly string[] {
    this.#budget.spendOnMembers(1, value)
    return isJsonObject(value) ? Object.keys(value) : []
  }

  #prepare(schema: JsonObject): Prepared {
    const known = this.#prepared.get(schema)
    if (known !== undefined) return known
    const uses = this.#rules.flatMap(([keyword, rule]): [Rule, unknown][] =>
      Object.hasOwn(schema, keyword) && this.#compiled.knows(keyword) ? [[rule, schema[keyword]]] : [],
    )
    const prepared = { uses, facts: memberFacts(schema, (reference) => this.target(reference)) }
    this.#prepared.set(schema, prepared)
    return prepared
  }

  #changed(value: unknown, changed: ReadonlyMap<unknown, unknown>): unknown {
    const now = (key: unknown, part: unknown): unknown => (changed.has(key) ? changed.get(key) : part)
    if (isJsonArray(value)) {
      this.spend(value.length)
      return value.map((item, at) => now(at, item))
    }
    const members = this.names(value).map((name) => [name, now(name, partOf(value, name))] as const)
    return Object.fromEntries(members.filter(([, part]) => part !== undefined))
  }
}

function partOf(value: unknown, key: string | number): unknown {
  if (isJsonArray(value)) return value[Number(key)]
  return isJsonObject(value) ? value[key] : undefined
}

/** The errors of the first that has any. */
export function firstErrors<Item>(items: Iterable<Item>, errorsOf: (item: Item) => Errors): Errors {
  for (const item of items) {
    const errors = errorsOf(item)
    if (errors.length > 0) return errors
  }
  return NO_ERRORS
}

/** One error as ajv would say it. */
export function wrong(path: string, keyword: string, params: Readonly<Record<string, unknown>> = {}): Errors {
  return [{ keyword, instancePath: path, schemaPath: '', params }]
}
