// Arguments checked against a tool's own schema, before the call is forwarded.
//
// Schemas come from strangers, so one is copied and compiled within limits, and a run ends after so many steps. A schema
// beyond the limits is used for the names and types of the top level alone: the server checks the rest, and the log says
// once why the proxy does not.

import { OPEN_ARRAY, OPEN_OBJECT, QUOTE } from '../../jsonrpc/ascii.js'
import { type ArgumentFault, faultOf, notAnObject } from './fault.js'
import { errorsOf, findingsOf, Leniency } from './leniency.js'
import { isJsonArray, isJsonObject, type JsonObject, listOf, membersOf } from './json-value.js'
import { argumentLimits } from './limits.js'
import { copySchema, parseSchema } from './schema.js'
import type { _, Ajv, ErrorObject, KeywordDefinition, Options } from 'ajv'
import { type MemberSink, Scanner } from '../../jsonrpc/scan.js'
import { parse, rawAt, stringAt } from '../../jsonrpc/text.js'
import { isOfType } from './coercion.js'

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

// The required names and the types of the top level: what is checked of a schema that cannot be run, and of long arguments.
//
// Nothing inside a value is read.

/** A longer text is not read for what it may be instead of a text. */
const TEXT_BYTES_MAX = 1024

/** What a schema says of the names and types of its top level, as a schema of its own; undefined where that is nothing. */
export function outlineOf(root: JsonObject): JsonObject | undefined {
  const properties = membersOf(root['properties']).flatMap(([name, member]) => {
    const types = isJsonObject(member) ? typesOf(member) : []
    return types.length === 0 || !isJsonObject(member)
      ? []
      : [[name, { type: types, ...(Object.hasOwn(member, 'default') && { default: true }) }] as const]
  })
  const required = listOf(root['required']).filter((name) => typeof name === 'string')
  if (properties.length + required.length === 0) return undefined
  return { required, properties: Object.fromEntries(properties) }
}

function typesOf({ type, nullable }: JsonObject): readonly unknown[] {
  const types = isJsonArray(type) ? type : type === undefined ? [] : [type]
  const areKnown = types.every((each) => typeof each === 'string' && known.has(each))
  if (!areKnown) return []
  return nullable === true && types.length > 0 ? [...types, 'null'] : types
}

const known: ReadonlySet<string> = new Set([
  'string',
  'number',
  'integer',
  'boolean',
  'null',
  'array',
  'object',
])

/** What is wrong with the members of the top level, as ajv would say it. */
export function outlineErrors(outline: JsonObject, value: JsonObject): readonly ErrorObject[] {
  const missing = listOf(outline['required']).filter((name) => !Object.hasOwn(value, String(name)))
  const mistyped = membersOf(outline['properties']).flatMap(([name, member]) => {
    const types = isJsonObject(member) ? listOf(member['type']) : []
    const isFit = !Object.hasOwn(value, name) || types.some((type) => isOfType(value[name], type))
    return isFit
      ? []
      : [errorAt(`/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`, 'type', { type: types })]
  })
  return [...missing.map((name) => errorAt('', 'required', { missingProperty: name })), ...mistyped]
}

function errorAt(instancePath: string, keyword: string, params: Record<string, unknown>): ErrorObject {
  return { instancePath, keyword, params, schemaPath: `#${instancePath}/${keyword}` }
}

/** The members of long arguments that an outline names; of lists and objects only that they are some. */
export function topLevel(bytes: Buffer, outline: JsonObject, strings?: readonly number[]): JsonObject {
  const members = new TopLevel(
    bytes,
    new Set([...listOf(outline['required']), ...membersOf(outline['properties']).map(([name]) => name)]),
  )
  new Scanner(bytes, Number.MAX_SAFE_INTEGER, strings).object(0, 1, members)
  return Object.fromEntries(members.found)
}

class TopLevel implements MemberSink {
  readonly #bytes: Buffer
  readonly #names: ReadonlySet<unknown>
  readonly found = new Map<string, unknown>()

  constructor(bytes: Buffer, names: ReadonlySet<unknown>) {
    this.#bytes = bytes
    this.#names = names
  }

  inside(): undefined {
    return undefined
  }

  add(key: number, keyEnd: number, start: number, end: number): boolean {
    const name = stringAt(this.#bytes, { start: key, end: keyEnd })
    if (name !== undefined && this.#names.has(name)) this.found.set(name, this.#valueAt(start, end))
    return true
  }

  #valueAt(start: number, end: number): unknown {
    const first = this.#bytes[start]
    if (first === OPEN_OBJECT) return {}
    if (first === OPEN_ARRAY) return []
    if (first !== QUOTE || end - start <= TEXT_BYTES_MAX) return parse(rawAt(this.#bytes, { start, end }))
    const inside = this.#bytes[start + 1]
    return inside === OPEN_ARRAY ? '[]' : inside === OPEN_OBJECT ? '{}' : 'x'
  }
}

// One schema, compiled by an ajv of its own.
//
// Schemas in one instance can refer to each other, and a stranger's must not see another stranger's. The one keyword that
// is added ends a run that takes too many steps.

const STEPS_PER_MEMBER = 4

/** Gives the errors of a value; throws a RangeError when the run takes too many steps. */
export type Run = (value: unknown) => readonly ErrorObject[]

/** Throws whatever ajv says about a schema that it does not accept. `schema` is a copy by `copySchema`. */
export function compileSchema(schema: JsonObject): Run {
  const { default: Build, _: code } = ajv2020()
  let left = 0
  const spend = (own: number, perMember: number, perText: number, data: unknown): void => {
    // Each member may be an error of its own.
    left -= own + (perMember > 0 ? STEPS_PER_MEMBER * perMember * sizeOf(data) : 0)
    if (perText > 0 && typeof data === 'string') left -= perText * (data.length >> 5)
    if (left < 0) throw new RangeError(`more than ${argumentLimits.stepsMax} steps`)
  }
  const ajv = new Build(options)
  ajv.addKeyword(stepsKeyword(code, spend))
  const validate = ajv.compile(schema)
  return (value) => {
    left = argumentLimits.stepsMax
    return validate(value) ? [] : (validate.errors ?? [])
  }
}

function sizeOf(data: unknown): number {
  if (isJsonArray(data)) return data.length
  return isJsonObject(data) ? Object.keys(data).length : 0
}

const options: Options = {
  strict: false,
  allErrors: true,
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

function stepsKeyword(code: typeof _, spend: unknown): KeywordDefinition {
  return {
    keyword: 'steps',
    schemaType: 'array',
    before: '$ref',
    code: ({ gen, data, schema }) => {
      const [own, perMember, perText] = listOf(schema).map(Number)
      const pay = gen.scopeValue('func', { ref: spend })
      gen.code(code`${pay}(${own}, ${perMember}, ${perText}, ${data})`)
    },
  }
}

interface AjvModule {
  readonly default: new (options: Options) => Ajv
  readonly _: typeof _
}

/** The build for 2020-12, as whose schemas all are copied. It is evaluated with the first schema, since no start needs it. */
function ajv2020(): AjvModule {
  const module = load()
  if (isAjvModule(module)) return module
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

function isAjvModule(value: unknown): value is AjvModule {
  return typeof value === 'function' && 'default' in value && '_' in value
}
