// Arguments checked against a tool's own schema, before the call is forwarded.
//
// Schemas come from strangers, so one is copied and compiled within limits, and a run ends after so many steps. A schema
// beyond the limits is used for the names and types of the top level alone: the server checks the rest, and the log says
// once why the proxy does not.

import { OPEN_OBJECT } from '../../jsonrpc/ascii.js'
import { type Run, compileSchema } from './compile.js'
import { type ArgumentFault, faultOf, notAnObject } from './fault.js'
import { errorsOf, findingsOf } from './findings.js'
import type { JsonObject } from './json-value.js'
import { Leniency } from './leniency.js'
import { argumentLimits } from './limits.js'
import { outlineErrors, outlineOf, topLevel } from './outline.js'
import { copySchema, parseSchema } from './schema.js'

export type { ArgumentFault } from './fault.js'

export interface ValidatorOptions {
  /** Names the tool in warnings. */
  readonly tool: string
  /** The tool's `inputSchema`, as the server wrote it. */
  readonly schema: Buffer
  /** Told at most once that arguments are not checked, or not in full. */
  readonly warn: (message: string) => void
}

/** Nearly every tool has one like it. */
const USUAL_SCHEMA = Buffer.from(
  '{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]}',
)

/** Evaluates the compiler of schemas and runs it once, which is most of what the first check takes. */
export async function prepareValidators(): Promise<void> {
  const validator = new ArgumentValidator({ tool: '', schema: USUAL_SCHEMA, warn: () => {} })
  await validator.check(Buffer.from('{}'), true)
}

/** How arguments are checked. */
type Check =
  /** They only have to be an object. */
  | { readonly kind: 'object' }
  | { readonly kind: 'names'; readonly outline: JsonObject }
  | {
      readonly kind: 'schema'
      readonly schema: JsonObject
      readonly run: Run
      /** Of arguments that are too long for a run; undefined where it says nothing. */
      readonly outline: JsonObject | undefined
    }

const anyObject: Check = { kind: 'object' }

/** The schema of one tool, compiled when the first call comes. */
export class ArgumentValidator {
  readonly #options: ValidatorOptions
  #hasWarned = false
  /** Undefined until the first call, and a promise while that one waits for the compiler. */
  #check: Check | Promise<Check> | undefined
  #overruns = 0

  constructor(options: ValidatorOptions) {
    this.#options = options
  }

  /**
   * The first fault of a call's arguments, whose raw JSON must be valid; undefined when there is none.
   *
   * `strings` are its long strings, where they begin and end, in turn: they are not read. A lenient check forgives what a tolerant server puts right itself (`leniency.ts`).
   * Answers at once, but for calls that come before the schema is compiled. Never throws or rejects.
   */
  check(
    json: Buffer | undefined,
    isLenient = false,
    strings?: readonly number[],
  ): ArgumentFault | undefined | Promise<ArgumentFault | undefined> {
    const check = (this.#check ??= this.#prepare())
    return check instanceof Promise
      ? check.then((ready) => this.#run(ready, json, isLenient, strings))
      : this.#run(check, json, isLenient, strings)
  }

  #prepare(): Check | Promise<Check> {
    let root: JsonObject | true
    try {
      root = parseSchema(this.#options.schema)
    } catch (error) {
      this.#warn(`arguments are not checked: ${messageOf(error)}`)
      return anyObject
    }
    if (root === true) return anyObject
    const outline = outlineOf(root)
    try {
      const { schema, isTrivial } = copySchema(root, this.#options.schema.length)
      return isTrivial ? anyObject : this.#compile(schema, outline)
    } catch (error) {
      return this.#outlineOnly(outline, messageOf(error))
    }
  }

  async #compile(schema: JsonObject, outline: JsonObject | undefined): Promise<Check> {
    // What waits to be read and written goes first, before the schema is compiled and again before it is run.
    await nextTurn()
    try {
      const run = compileSchema(schema)
      await nextTurn()
      return (this.#check = { kind: 'schema', schema, run, outline })
    } catch (error) {
      return (this.#check = this.#outlineOnly(outline, `its schema cannot be compiled: ${messageOf(error)}`))
    }
  }

  #outlineOnly(outline: JsonObject | undefined, why: string): Check {
    this.#warn(`only names and types of the top level of arguments are checked: ${why}`)
    return outline === undefined ? anyObject : { kind: 'names', outline }
  }

  #run(
    check: Check,
    json: Buffer | undefined,
    isLenient: boolean,
    strings: readonly number[] | undefined,
  ): ArgumentFault | undefined {
    if (json !== undefined && json[0] !== OPEN_OBJECT) return notAnObject()
    if (check.kind === 'object') return undefined
    const isLong = json !== undefined && json.length > argumentLimits.argumentBytesMax
    const { outline } = check
    if (check.kind === 'names' || isLong)
      return outline === undefined ? undefined : outlineFault(outline, json, isLenient, strings)
    try {
      const value: unknown = JSON.parse(json?.toString() ?? '{}')
      const errors = check.run(value)
      return errors.length === 0 ? undefined : firstFault(check.schema, value, errors, isLenient)
    } catch (error) {
      this.#overruns++
      const why = `its schema takes too long to run (${messageOf(error)})`
      if (this.#overruns === argumentLimits.overrunsMax) this.#check = this.#outlineOnly(outline, why)
      else this.#warn(`arguments of a call were not checked: ${why}`)
      return undefined
    }
  }

  #warn(message: string): void {
    if (this.#hasWarned) return
    this.#hasWarned = true
    this.#options.warn(`Tool '${this.#options.tool}': ${message}`)
  }
}

function outlineFault(
  outline: JsonObject,
  json: Buffer | undefined,
  isLenient: boolean,
  strings: readonly number[] | undefined,
): ArgumentFault | undefined {
  const value = json === undefined ? {} : topLevel(json, outline, strings)
  const errors = outlineErrors(outline, value)
  return errors.length === 0 ? undefined : firstFault(outline, value, errors, isLenient)
}

/** The first of the errors that is not forgiven. */
function firstFault(
  schema: JsonObject,
  value: unknown,
  errors: Parameters<typeof findingsOf>[0],
  isLenient: boolean,
): ArgumentFault | undefined {
  const findings = findingsOf(errors)
  const leniency = isLenient ? new Leniency(schema, value, findings) : undefined
  const fault = findings.find((finding) => leniency?.forgives(finding) !== true)
  return fault && faultOf(errorsOf(fault))
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message.slice(0, 200) : 'unknown error'
}

function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve)
  })
}
