// From a stranger's schema to one that may be compiled.
//
// The schema is copied, never used: the copy has only the keywords that say
// something about a value, references lead only to subschemas that were copied
// and counted themselves, and what data can make run often carries its price.
// Whatever is too large or leads outside is refused before anything compiles it.

import { SchemaCopy, type Schema } from './schema-copy.js'
import { isJsonObject, type JsonObject } from './json-value.js'
import { type Dialect, namedDialect } from './schema-keywords.js'
import { schemaLimits } from './schema-limits.js'

/** How the arguments of one tool are checked. */
export type SchemaPlan =
  /** They only have to be an object. */
  | { readonly kind: 'object' }
  | { readonly kind: 'unchecked'; readonly reason: string }
  | {
      readonly kind: 'compile'
      readonly dialect: Dialect
      readonly schema: JsonObject
      /** Whether a long string can be told from any other long string. */
      readonly readsLongStrings: boolean
    }

/** Reads a tool's `inputSchema`; never throws. */
export function planSchema(json: Buffer): SchemaPlan {
  if (json.length > schemaLimits.schemaBytesMax) return unchecked(`its schema has ${json.length} bytes`)
  const root = parse(json)
  if (root === true) return { kind: 'object' }
  if (!isJsonObject(root)) return unchecked('its schema is not an object')
  const named = root['$schema'] === undefined ? 'none' : namedDialect(root['$schema'])
  if (named === undefined) return unchecked('its schema names a dialect that is not known here')
  const { copy, schema } = copyOf(root)
  if (schema === undefined) return unchecked(copy.refusal)
  if (onlyObject(schema)) return { kind: 'object' }
  return { kind: 'compile', dialect: dialectOf(named, copy), schema, readsLongStrings: copy.readsLongStrings }
}

interface Copied {
  readonly copy: SchemaCopy
  readonly schema: JsonObject | undefined
}

function copyOf(root: JsonObject): Copied {
  const copy = new SchemaCopy(root, false)
  const schema = copy.make()
  if (!copy.usesUnevaluated) return { copy, schema }
  const priced = new SchemaCopy(root, true)
  return { copy: priced, schema: priced.make() }
}

function parse(json: Buffer): unknown {
  try {
    return JSON.parse(json.toString())
  } catch {
    return undefined
  }
}

function unchecked(reason: string): SchemaPlan {
  return { kind: 'unchecked', reason }
}

function onlyObject(schema: Schema): boolean {
  if (typeof schema === 'boolean') return schema
  return Object.entries(schema).every(
    ([keyword, value]) =>
      keyword === 'steps' || keyword === 'default' || (keyword === 'type' && value === 'object'),
  )
}

/** The cheapest of ajv's builds that gives the answers of the named dialect. */
function dialectOf(named: Dialect | 'none', copy: SchemaCopy): Dialect {
  if (named === 'none') return copy.usesLateKeywords ? '2020-12' : 'draft-07'
  if (named === '2020-12' && copy.usesTuples) return named
  return copy.usesLateKeywords ? named : 'draft-07'
}
