// From a server's schema to one that ajv may compile.
//
// The schema is copied, never used. The copy is of 2020-12 and has only keywords that say something about a value. Each
// `$ref` is replaced by its target, and each subschema has the price of its run in steps. `pattern`, `patternProperties` and
// `uniqueItems` are left out, since the sizes of schema and data do not bound their cost, and what closes an object, since
// unknown members are forgiven.

import { entriesOf, fromPointer, isJsonArray, listOf } from './json-value.js'
import { type JsonObject, isObject } from '../../text/json-object.js'

/** The limits of a schema from a server, and of one check. */
export const argumentLimits = {
  /** A tool's schema as JSON. Of a longer one only the required names and the types of the top level are checked. */
  schemaBytesMax: 262_144,
  /** A larger schema is not even parsed for its required names. */
  parsedBytesMax: 2_097_152,
  /** Subschemas and keywords, with each `$ref` replaced by its target. ajv takes 0.1 to 0.3 ms for one while its code is cold. */
  nodesMax: 1_000,
  /** Nested subschemas. ajv recurses several frames a level and overflows somewhere past 100. */
  depthMax: 32,
  /** Steps of one run; a step is about one keyword applied to one value, 10 to 300 ns. */
  stepsMax: 100_000,
  /** Arguments as JSON. The proxy checks only the names and the types of the top level of longer ones. */
  argumentBytesMax: 65_536,
} as const

/** The facts that all schemas of one value share. Leniency reads them from the schema that a value has failed. */
export class Place {
  /** Whether the value is a member that may be missing. */
  isOptional: boolean
  hasDefault: boolean = false
  /** The members of the value that have a default. */
  readonly filled: Set<string> = new Set()

  constructor(isOptional: boolean) {
    this.isOptional = isOptional
  }
}

type Schema = JsonObject | boolean

/** A schema that is checked in a simpler way; the message says why. */
class UnusableSchema extends Error {}

/** Reads a tool's `inputSchema`. Throws an UnusableSchema where it is no schema. */
export function parseSchema(json: Buffer): JsonObject {
  if (json.length > argumentLimits.parsedBytesMax)
    throw new UnusableSchema(`its schema has ${json.length} bytes`)
  const root = parsed(json)
  if (root === true) return {}
  if (!isObject(root)) throw new UnusableSchema('its schema is not an object')
  const { $schema: dialect } = root
  if (dialect !== undefined && !(typeof dialect === 'string' && knownDialect.test(dialect)))
    throw new UnusableSchema('its schema names a dialect that is not known here')
  return root
}

const knownDialect = /^https?:\/\/json-schema\.org\/(?:draft-0[67]|draft\/2019-09|draft\/2020-12)\/schema#?$/

function parsed(json: Buffer): unknown {
  try {
    return JSON.parse(json.toString())
  } catch {
    return undefined
  }
}

/** Copies a schema, which was parsed from so many bytes; undefined where arguments only have to be an object. Throws an UnusableSchema. */
export function copySchema(root: JsonObject, bytes: number): JsonObject | undefined {
  if (bytes > argumentLimits.schemaBytesMax) throw new UnusableSchema(`its schema has ${bytes} bytes`)
  const copy = new Copier(root).schema(root, new Place(false), 0)
  if (typeof copy === 'boolean') return undefined
  const { steps: _steps, place: _place, type, ...others } = copy
  const isTrivial = Object.keys(others).length === 0 && (type === undefined || type === 'object')
  return isTrivial ? undefined : copy
}

const words = (text: string): ReadonlySet<string> => new Set(text.split(' '))

/** Keywords without subschemas. */
const plain = words(
  'type nullable enum const required dependentRequired minimum maximum exclusiveMinimum exclusiveMaximum multipleOf ' +
    'minLength maxLength minItems maxItems minContains maxContains minProperties maxProperties',
)
/** Keywords whose subschemas are about the value itself. */
const alternatives = words('allOf anyOf oneOf then else dependencies dependentSchemas')
/** Keywords whose subschemas are about members that may be missing. */
const optional = words('additionalProperties')
/** Keywords whose subschemas are about other values, and conditions, which give the value no defaults. */
const apart = words('not if items prefixItems contains propertyNames unevaluatedItems')
/** Keywords that have subschemas, or lists of names, by name. */
const byName = words('properties dependencies dependentSchemas dependentRequired')
/** Keywords that list the members of an object, or count the characters of a text. */
const measuring = words('minProperties maxProperties additionalProperties propertyNames minLength maxLength')
/** In one document without anchors, all three lead to the same place. */
const references = words('$ref $dynamicRef $recursiveRef')
/** The copy is without these, so it accepts more than the schema. */
const leftOut = words('pattern patternProperties uniqueItems unevaluatedProperties')

/** Makes one copy. */
class Copier {
  readonly #root: JsonObject
  /** The schemas whose copy is being made. */
  readonly #open = new Set<JsonObject>()
  #nodes = 0
  /** How many keywords have been left out, or made weaker for one that was. */
  #weakened = 0

  constructor(root: JsonObject) {
    this.#root = root
  }

  schema(schema: unknown, place: Place, depth: number): Schema {
    if (typeof schema === 'boolean') return schema
    if (!isObject(schema)) throw new UnusableSchema('its schema has something other than a schema inside')
    if (depth > argumentLimits.depthMax) throw new UnusableSchema('its schema is nested too deeply')
    if (this.#open.has(schema)) throw new UnusableSchema('its schema refers to itself')
    this.#count()
    this.#open.add(schema)
    const copy = this.#keywords(asTuples(schema), place, depth + 1)
    this.#open.delete(schema)
    if (Object.hasOwn(schema, 'default')) place.hasDefault = true
    return copy.size === 0 ? true : Object.fromEntries([...copy, ['steps', stepsOf(copy)], ['place', place]])
  }

  #keywords(schema: JsonObject, place: Place, depth: number): Map<string, unknown> {
    const copy = new Map<string, unknown>()
    const targets: Schema[] = []
    const weaker = new Set<string>()
    for (const [keyword, value] of Object.entries(schema)) {
      const before = this.#weakened
      if (references.has(keyword)) targets.push(this.schema(this.#target(value), place, depth))
      else if (leftOut.has(keyword) || (keyword === 'additionalProperties' && value === false))
        this.#weakened += keyword === 'uniqueItems' && value === false ? 0 : 1
      else if (this.#isUsed(schema, keyword, value)) {
        this.#count()
        copy.set(keyword, this.#copied(keyword, value, schema, place, depth))
        if (this.#weakened > before) weaker.add(keyword)
      }
    }
    if (targets.length > 0) copy.set('allOf', [...targets, ...listOf(copy.get('allOf'))])
    weaken(copy, weaker)
    return copy
  }

  #isUsed(schema: JsonObject, keyword: string, value: unknown): boolean {
    // A pattern that was left out may allow the member.
    if (keyword === 'additionalProperties' && Object.hasOwn(schema, 'patternProperties')) return false
    // ajv throws for it where there is no type; it has no meaning there either.
    if (keyword === 'nullable') return schema['type'] !== undefined
    if (keyword === 'required') return listOf(value).length > 0
    if (keyword === 'properties') return !isObject(value) || Object.keys(value).length > 0
    return [plain, alternatives, optional, apart].some((keywords) => keywords.has(keyword))
  }

  #copied(keyword: string, value: unknown, owner: JsonObject, place: Place, depth: number): unknown {
    if (byName.has(keyword) && isObject(value)) return this.#named(keyword, value, owner, place, depth)
    if (plain.has(keyword)) return value
    const inner = (): Place => (alternatives.has(keyword) ? place : new Place(optional.has(keyword)))
    return isJsonArray(value)
      ? value.map((each) => this.schema(each, inner(), depth))
      : this.schema(value, inner(), depth)
  }

  #named(keyword: string, value: JsonObject, owner: JsonObject, place: Place, depth: number): JsonObject {
    const copies = Object.entries(value).map(([name, each]) => {
      // ajv passes over this name, and would then call the member unknown.
      if (name === '__proto__') throw new UnusableSchema("its schema has a member named '__proto__'")
      if (keyword === 'properties') return [name, this.#member(name, each, owner, place, depth)]
      if (!isJsonArray(each)) return [name, this.schema(each, place, depth)]
      for (const _name of each) this.#count()
      return [name, each]
    })
    return Object.fromEntries(copies)
  }

  #member(name: string, schema: unknown, { required }: JsonObject, place: Place, depth: number): Schema {
    const inner = new Place(!listOf(required).includes(name))
    const copy = this.schema(schema, inner, depth)
    if (inner.hasDefault) place.filled.add(name)
    inner.isOptional ||= inner.hasDefault
    return copy
  }

  /** A pointer into an embedded document would need that document's id. */
  #target(reference: unknown): unknown {
    const isEmbedded = [...this.#open].some((schema) => schema !== this.#root && hasBase(schema))
    const target = isEmbedded || typeof reference !== 'string' ? undefined : located(this.#root, reference)
    if (target === undefined) throw new UnusableSchema('its schema has a $ref that cannot be followed')
    return target
  }

  #count(): void {
    if (++this.#nodes > argumentLimits.nodesMax) throw new UnusableSchema('its schema is too large')
  }
}

/** The steps of one run without those of its subschemas, and how often the run takes those for the size of the value. */
function stepsOf(copy: ReadonlyMap<string, unknown>): readonly [own: number, sizes: number] {
  const constants = [...listOf(copy.get('enum')), copy.get('const') ?? null]
  const names = [...byName].flatMap((keyword) => entriesOf(copy.get(keyword)))
  const values = constants.reduce<number>(
    (sum, each) => sum + sizeOf(each),
    listOf(copy.get('required')).length,
  )
  const measures = [...copy.keys()].filter((keyword) => measuring.has(keyword))
  return [1 + copy.size + names.length + values / 4, measures.length + constants.filter(isObject).length]
}

/** The values inside of one, itself included; a long text counts as several. */
function sizeOf(root: unknown): number {
  // A loop, since strangers nest deeper than the stack.
  const waiting: unknown[] = [root]
  let size = 0
  for (let value = waiting.pop(); value !== undefined; value = waiting.pop()) {
    size += typeof value === 'string' ? 1 + (value.length >> 6) : 1
    if (typeof value === 'object' && value !== null)
      for (const inner of Object.values(value)) waiting.push(inner)
  }
  return size
}

/** A keyword that refuses values which fit its subschema would refuse too much, if the subschema has lost a keyword. */
function weaken(copy: Map<string, unknown>, weaker: ReadonlySet<string>): void {
  if (weaker.has('not')) copy.delete('not')
  if (weaker.has('contains')) copy.delete('maxContains')
  if (weaker.has('if')) for (const keyword of ['if', 'then', 'else']) copy.delete(keyword)
  if (!weaker.has('oneOf')) return
  const forms = { anyOf: copy.get('oneOf') }
  copy.delete('oneOf')
  copy.set('allOf', [...listOf(copy.get('allOf')), forms])
}

/** A list of `items`, as 2020-12 writes it. */
function asTuples({ items, additionalItems, ...schema }: JsonObject): JsonObject {
  if (items === undefined) return schema
  if (!isJsonArray(items)) return { ...schema, items }
  return { ...schema, prefixItems: items, ...(additionalItems !== undefined && { items: additionalItems }) }
}

/** Whether references inside a schema start from its own id; `#name` names a place and is no base. */
function hasBase({ $id: id }: JsonObject): boolean {
  return typeof id === 'string' && !id.startsWith('#')
}

/** The value at a JSON pointer into the document. The proxy fetches nothing and looks at no other document. */
function located(root: JsonObject, reference: string): unknown {
  const [document = '', fragment = ''] = reference.split('#', 2)
  const { $id: id } = root
  if (document !== '' && (typeof id !== 'string' || document !== id.split('#', 1)[0])) return undefined
  const [first, ...names] = fragment.split('/')
  if (first !== '') return undefined
  try {
    return names.map((name) => fromPointer(decodeURIComponent(name))).reduce(partOf, root)
  } catch {
    return undefined
  }
}

function partOf(value: unknown, key: string): unknown {
  if (isJsonArray(value)) return value[Number(key)]
  return isObject(value) && Object.hasOwn(value, key) ? value[key] : undefined
}
