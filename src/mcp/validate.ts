// Arguments checked against a tool's own schema, before the call is forwarded.
//
// Schemas come from strangers, so one is planned (schema-plan.ts), compiled
// (ajv-compile.ts) and run (run-budget.ts) within limits, and a schema beyond
// them is not run at all: the call is forwarded, the server checks it itself,
// and the log says once why we did not.

import { OPEN_OBJECT } from '../jsonrpc/ascii.js'
import { LongValue, type RawValue, firstByte } from '../jsonrpc/fast/long-value.js'
import { ajvBuild, nextTurn } from './validate/ajv-build.js'
import { compileSchema, type CompiledSchema } from './validate/ajv-compile.js'
import { type ArgumentFault, faultOf, notAnObject } from './validate/argument-fault.js'
import { LenientJudge } from './validate/lenient-judge.js'
import { lenientRules } from './validate/lenient-rules.js'
import { LONG_BYTES, readArguments } from './validate/long-strings.js'
import { PlainRules } from './validate/plain-rules.js'
import { RunBudget } from './validate/run-budget.js'
import { schemaLimits } from './validate/schema-limits.js'
import { planSchema, type SchemaPlan } from './validate/schema-plan.js'

export type { ArgumentFault } from './validate/argument-fault.js'
export { schemaLimits } from './validate/schema-limits.js'

export interface ValidatorOptions {
  /** Names the tool in warnings. */
  readonly tool: string
  /** The tool's `inputSchema`, as the server wrote it. */
  readonly schema: Buffer
  /** Told at most once that arguments are not checked, and at most once that a pattern is not. */
  readonly warn: (message: string) => void
}

/** Nearly every tool has one like it. */
const USUAL_SCHEMA = Buffer.from(
  '{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]}',
)

/** Loads the compiler of schemas and runs it once, which is most of what the first check takes. */
export async function prepareValidators(): Promise<void> {
  const validator = new ArgumentValidator({ tool: '', schema: USUAL_SCHEMA, warn: () => {} })
  await validator.check(Buffer.from('{}'), true)
}

type CompilePlan = Extract<SchemaPlan, { kind: 'compile' }>

/** How arguments are checked. */
type Check =
  /** They only have to be an object. */
  | { readonly kind: 'object' }
  | { readonly kind: 'none' }
  | {
      readonly kind: 'schema'
      readonly compiled: CompiledSchema
      readonly judge: LenientJudge
      readonly budget: RunBudget
      readonly readsLongStrings: boolean
    }

/** The schema of one tool, compiled when the first call comes. */
export class ArgumentValidator {
  readonly #options: ValidatorOptions
  readonly #warned = new Set<string>()
  /** Undefined until the first call, and a promise while that one waits for the compiler. */
  #check: Check | Promise<Check> | undefined
  #overruns = 0
  /** Says of arguments as bytes that they have no fault; where it does not, `check` says whether they have one. Undefined before the first. */
  plain: PlainRules | undefined

  constructor(options: ValidatorOptions) {
    this.#options = options
  }

  /**
   * The first fault of a call's arguments, whose raw JSON must be valid; undefined when there is none.
   *
   * A lenient check forgives what a tolerant server puts right itself (`validate/lenient-judge.ts`).
   * Answers at once, but for calls that come before the schema is compiled. Never throws or rejects.
   */
  check(
    json: RawValue | undefined,
    isLenient = false,
  ): ArgumentFault | undefined | Promise<ArgumentFault | undefined> {
    const check = (this.#check ??= this.#prepare())
    return check instanceof Promise
      ? check.then((ready) => this.#run(ready, json, isLenient))
      : this.#run(check, json, isLenient)
  }

  #prepare(): Check | Promise<Check> {
    try {
      const plan = planSchema(this.#options.schema)
      return plan.kind === 'object' ? plan : this.#compile(plan)
    } catch (error) {
      return this.#giveUp(messageOf(error))
    }
  }

  async #compile({ dialect, schema, readsLongStrings }: CompilePlan): Promise<Check> {
    try {
      await nextTurn()
      const build = ajvBuild(dialect)
      const budget = new RunBudget()
      const compiled = compileSchema(build, schema, budget, (pattern) => this.#leftOut(pattern))
      const judge = new LenientJudge(lenientRules, schema, compiled, budget)
      // Compiling and running each have a budget, and so a turn of the event loop, of their own.
      await nextTurn()
      this.plain = PlainRules.of(schema)
      return (this.#check = { kind: 'schema', compiled, judge, budget, readsLongStrings })
    } catch (error) {
      return (this.#check = this.#giveUp(`its schema cannot be compiled: ${messageOf(error)}`))
    }
  }

  #run(check: Check, json: RawValue | undefined, isLenient: boolean): ArgumentFault | undefined {
    if (check.kind === 'none') return undefined
    if (check.kind === 'object')
      return json === undefined || firstByte(json) === OPEN_OBJECT ? undefined : notAnObject()
    const { compiled, judge, budget, readsLongStrings } = check
    try {
      const isShort = json === undefined || (json.length <= LONG_BYTES && !(json instanceof LongValue))
      const text = isShort ? (json?.toString() ?? '{}') : readArguments(json, readsLongStrings)
      if (text === undefined) return this.#overran('they are too large')
      const value: unknown = JSON.parse(text)
      budget.refill()
      if (compiled.validate(value)) return undefined
      const errors = compiled.validate.errors ?? []
      const { errors: left, doubt } = isLenient ? judge.judge(value) : { errors, doubt: false }
      if (left.length > 0) return faultOf(left)
      // Where nothing was there to be forgiven, the rules know less than the schema says.
      return doubt ? undefined : faultOf(errors)
    } catch (error) {
      if (++this.#overruns === schemaLimits.overrunsMax) this.#check = { kind: 'none' }
      return this.#overran(`its schema takes too long to run (${messageOf(error)})`)
    }
  }

  #overran(reason: string): undefined {
    this.#warnOnce('unchecked', `arguments of a call were not checked: ${reason}`)
  }

  #giveUp(reason: string): Check {
    this.#warnOnce('unchecked', `arguments are not checked: ${reason}`)
    return { kind: 'none' }
  }

  #leftOut(pattern: string): void {
    this.#warnOnce('pattern', `a pattern is not checked, it may be slow or is none: ${pattern.slice(0, 100)}`)
  }

  #warnOnce(kind: 'unchecked' | 'pattern', message: string): void {
    if (this.#warned.has(kind)) return
    this.#warned.add(kind)
    this.#options.warn(`Tool '${this.#options.tool}': ${message}`)
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message.slice(0, 200) : 'unknown error'
}
