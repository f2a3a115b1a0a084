// The keywords of JSON Schema that say something about a value.
//
// Only these reach ajv. Everything else is an annotation, or a keyword of ajv's
// own ($async, $data, discriminator) that strangers have no business with.

/** The kinds of values of a keyword. */
export type KeywordKind =
  'value' | 'schema' | 'schemas' | 'schema-or-schemas' | 'schemas-by-name' | 'reference'

interface KeywordRow {
  readonly kind: KeywordKind
  /** Its subschemas apply to every item or member, so that data decides how often they run. */
  readonly repeats: boolean
  /** Lists the members of the value, whatever the keyword then does with them. */
  readonly listsMembers: boolean
  /** Absent from draft-07, or of another meaning there. */
  readonly late: boolean
}

type Trait = 'repeats' | 'lists' | 'late'

const row = (kind: KeywordKind, ...traits: readonly Trait[]): KeywordRow => ({
  kind,
  repeats: traits.includes('repeats'),
  listsMembers: traits.includes('lists'),
  late: traits.includes('late'),
})

export const keywords: ReadonlyMap<string, KeywordRow> = new Map([
  ['type', row('value')],
  ['nullable', row('value')],
  ['enum', row('value')],
  ['const', row('value')],
  ['minimum', row('value')],
  ['maximum', row('value')],
  ['exclusiveMinimum', row('value')],
  ['exclusiveMaximum', row('value')],
  ['multipleOf', row('value')],
  ['minLength', row('value')],
  ['maxLength', row('value')],
  ['pattern', row('value')],
  ['minItems', row('value')],
  ['maxItems', row('value')],
  ['uniqueItems', row('value')],
  ['minContains', row('value', 'late')],
  ['maxContains', row('value', 'late')],
  ['required', row('value')],
  ['minProperties', row('value', 'lists')],
  ['maxProperties', row('value', 'lists')],
  ['dependentRequired', row('value', 'late')],
  ['not', row('schema')],
  ['if', row('schema')],
  ['then', row('schema')],
  ['else', row('schema')],
  ['allOf', row('schemas')],
  ['anyOf', row('schemas')],
  ['oneOf', row('schemas')],
  ['items', row('schema-or-schemas', 'repeats')],
  ['prefixItems', row('schemas', 'late')],
  ['additionalItems', row('schema', 'repeats')],
  ['contains', row('schema', 'repeats')],
  ['unevaluatedItems', row('schema', 'repeats', 'late')],
  ['properties', row('schemas-by-name')],
  ['patternProperties', row('schemas-by-name', 'repeats', 'lists')],
  ['additionalProperties', row('schema', 'repeats', 'lists')],
  ['propertyNames', row('schema', 'repeats', 'lists')],
  ['unevaluatedProperties', row('schema', 'repeats', 'lists', 'late')],
  ['dependentSchemas', row('schemas-by-name', 'late')],
  ['dependencies', row('schemas-by-name')],
  ['$ref', row('reference')],
  ['$dynamicRef', row('reference')],
  ['$recursiveRef', row('reference')],
])

/** Which of ajv's builds runs a schema. */
export type Dialect = 'draft-07' | '2019-09' | '2020-12'

const dialects: readonly (readonly [RegExp, Dialect])[] = [
  [/^https?:\/\/json-schema\.org\/draft-0[67]\/schema#?$/, 'draft-07'],
  [/^https?:\/\/json-schema\.org\/draft\/2019-09\/schema#?$/, '2019-09'],
  [/^https?:\/\/json-schema\.org\/draft\/2020-12\/schema#?$/, '2020-12'],
]

/** The dialect that `$schema` names; undefined for an unsupported one. */
export function namedDialect(name: unknown): Dialect | undefined {
  if (typeof name !== 'string') return undefined
  return dialects.find(([uri]) => uri.test(name))?.[1]
}
