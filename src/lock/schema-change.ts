// How one JSON schema differs from another: whether it takes more values, or fewer, or only says something else of them.
//
// The comparison follows the structure. A change that it cannot place is `other`, so that a person looks at it.

import { canonicalText, isSame, itemsIn, type Json, memberOf, membersOfJson, stringIn } from './json.js'

/** `text` is what a model reads and no validator. */
export type SchemaChange = 'wider' | 'narrower' | 'other' | 'text'

/** The differences of a schema from an earlier one; undefined is a schema that takes everything. */
export function schemaChanges(before: Json | undefined, after: Json | undefined): Set<SchemaChange> {
  const found = new Set<SchemaChange>()
  if (isSame(before, after)) return found
  if (before?.kind === 'plain' || after?.kind === 'plain') return found.add(changeOfSwitch(before, after))
  const names = new Set([...membersOfJson(before), ...membersOfJson(after)].map(([name]) => name))
  const requires = requiredIn(after)
  for (const name of names) {
    const [one, other] = [memberOf(before, name), memberOf(after, name)]
    if (isSame(one, other)) continue
    const pair: Pair = { before: one, after: other, requires }
    for (const change of (keywords.get(name) ?? anything)(pair)) found.add(change)
  }
  return found
}

/** The values of one keyword in both schemas. */
interface Pair {
  readonly before: Json | undefined
  readonly after: Json | undefined
  /** The properties that the later schema requires. */
  readonly requires: ReadonlySet<string>
}

type Compare = (pair: Pair) => Iterable<SchemaChange>

const anything: Compare = () => ['other']

/** `true` takes everything and `false` nothing (JSON Schema 2020-12, section 4.3.2). */
function changeOfSwitch(before: Json | undefined, after: Json | undefined): SchemaChange {
  const [was, is] = [takesOf(before), takesOf(after)]
  if (was === is) return 'other'
  return was === 'nothing' || is === 'everything' ? 'wider' : 'narrower'
}

function takesOf(schema: Json | undefined): 'everything' | 'nothing' | 'some' {
  if (schema === undefined || canonicalText(schema) === 'true' || canonicalText(schema) === '{}')
    return 'everything'
  return canonicalText(schema) === 'false' ? 'nothing' : 'some'
}

/** A property without which the arguments were whole before makes the schema wider, and one that is required narrower. */
const compareProperties: Compare = ({ before, after, requires }) => {
  const names = new Set([...membersOfJson(before), ...membersOfJson(after)].map(([name]) => name))
  return [...names].flatMap((name) => {
    const [one, other] = [memberOf(before, name), memberOf(after, name)]
    if (one === undefined) return [requires.has(name) ? 'narrower' : 'wider']
    return other === undefined ? ['narrower'] : [...schemaChanges(one, other)]
  })
}

const compareRequired: Compare = ({ before, after }) => {
  const [was, is] = [textsIn(before), textsIn(after)]
  return flags(
    [...was].some((name) => !is.has(name)),
    [...is].some((name) => !was.has(name)),
  )
}

/** A list of values that are taken, such as `enum`; a missing one takes all. */
function compareSets(read: (json: Json) => ReadonlySet<string>): Compare {
  return ({ before, after }) => {
    if (before === undefined) return ['narrower']
    if (after === undefined) return ['wider']
    const [was, is] = [read(before), read(after)]
    return flags(
      [...is].some((each) => !was.has(each)),
      [...was].some((each) => !is.has(each)),
    )
  }
}

/** Schemas of which all hold: more of them take less. */
const compareAll: Compare = (pair) => {
  const turned = { wider: 'narrower', narrower: 'wider', other: 'other', text: 'text' } as const
  const { before, after, requires } = pair
  const empty: Json = { kind: 'array', items: [] }
  const whole = { before: before ?? empty, after: after ?? empty, requires }
  return [...compareSets(setOf)(whole)].map((change) => turned[change])
}

/** A bound that is a number; `isUpper` says that a greater one takes more. */
function compareBound(isUpper: boolean): Compare {
  return ({ before, after }) => {
    if (before === undefined) return ['narrower']
    if (after === undefined) return ['wider']
    const [was, is] = [Number(canonicalText(before)), Number(canonicalText(after))]
    return flags(isUpper ? is > was : is < was, isUpper ? is < was : is > was)
  }
}

/** A rule that makes a schema narrower by being there. */
const compareRule: Compare = ({ before, after }) => {
  if (before === undefined || isOff(before)) return ['narrower']
  return after === undefined || isOff(after) ? ['wider'] : ['other']
}

function isOff(json: Json): boolean {
  return canonicalText(json) === 'false'
}

const compareSchema: Compare = ({ before, after }) => schemaChanges(before, after)

/** One schema for each name; a name that came or went changes nothing as long as no reference names it. */
const compareNamed: Compare = ({ before, after }) =>
  membersOfJson(before).flatMap(([name, schema]) => {
    const other = memberOf(after, name)
    return other === undefined ? [] : [...schemaChanges(schema, other)]
  })

const onlyText: Compare = () => ['text']

const keywords: ReadonlyMap<string, Compare> = new Map([
  ...['title', 'description', '$comment', 'examples'].map((name) => [name, onlyText] as const),
  ['type', compareSets(typesOf)],
  ['enum', compareSets(setOf)],
  ['const', compareRule],
  ['properties', compareProperties],
  ['required', compareRequired],
  ['$defs', compareNamed],
  ['definitions', compareNamed],
  ['anyOf', compareSets(setOf)],
  ['allOf', compareAll],
  ...['items', 'additionalProperties', 'additionalItems', 'propertyNames', 'contains'].map(
    (name) => [name, compareSchema] as const,
  ),
  ...['maximum', 'exclusiveMaximum', 'maxLength', 'maxItems', 'maxProperties'].map(
    (name) => [name, compareBound(true)] as const,
  ),
  ...['minimum', 'exclusiveMinimum', 'minLength', 'minItems', 'minProperties'].map(
    (name) => [name, compareBound(false)] as const,
  ),
  ...['pattern', 'format', 'multipleOf', 'uniqueItems'].map((name) => [name, compareRule] as const),
])

function flags(isWider: boolean, isNarrower: boolean): SchemaChange[] {
  return [...(isWider ? (['wider'] as const) : []), ...(isNarrower ? (['narrower'] as const) : [])]
}

function requiredIn(schema: Json | undefined): ReadonlySet<string> {
  return textsIn(memberOf(schema, 'required'))
}

function textsIn(json: Json | undefined): ReadonlySet<string> {
  return new Set(itemsIn(json).flatMap((item) => stringIn(item) ?? []))
}

function setOf(json: Json): ReadonlySet<string> {
  return new Set(itemsIn(json).map(canonicalText))
}

/** Every number is taken where `number` is, whole ones too. */
function typesOf(json: Json): ReadonlySet<string> {
  const types = json.kind === 'array' ? json.items : [json]
  const names = new Set(types.flatMap((type) => stringIn(type) ?? []))
  return names.has('number') ? names.add('integer') : names
}
