// What all the schemas that judge one object say of its members together.
//
// `required` may stand in one of them and the default in another.

import { isJsonArray, isJsonObject, type JsonObject, listOf, membersOf } from './json-value.js'

/** The members of one object, by name. */
export interface MemberFacts {
  /** Those that a server fills in, by whatever branch. */
  readonly defaults: ReadonlySet<unknown>
  /** Those that must be there whatever branch holds. */
  readonly required: ReadonlySet<unknown>
}

/** Where a reference leads. */
type Follow = (reference: string) => unknown

/** Schemas that always judge the same value, and those that may. */
const always = ['$ref', 'allOf'] as const
const perhaps = ['anyOf', 'oneOf', 'then', 'else', 'dependentSchemas', 'dependencies'] as const

/** The facts of a schema; costs no more than the schema is large. */
export function memberFacts(schema: JsonObject, follow: Follow): MemberFacts {
  const facts = { defaults: new Set<unknown>(), required: new Set<unknown>() }
  const met = new Set<unknown>()
  const walk = (one: unknown, isCertain: boolean): void => {
    if (!isJsonObject(one) || met.has(one)) return
    met.add(one)
    if (isCertain) for (const name of listOf(one['required'])) facts.required.add(name)
    for (const [name, property] of membersOf(one['properties']))
      if (hasDefault(property, follow, new Set())) facts.defaults.add(name)
    for (const next of schemasAt(one, always, follow)) walk(next, isCertain)
    for (const next of schemasAt(one, perhaps, follow)) walk(next, false)
  }
  walk(schema, true)
  return facts
}

function hasDefault(schema: unknown, follow: Follow, met: Set<unknown>): boolean {
  if (!isJsonObject(schema) || met.has(schema)) return false
  met.add(schema)
  return (
    Object.hasOwn(schema, 'default') ||
    schemasAt(schema, always, follow).some((next) => hasDefault(next, follow, met))
  )
}

function schemasAt(schema: JsonObject, keywords: readonly string[], follow: Follow): readonly unknown[] {
  return keywords.flatMap((keyword) => {
    const value = schema[keyword]
    if (typeof value === 'string') return [follow(value)]
    if (isJsonArray(value)) return value
    return keyword.startsWith('depend') ? membersOf(value).map(([, each]) => each) : [value]
  })
}
