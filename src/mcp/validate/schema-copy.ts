// The copy of a schema that gets compiled, and what it will cost.

import { isJsonArray, isJsonObject, type JsonObject, valuesIn } from './json-value.js'
import { type KeywordKind, keywords } from './schema-keywords.js'
import { schemaLimits } from './schema-limits.js'
import { SchemaReferences } from './schema-references.js'
import { shortText } from './long-strings.js'

export type Schema = JsonObject | boolean

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
  #refusal: string | undefined
  readsLongStrings = false
  usesLateKeywords = false
  usesUnevaluated = false
  usesTuples = false

  constructor(root: JsonObject, countsEvaluated: boolean) {
    this.#root = root
    this.#references = new SchemaReferences(root)
    this.#countsEvaluated = countsEvaluated
  }

  /** Undefined when the schema must not be compiled; `refusal` says why. */
  make(): JsonObject | undefined {
    const root = this.#schema(this.#root, 0, true)
    const targets: [string, Schema][] = []
    // Copying a target may add targets, which this loop then meets as well.
    for (const [target, index] of this.#targets) targets.push([`${index}`, this.#schema(target, 0, true)])
    if (this.#refusal !== undefined) return undefined
    const copy = typeof root === 'boolean' ? {} : root
    return targets.length === 0 ? copy : { ...copy, $defs: Object.fromEntries(targets) }
  }

  get refusal(): string {
    return this.#refusal ?? 'its schema was not read'
  }

  #schema(schema: unknown, depth: number, priced: boolean): Schema {
    if (typeof schema === 'boolean') return schema
    if (!isJsonObject(schema)) return this.#refuse('its schema has something other than a schema inside')
    if (depth > schemaLimits.depthMax) return this.#refuse('its schema is nested too deeply')
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
    if (row === undefined || this.#refusal !== undefined || this.#isIdle(schema, keyword, value)) return
    this.#weigh(1)
    if (row.late) this.usesLateKeywords = true
    if (keyword.startsWith('unevaluated')) this.usesUnevaluated = true
    if (keyword === 'additionalItems' || (keyword === 'items' && isJsonArray(value))) this.usesTuples = true
    if (row.kind === 'value') this.#note(keyword, value)
    // A reference of any kind becomes a plain one: see schema-references.ts.
    if (row.kind === 'reference') copy.push(['$ref', this.#reference(value)])
    else copy.push([keyword, this.#inside(row.kind, value, depth + 1, row.repeats)])
  }

  /** Keywords that allow everything: an empty schema of a code generator need not be compiled for them. */
  #isIdle(schema: JsonObject, keyword: string, value: unknown): boolean {
    if (keyword === 'required') return isJsonArray(value) && value.length === 0
    if (keyword === 'properties') return isJsonObject(value) && Object.keys(value).length === 0
    // ajv throws for it where there is no type; it has no meaning there either.
    if (keyword === 'nullable') return schema['type'] === undefined
    // What it allows counts as evaluated.
    const isAdditional = keyword === 'additionalProperties' || keyword === 'additionalItems'
    return isAdditional && value === true && !this.#countsEvaluated
  }

  #inside(kind: KeywordKind, value: unknown, depth: number, priced: boolean): unknown {
    if (kind === 'schemas' || (kind === 'schema-or-schemas' && isJsonArray(value))) {
      if (!isJsonArray(value)) return this.#refuse('its schema has no list where one belongs')
      return value.map((each) => this.#refusal === undefined && this.#schema(each, depth, false))
    }
    if (kind === 'schemas-by-name') return this.#byName(value, depth, priced)
    return kind === 'value' ? value : this.#schema(value, depth, priced)
  }

  #byName(value: unknown, depth: number, priced: boolean): unknown {
    if (!isJsonObject(value)) return this.#refuse('its schema has no members where they belong')
    const copy: [string, unknown][] = []
    for (const [name, each] of Object.entries(value)) {
      if (this.#refusal !== undefined) break
      // ajv passes over this name, and would then call the member unknown.
      if (name === '__proto__') return this.#refuse("its schema has a member named '__proto__'")
      this.#weigh(1)
      // `dependencies` may name members instead of a schema.
      if (isJsonArray(each)) this.#weigh(each.length)
      copy.push([name, isJsonArray(each) ? each : this.#schema(each, depth, priced)])
    }
    return Object.fromEntries(copy)
  }

  #reference(reference: unknown): string {
    const target = typeof reference === 'string' ? this.#references.locate(reference) : undefined
    if (target === undefined) this.#refuse('its schema has a $ref that cannot be followed')
    if (target === this.#root) return '#'
    const index = this.#targets.get(target) ?? this.#targets.size
    this.#targets.set(target, index)
    return `#/$defs/${index}`
  }

  /** What a value keyword means for the price of a run, and for long strings. */
  #note(keyword: string, value: unknown): void {
    if (keyword === 'dependentRequired' && isJsonObject(value)) {
      for (const names of Object.values(value)) this.#weigh(1 + (isJsonArray(names) ? names.length : 0))
    }
    if (keyword === 'enum' || keyword === 'const' || keyword === 'required') {
      for (const inner of valuesIn(value)) {
        this.#values += 1 + (typeof inner === 'string' ? inner.length >> 6 : 0)
        if (typeof inner === 'string' && inner.length > shortText) this.readsLongStrings = true
      }
    }
    const isLong = typeof value === 'number' && value > shortText
    if (keyword === 'pattern' || (keyword === 'uniqueItems' && value === true)) this.readsLongStrings = true
    if ((keyword === 'minLength' || keyword === 'maxLength') && isLong) this.readsLongStrings = true
  }

  /** The keywords that make a run pay: what the schema costs each time, and for each member it has to list. */
  #prices(schema: JsonObject, steps: number, priced: boolean): [string, number][] {
    const lists = memberLists(schema) + (this.#countsEvaluated ? 1 : 0)
    if (lists > 0)
      return [
        ['steps', steps],
        ['stepsPerMember', lists],
      ]
    return priced ? [['steps', steps]] : []
  }

  #price(): number {
    return this.#weight + (this.#values >> 2)
  }

  #weigh(weight: number): void {
    this.#weight += weight
    if (this.#weight > schemaLimits.weightMax) this.#refuse('its schema is too large')
  }

  #refuse(reason: string): true {
    this.#refusal ??= reason
    return true
  }
}

/** How many times one run of a schema lists the members of the value. */
function memberLists(schema: JsonObject): number {
  let lists = 0
  for (const keyword of Object.keys(schema)) if (keywords.get(keyword)?.listsMembers === true) lists++
  const constants = [schema['const'], ...(isJsonArray(schema['enum']) ? schema['enum'] : [])]
  return lists + constants.filter(isJsonObject).length
}
