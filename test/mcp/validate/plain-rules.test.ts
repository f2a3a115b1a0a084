// What plainly fits is seen from bytes; nothing that is seen so may be a fault to the compiled schema.

import assert from 'node:assert/strict'
import { before, describe, it } from 'node:test'
import * as fc from 'fast-check'
import { ajvBuild, type AjvBuild } from '../../../src/mcp/validate/ajv-build.js'
import { compileSchema } from '../../../src/mcp/validate/ajv-compile.js'
import { PlainRules } from '../../../src/mcp/validate/plain-rules.js'
import { RunBudget } from '../../../src/mcp/validate/run-budget.js'
import { planSchema } from '../../../src/mcp/validate/schema-plan.js'
import { numRuns } from '../../properties/runs.js'

function rulesOf(schema: object): PlainRules | undefined {
  const plan = planSchema(Buffer.from(JSON.stringify(schema)))
  return plan.kind === 'compile' ? PlainRules.of(plan.schema) : undefined
}

/** With something before and behind, as in a message. */
function fits(rules: PlainRules | undefined, json: string): boolean | undefined {
  return rules?.fit(Buffer.from(`{"arguments":${json}}`), 13)
}

function schemaOf(names: number): object {
  return {
    properties: Object.fromEntries(Array.from({ length: names }, (_, n) => [`m${n}`, { type: 'string' }])),
    required: [`m${names - 1}`],
  }
}

const tool = {
  $schema: 'http://json-schema.org/draft-07/schema#',
  type: 'object',
  description: 'what it takes',
  properties: {
    path: { type: 'string', description: 'a path' },
    größe: { type: 'integer' },
    factor: { type: 'number', default: 1 },
    deep: { type: ['boolean', 'null'] },
    list: { type: 'array' },
    more: { type: 'object' },
    any: {},
    mode: { enum: ['fast', 'deep'] },
    short: { type: 'string', maxLength: 3 },
    items: { type: 'array', items: { type: 'string' } },
  },
  required: ['path'],
}

describe('what plainly fits', () => {
  const cases: readonly (readonly [json: string, isPlain: boolean])[] = [
    ['{"path":"a"}', true],
    [' { "path" : "a\\u0041\\"" } '.trim(), true],
    ['{"größe":-12,"path":"a"}', true],
    ['{"path":"a","factor":1.5,"deep":null,"list":[{}],"more":{"path":1,"path":2},"any":"x"}', true],
    ['{"path":"a","other":1}', true],
    ['{}', false],
    ['{"path":1}', false],
    ['{"path":"a","path":"b"}', false],
    ['{"path":"a","größe":1.5}', false],
    ['{"path":"a","größe":1e400}', false],
    ['{"path":"a","factor":1e400}', false],
    [`{"path":"a","größe":${'9'.repeat(400)}}`, false],
    ['{"path":"a","deep":"true"}', false],
    ['{"path":"a","list":{}}', false],
    // The second is another spelling of the first.
    [String.raw`{"path":"a","p\u0061th":1}`, false],
    // What is asked of these is more than a type.
    ['{"path":"a","mode":"fast"}', false],
    ['{"path":"a","short":"abc"}', false],
    ['{"path":"a","items":[]}', false],
  ]
  for (const [json, isPlain] of cases)
    it(json.slice(0, 80), () => {
      assert.equal(fits(rulesOf(tool), json), isPlain)
    })

  it('no other members where the schema allows none', () => {
    const rules = rulesOf({ ...tool, additionalProperties: false })
    assert.equal(fits(rules, '{"path":"a"}'), true)
    assert.equal(fits(rules, '{"path":"a","other":1}'), false)
    assert.equal(fits(rules, '{"path":"a","__proto__":1}'), false)
  })

  it('of a required name that no property has, what the schema says of other members', () => {
    const named = { properties: { a: {} }, required: ['b'] }
    assert.equal(fits(rulesOf(named), '{"b":null}'), true)
    assert.equal(fits(rulesOf(named), '{"a":1}'), false)
    assert.equal(fits(rulesOf({ ...named, additionalProperties: { type: 'string' } }), '{"b":null}'), false)
    assert.equal(fits(rulesOf({ ...named, additionalProperties: false }), '{"b":null}'), false)
  })

  it('nothing where the schema says something about the arguments as a whole', () => {
    const properties = { a: { type: 'string' } }
    const wholes = [
      { minProperties: 1 },
      { anyOf: [{ required: ['a'] }, { required: ['b'] }] },
      { patternProperties: { '^b': { type: 'string' } } },
      { propertyNames: { maxLength: 1 } },
      { type: 'array' },
      { dependentRequired: { a: ['b'] } },
      { unevaluatedProperties: false },
    ]
    for (const whole of wholes)
      assert.equal(rulesOf({ properties, ...whole }), undefined, JSON.stringify(whole))
  })

  it('nothing where there are too many names', () => {
    const [most, tooMany] = [rulesOf(schemaOf(31)), rulesOf(schemaOf(32))]
    assert.equal(fits(most, '{"m30":""}'), true)
    assert.equal(fits(most, '{"m0":""}'), false)
    assert.equal(tooMany, undefined)
  })
})

describe('agrees with ajv', () => {
  let build: AjvBuild
  before(() => {
    build = ajvBuild('draft-07')
  })

  const name = fc.constantFrom('a', 'b', 'ä', 'hasOwnProperty')
  const type = fc.constantFrom('string', 'number', 'integer', 'boolean', 'null', 'array', 'object')
  const property = fc.oneof(
    fc.record({ type: fc.oneof(type, fc.uniqueArray(type, { minLength: 1, maxLength: 2 })) }),
    fc.constantFrom(true, false, {}, { type: 'string', minLength: 1 }, { enum: ['x', 1] }),
  )
  const schema = fc.record(
    {
      type: fc.constant('object'),
      properties: fc.dictionary(name, property, { minKeys: 1 }),
      required: fc.uniqueArray(name),
      additionalProperties: fc.constantFrom<unknown>(true, false, { type: 'string' }),
    },
    { requiredKeys: ['properties'] },
  )
  const written = fc.constantFrom(
    '"x"',
    '""',
    String.raw`"\u0078"`,
    '1',
    '-0',
    '1.0',
    '1.5',
    '1e2',
    '1e999',
    '123456789012345678901234567890',
    'true',
    'false',
    'null',
    '[]',
    '[1,"x"]',
    '{}',
    '{"a":1,"a":2}',
  )
  const key = fc.constantFrom('"a"', '"b"', '"ä"', '"hasOwnProperty"', '"\\u0061"', '"A"', '"__proto__"')
  const members = fc.array(fc.tuple(key, written), { maxLength: 4 })

  it('on every schema and all arguments', () => {
    let plain = 0
    const seen = fc.property(schema, fc.array(members, { minLength: 4, maxLength: 4 }), (drawn, calls) => {
      const plan = planSchema(Buffer.from(JSON.stringify(drawn)))
      if (plan.kind === 'object') return
      const rules = PlainRules.of(plan.schema)
      const budget = new RunBudget()
      const { validate } = compileSchema(build, plan.schema, budget, () => undefined)
      for (const call of calls) {
        const json = `{${call.map((member) => member.join(':')).join(',')}}`
        if (fits(rules, json) !== true) continue
        plain++
        budget.refill()
        assert.equal(validate(JSON.parse(json)), true, `${json} ${JSON.stringify(drawn)}`)
      }
    })
    fc.assert(seen, { numRuns: numRuns(400) })
    assert(plain > 20, 'hardly anything is plain')
  })
})
