// The keywords of JSON Schema that say something about a value.
//
// Only these reach ajv. Everything else is an annotation, or a keyword of ajv's
// own ($async, $data, discriminator) that strangers have no business with.

/** The kinds of values of a keyword. */
export type KeywordKind =
  'value' | 'schema' | 'schemas' | 'schema-or-schemas' | 'schemas-by-name' | 'reference'

/**
 * - `repeats`: its subschemas apply to every item or member, so that data decides how often they run.
 * - `lists`: lists the members of the value, whatever the keyword then does with them.
 * - `late`: absent from draft-07, or of another meaning there.
 */
type Trait = 'repeats' | 'lists' | 'late'

const rows: readonly (readonly [kind: KeywordKind, traits: readonly Trait[], keywords: readonly string[]])[] =
  [
    ['value', [], ['type', 'nullable', 'enum', 'const', 'required']],
    ['value', [], ['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf']],
    ['value', [], ['minLength', 'maxLength', 'pattern', 'minItems', 'maxItems', 'uniqueItems']],
    ['value', ['late'], ['minContains', 'maxContains', 'dependentRequired']],
    ['value', ['lists'], ['minProperties', 'maxProperties']],
    ['schema', [], ['not', 'if', 'then', 'else']],
    ['schema', ['repeats'], ['additionalItems', 'contains']],
    ['schema', ['repeats', 'late'], ['unevaluatedItems']],
    ['schema', ['repeats', 'lists'], ['additionalProperties', 'propertyNames']],
    ['schema', ['repeats', 'lists', 'late'], ['unevaluatedProperties']],
    ['schema-or-schemas', ['repeats'], ['items']],
    ['schemas', [], ['allOf', 'anyOf', 'oneOf']],
    ['schemas', ['late'], ['prefixItems']],
    ['schemas-by-name', [], ['properties', 'dependencies']],
    ['schemas-by-name', ['repeats', 'lists'], ['patternProperties']],
    ['schemas-by-name', ['late'], ['dependentSchemas']],
    ['reference', [], ['$ref', '$dynamicRef', '$recursiveRef']],
  ]

interface KeywordRow {
  readonly kind: KeywordKind
  readonly traits: readonly Trait[]
}

export const keywords: ReadonlyMap<string, KeywordRow> = new Map(
  rows.flatMap(([kind, traits, names]) => names.map((name) => [name, { kind, traits }] as const)),
)

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
