// The copy of a schema that gets compiled, and what it will cost.

import { isJsonArray, isJsonObject, type JsonObject, listOf, membersOf, valuesIn } from './json-value.js'
import { type KeywordKind, keywords } from './schema-keywords.js'
import { schemaLimits } from './schema-limits.js'
import { SchemaReferences } from './schema-references.js'
import { shortText } from './long-strings.js'

type Schema = JsonObject | boolean

/** A copy in the making; good for one `make`. */
export class SchemaCopy {
  readonly #root: JsonObject
  readonly #references: SchemaReferences
  /** For `unevaluated…`: the names seen are handed up through every level, at a price per member and level. */
  readonly #countsEvaluated: boolean
  /** Reference targets and their place in `$defs`, in the order in which they were met. */
  readonly #targets = new Map<unknown, number>()
  /** What compiling costs. */
  #weight = 0
  /** What running costs and compiling does not: the values of enums, required names. */
  #values = 0
  /** Whether a long string can be told from any other long string. */
  readsLongStrings = false
  usesLateKeywords = false
  usesTuples = false

  constructor(root: JsonObject) {
    this.#root = root
    this.#references = new SchemaReferences(root)
    this.#countsEvaluated = namesUnevaluated(root)
  }

  /** Throws an Error when the schema must not be compiled; its message says why. */
  make(): JsonObject {
    const root = this.#schema(this.#root, 0, true)
    const targets: [string, Schema][] = []
    // Copying a target may add targets, which this loop then meets as well.
    for (const [target, index] of this.#targets) targets.push([`${index}`, this.#schema(target, 0, true)])
    const copy = typeof root === 'boolean' ? {} : root
    return targets.length === 0 ? copy : { ...copy, $defs: Object.fromEntries(targets) }
  }

  #schema(schema: unknown, depth: number, priced: boolean): Schema {
    if (typeof schema === 'boolean') return schema
    if (!isJsonObject(schema)) throw new Error('its schema has something other than a schema inside')
    if (depth > schemaLimits.depthMax) throw new Error('its schema is nested too deeply')
    const before = this.#price()
    this.#weigh(1)
    const copy: [string, unknown][] = []
    for (const [keyword, value] of Object.entries(schema)) this.#keyword(copy, schema, keyword, value, depth)
    // Says nothing about a value; what counts is that there is one.
    if (Object.hasOwn(schema, 'default')) copy.push(['default', true])
    if (copy.length === 0) return true
    copy.push(...this.#prices(schema, this.#price() - before, priced))
    return Object.fromEntries(copy)
  }

  #keyword(
    copy: [string, unknown][],
    schema: JsonObject,
    keyword: string,
    value: unknown,
    depth: number,
  ): void {
    const row = keywords.get(keyword)
    if (row === undefined || this.#isIdle(schema, keyword, value)) return
    this.#weigh(1)
    this.usesLateKeywords ||= row.traits.includes('late')
    this.usesTuples ||= keyword === 'additionalItems' || (keyword === 'items' && isJsonArray(value))
    if (row.kind === 'value') this.#note(keyword, value)
    // A reference of any kind becomes a plain one: see schema-references.ts.
    if (row.kind === 'reference') copy.push(['$ref', this.#reference(value)])
    else copy.push([keyword, this.#inside(row.kind, value, depth + 1, row.traits.includes('repeats'))])
  }

  /** Keywords that allow everything: an empty schema of a code generator need not be compiled for them. */
  #isIdle(schema: JsonObject, keyword: string, value: unknown): boolean {
    if (keyword === 'required') return isJsonArray(value) && value.length === 0
    if (keyword === 'properties') return isJsonObject(value) && Object.keys(value).length === 0
    if (keyword === 'uniqueItems') return value === false
    // ajv throws for it where there is no type; it has no meaning there either.
    if (keyword === 'nullable') return schema['type'] === undefined
    // What it allows counts as evaluated.
    const isAdditional = keyword === 'additionalProperties' || keyword === 'additionalItems'
    return isAdditional && value === true && !this.#countsEvaluated
  }

  #inside(kind: KeywordKind, value: unknown, depth: number, priced: boolean): unknown {
    if (kind === 'schemas' || (kind === 'schema-or-schemas' && isJsonArray(value))) {
      if (!isJsonArray(value)) throw new Error('its schema has no list where one belongs')
      return value.map((each) => this.#schema(each, depth, false))
    }
    if (kind === 'schemas-by-name') return this.#byName(value, depth, priced)
    return kind === 'value' ? value : this.#schema(value, depth, priced)
  }

  #byName(value: unknown, depth: number, priced: boolean): unknown {
    if (!isJsonObject(value)) throw new Error('its schema has no members where they belong')
    const copy: [string, unknown][] = []
    for (const [name, each] of Object.entries(value)) {
      // ajv passes over this name, and would then call the member unknown.
      if (name === '__proto__') throw new Error("its schema has a member named '__proto__'")
      // `dependencies` may name members instead of a schema.
      this.#weigh(1 + listOf(each).length)
      copy.push([name, isJsonArray(each) ? each : this.#schema(each, depth, priced)])
    }
    return Object.fromEntries(copy)
  }

  #reference(reference: unknown): string {
    const target = typeof reference === 'string' ? this.#references.locate(reference) : undefined
    if (target === undefined) throw new Error('its schema has a $ref that cannot be followed')
    if (target === this.#root) return '#'
    const index = this.#targets.get(target) ?? this.#targets.size
    this.#targets.set(target, index)
    return `#/$defs/${index}`
  }

  /** What a value keyword means for the price of a run, and for long strings. */
  #note(keyword: string, value: unknown): void {
    if (keyword === 'dependentRequired')
      for (const [, names] of membersOf(value)) this.#weigh(1 + listOf(names).length)
    if (keyword === 'enum' || keyword === 'const' || keyword === 'required') {
      for (const inner of valuesIn(value)) {
        this.#values += 1 + (typeof inner === 'string' ? inner.length >> 6 : 0)
        this.readsLongStrings ||= typeof inner === 'string' && inner.length > shortText
      }
    }
    const isLength = keyword === 'minLength' || keyword === 'maxLength'
    this.readsLongStrings ||=
      keyword === 'pattern' ||
      keyword === 'uniqueItems' ||
      (isLength && typeof value === 'number' && value > shortText)
  }

  /** The keywords that make a run pay: what the schema costs each time, and for each member it has to list. */
  #prices(schema: JsonObject, steps: number, priced: boolean): [string, number][] {
    const lists = memberLists(schema) + (this.#countsEvaluated ? 1 : 0)
    if (lists === 0 && !priced) return []
    return lists === 0
      ? [['steps', steps]]
      : [
          ['steps', steps],
          ['stepsPerMember', lists],
        ]
  }

  #price(): number {
    return this.#weight + (this.#values >> 2)
  }

  #weigh(weight: number): void {
    this.#weight += weight
    if (this.#weight > schemaLimits.weightMax) throw new Error('its schema is too large')
  }
}

function namesUnevaluated(root: JsonObject): boolean {
  for (const value of valuesIn(root)) {
    if (!isJsonObject(value)) continue
    if (Object.hasOwn(value, 'unevaluatedItems') || Object.hasOwn(value, 'unevaluatedProperties')) return true
  }
  return false
}

/** How many times one run of a schema lists the members of the value. */
function memberLists(schema: JsonObject): number {
  const listing = Object.keys(schema).filter((keyword) => keywords.get(keyword)?.traits.includes('lists'))
  const constants = [schema['const'], ...listOf(schema['enum'])]
  return listing.length + constants.filter(isJsonObject).length
}
