// Arguments checked against a tool's own schema, before the call is forwarded.
//
// Schemas come from strangers, so one is copied and compiled within limits, and a run has so many steps at most.

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

/** Nearly every tool has one like it. */
const USUAL_SCHEMA = Buffer.from(
  '{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]}',
)

/** Evaluates the compiler of schemas and runs it once, which is most of what the first check takes. */
export function prepareValidators(): void {
  new ArgumentValidator({ tool: '', schema: USUAL_SCHEMA, warn: () => {} }).check()
}

const NO_ARGUMENTS = Buffer.from('{}')

/** Gives the first fault of arguments that are one JSON object. */
type Check = (json: Buffer) => ArgumentFault | undefined

const noCheck: Check = () => undefined

/** The schema of one tool, compiled when the first call comes. */
export class ArgumentValidator {
  readonly #options: ValidatorOptions
  #check: Check | undefined

  constructor(options: ValidatorOptions) {
    this.#options = options
  }

  /**
   * The first fault of a call's arguments, whose raw JSON must be valid; undefined when there is none.
   *
   * Faults that a tolerant server puts right itself are none. Never throws.
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
  // A value has fewer values inside than bytes.
  const isShort = steps * json.length <= argumentLimits.stepsMax
  return isShort || steps * sizeOf(value) <= argumentLimits.stepsMax ? firstFault(run(value)) : undefined
}

/** Gives the errors of a value. */
type Run = (value: unknown) => readonly ErrorObject[]

/**
 * Throws the error of ajv for a schema that it does not accept. `schema` is a copy by `copySchema`.
 *
 * Each schema has a separate ajv: schemas in one instance can refer to each other, and a stranger's must not see another
 * stranger's.
 */
function compileSchema(schema: JsonObject): Run {
  const validate = new (ajv2020())(options).compile(schema)
  return (value) => (validate(value) ? [] : (validate.errors ?? []))
}

const options: Options = {
  strict: false,
  allErrors: true,
  // An error has the value that is wrong, and the schema with the facts about its place.
  verbose: true,
  // Members are those of the data; `toString` is not one of them.
  ownProperties: true,
  // The meta-schemas cost time, and a broken schema shows when it is compiled.
  meta: false,
  validateSchema: false,
  validateFormats: false,
  messages: false,
  logger: false,
  // Long lists become loops instead of code, which would have to be compiled.
  loopEnum: 8,
  loopRequired: 8,
  code: { optimize: false },
}

/** The build for 2020-12, as whose schemas all are copied. It is evaluated with the first schema, since no start needs it. */
function ajv2020(): new (options: Options) => Ajv {
  const module = load()
  if (isAjvModule(module)) return module.default
  throw new TypeError('the package ajv has no build for 2020-12')
}

const load = (): unknown => requireLate('ajv/dist/2020.js')

/** `scripts/build.mjs` bundles the package in the place of the call. */
function requireLate(path: string): unknown {
  // oxlint-disable-next-line no-restricted-globals -- this loads code, and nothing else.
  const { createRequire } = process.getBuiltinModule('node:module')
  const require: (path: string) => unknown = createRequire(import.meta.url)
  return require(path)
}

function isAjvModule(value: unknown): value is { readonly default: new (options: Options) => Ajv } {
  return typeof value === 'function' && 'default' in value
}
