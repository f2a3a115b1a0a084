// What strangers' schemas and clients' arguments may do to the event loop.

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

function fanOut(levels: number): object {
  return {
    $ref: '#/$defs/d0',
    $defs: named(levels, (index) =>
      index + 1 < levels ? { allOf: [next(index), next(index)] } : { type: 'object' },
    ),
  }
}

/** A list whose only item is a text of JSON of such a list. */
function nestedTexts(levels: number): string {
  return levels === 0 ? '[1]' : JSON.stringify([nestedTexts(levels - 1)])
}

function formTree(levels: number): object {
  return levels === 0
    ? { properties: { x: { type: 'boolean' } } }
    : { anyOf: times(2, () => formTree(levels - 1)) }
}

function condition(index: number): string {
  return `{"if":{"required":["a${index}"]},"then":{"required":["b"]}}`
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
const manyMembers = JSON.stringify(named(25_000, (index) => index))

const bombs: readonly Bomb[] = [
  ['1600 forms', { anyOf: times(1600, (index) => ({ required: [`a${index}`] })) }, {}],
  ['4900 properties', { properties: named(4900, () => ({ type: 'string' })) }, named(4900, () => 1)],
  [
    'as many properties as are compiled',
    { properties: named(490, () => ({ type: 'string' })) },
    named(490, () => 1),
  ],
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
    named(4500, (index) => index),
  ],
  [
    'a pattern of 29 characters as a name',
    { patternProperties: { [`^(${'a+'.repeat(12)})+$`]: { type: 'string' } } },
    { [`${'a'.repeat(40)}!`]: 1 },
  ],
  ['$ref fan-out of 22 levels', fanOut(22), {}],
  ['the largest fan-out that is compiled', fanOut(28), {}],
  ['a schema 5000 levels deep', `${'{"properties":{"a":'.repeat(5000)}{}${'}}'.repeat(5000)}`, {}],
  ['100000 branches', { anyOf: times(100_000, (index) => ({ const: index })) }, {}],
  ['10000 branches', { anyOf: times(10_000, (index) => ({ const: index })) }, {}],
  ['as many branches as are compiled', { anyOf: times(66, (index) => ({ required: [`a${index}`] })) }, {}],
  ['as many conditions', `{"allOf":[${times(16, condition).join()}]}`, {}],
  [
    'as many references',
    {
      properties: named(32, (i) => ({ $ref: `#/$defs/d${i}` })),
      $defs: named(32, () => ({ type: 'string' })),
    },
    {},
  ],
  ['a reference to itself', { $ref: '#/$defs/a', $defs: { a: { allOf: [{ $ref: '#/$defs/a' }] } } }, {}],
  ['a root in itself', { allOf: [{ $ref: '#' }] }, {}],
  ['a tree of references over nested data', tree, nested(100)],
  ['^(a+)+$', { properties: { a: { pattern: '^(a+)+$' } } }, { a: `${'a'.repeat(30)}!` }],
  [
    '^(a+)+$ as a name',
    { patternProperties: { '^(a+)+$': { type: 'string' } } },
    { [`${'a'.repeat(30)}!`]: '' },
  ],
  [
    'thirty times a?',
    { properties: { a: { pattern: `^${'a?'.repeat(30)}${'a'.repeat(30)}$` } } },
    { a: 'a'.repeat(30) },
  ],
  ['a cubic pattern', { properties: { a: { pattern: 'a+a+!' } } }, { a: 'a'.repeat(100_000) }],
  [
    'a square pattern on many texts',
    { properties: { a: { items: { pattern: 'a+!|' } } } },
    { a: times(2000, () => 'a'.repeat(200)) },
  ],
  [
    'uniqueItems of objects',
    { properties: { a: { uniqueItems: true } } },
    { a: times(100_000, (i) => ({ i })) },
  ],
  [
    'uniqueItems of fewer objects',
    { properties: { a: { uniqueItems: true } } },
    { a: times(40_000, (i) => ({ i })) },
  ],
  [
    'uniqueItems of texts',
    { properties: { a: { uniqueItems: true } } },
    { a: times(50_000, (i) => `s${i}`) },
  ],
  ['many rows', { properties: { a: { items: row } } }, { a: times(40_000, (id) => ({ id })) }],
  [
    'many rows of many forms',
    { properties: { a: { items: { anyOf: [...times(30, (i) => ({ required: [`a${i}`] })), true] } } } },
    { a: times(40_000, (id) => ({ id })) },
  ],
  [
    'an enum of objects against many members',
    { allOf: times(50, () => ({ enum: [{ a: 1 }, { b: 1 }] })) },
    manyMembers,
  ],
  [
    'closed forms against many members',
    { anyOf: times(25, () => ({ properties: { a: {} }, additionalProperties: false })) },
    manyMembers,
  ],
  [
    'unevaluated members, handed up',
    { allOf: times(40, () => ({ patternProperties: { d: true } })), unevaluatedProperties: false },
    manyMembers,
  ],
  [
    'unevaluated members of many forms',
    {
      anyOf: times(100, (index) => ({ properties: { [`d${index}`]: true }, required: [`e${index}`] })),
      unevaluatedProperties: false,
    },
    named(4500, (index) => index),
  ],
  [
    'unevaluated members, each judged at every level',
    {
      allOf: times(100, () => ({ anyOf: [{ additionalProperties: true }, { properties: { a: {} } }] })),
      unevaluatedProperties: false,
    },
    named(4500, (index) => index),
  ],
  [
    'as many empty rows as fit, with many properties',
    { properties: { a: { items: { properties: named(470, () => ({ type: 'string' })) } } } },
    { a: times(21_000, () => ({})) },
  ],
  [
    'an enum of objects against as many members as fit',
    { enum: times(60_000, () => ({})) },
    named(4500, (index) => index),
  ],
  [
    'as many lengths as are compiled',
    { properties: { a: { allOf: times(490, () => ({ maxLength: 1 })) } } },
    { a: 'é'.repeat(32_000) },
  ],
  [
    'as many conditions on rows as fit',
    `{"properties":{"a":{"items":{"allOf":[${times(30, condition).join()}]}}}}`,
    { a: times(21_000, () => ({})) },
  ],
  [
    'lengths counted often',
    { properties: { a: { allOf: times(60, () => ({ minLength: 150_000 })) } } },
    { a: 'é'.repeat(200_000) },
  ],
  ['many short texts', { properties: { a: { type: 'array' } } }, `{"a":[${'"a",'.repeat(2_000_000)}1]}`],
  [
    'rows to be put right',
    { properties: { a: { items: row } } },
    { a: times(40_000, (id) => ({ id: `${id}` })) },
  ],
  [
    'fewer rows to be put right',
    { properties: { a: { items: row } } },
    { a: times(1000, (id) => ({ id: `${id}` })) },
  ],
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
    { properties: { a: { type: 'array', items: { type: 'object' } } } },
    { a: `[${'{},'.repeat(150_000)}1]`.padEnd(500_000) },
  ],
  [
    'a long text where a list belongs',
    { properties: { a: { type: 'array', uniqueItems: true } } },
    { a: `[${'1,'.repeat(49_000)}1]` },
  ],
  [
    'a long text where a number belongs',
    { properties: { a: { type: 'number', pattern: 'x' } } },
    { a: '9'.repeat(500_000) },
  ],
  ['forms of which none fits, tried in forms', { properties: { a: formTree(5) } }, { a: { x: '1' } }],
  [
    'a form that no item of a long list fits',
    { properties: { a: { anyOf: [{ items: { type: 'string' } }, { type: 'string' }] } } },
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
    named(5000, (index) => index),
  ],
  [
    'one long text full of escapes',
    { properties: { a: { type: 'string' } } },
    `{"a":"${'a\\"'.repeat(2_700_000)}"}`,
  ],
]

interface Blocks {
  /** The most processor time that one turn took until the first call was answered: the schema is compiled then. */
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
    await validator.check(json)
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
      // Garbage of others may be collected in its turn; a bomb is slow every time.
      for (let again = 0; again < 5 && isSlow(blocks); again++) blocks = await blocksOf(schemaJson, json)
      assert.ok(!isSlow(blocks), JSON.stringify(blocks))
    })

  it('once a run has ended early, the schema is used for names and types alone', async () => {
    const warnings: string[] = []
    const warn = (message: string): unknown => warnings.push(message)
    const forms = { anyOf: times(100, (i) => ({ required: [`a${i}`] })) }
    const schema = bytesOf({ required: ['rows'], properties: { rows: { items: forms } } })
    const validator = new ArgumentValidator({ tool: 't', schema, warn })
    const parameterOf = async (args: object): Promise<string | undefined> =>
      (await validator.check(bytesOf(args)))?.parameter
    assert.equal(await parameterOf({ rows: [{}] }), '/rows/0')
    assert.equal(await parameterOf({ rows: times(5000, () => ({})) }), undefined)
    assert.equal(await parameterOf({ rows: [{}] }), undefined)
    assert.equal(await parameterOf({}), 'rows')
    assert.match(warnings.join(), /only names and types .*more than 100000 steps/)
    assert.equal(warnings.length, 1)
  })
})
