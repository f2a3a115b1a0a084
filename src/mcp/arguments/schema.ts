// From a server's schema to one that ajv may compile.
//
// The schema is copied, never used. The copy is of 2020-12 and has only keywords that say something about a value. Each
// `$ref` is replaced by its target, and subschemas that data can make run often say how many steps a run takes. `pattern`,
// `patternProperties` and `uniqueItems` are left out, since the sizes of schema and data do not bound their cost.

import { entriesOf, fromPointer, isJsonArray, listOf } from './json-value.js'
import { type JsonObject, isObject } from '../../text/json-object.js'

/** The limits of a schema from a server, and of one check. */
export const argumentLimits = {
  /** A tool's schema as JSON. Parsing more takes longer than all that follows. */
  schemaBytesMax: 262_144,
  /** A larger schema is not even parsed for its required names. */
  parsedBytesMax: 2_097_152,
  /** Subschemas and keywords, with each `$ref` replaced by its target. ajv takes 0.1 to 0.3 ms for one while its code is cold. */
  nodesMax: 1_000,
  /** Nested subschemas. ajv recurses several frames a level and overflows somewhere past 100. */
  depthMax: 32,
  /** Steps of one run; a step is about one keyword applied to one value, 10 to 300 ns. */
  stepsMax: 100_000,
  /** Calls that may run out of steps before the schema is no longer run at all. */
  overrunsMax: 3,
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

/** The values that the subschemas of a keyword are about; `value` has no subschemas, and a condition only decides about others. */
type Kind =
  | 'same each'
  | 'same at times'
  | 'condition'
  | 'conditions'
  | 'item'
  | 'item each'
  | 'member'
  | 'members'
  | 'value'

const kinds: ReadonlyMap<string, Kind> = new Map(
  (
    [
      ['value', 'type nullable enum const required minimum maximum exclusiveMinimum exclusiveMaximum'],
      ['value', 'multipleOf minLength maxLength minItems maxItems minContains maxContains'],
      ['value', 'dependentRequired minProperties maxProperties'],
      ['same each', 'allOf anyOf oneOf'],
      ['same at times', 'then else'],
      ['condition', 'not if'],
      ['conditions', 'dependencies dependentSchemas'],
      ['item', 'items contains propertyNames unevaluatedItems'],
      ['item each', 'prefixItems'],
      ['member', 'additionalProperties unevaluatedProperties'],
      ['members', 'properties'],
    ] as const
  ).flatMap(([kind, names]) => names.split(' ').map((name) => [name, kind] as const)),
)

const references: ReadonlySet<string> = new Set(['$ref', '$dynamicRef', '$recursiveRef'])
/** The copy is without these, so it accepts more than the schema. */
const leftOut: ReadonlySet<string> = new Set(['pattern', 'patternProperties', 'uniqueItems'])
/** Keywords of later drafts than draft-07. */
const late = /^(?:m(?:in|ax)Contains|dependent|unevaluated)/
/** Keywords that list the members of an object. */
const listing = /^(?:m(?:in|ax)Properties|additionalProperties|propertyNames|unevaluatedProperties)$/

const draft07 = /^https?:\/\/json-schema\.org\/draft-0[67]\/schema#?$/
const later = /^https?:\/\/json-schema\.org\/draft\/20(?:19-09|20-12)\/schema#?$/

/** Reads a tool's `inputSchema`. Throws an UnusableSchema where it is no schema. */
export function parseSchema(json: Buffer): JsonObject | true {
  if (json.length > argumentLimits.parsedBytesMax)
    throw new UnusableSchema(`its schema has ${json.length} bytes`)
  const root = parsed(json)
  if (root === true) return true
  if (!isObject(root)) throw new UnusableSchema('its schema is not an object')
  const { $schema: dialect } = root
  const isKnown =
    dialect === undefined || (typeof dialect === 'string' && (draft07.test(dialect) || later.test(dialect)))
  if (!isKnown) throw new UnusableSchema('its schema names a dialect that is not known here')
  return root
}

function parsed(json: Buffer): unknown {
  try {
    return JSON.parse(json.toString())
  } catch {
    return undefined
  }
}

/** Copies a schema of so many bytes; undefined where arguments only have to be an object. Throws an UnusableSchema. */
export function copySchema(root: JsonObject, bytes: number): JsonObject | undefined {
  if (bytes > argumentLimits.schemaBytesMax) throw new UnusableSchema(`its schema has ${bytes} bytes`)
  const copy = new Copier(root).schema(root, new Place(false), 0, true)
  if (typeof copy === 'boolean') return undefined
  const { steps: _steps, place: _place, type, ...others } = copy
  const isTrivial = Object.keys(others).length === 0 && (type === undefined || type === 'object')
  return isTrivial ? undefined : copy
}

/** Makes one copy. */
class Copier {
  readonly #root: JsonObject
  /** Made on the first reference, in one pass: a search for each would make a quadratic bomb. */
  #anchors: Anchors | undefined
  readonly #isDraft07: boolean
  /** `unevaluated…` hands the names that were seen up through every level, at a price per member and level. */
  readonly #countsEvaluated: boolean
  readonly #hasPatterns: boolean
  /** The schemas whose copy is being made. */
  readonly #open = new Set<unknown>()
  #nodes = 0
  /** The cost of a run: the nodes, the values of enums, required names. */
  #price = 0
  /** How many keywords have been left out, or made weaker for one that was. */
  #weakened = 0

  constructor(root: JsonObject) {
    this.#root = root
    this.#isDraft07 = typeof root['$schema'] === 'string' && draft07.test(root['$schema'])
    const keywords = new Set([...valuesIn(root)].flatMap((value) => entriesOf(value).map(([name]) => name)))
    this.#countsEvaluated = keywords.has('unevaluatedItems') || keywords.has('unevaluatedProperties')
    this.#hasPatterns = keywords.has('patternProperties')
  }

  schema(schema: unknown, place: Place, depth: number, isPriced: boolean): Schema {
    if (typeof schema === 'boolean') return schema
    if (!isObject(schema)) throw new UnusableSchema('its schema has something other than a schema inside')
    if (depth > argumentLimits.depthMax) throw new UnusableSchema('its schema is nested too deeply')
    if (this.#open.has(schema)) throw new UnusableSchema('its schema refers to itself')
    this.#count()
    this.#open.add(schema)
    const before = this.#price
    const copy = this.#keywords(schema, place, depth)
    this.#open.delete(schema)
    if (Object.hasOwn(schema, 'default')) place.hasDefault = true
    if (copy.size === 0) return true
    const [perMember, perText] = this.#ratesOf(copy)
    if (isPriced || perMember + perText > 0) copy.set('steps', [this.#price - before, perMember, perText])
    return Object.fromEntries(copy.set('place', place))
  }

  #keywords(schema: JsonObject, place: Place, depth: number): Map<string, unknown> {
    const copy = new Map<string, unknown>()
    const targets: Schema[] = []
    const weaker = new Set<string>()
    for (const [keyword, value] of Object.entries(asTuples(schema))) {
      const before = this.#weakened
      if (references.has(keyword)) targets.push(this.schema(this.#target(value), place, depth + 1, false))
      else if (leftOut.has(keyword)) this.#weakened += value === false ? 0 : 1
      else if (this.#isUsed(schema, keyword, value)) {
        this.#count()
        copy.set(keyword, this.#inside(keyword, value, schema, place, depth + 1))
        if (this.#weakened > before) weaker.add(keyword)
      }
    }
    if (targets.length > 0) copy.set('allOf', [...targets, ...listOf(copy.get('allOf'))])
    weaken(copy, weaker)
    return copy
  }

  #isUsed(schema: JsonObject, keyword: string, value: unknown): boolean {
    if (!kinds.has(keyword) || (this.#isDraft07 && late.test(keyword))) return false
    // A pattern that was left out may allow the member.
    if (keyword === 'additionalProperties' && Object.hasOwn(schema, 'patternProperties')) return false
    if (keyword === 'unevaluatedProperties' && this.#hasPatterns) return false
    // ajv throws for it where there is no type; it has no meaning there either.
    if (keyword === 'nullable') return schema['type'] !== undefined
    if (keyword === 'required') return listOf(value).length > 0
    if (keyword === 'properties') return !isObject(value) || Object.keys(value).length > 0
    return true
  }

  #inside(keyword: string, value: unknown, owner: JsonObject, place: Place, depth: number): unknown {
    const kind = kinds.get(keyword)
    switch (kind) {
      case 'same at times': {
        const { hasDefault } = place
        const copy = this.schema(value, place, depth, false)
        // A schema that does not always hold gives the value no default.
        place.hasDefault = hasDefault
        return copy
      }
      case 'condition':
        return this.schema(value, new Place(place.isOptional), depth, false)
      case 'item':
      case 'member':
        return this.schema(value, new Place(kind === 'member'), depth, true)
      case 'same each':
      case 'item each':
        if (!isJsonArray(value)) throw new UnusableSchema('its schema has no list where one belongs')
        return value.map((each) =>
          this.schema(each, kind === 'same each' ? place : new Place(false), depth, false),
        )
      case 'conditions':
        return this.#byName(value, (_name, each) =>
          this.schema(each, new Place(place.isOptional), depth, false),
        )
      case 'members':
        return this.#byName(value, (name, each) => this.#member(name, each, owner, place, depth))
      case 'value':
      case undefined:
        this.#payFor(keyword, value)
        return value
    }
  }

  #byName(value: unknown, copied: (name: string, each: unknown) => Schema): JsonObject {
    if (!isObject(value)) throw new UnusableSchema('its schema has no members where they belong')
    const members = Object.entries(value).map(([name, each]) => {
      // ajv passes over this name, and would then call the member unknown.
      if (name === '__proto__') throw new UnusableSchema("its schema has a member named '__proto__'")
      // `dependencies` may name members instead of a schema.
      if (isJsonArray(each)) for (const _name of each) this.#count()
      return [name, isJsonArray(each) ? each : copied(name, each)] as const
    })
    return Object.fromEntries(members)
  }

  #member(name: string, schema: unknown, { required }: JsonObject, place: Place, depth: number): Schema {
    const inner = new Place(!listOf(required).includes(name))
    const copy = this.schema(schema, inner, depth, false)
    if (inner.hasDefault) place.filled.add(name)
    inner.isOptional ||= inner.hasDefault
    return copy
  }

  #target(reference: unknown): unknown {
    this.#anchors ??= anchorsIn(this.#root)
    const target = located(this.#root, this.#anchors, reference)
    if (target === undefined) throw new UnusableSchema('its schema has a $ref that cannot be followed')
    return target
  }

  #count(): void {
    this.#price++
    if (++this.#nodes > argumentLimits.nodesMax) throw new UnusableSchema('its schema is too large')
  }

  #payFor(keyword: string, value: unknown): void {
    if (keyword === 'dependentRequired')
      for (const [, names] of entriesOf(value)) for (const _name of listOf(names)) this.#count()
    if (keyword === 'enum' || keyword === 'const' || keyword === 'required')
      for (const inner of valuesIn(value))
        this.#price += (1 + (typeof inner === 'string' ? inner.length >> 6 : 0)) / 4
  }

  /** How often a run of the schema itself lists the members of the value, and counts its characters. */
  #ratesOf(copy: ReadonlyMap<string, unknown>): readonly [perMember: number, perText: number] {
    const names = [...copy.keys()]
    const constants = [copy.get('const'), ...listOf(copy.get('enum'))].filter(isObject)
    const lists = names.filter((name) => listing.test(name)).length + constants.length
    const texts = names.filter((name) => name === 'minLength' || name === 'maxLength').length
    return [lists + (this.#countsEvaluated ? 1 : 0), texts]
  }
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

/**
 * The value that a reference names in a document; undefined where it leads to none.
 *
 * The proxy fetches nothing and looks at no other document. In one document without embedded ids, `$dynamicRef` and
 * `$recursiveRef` lead where `$ref` would.
 */
function located(root: JsonObject, anchors: Anchors, reference: unknown): unknown {
  const fragment = typeof reference === 'string' ? fragmentOf(root, reference) : undefined
  if (fragment === undefined) return undefined
  if (fragment !== '' && !fragment.startsWith('/')) return anchors.get(fragment)
  return fragment.split('/').slice(1).map(fromPointer).reduce(partOf, root)
}

function partOf(value: unknown, key: string): unknown {
  if (isJsonArray(value)) return value[Number(key)]
  return isObject(value) && Object.hasOwn(value, key) ? value[key] : undefined
}

type Anchors = ReadonlyMap<string, JsonObject>

function anchorsIn(root: JsonObject): Anchors {
  const anchors = new Map<string, JsonObject>()
  for (const value of valuesIn(root)) {
    if (!isObject(value)) continue
    const id = value['$id']
    const isAnchor = typeof id === 'string' && id.startsWith('#')
    // A reference may start from any embedded id, and no real tool has one.
    if (typeof id === 'string' && !isAnchor && value !== root)
      throw new UnusableSchema('its schema has a $ref and embedded ids')
    for (const name of [value['$anchor'], value['$dynamicAnchor'], isAnchor ? id.slice(1) : undefined])
      if (typeof name === 'string') anchors.set(name, value)
  }
  return anchors
}

/** The part behind `#`; undefined where the reference leads to another document. */
function fragmentOf({ $id: id }: JsonObject, reference: string): string | undefined {
  const [document = '', fragment = ''] = reference.split('#', 2)
  if (document !== '' && (typeof id !== 'string' || document !== id.split('#', 1)[0])) return undefined
  try {
    return decodeURIComponent(fragment)
  } catch {
    return undefined
  }
}

/** Every value inside `root`, itself first; a loop, since strangers nest deeper than the stack. */
function* valuesIn(root: unknown): Generator {
  const waiting: unknown[] = [root]
  while (waiting.length > 0) {
    const value = waiting.pop()
    yield value
    if (typeof value === 'object' && value !== null)
      for (const inner of Object.values(value)) waiting.push(inner)
  }
}
