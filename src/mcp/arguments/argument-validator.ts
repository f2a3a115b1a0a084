// Checks arguments against the schema of a tool before the proxy forwards the call.
//
// Schemas come from strangers, so the proxy compiles a limited copy and limits the steps of each check.

import type { Ajv, ErrorObject, Options } from 'ajv'
import { OPEN_OBJECT } from '../../jsonrpc/ascii.js'
import type { JsonObject } from '../../text/json-object.js'
import { type ArgumentFault, firstFault, notAnObject } from './fault.js'
import { argumentLimits, copySchema, sizeOf } from './schema.js'

export type { ArgumentFault } from './fault.js'

export interface ValidatorOptions {
  /** Names the tool in warnings. */
  readonly tool: string
  /** The tool's `inputSchema`, as the server wrote it. */
  readonly schema: Buffer
  /** Called with the reason why arguments are not checked, or not in full. */
  readonly warn: (message: string) => void
}

/** Resembles the schemas of nearly all tools. */
const USUAL_SCHEMA = Buffer.from(
  '{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]}',
)

/** Loads the schema compiler and runs it once, which takes most of the time of the first check. */
export function prepareValidators(): void {
  new ArgumentValidator({ tool: '', schema: USUAL_SCHEMA, warn: () => {} }).check()
}

const NO_ARGUMENTS = Buffer.from('{}')

type Check = (json: Buffer) => ArgumentFault | undefined

const noCheck: Check = () => undefined

/** The schema of one tool, compiled at the first call. */
export class ArgumentValidator {
  readonly #options: ValidatorOptions
  #check: Check | undefined

  constructor(options: ValidatorOptions) {
    this.#options = options
  }

  /**
   * Returns the first fault of a call's arguments, whose raw JSON must be valid. Never throws.
   *
   * Faults that a tolerant server corrects itself do not count.
   */
  check(json: Buffer = NO_ARGUMENTS): ArgumentFault | undefined {
    if (json[0] !== OPEN_OBJECT) return notAnObject()
    this.#check ??= this.#compile()
    return this.#check(json)
  }

  #compile(): Check {
    const { schema, steps, problem } = copySchema(this.#options.schema)
    if (problem !== undefined) this.#warn(`${schema === undefined ? 'not' : 'only in part'}: ${problem}`)
    if (schema === undefined) return noCheck
    try {
      const run = compileSchema(schema)
      return (json) => checked(json, run, steps)
    } catch (error) {
      const why = error instanceof Error ? error.message.slice(0, 200) : 'unknown error'
      this.#warn(`not: it cannot be compiled: ${why}`)
      return noCheck
    }
  }

  #warn(how: string): void {
    this.#options.warn(`Tool '${this.#options.tool}': its schema is checked ${how}`)
  }
}

function checked(json: Buffer, run: Run, steps: number): ArgumentFault | undefined {
  if (json.length > argumentLimits.argumentBytesMax) return undefined
  const value: unknown = JSON.parse(json.toString())
  // A value contains fewer values than bytes.
  const isShort = steps * json.length <= argumentLimits.stepsMax
  return isShort || steps * sizeOf(value) <= argumentLimits.stepsMax ? firstFault(run(value)) : undefined
}

type Run = (value: unknown) => readonly ErrorObject[]

/**
 * Compiles a copy by `copySchema` in a separate ajv. Schemas in one ajv can refer to each other, and a
 * stranger's schema must not see another stranger's.
 *
 * @throws the error of ajv for a schema that ajv does not accept
 */
function compileSchema(schema: JsonObject): Run {
  const validate = new (ajv2020())(options).compile(schema)
  return (value) => (validate(value) ? [] : (validate.errors ?? []))
}

const options: Options = {
  strict: false,
  allErrors: true,
  // Each error has the wrong value, and the schema with the facts about its place.
  verbose: true,
  // Inherited properties, such as `toString`, are not members.
  ownProperties: true,
  // Meta-schemas cost time, and the compilation of a broken schema fails anyway.
  meta: false,
  validateSchema: false,
  validateFormats: false,
  messages: false,
  logger: false,
  // Long lists become loops, because generated code for each item would cost time to compile.
  loopEnum: 8,
  loopRequired: 8,
  code: { optimize: false },
}

/** Loads the build for 2020-12, the dialect of all copies. A start of the proxy does not need it. */
function ajv2020(): new (options: Options) => Ajv {
  const module = load()
  if (isAjvModule(module)) return module.default
  throw new TypeError('the package ajv has no build for 2020-12')
}

const load = (): unknown => requireLate('ajv/dist/2020.js')

/** `scripts/build.mjs` replaces the call of this function with the bundled package. */
function requireLate(path: string): unknown {
  // oxlint-disable-next-line no-restricted-globals -- this loads code, and nothing else.
  const { createRequire } = process.getBuiltinModule('node:module')
  const require: (path: string) => unknown = createRequire(import.meta.url)
  return require(path)
}

function isAjvModule(value: unknown): value is { readonly default: new (options: Options) => Ajv } {
  return typeof value === 'function' && 'default' in value
}
