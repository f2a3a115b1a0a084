// Arguments checked against a tool's own schema, before the call is forwarded.
//
// Schemas come from strangers, so one is copied and compiled within limits, and a run ends after so many steps. Of a schema
// beyond the limits the proxy checks only the names and types of the top level. The log has the reason once.

import type { _, Ajv, ErrorObject, KeywordDefinition, Options } from 'ajv'
import { OPEN_ARRAY, OPEN_OBJECT, QUOTE } from '../../jsonrpc/ascii.js'
import { FrameError } from '../../jsonrpc/jsonrpc-errors.js'
import { Members } from '../../jsonrpc/members.js'
import { Scanner, type Span } from '../../jsonrpc/scan.js'
import { parse, rawAt, stringAt } from '../../jsonrpc/text.js'
import { type ArgumentFault, areTypes, firstFault, notAnObject } from './fault.js'
import { entriesOf, isJsonArray, listOf } from './json-value.js'
import { argumentLimits, copySchema, parseSchema } from './schema.js'
import { type JsonObject, isObject } from '../../text/json-object.js'

export type { ArgumentFault } from './fault.js'

export interface ValidatorOptions {
  /** Names the tool in warnings. */
  readonly tool: string
  /** The tool's `inputSchema`, as the server wrote it. */
  readonly schema: Buffer
  /** Called at most once, with the reason why arguments are not checked, or not in full. */
  readonly warn: (message: string) => void
}

/** Nearly every tool has one like it. */
const USUAL_SCHEMA = Buffer.from(
  '{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]}',
)

/** Evaluates the compiler of schemas and runs it once, which is most of what the first check takes. */
export async function prepareValidators(): Promise<void> {
  const validator = new ArgumentValidator({ tool: '', schema: USUAL_SCHEMA, warn: () => {} })
  await validator.check()
}

const NO_ARGUMENTS = Buffer.from('{}')

/** How arguments are checked; with neither they only have to be an object. */
interface Check {
  readonly run?: Run
  /** For arguments that are too long for `run`, or a schema that is not run; compiled when it is first needed. */
  readonly outline?: Outline
}

/** The schema of one tool, compiled when the first call comes. */
export class ArgumentValidator {
  readonly #options: ValidatorOptions
  #hasWarned = false
  /** Undefined until the first call, and a promise while that one waits for the compiler. */
  #check: Check | Promise<Check> | undefined

  constructor(options: ValidatorOptions) {
    this.#options = options
  }

  /**
   * The first fault of a call's arguments, whose raw JSON must be valid; undefined when there is none.
   *
   * `known` are its long values, where they begin and end, in turn: they are not read. Faults that a tolerant server
   * puts right itself are none. Returns a promise only for calls that come before the schema is compiled. Never throws
   * or rejects.
   */
  check(
    json: Buffer = NO_ARGUMENTS,
    known?: readonly number[],
  ): ArgumentFault | undefined | Promise<ArgumentFault | undefined> {
    if (json[0] !== OPEN_OBJECT) return notAnObject()
    const check = (this.#check ??= this.#prepare())
    return check instanceof Promise
      ? check.then((ready) => this.#fault(ready, json, known))
      : this.#fault(check, json, known)
  }

  #prepare(): Check | Promise<Check> {
    const { schema: json } = this.#options
    let root: JsonObject
    try {
      root = parseSchema(json)
    } catch (error) {
      this.#warn(`arguments are not checked: ${messageOf(error)}`)
      return {}
    }
    const outline = new Outline(root)
    try {
      const schema = copySchema(root, json.length)
      return schema === undefined ? {} : this.#compile(schema, outline)
    } catch (error) {
      return this.#outlineOnly(outline, messageOf(error))
    }
  }

  async #compile(schema: JsonObject, outline: Outline): Promise<Check> {
    // The proxy reads and writes first what is waiting, before the schema is compiled and again before it is run.
    await nextTurn()
    try {
      const run = compileSchema(schema)
      await nextTurn()
      return (this.#check = { run, outline })
    } catch (error) {
      return (this.#check = this.#outlineOnly(outline, `its schema cannot be compiled: ${messageOf(error)}`))
    }
  }

  #outlineOnly(outline: Outline, why: string): Check {
    this.#warn(`only names and types of the top level of arguments are checked: ${why}`)
    return { outline }
  }

  #fault(
    { run, outline }: Check,
    json: Buffer,
    known: readonly number[] | undefined,
  ): ArgumentFault | undefined {
    if (run !== undefined && json.length <= argumentLimits.argumentBytesMax)
      try {
        return firstFault(run(JSON.parse(json.toString())))
      } catch (error) {
        if (outline === undefined) return undefined
        this.#check = this.#outlineOnly(outline, `its schema takes too long to run (${messageOf(error)})`)
      }
    const values = outline && topLevel(json, known)
    return values && firstFault(outline.errorsOf(values))
  }

  #warn(message: string): void {
    if (this.#hasWarned) return
    this.#hasWarned = true
    this.#options.warn(`Tool '${this.#options.tool}': ${message}`)
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message.slice(0, 200) : 'unknown error'
}

function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve)
  })
}

// The required names and the types of the top level: what the proxy checks of a schema that it cannot run, and of long
// arguments. It reads nothing inside a value.

/** A longer text is not read for what it may be instead of a text. */
const TEXT_BYTES_MAX = 1024

/** The types of no more members than these are checked, so that their schema is compiled in one turn. */
const OUTLINE_MEMBERS_MAX = 100

/** A schema of the required names and the types of the top level alone. */
class Outline {
  readonly #schema: JsonObject
  #run: Run | undefined

  constructor({ required, properties }: JsonObject) {
    const typed = entriesOf(properties).filter(([name]) => name !== '__proto__')
    this.#schema = {
      required: listOf(required).filter((name) => typeof name === 'string'),
      properties: Object.fromEntries(
        typed.slice(0, OUTLINE_MEMBERS_MAX).map(([name, member]) => [name, typeAlone(member)]),
      ),
    }
  }

  errorsOf(values: JsonObject): readonly ErrorObject[] {
    try {
      this.#run ??= compileSchema(copySchema(this.#schema, 0) ?? {})
      return this.#run(values)
    } catch {
      // More names than one run takes.
      this.#run = () => []
      return []
    }
  }
}

function typeAlone(member: unknown): JsonObject {
  if (!isObject(member)) return {}
  const { type, nullable } = member
  const isKnown = areTypes(isJsonArray(type) ? type : [type])
  return {
    ...(isKnown && { type }),
    ...(typeof nullable === 'boolean' && { nullable }),
    ...(Object.hasOwn(member, 'default') && { default: null }),
  }
}

/** The members of long arguments, as far as they are read; undefined for an object with more members than are read. */
function topLevel(json: Buffer, known?: readonly number[]): JsonObject | undefined {
  const members = new Members(json)
  try {
    new Scanner(json, Number.MAX_SAFE_INTEGER, known).object(0, 1, members)
  } catch (error) {
    if (error instanceof FrameError) return undefined
    throw error
  }
  return Object.fromEntries([...members].map(({ key, value }) => [stringAt(json, key), valueAt(json, value)]))
}

/** A value that is read for its type; of lists and objects only that they are some. */
function valueAt(json: Buffer, { start, end }: Span): unknown {
  const first = json[start]
  if (first === OPEN_OBJECT) return {}
  if (first === OPEN_ARRAY) return []
  if (first !== QUOTE || end - start <= TEXT_BYTES_MAX) return parse(rawAt(json, { start, end }))
  const inside = json[start + 1]
  return inside === OPEN_ARRAY ? '[]' : inside === OPEN_OBJECT ? '{}' : 'x'
}

// Each schema has a separate ajv: schemas in one instance can refer to each other, and a stranger's must not see
// another stranger's. The one keyword that is added ends a run that takes too many steps.

/** Gives the errors of a value; throws a RangeError when the run takes too many steps. */
type Run = (value: unknown) => readonly ErrorObject[]

/** Throws the error of ajv for a schema that it does not accept. `schema` is a copy by `copySchema`. */
function compileSchema(schema: JsonObject): Run {
  const { default: Build, _: code } = ajv2020()
  const budget = { steps: 0 }
  const ajv = new Build(options)
  ajv.addKeyword(stepsKeyword(code, budget))
  const validate = ajv.compile(schema)
  return (value) => {
    budget.steps = argumentLimits.stepsMax
    return validate(value) ? [] : (validate.errors ?? [])
  }
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

/** Takes the steps of each subschema from the budget where it runs. */
function stepsKeyword(code: typeof _, budget: object): KeywordDefinition {
  return {
    keyword: 'steps',
    schemaType: 'array',
    before: '$ref',
    code: ({ gen, data, schema }) => {
      const [own, sizes = 0] = listOf(schema).map(Number)
      const left = code`${gen.scopeValue('obj', { ref: budget })}.steps`
      const size = gen.scopeValue('func', { ref: stepsOfSize })
      const price = sizes > 0 ? code`${own} + ${sizes} * ${size}(${data})` : code`${own}`
      const error = code`new RangeError(${`more than ${argumentLimits.stepsMax} steps`})`
      gen.if(code`(${left} -= ${price}) < 0`, () => gen.throw(error))
    },
  }
}

/** Each member may be an error. */
const STEPS_PER_MEMBER = 4

/** What it takes to list the members of an object, or to count the characters of a text. */
function stepsOfSize(data: unknown): number {
  if (typeof data === 'string') return data.length >> 5
  return isObject(data) ? STEPS_PER_MEMBER * Object.keys(data).length : 0
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
