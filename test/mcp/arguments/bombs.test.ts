// Limits on the time that schemas and arguments can take on the event loop.

import assert from 'node:assert/strict'
import { before, describe, it } from 'node:test'
import { ArgumentValidator, prepareValidators } from '../../../src/mcp/arguments/argument-validator.js'
import { processorMs, turnBoundMs } from '../../support/processor-time.js'

type Bomb = readonly [title: string, schema: unknown, args: unknown]

function times<Value>(count: number, make: (index: number) => Value): Value[] {
  return Array.from({ length: count }, (_, index) => make(index))
}

function named(count: number, make: (index: number) => unknown): object {
  return Object.fromEntries(times(count, (index) => [`d${index}`, make(index)]))
}

function next(index: number): object {
  return { $ref: `#/$defs/d${index + 1}` }
}

const a = (schema: unknown): object => ({ properties: { a: schema } })

function fanOut(levels: number): object {
  return {
    $ref: '#/$defs/d0',
    $defs: named(levels, (index) =>
      index + 1 < levels ? { allOf: [next(index), next(index)] } : { type: 'object' },
    ),
  }
}

/** A list whose only item is the JSON text of such a list. */
function nestedTexts(levels: number): string {
  return levels === 0 ? '[1]' : JSON.stringify([nestedTexts(levels - 1)])
}

function texts(count: number): object {
  return { properties: named(count, () => ({ type: 'string' })) }
}

function formTree(levels: number): object {
  return levels === 0
    ? { properties: { x: { type: 'boolean' } } }
    : { anyOf: times(2, () => formTree(levels - 1)) }
}

const tree = {
  $ref: '#/$defs/n',
  $defs: {
    n: {
      type: 'object',
      properties: { l: { $ref: '#/$defs/n' }, r: { anyOf: [{ $ref: '#/$defs/n' }, { $ref: '#/$defs/n' }] } },
    },
  },
}

const nested = (levels: number): string => `${'{"r":'.repeat(levels)}{"r":1}${'}'.repeat(levels)}`
const row = {
  type: 'object',
  properties: { id: { type: 'integer' } },
  required: ['id'],
  additionalProperties: false,
}
const own = (index: number): number => index
const manyMembers = JSON.stringify(named(25_000, own))

const bombs: readonly Bomb[] = [
  ['1600 forms', { anyOf: times(1600, (index) => ({ required: [`a${index}`] })) }, {}],
  ['4900 properties', texts(4900), named(4900, () => 1)],
  ['as many properties as are compiled', texts(490), named(490, () => 1)],
  [
    'as many properties with many keywords',
    {
      properties: named(100, () => ({
        type: ['number', 'string'],
        minimum: 1,
        exclusiveMaximum: 9,
        multipleOf: 1,
        minLength: 1,
        maxLength: 9,
        enum: [1],
      })),
    },
    named(100, () => ''),
  ],
  ['as many forms as are compiled', { anyOf: times(490, (index) => ({ required: [`a${index}`] })) }, {}],
  [
    'as many closed forms, against many members',
    {
      oneOf: times(140, (index) => ({
        properties: { kind: { const: index } },
        required: ['kind'],
        additionalProperties: false,
      })),
    },
    named(4500, own),
  ],
  ['$ref fan-out of 22 levels', fanOut(22), {}],
  ['the largest fan-out that is compiled', fanOut(28), {}],
  ['a schema 5000 levels deep', `${'{"properties":{"a":'.repeat(5000)}{}${'}}'.repeat(5000)}`, {}],
  ['100000 branches', { anyOf: times(100_000, (index) => ({ const: index })) }, {}],
  ['a tree of references over nested data', tree, nested(100)],
  ['^(a+)+$', a({ pattern: '^(a+)+$' }), { a: `${'a'.repeat(30)}!` }],
  ['uniqueItems of objects', a({ uniqueItems: true }), { a: times(100_000, (i) => ({ i })) }],
  ['many rows', a({ items: row }), { a: times(40_000, (id) => ({ id })) }],
  [
    'many rows of many forms',
    a({ items: { anyOf: [...times(30, (i) => ({ required: [`a${i}`] })), true] } }),
    { a: times(40_000, (id) => ({ id })) },
  ],
  ['objects against many members', { allOf: times(50, () => ({ enum: [{ a: 1 }, { b: 1 }] })) }, manyMembers],
  [
    'closed forms',
    { anyOf: times(25, () => ({ properties: { a: {} }, additionalProperties: false })) },
    manyMembers,
  ],
  ['many empty rows with many properties', a({ items: texts(470) }), { a: times(21_000, () => ({})) }],
  ['many objects against many members', { enum: times(60_000, () => ({})) }, named(4500, own)],
  ['as many lengths as fit', a({ allOf: times(490, () => ({ maxLength: 1 })) }), { a: 'é'.repeat(32_000) }],
  ['often counted', a({ allOf: times(60, () => ({ minLength: 150_000 })) }), { a: 'é'.repeat(200_000) }],
  ['rows to be put right', a({ items: row }), { a: times(40_000, (id) => ({ id: `${id}` })) }],
  ['fewer rows to be put right', a({ items: row }), { a: times(1000, (id) => ({ id: `${id}` })) }],
  [
    'members to be put right by every branch',
    { allOf: times(40, () => ({ additionalProperties: { type: 'integer' } })) },
    named(2000, (index) => `${index}`),
  ],
  [
    'one of many members put right by every branch',
    { allOf: times(40, (index) => ({ properties: { [`d${index}`]: { type: 'string' } } })) },
    manyMembers,
  ],
  ['null for many members', { properties: named(60, () => ({ type: 'integer' })) }, named(60, () => null)],
  [
    'JSON in texts in JSON in texts',
    {
      $ref: '#/$defs/n',
      $defs: { n: { anyOf: times(8, () => ({ type: 'array', items: { $ref: '#/$defs/n' } })) } },
    },
    { a: nestedTexts(12) },
  ],
  [
    'a large list in a text',
    a({ type: 'array', items: { type: 'object' } }),
    { a: `[${'{},'.repeat(150_000)}1]`.padEnd(500_000) },
  ],
  ['a long text for a list', a({ type: 'array', uniqueItems: true }), { a: `[${'1,'.repeat(49_000)}1]` }],
  ['forms of which none fits, tried in forms', a(formTree(5)), { a: { x: '1' } }],
  [
    'a form that no item of a long list fits',
    a({ anyOf: [{ items: { type: 'string' } }, { type: 'string' }] }),
    { a: times(30_000, () => 1) },
  ],
  [
    'forms over and over',
    {
      $ref: '#/$defs/n',
      $defs: {
        n: {
          oneOf: times(4, (i) => ({
            properties: { r: { $ref: '#/$defs/n' }, x: { const: i } },
            additionalProperties: false,
          })),
        },
      },
    },
    nested(40),
  ],
  [
    'a constant that none of many members has',
    { additionalProperties: { enum: times(150, (i) => `${i + 5e6}`) } },
    named(5000, own),
  ],
  ['one long text full of escapes', a({ type: 'string' }), `{"a":"${'a\\"'.repeat(2_700_000)}"}`],
]

interface Blocks {
  /** The most processor time of one turn until the first call is answered, with the compilation of the schema. */
  readonly compile: number
  /** The same for two more calls. */
  readonly run: number
}

async function blocksOf(schema: Buffer, json: Buffer): Promise<Blocks> {
  const validator = new ArgumentValidator({ tool: 't', schema, warn: () => {} })
  let longest = 0
  let last = processorMs()
  let beat = setImmediate(function onBeat() {
    longest = Math.max(longest, processorMs() - last)
    last = processorMs()
    beat = setImmediate(onBeat)
  })
  const call = async (): Promise<number> => {
    longest = 0
    validator.check(json)
    await new Promise((resolve) => setImmediate(resolve))
    return longest
  }
  const compile = await call()
  const run = Math.max(await call(), await call())
  clearImmediate(beat)
  return { compile, run }
}

/** A compilation may take 300 ms where a run may take 50. */
const isSlow = ({ compile, run }: Blocks): boolean => run >= turnBoundMs() || compile >= 6 * turnBoundMs()

function bytesOf(value: unknown): Buffer {
  return Buffer.from(typeof value === 'string' ? value : JSON.stringify(value))
}

describe('no schema and no arguments hold up the event loop', () => {
  before(prepareValidators)

  for (const [title, schema, args] of bombs)
    it(title, async () => {
      const [schemaJson, json] = [bytesOf(schema), bytesOf(args)]
      let blocks = await blocksOf(schemaJson, json)
      // A turn may include unrelated garbage collection; a bomb is slow every time.
      for (let again = 0; again < 5 && isSlow(blocks); again++) blocks = await blocksOf(schemaJson, json)
      assert.ok(!isSlow(blocks), JSON.stringify(blocks))
    })
})
