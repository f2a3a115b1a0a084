// Arguments judged as a tolerant server would, once they have failed their schema.
//
// ajv can fill in, coerce and remove, but it does so while it tries branches, in
// the one value, and its coercions are its own. So this walks the copied schema
// itself. It runs on what the strict run has left of the budget.

import type { CompiledSchema } from './ajv-compile.js'
import { branchRules, choiceRules } from './branch-rules.js'
import { UNREAD } from './coercion.js'
import { itemRules } from './item-rules.js'
import { isJsonObject, type JsonObject } from './json-value.js'
import {
  type Errors,
  type Judge,
  NO_ERRORS,
  type NamedRule,
  type Rule,
  type Subject,
  type Verdict,
  wrong,
} from './judging.js'
import { type MemberFacts, memberFacts } from './member-facts.js'
import { memberRules } from './member-rules.js'
import type { RunBudget } from './run-budget.js'
import type { Schema } from './schema-copy.js'
import { typeRules, valueRules } from './value-rules.js'

/** In their order: what puts a value right comes before what looks at it. */
const rules: readonly NamedRule[] = [
  ...typeRules,
  ...branchRules,
  ...memberRules,
  ...itemRules,
  ...valueRules,
  ...choiceRules,
]

/** What one rule costs: it is not compiled as those of ajv are. */
const STEPS_PER_RULE = 6

interface Prepared {
  readonly uses: readonly (readonly [rule: Rule, wanted: unknown])[]
  readonly facts: MemberFacts
}

/** One schema, to judge by. */
export class LenientRun implements Judge {
  readonly #root: JsonObject
  readonly #compiled: CompiledSchema
  readonly #budget: RunBudget
  readonly #prepared = new Map<JsonObject, Prepared>()

  /** `root` is the copy that was compiled. */
  constructor(root: JsonObject, compiled: CompiledSchema, budget: RunBudget) {
    this.#root = root
    this.#compiled = compiled
    this.#budget = budget
  }

  /** Throws a RangeError when the budget is spent. */
  judge(value: unknown): Verdict {
    return this.#judge(this.#root, value, '', undefined)
  }

  same(schema: unknown, { value, path, facts }: Subject): Verdict {
    return this.#judge(schema, value, path, facts)
  }

  inner(schema: unknown, value: unknown, path: string): Verdict {
    return this.#judge(schema, value, path, undefined)
  }

  isOptional({ schema, facts }: Subject, name: string): boolean {
    const isRequired = facts.required.has(name) || this.#prepare(schema).facts.required.has(name)
    return !isRequired || facts.defaults.has(name)
  }

  limit(schema: JsonObject, keyword: string): number | undefined {
    const value = this.#compiled.knows(keyword) ? schema[keyword] : undefined
    return typeof value === 'number' ? value : undefined
  }

  target(reference: string): Schema {
    if (reference === '#') return this.#root
    const { $defs } = this.#root
    const target = isJsonObject($defs) ? $defs[reference.slice('#/$defs/'.length)] : undefined
    return isJsonObject(target) || target === false ? target : true
  }

  matches(pattern: string, text: string): boolean {
    return this.#compiled.matches(pattern, text)
  }

  names(value: JsonObject): readonly string[] {
    this.#budget.spendOnMembers(value, 1)
    return Object.keys(value)
  }

  spend(steps: number): void {
    this.#budget.spend(steps)
  }

  #judge(schema: unknown, value: unknown, path: string, facts: MemberFacts | undefined): Verdict {
    this.spend(STEPS_PER_RULE)
    if (value === UNREAD) return { errors: NO_ERRORS, doubt: true, value }
    if (!isJsonObject(schema))
      return { errors: schema === false ? wrong(path, 'false schema') : NO_ERRORS, doubt: false, value }
    const prepared = this.#prepare(schema)
    const subject: Subject = { schema, path, facts: facts ?? prepared.facts, value, doubt: false }
    const errors = this.#apply(prepared, subject)
    return { errors, doubt: subject.doubt, value: subject.value }
  }

  #apply({ uses }: Prepared, subject: Subject): Errors {
    this.spend(STEPS_PER_RULE * uses.length)
    for (const [rule, wanted] of uses) {
      const errors = rule(subject, wanted, this)
      if (errors.length > 0) return errors
      if (subject.value === UNREAD) break
    }
    return NO_ERRORS
  }

  #prepare(schema: JsonObject): Prepared {
    const known = this.#prepared.get(schema)
    if (known !== undefined) return known
    const uses = rules.flatMap(([keyword, rule]): [Rule, unknown][] =>
      Object.hasOwn(schema, keyword) && this.#compiled.knows(keyword) ? [[rule, schema[keyword]]] : [],
    )
    const prepared = { uses, facts: memberFacts(schema, (reference) => this.target(reference)) }
    this.#prepared.set(schema, prepared)
    return prepared
  }
}
