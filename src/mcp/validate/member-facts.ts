// What all the schemas that judge one object say of its members together.
//
// `required` may stand in one of them and the default in another.

import { isJsonArray, isJsonObject, type JsonObject } from './json-value.js'
import type { Schema } from './schema-copy.js'

/** The members of one object, by name. */
export interface MemberFacts {
  /** Those that a server fills in, by whatever branch. */
  readonly defaults: ReadonlySet<string>
  /** Those that must be there whatever branch holds. */
  readonly required: ReadonlySet<string>
}

/** Where a reference leads. */
type Follow = (reference: string) => Schema

/** Schemas that always judge the same value, and those that may. */
const always = ['$ref', 'allOf'] as const
const perhaps = ['anyOf', 'oneOf', 'then', 'else', 'dependentSchemas', 'dependencies'] as const

/** The facts of a schema; costs no more than the schema is large. */
export function memberFacts(schema: JsonObject, follow: Follow): MemberFacts {
  const facts = { defaults: new Set<string>(), required: new Set<string>() }
  const met = new Set<unknown>()
  const walk = (one: unknown, isCertain: boolean): void => {
    if (!isJsonObject(one) || met.has(one)) return
    met.add(one)
    note(one, isCertain, facts, follow)
    for (const keyword of always) for (const next of schemasAt(one, keyword, follow)) walk(next, isCertain)
    for (const keyword of perhaps) for (const next of schemasAt(one, keyword, follow)) walk(next, false)
  }
  walk(schema, true)
  return facts
}

function note(
  schema: JsonObject,
  isCertain: boolean,
  { defaults, required }: { readonly defaults: Set<string>; readonly required: Set<string> },
  follow: Follow,
): void {
  const { properties, required: names } = schema
  if (isCertain && isJsonArray(names))
    for (const name of names) if (typeof name === 'string') required.add(name)
  if (!isJsonObject(properties)) return
  for (const [name, property] of Object.entries(properties))
    if (hasDefault(property, follow, new Set())) defaults.add(name)
}

function hasDefault(schema: unknown, follow: Follow, met: Set<unknown>): boolean {
  if (!isJsonObject(schema) || met.has(schema)) return false
  met.add(schema)
  if (Object.hasOwn(schema, 'default')) return true
  return always.some((keyword) =>
    schemasAt(schema, keyword, follow).some((next) => hasDefault(next, follow, met)),
  )
}

function schemasAt(schema: JsonObject, keyword: string, follow: Follow): readonly unknown[] {
  const value = schema[keyword]
  if (value === undefined) return []
  if (typeof value === 'string') return [follow(value)]
  if (isJsonArray(value)) return value
  const isByName = keyword.startsWith('depend')
  return isByName && isJsonObject(value) ? Object.values(value) : [value]
}
