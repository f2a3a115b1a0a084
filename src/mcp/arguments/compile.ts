// One schema, compiled by an ajv of its own.
//
// Schemas in one instance can refer to each other, and a stranger's must not see another stranger's. The one keyword that
// is added ends a run that takes too many steps.

import type { Ajv, ErrorObject, KeywordDefinition, Options, _ } from 'ajv'
import { isJsonArray, isJsonObject, type JsonObject, listOf } from './json-value.js'
import { argumentLimits } from './limits.js'

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
