// A lenient check agrees with ajv: it refuses nothing that is valid, and lets nothing pass without having noted a doubt.

import assert from 'node:assert/strict'
import { before, describe, it } from 'node:test'
import * as fc from 'fast-check'
import { ajvBuild, type AjvBuild } from '../../src/mcp/validate/ajv-build.js'
import { compileSchema } from '../../src/mcp/validate/ajv-compile.js'
import { LenientJudge } from '../../src/mcp/validate/lenient-judge.js'
import { lenientRules } from '../../src/mcp/validate/lenient-rules.js'
import { RunBudget } from '../../src/mcp/validate/run-budget.js'
import { planSchema, type SchemaPlan } from '../../src/mcp/validate/schema-plan.js'
import { numRuns } from './runs.js'

const name = fc.constantFrom('a', 'b', 'c', 'hasOwnProperty')
const scalar = fc.oneof(
  fc.constantFrom<unknown>(
    null,
    true,
    false,
    0,
    1,
    2,
    1.5,

    '',
    '1',
    '2',
    'true',
    'x',
    'null',
    '[1]',
    '{"a":1}',
  ),
  fc.integer({ min: -3, max: 3 }),
)
const value = fc.letrec((tie) => ({
  any: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    scalar,
    fc.array(tie('any'), { maxLength: 3 }),
    fc.dictionary(name, tie('any'), { maxKeys: 3 }),
  ),
})).any

const type = fc.constantFrom('string', 'number', 'integer', 'boolean', 'null', 'array', 'object')
const few = fc.integer({ min: 0, max: 2 })
const schema = fc.letrec((tie) => {
  const any = tie('any')
  const some = fc.array(any, { minLength: 1, maxLength: 3 })
  const named = fc.dictionary(name, any, { minKeys: 1, maxKeys: 3 })
  const keywords = {
    type: fc.oneof(type, fc.uniqueArray(type, { minLength: 1, maxLength: 2 })),
    default: scalar,
    const: value,
    enum: fc.array(value, { minLength: 1, maxLength: 3 }),
    minimum: few,
    exclusiveMaximum: few,
    multipleOf: fc.constantFrom(1, 2, 0.5),
    minLength: few,
    maxLength: few,
    pattern: fc.constantFrom('^\\d+$', 'x', '^$'),
    minItems: few,
    maxItems: few,
    uniqueItems: fc.boolean(),
    items: any,
    prefixItems: some,
    contains: any,
    minContains: few,
    maxContains: few,
    required: fc.uniqueArray(name, { minLength: 1, maxLength: 2 }),
    dependentRequired: fc.dictionary(name, fc.uniqueArray(name, { maxLength: 2 }), { maxKeys: 2 }),
    properties: named,
    patternProperties: fc.dictionary(fc.constantFrom('^a', 'b|c'), any, { maxKeys: 2 }),
    additionalProperties: any,
    propertyNames: any,
    minProperties: few,
    maxProperties: few,
    dependentSchemas: named,
    allOf: some,
    anyOf: some,
    oneOf: some,
    not: any,
    if: any,
    // oxlint-disable-next-line unicorn/no-thenable -- a keyword of JSON Schema.
    then: any,
    else: any,
    $ref: fc.constant('#/$defs/d'),
  }
  const object = fc
    .uniqueArray(fc.constantFrom(...Object.keys(keywords)), { minLength: 1, maxLength: 3 })
    .chain((chosen) =>
      fc.record(Object.fromEntries(Object.entries(keywords).filter(([keyword]) => chosen.includes(keyword)))),
    )
    // Otherwise ajv lets an empty list pass where another keyword has judged the list before.
    .map(({ prefixItems, ...drawn }) => {
      if ('contains' in drawn) return { maxContains: 2, ...drawn }
      return prefixItems === undefined ? drawn : { ...drawn, prefixItems }
    })
  return { any: fc.oneof({ depthSize: 'small', withCrossShrink: true }, fc.boolean(), object, object) }
}).any
const root = fc.record({ $defs: fc.record({ d: schema }), allOf: fc.tuple(schema) })

/** Undefined where the stack or the budget is not enough. */
function attempt<Found>(find: () => Found): Found | undefined {
  try {
    return find()
  } catch (error) {
    assert(error instanceof RangeError)
    return undefined
  }
}

/** Undefined for a schema that is too large. */
function planned(json: Buffer): SchemaPlan | undefined {
  try {
    return planSchema(json)
  } catch {
    return undefined
  }
}

describe('a lenient check', () => {
  let build: AjvBuild
  before(() => {
    build = ajvBuild('2020-12')
  })

  it('agrees with the strict one but for what it forgives', () => {
    fc.assert(
      fc.property(root, value, (drawn, drawnArgs) => {
        const asWritten = JSON.stringify(drawnArgs)
        const args: unknown = JSON.parse(asWritten)
        const plan = planned(Buffer.from(JSON.stringify(drawn)))
        fc.pre(plan?.kind === 'compile')
        const budget = new RunBudget()
        const compiled = compileSchema(build, plan.schema, budget, () => {})
        budget.refill()
        const found = attempt(() => ({
          isValid: compiled.validate(args),
          lenient: new LenientJudge(lenientRules, plan.schema, compiled, budget).judge(args),
        }))
        // A schema may refer to itself at the same value.
        if (found === undefined) return
        const { isValid, lenient } = found
        assert.equal(JSON.stringify(args), asWritten, 'the value stays as it is')
        if (isValid === true) assert.deepEqual(lenient.errors, [])
        else assert(lenient.errors.length > 0 || lenient.doubt)
      }),
      { numRuns: numRuns(300) },
    )
  })
})
