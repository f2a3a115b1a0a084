// From a stranger's schema to one that may be compiled.
//
// The schema is copied, never used: the copy has only the keywords that say
// something about a value, references lead only to subschemas that were copied
// and counted themselves, and what data can make run often carries its price.
// Whatever is too large or leads outside is refused before anything compiles it.

import { isJsonObject, type JsonObject } from './json-value.js'
import { SchemaCopy } from './schema-copy.js'
import { type Dialect, namedDialect } from './schema-keywords.js'
import { schemaLimits } from './schema-limits.js'

/** How the arguments of one tool are checked. */
export type SchemaPlan =
  /** They only have to be an object. */
  | { readonly kind: 'object' }
  | {
      readonly kind: 'compile'
      readonly dialect: Dialect
      readonly schema: JsonObject
      /** Whether a long string can be told from any other long string. */
      readonly readsLongStrings: boolean
    }

/** Reads a tool's `inputSchema`. Throws an Error when arguments are not to be checked; its message says why. */
export function planSchema(json: Buffer): SchemaPlan {
  if (json.length > schemaLimits.schemaBytesMax) throw new Error(`its schema has ${json.length} bytes`)
  const root = parse(json)
  if (root === true) return { kind: 'object' }
  if (!isJsonObject(root)) throw new Error('its schema is not an object')
  const named = root['$schema'] === undefined ? 'none' : namedDialect(root['$schema'])
  if (named === undefined) throw new Error('its schema names a dialect that is not known here')
  const copy = new SchemaCopy(root)
  const schema = copy.make()
  if (onlyObject(schema)) return { kind: 'object' }
  return { kind: 'compile', dialect: dialectOf(named, copy), schema, readsLongStrings: copy.readsLongStrings }
}

function parse(json: Buffer): unknown {
  try {
    return JSON.parse(json.toString())
  } catch {
    return undefined
  }
}

function onlyObject(schema: JsonObject): boolean {
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
