// From a server's schema to one that ajv may compile.
//
// The schema is copied, never used. The copy is of 2020-12 and has only keywords that say something about a value; each
// `$ref` is replaced by what it refers to, and what data can make run often says how many steps it takes. `pattern`,
// `patternProperties` and `uniqueItems` are left out, since their cost is not bounded by the sizes of schema and data.

import {
  fromPointer,
  isJsonArray,
  isJsonObject,
  type JsonObject,
  listOf,
  membersOf,
  valuesIn,
} from './json-value.js'
import { argumentLimits } from './limits.js'

type Schema = JsonObject | boolean

/** What the steps of one run of a subschema depend on: what it is, how often it lists members, how often it counts characters. */
export type Steps = readonly [own: number, perMember: number, perText: number]

/** How a keyword's value is read. */
type Kind = 'value' | 'schema' | 'schemas' | 'by name'

const kinds: ReadonlyMap<string, Kind> = new Map(
  (
    [
      [
        'value',
        'type nullable enum const required minimum maximum exclusiveMinimum exclusiveMaximum multipleOf',
      ],
      ['value', 'minLength maxLength minItems maxItems minContains maxContains dependentRequired'],
      ['value', 'minProperties maxProperties'],
      ['schema', 'not if then else items contains additionalProperties propertyNames'],
      ['schema', 'unevaluatedItems unevaluatedProperties'],
      ['schemas', 'allOf anyOf oneOf prefixItems'],
      ['by name', 'properties dependencies dependentSchemas'],
    ] as const
  ).flatMap(([kind, names]) => names.split(' ').map((name) => [name, kind] as const)),
)

const references: ReadonlySet<string> = new Set(['$ref', '$dynamicRef', '$recursiveRef'])
/** Left out, so that the copy accepts more than the schema. */
const leftOut: ReadonlySet<string> = new Set(['pattern', 'patternProperties', 'uniqueItems'])
/** Of later drafts than draft-07. */
const late: ReadonlySet<string> = new Set(
  'minContains maxContains dependentRequired dependentSchemas unevaluatedItems unevaluatedProperties'.split(
    ' ',
  ),
)
/** Their subschemas apply to every item or member. */
const repeated: ReadonlySet<string> = new Set(
  'items contains additionalProperties propertyNames unevaluatedItems unevaluatedProperties'.split(' '),
)
/** They list the members of an object. */
const listing: ReadonlySet<string> = new Set(
  'minProperties maxProperties additionalProperties propertyNames unevaluatedProperties'.split(' '),
)

/** The schema is checked in a simpler way; the message says why. */
class UnusableSchema extends Error {}

/** A schema as ajv gets it. */
export interface SchemaCopy {
  readonly schema: JsonObject
  /** The arguments only have to be an object. */
  readonly isTrivial: boolean
}

/** Copies a schema of so many bytes. Throws an UnusableSchema. */
export function copySchema(root: JsonObject, bytes: number): SchemaCopy {
  if (bytes > argumentLimits.schemaBytesMax) throw new UnusableSchema(`its schema has ${bytes} bytes`)
  const schema = new Copier(root).copy()
  const isTrivial = Object.entries(schema).every(
    ([keyword, value]) => keyword === 'steps' || (keyword === 'type' && value === 'object'),
  )
  return { schema, isTrivial }
}

const draft07 = /^https?:\/\/json-schema\.org\/draft-0[67]\/schema#?$/
const later = /^https?:\/\/json-schema\.org\/draft\/20(?:19-09|20-12)\/schema#?$/

/** Reads a tool's `inputSchema`. Throws an UnusableSchema where it is no schema. */
export function parseSchema(json: Buffer): JsonObject | true {
  const root = json.length > argumentLimits.parsedBytesMax ? tooLong(json) : parsed(json)
  if (root === true) return true
  if (!isJsonObject(root)) throw new UnusableSchema('its schema is not an object')
  const { $schema: dialect } = root
  const isKnown =
    dialect === undefined || (typeof dialect === 'string' && (draft07.test(dialect) || later.test(dialect)))
  if (!isKnown) throw new UnusableSchema('its schema names a dialect that is not known here')
  return root
}

function tooLong({ length }: Buffer): never {
  throw new UnusableSchema(`its schema has ${length} bytes`)
}

function parsed(json: Buffer): unknown {
  try {
    return JSON.parse(json.toString())
  } catch {
    return undefined
  }
}

/** Makes one copy. */
class Copier {
  readonly #root: JsonObject
  readonly #references: SchemaReferences
  readonly #isDraft07: boolean
  /** For `unevaluated…`: the names seen are handed up through every level, at a price per member and level. */
  readonly #countsEvaluated: boolean
  readonly #hasPatterns: boolean
  /** Those whose copy is being made. */
  readonly #open = new Set<unknown>()
  #nodes = 0
  /** What a run costs besides its nodes: the values of enums, required names. */
  #values = 0
  /** How many keywords have been left out, or made weaker for one that was. */
  #weakened = 0

  constructor(root: JsonObject) {
    this.#root = root
    this.#references = new SchemaReferences(root)
    this.#isDraft07 = typeof root['$schema'] === 'string' && draft07.test(root['$schema'])
    const keywords = new Set(
      [...valuesIn(root)].flatMap((value) => (isJsonObject(value) ? Object.keys(value) : [])),
    )
    this.#countsEvaluated = keywords.has('unevaluatedItems') || keywords.has('unevaluatedProperties')
    this.#hasPatterns = keywords.has('patternProperties')
  }

  copy(): JsonObject {
    const copy = this.#schema(this.#root, 0, true)
    return typeof copy === 'boolean' ? {} : copy
  }

  #schema(schema: unknown, depth: number, isPriced: boolean): Schema {
    if (typeof schema === 'boolean') return schema
    if (!isJsonObject(schema)) throw new UnusableSchema('its schema has something other than a schema inside')
    if (depth > argumentLimits.depthMax) throw new UnusableSchema('its schema is nested too deeply')
    if (this.#open.has(schema)) throw new UnusableSchema('its schema refers to itself')
    this.#count()
    this.#open.add(schema)
    const before = this.#price
    const copy = this.#keywords(schema, depth)
    this.#open.delete(schema)
    // Whether there is a default is all that is read of it.
    if (Object.hasOwn(schema, 'default')) copy.set('default', true)
    if (copy.size === 0) return true
    const steps = this.#stepsOf(copy, this.#price - before)
    if (isPriced || steps[1] > 0 || steps[2] > 0) copy.set('steps', steps)
    return Object.fromEntries(copy)
  }

  #keywords(schema: JsonObject, depth: number): Map<string, unknown> {
    const copy = new Map<string, unknown>()
    const targets: Schema[] = []
    const weaker = new Set<string>()
    for (const [keyword, value] of Object.entries(asTuples(schema))) {
      const before = this.#weakened
      if (references.has(keyword)) targets.push(this.#schema(this.#target(value), depth + 1, false))
      else if (leftOut.has(keyword)) this.#weakened += value === false ? 0 : 1
      else if (this.#isUsed(schema, keyword, value)) {
        this.#count()
        copy.set(keyword, this.#inside(keyword, value, depth + 1))
        if (this.#weakened > before) weaker.add(keyword)
      }
    }
    if (targets.length > 0) copy.set('allOf', [...targets, ...listOf(copy.get('allOf'))])
    weaken(copy, weaker)
    return copy
  }

  #isUsed(schema: JsonObject, keyword: string, value: unknown): boolean {
    if (!kinds.has(keyword) || (this.#isDraft07 && late.has(keyword))) return false
    // What a pattern may allow is not closed.
    if (keyword === 'additionalProperties' && Object.hasOwn(schema, 'patternProperties')) return false
    if (keyword === 'unevaluatedProperties' && this.#hasPatterns) return false
    // ajv throws for it where there is no type; it has no meaning there either.
    if (keyword === 'nullable') return schema['type'] !== undefined
    if (keyword === 'required') return listOf(value).length > 0
    if (keyword === 'properties') return !isJsonObject(value) || Object.keys(value).length > 0
    return true
  }

  #inside(keyword: string, value: unknown, depth: number): unknown {
    const isPriced = repeated.has(keyword)
    switch (kinds.get(keyword)) {
      case 'schema':
        return this.#schema(value, depth, isPriced)
      case 'schemas':
        if (!isJsonArray(value)) throw new UnusableSchema('its schema has no list where one belongs')
        return value.map((each) => this.#schema(each, depth, false))
      case 'by name':
        return this.#byName(value, depth)
      case 'value':
      case undefined:
        this.#note(keyword, value)
        return value
    }
  }

  #byName(value: unknown, depth: number): JsonObject {
    if (!isJsonObject(value)) throw new UnusableSchema('its schema has no members where they belong')
    const members = Object.entries(value).map(([name, each]) => {
      // ajv passes over this name, and would then call the member unknown.
      if (name === '__proto__') throw new UnusableSchema("its schema has a member named '__proto__'")
      // `dependencies` may name members instead of a schema.
      if (isJsonArray(each)) for (const _name of each) this.#count()
      return [name, isJsonArray(each) ? each : this.#schema(each, depth, false)] as const
    })
    return Object.fromEntries(members)
  }

  #count(): void {
    if (++this.#nodes > argumentLimits.nodesMax) throw new UnusableSchema('its schema is too large')
  }

  #target(reference: unknown): unknown {
    const target = typeof reference === 'string' ? this.#references.locate(reference) : undefined
    if (target === undefined) throw new UnusableSchema('its schema has a $ref that cannot be followed')
    return target
  }

  /** What a value means for the price of a run. */
  #note(keyword: string, value: unknown): void {
    if (keyword === 'dependentRequired')
      for (const [, names] of membersOf(value)) for (const _name of listOf(names)) this.#count()
    if (keyword === 'enum' || keyword === 'const' || keyword === 'required')
      for (const inner of valuesIn(value))
        this.#values += 1 + (typeof inner === 'string' ? inner.length >> 6 : 0)
  }

  get #price(): number {
    return this.#nodes + (this.#values >> 2)
  }

  #stepsOf(copy: ReadonlyMap<string, unknown>, own: number): Steps {
    const names = [...copy.keys()]
    const constants = [copy.get('const'), ...listOf(copy.get('enum'))].filter(isJsonObject)
    const lists = names.filter((name) => listing.has(name)).length + constants.length
    const texts = names.filter((name) => name === 'minLength' || name === 'maxLength').length
    return [own, lists + (this.#countsEvaluated ? 1 : 0), texts]
  }
}

/** Where something was left out inside, a keyword that refuses what fits its subschema would refuse too much. */
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

// Resolves a `$ref` inside one schema document.
//
// Nothing is fetched, and no other document is ever looked at: what does not
// lead to a place inside the document leads nowhere. In one document without
// embedded ids, `$dynamicRef` and `$recursiveRef` lead where `$ref` would.

/** The references of one document. */
class SchemaReferences {
  readonly #root: JsonObject
  /** Made on the first reference, in one pass: a search for each would make a quadratic bomb. */
  #anchors: ReadonlyMap<string, JsonObject> | undefined

  constructor(root: JsonObject) {
    this.#root = root
  }

  /** The value that `reference` names; undefined when it cannot be followed. */
  locate(reference: string): unknown {
    this.#anchors ??= anchorsIn(this.#root)
    const fragment = fragmentOf(this.#root, reference)
    if (this.#anchors === undefined || fragment === undefined) return undefined
    if (fragment === '') return this.#root
    return fragment.startsWith('/') ? atPointer(this.#root, fragment) : this.#anchors.get(fragment)
  }
}

/** Undefined where ids are embedded: a reference may start from any of them, and nobody's tools need that. */
function anchorsIn(root: JsonObject): ReadonlyMap<string, JsonObject> | undefined {
  const anchors = new Map<string, JsonObject>()
  for (const value of valuesIn(root)) {
    if (!isJsonObject(value)) continue
    const id = value['$id']
    const isAnchor = typeof id === 'string' && id.startsWith('#')
    if (typeof id === 'string' && !isAnchor && value !== root) return undefined
    for (const name of [value['$anchor'], value['$dynamicAnchor'], isAnchor ? id.slice(1) : undefined]) {
      if (typeof name === 'string') anchors.set(name, value)
    }
  }
  return anchors
}

/** The part behind `#`; undefined where the reference leads to another document. */
function fragmentOf(root: JsonObject, reference: string): string | undefined {
  const [document = '', fragment = ''] = reference.split('#', 2)
  const id = root['$id']
  if (document !== '' && (typeof id !== 'string' || document !== id.split('#', 1)[0])) return undefined
  try {
    return decodeURIComponent(fragment)
  } catch {
    return undefined
  }
}

function atPointer(root: JsonObject, pointer: string): unknown {
  let value: unknown = root
  for (const key of pointer.slice(1).split('/').map(fromPointer)) {
    if (isJsonArray(value)) value = value[Number(key)]
    else if (isJsonObject(value) && Object.hasOwn(value, key)) value = value[key]
    else return undefined
  }
  return value
}
