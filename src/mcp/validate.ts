// Arguments checked against a tool's own schema, before the call is forwarded.
//
// Schemas come from strangers, so one is planned (schema-plan.ts), compiled
// (ajv-compile.ts) and run (run-budget.ts) within limits, and a schema beyond
// them is not run at all: the call is forwarded, the server checks it itself,
// and the log says once why we did not.

import { OPEN_OBJECT } from '../jsonrpc/ascii.js'
import { LongValue, type RawValue, firstByte } from '../jsonrpc/fast/long-value.js'
import { loadAjv, nextTurn } from './validate/ajv-build.js'
import { compileSchema, type CompiledSchema } from './validate/ajv-compile.js'
import { type ArgumentFault, faultOf, notAnObject } from './validate/argument-fault.js'
import type { Errors, Verdict } from './validate/judging.js'
import { LenientRun } from './validate/lenient-run.js'
import { shortenKnownStrings, shortenLongStrings } from './validate/long-strings.js'
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

type Check = (json: RawValue | undefined, isLenient: boolean) => ArgumentFault | undefined
type CompilePlan = Extract<SchemaPlan, { kind: 'compile' }>

/** The schema of one tool, compiled when the first call comes. */
export class ArgumentValidator {
  readonly #options: ValidatorOptions
  readonly #warned = new Set<string>()
  /** Undefined until the first call, and while that one waits for the compiler. */
  #check: Check | undefined
  #compiling: Promise<Check> | undefined
  #overruns = 0

  constructor(options: ValidatorOptions) {
    this.#options = options
  }

  /**
   * The first fault of a call's arguments, whose raw JSON must be valid; undefined when there is none.
   *
   * A lenient check forgives what a tolerant server puts right itself (`validate/lenient-run.ts`).
   * Answers at once, but for calls that come before the schema is compiled. Never throws or rejects.
   */
  check(
    json: RawValue | undefined,
    isLenient = false,
  ): ArgumentFault | undefined | Promise<ArgumentFault | undefined> {
    const check = this.#check ?? this.#prepare()
    return check instanceof Promise ? check.then((ready) => ready(json, isLenient)) : check(json, isLenient)
  }

  #prepare(): Check | Promise<Check> {
    if (this.#compiling !== undefined) return this.#compiling
    const plan = planSchema(this.#options.schema)
    if (plan.kind === 'object') return (this.#check = checkIsObject)
    if (plan.kind === 'unchecked') return this.#giveUp(plan.reason)
    return (this.#compiling = this.#compile(plan))
  }

  async #compile(plan: CompilePlan): Promise<Check> {
    try {
      const build = await loadAjv(plan.dialect)
      const budget = new RunBudget()
      const compiled = compileSchema(build, plan.schema, budget, (pattern) => this.#leftOut(pattern))
      const lenient = new LenientRun(plan.schema, compiled, budget)
      // Compiling and running each have a budget, and so a turn of the event loop, of their own.
      await nextTurn()
      const read = plan.readsLongStrings ? readWhole : readShortened
      return (this.#check = (json, isLenient) =>
        this.#run(read, json, (value) => {
          const errors = compiled.run(value)
          if (errors === undefined || !isLenient) return errors
          return unforgiven(errors, lenient.judge(value))
        }))
    } catch (error) {
      return this.#giveUp(`its schema cannot be compiled: ${messageOf(error)}`)
    }
  }

  #run(read: Reader, json: RawValue | undefined, run: CompiledSchema['run']): ArgumentFault | undefined {
    try {
      const text = json === undefined ? '{}' : read(json)
      if (text === undefined) return this.#overran('they are too large')
      const errors = run(JSON.parse(text))
      return errors === undefined ? undefined : faultOf(errors)
    } catch (error) {
      if (++this.#overruns === schemaLimits.overrunsMax) this.#check = unchecked
      return this.#overran(`its schema takes too long to run (${messageOf(error)})`)
    }
  }

  #overran(reason: string): undefined {
    this.#warnOnce('unchecked', `arguments of a call were not checked: ${reason}`)
  }

  #giveUp(reason: string): Check {
    this.#warnOnce('unchecked', `arguments are not checked: ${reason}`)
    return (this.#check = unchecked)
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

/** What is left of the errors of a strict run; all of them when nothing was there to be forgiven. */
function unforgiven(errors: Errors, { errors: left, doubt }: Verdict): Errors | undefined {
  if (left.length > 0) return left
  return doubt ? undefined : errors
}

function unchecked(): undefined {
  return undefined
}

function checkIsObject(json: RawValue | undefined): ArgumentFault | undefined {
  return json === undefined || firstByte(json) === OPEN_OBJECT ? undefined : notAnObject()
}

/** The text to parse; undefined when that would take too long. */
type Reader = (json: RawValue) => string | undefined

function readWhole(json: RawValue): string | undefined {
  if (json.length > schemaLimits.argumentBytesMax) return undefined
  return (json instanceof LongValue ? json.whole : json).toString()
}

function readShortened(json: RawValue): string | undefined {
  const { longArgumentBytesMax, argumentBytesMax } = schemaLimits
  if (json.length > longArgumentBytesMax) return undefined
  if (!(json instanceof LongValue)) return shortenLongStrings(json, argumentBytesMax)
  const { strings } = json
  return strings === undefined
    ? shortenLongStrings(json.whole, argumentBytesMax)
    : shortenKnownStrings(json, strings, argumentBytesMax)
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message.slice(0, 200) : 'unknown error'
}
