// Copies a server's schema to one that ajv may compile.
//
// The copy is in the dialect 2020-12, and each `$ref` is replaced by its target. The copy has only keywords
// whose cost the sizes of schema and arguments bound: no `pattern` and no `uniqueItems`. It accepts
// everything that the schema accepts, and more: a missing keyword accepts everything, `oneOf` becomes
// `anyOf`, and objects are not closed, because the proxy forgives unknown members.

import { isJsonArray, listOf, referredTo } from './json-value.js'
import { type JsonObject, isObject } from '../../text/json-object.js'

/** The limits of a schema from a server, and of one check. */
export const argumentLimits = {
  /** The longest schema of a tool as JSON. The proxy does not check arguments against a longer schema. */
  schemaBytesMax: 262_144,
  /** Subschemas and keywords, with each `$ref` replaced. With cold code, ajv takes 0.1 to 0.3 ms for each. */
  nodesMax: 1_000,
  /** Nested subschemas. ajv uses several stack frames for each level and overflows somewhere past 100. */
  depthMax: 32,
  /** Steps of one run: about one keyword on one value, 10 to 300 ns. Larger arguments pass unchecked. */
  stepsMax: 100_000,
  /** The longest arguments as JSON. Longer arguments pass unchecked. */
  argumentBytesMax: 65_536,
} as const

type Schema = JsonObject | boolean

export interface CopiedSchema {
  /** Undefined if arguments only have to be an object. */
  readonly schema: JsonObject | undefined
  /** The most steps that the check of one value takes. */
  readonly steps: number
  readonly problem: string | undefined
}

export function copySchema(json: Buffer): CopiedSchema {
  if (json.length > argumentLimits.schemaBytesMax) return unchecked(`it has ${json.length} bytes`)
  const root = parsed(json)
  if (root === true) return unchecked()
  if (!isObject(root)) return unchecked('it is not an object')
  const { $schema: dialect } = root
  if (dialect !== undefined && !(typeof dialect === 'string' && knownDialect.test(dialect)))
    return unchecked('it names a dialect that is not known here')
  const copier = new Copier(root)
  const copy = copier.schema(root)
  const { steps, problem } = copier
  if (typeof copy === 'boolean') return unchecked(problem)
  const { type, ...others } = copy
  const isTrivial = Object.keys(others).length === 0 && (type === undefined || type === 'object')
  return isTrivial ? unchecked(problem) : { schema: copy, steps, problem }
}

function unchecked(problem?: string): CopiedSchema {
  return { schema: undefined, steps: 0, problem }
}

const knownDialect = /^https?:\/\/json-schema\.org\/(?:draft-0[67]|draft\/2019-09|draft\/2020-12)\/schema#?$/

function parsed(json: Buffer): unknown {
  try {
    return JSON.parse(json.toString())
  } catch {
    return undefined
  }
}

/** Keywords without subschemas. */
const plain: ReadonlySet<string> = new Set(
  (
    'type enum const minimum maximum exclusiveMinimum exclusiveMaximum multipleOf ' +
    'minLength maxLength minItems maxItems minProperties maxProperties'
  ).split(' '),
)

class Copier {
  readonly #root: JsonObject
  readonly #open = new Set<JsonObject>()
  #nodes = 0
  /** The sizes of constants and lists of names. */
  #constants = 0
  problem: string | undefined

  constructor(root: JsonObject) {
    this.#root = root
  }

  get steps(): number {
    return this.#nodes + this.#constants / 4
  }

  /** `isOptional` marks the copy, and its parts, as the schema of a member that may be missing. */
  schema(schema: unknown, isOptional = false): Schema {
    if (typeof schema === 'boolean') return schema
    if (!isObject(schema)) return this.#skip('a part of it is no schema, or a $ref that cannot be followed')
    if (this.#open.has(schema)) return this.#skip('it refers to itself')
    if (this.#open.size > argumentLimits.depthMax) return this.#skip('it is nested too deeply')
    if (this.#nodes >= argumentLimits.nodesMax) return this.#skip('it is too large')
    this.#nodes++
    this.#open.add(schema)
    const unified = this.#unified(schema)
    const copy = Object.entries(unified).flatMap(([keyword, value]) => {
      const copied = this.#copied(keyword, value, unified, isOptional)
      if (copied === undefined) return []
      this.#nodes++
      return [[keyword === 'oneOf' ? 'anyOf' : keyword, copied] as const]
    })
    this.#open.delete(schema)
    return copy.length === 0 ? true : { ...Object.fromEntries(copy), ...(isOptional && { isOptional }) }
  }

  #skip(problem: string): true {
    this.problem ??= problem
    return true
  }

  /** Writes a list of `items` as 2020-12 does, and a `$ref` as a part. The proxy fetches no documents. */
  #unified({ $ref: reference, items, additionalItems, ...schema }: JsonObject): JsonObject {
    const parts = [...listOf(schema['allOf']), referredTo(this.#root, reference)]
    return {
      ...schema,
      ...(reference !== undefined && { allOf: parts }),
      ...(isJsonArray(items) ? { prefixItems: items, items: additionalItems } : { items }),
    }
  }

  #copied(keyword: string, value: unknown, schema: JsonObject, isOptional: boolean): unknown {
    if (plain.has(keyword)) {
      if (keyword === 'enum' || keyword === 'const') this.#constants += sizeOf(value)
      return value
    }
    switch (keyword) {
      case 'nullable':
        // Without `type`, the keyword has no meaning, and ajv throws.
        return schema['type'] === undefined ? undefined : value
      case 'required':
        return this.#required(value, schema)
      case 'properties':
        return isObject(value) ? this.#properties(value, schema) : undefined
      case 'additionalProperties':
        // `patternProperties`, which is not copied, may allow the member.
        return value === false || schema['patternProperties'] !== undefined ? undefined : this.schema(value)
      case 'items':
        return value === undefined ? undefined : this.schema(value)
      case 'prefixItems':
        return listOf(value).map((each) => this.schema(each))
      case 'allOf': {
        const parts = listOf(value).map((each) => this.schema(each, isOptional))
        return nonEmpty(parts.filter((part) => part !== true))
      }
      case 'anyOf':
      case 'oneOf': {
        const forms = listOf(value).map((each) => this.schema(each))
        return forms.includes(true) ? undefined : nonEmpty(forms)
      }
      default:
        return undefined
    }
  }

  /** Leaves out members with a default, which the server fills in. */
  #required(names: unknown, { properties }: JsonObject): readonly unknown[] | undefined {
    const all = isObject(properties) ? properties : {}
    const required = listOf(names).filter((name) => typeof name === 'string' && !hasDefault(all, name))
    this.#constants += required.length
    return nonEmpty(required)
  }

  #properties(properties: JsonObject, { required }: JsonObject): JsonObject | undefined {
    const names = new Set(listOf(required))
    // ajv ignores members named `__proto__`.
    const copies = Object.entries(properties)
      .filter(([name]) => name !== '__proto__')
      .map(([name, each]) => [name, this.schema(each, !names.has(name) || hasDefault(properties, name))])
    return copies.length === 0 ? undefined : Object.fromEntries(copies)
  }
}

function nonEmpty<T>(list: readonly T[]): readonly T[] | undefined {
  return list.length === 0 ? undefined : list
}

function hasDefault(properties: JsonObject, name: string): boolean {
  const schema = Object.hasOwn(properties, name) ? properties[name] : undefined
  return isObject(schema) && Object.hasOwn(schema, 'default')
}

/** Counts the values in a value, itself included. A long text counts as several. */
export function sizeOf(root: unknown): number {
  // A loop instead of recursion, because strangers nest values deeper than the stack.
  const waiting: unknown[] = [root]
  let size = 0
  for (let value = waiting.pop(); value !== undefined; value = waiting.pop()) {
    size += typeof value === 'string' ? 1 + (value.length >> 5) : 1
    if (typeof value === 'object' && value !== null)
      for (const inner of Object.values(value)) waiting.push(inner)
  }
  return size
}
