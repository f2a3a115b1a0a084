import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type ArgumentFault, ArgumentValidator, schemaLimits } from '../../src/mcp/validate.js'
import { costRatio } from '../processor-time.js'

interface Tool {
  readonly check: (json: string | undefined) => Promise<ArgumentFault | undefined>
  readonly validator: ArgumentValidator
  readonly warnings: string[]
}

function toolWith(schema: unknown): Tool {
  const warnings: string[] = []
  const json = Buffer.from(typeof schema === 'string' ? schema : JSON.stringify(schema))
  const validator = new ArgumentValidator({ tool: 's__t', schema: json, warn: (text) => warnings.push(text) })
  const check = async (text: string | undefined): Promise<ArgumentFault | undefined> =>
    validator.check(text === undefined ? undefined : Buffer.from(text))
  return { check, validator, warnings }
}

function formOf(kind: string): object {
  return { properties: { kind: { const: kind }, x: { type: 'number' } }, required: ['kind'] }
}

function tupleIn(named: object, keyword: string): object {
  return { ...named, properties: { a: { [keyword]: [{ type: 'string' }] } } }
}

function schemaOfBytes(bytes: number): string {
  return `{"required":["b"]${' '.repeat(bytes - 18)}}`
}

function schemaOfDepth(depth: number): string {
  return `${'{"not":'.repeat(depth)}{"type":"array"}${'}'.repeat(depth)}`
}

/** The root and its keyword weigh 2, every branch and its keyword 2 more. */
function schemaOfWeight(weight: number): object {
  return { allOf: Array.from({ length: weight / 2 - 1 }, () => ({ type: 'object' })) }
}

function argumentsOfBytes(bytes: number): string {
  return `{"a":[${'1,'.repeat((bytes - 10) / 2)}1 ]}`
}

const search = {
  type: 'object',
  properties: {
    query: { type: 'string', minLength: 2 },
    count: { type: 'integer', minimum: 1, maximum: 50 },
    mode: { enum: ['fast', 'deep'] },
    filter: { type: 'object', properties: { from: { type: 'string' } }, required: ['from'] },
    tags: { type: 'array', items: { type: 'string' }, maxItems: 2, uniqueItems: true },
    either: { anyOf: [{ type: 'string' }, { type: 'integer' }] },
    code: { type: 'string', pattern: '^[A-Z]{3}$' },
    'a/b~c': { type: 'number' },
  },
  required: ['query'],
  additionalProperties: false,
}

describe('faults', () => {
  const cases = [
    ['missing', '{}', "Missing required parameter 'query'", 'query', {}],
    ['none at all', undefined, "Missing required parameter 'query'", 'query', {}],
    [
      'missing inside',
      '{"query":"ab","filter":{}}',
      "Missing required parameter '/filter/from'",
      '/filter/from',
      {},
    ],
    ['type', '{"query":"ab","count":"1"}', "'count' must be integer", '/count', { keyword: 'type' }],
    [
      'type inside',
      '{"query":"ab","tags":["a",1]}',
      "'/tags/1' must be string",
      '/tags/1',
      { keyword: 'type' },
    ],
    ['minimum', '{"query":"ab","count":0}', "'count' must be >= 1", '/count', { keyword: 'minimum' }],
    [
      'enum',
      '{"query":"ab","mode":"x"}',
      `'mode' must be one of "fast", "deep"`,
      '/mode',
      { keyword: 'enum', allowed: ['fast', 'deep'] },
    ],
    [
      'length',
      '{"query":"a"}',
      "'query' must have at least 2 characters",
      '/query',
      { keyword: 'minLength' },
    ],
    [
      'code points',
      '{"query":"😀"}',
      "'query' must have at least 2 characters",
      '/query',
      { keyword: 'minLength' },
    ],
    [
      'items',
      '{"query":"ab","tags":["a","b","c"]}',
      "'tags' must have at most 2 items",
      '/tags',
      { keyword: 'maxItems' },
    ],
    [
      'unique',
      '{"query":"ab","tags":["a","a"]}',
      "'tags' must not have equal items",
      '/tags',
      { keyword: 'uniqueItems' },
    ],
    [
      'choice of types',
      '{"query":"ab","either":true}',
      "'either' must be string or integer",
      '/either',
      { keyword: 'type' },
    ],
    [
      'pattern',
      '{"query":"ab","code":"x"}',
      "'code' must match the pattern ^[A-Z]{3}$",
      '/code',
      { keyword: 'pattern' },
    ],
    [
      'unknown',
      '{"query":"ab","x/y":1}',
      "Unknown parameter 'x/y'",
      '/x~1y',
      { keyword: 'additionalProperties' },
    ],
    ['odd name', '{"query":"ab","a/b~c":"1"}', "'a/b~c' must be number", '/a~1b~0c', { keyword: 'type' }],
    ['no object', '[]', 'arguments must be object', '', { keyword: 'type' }],
    ['valid', '{"query":"ab","count":50,"mode":"deep","either":7,"code":"ABC"}', undefined, '', {}],
    ['1.0 is an integer', '{"query":"ab","count":1.0}', undefined, '', {}],
    ['the last duplicate counts', '{"query":1,"query":"ab"}', undefined, '', {}],
    [
      'and is the one found wrong',
      '{"query":"ab","query":1}',
      "'query' must be string",
      '/query',
      { keyword: 'type' },
    ],
    [
      '__proto__ is a member',
      '{"query":"ab","__proto__":1}',
      "Unknown parameter '__proto__'",
      '/__proto__',
      { keyword: 'additionalProperties' },
    ],
    [
      'and lends no members',
      '{"__proto__":{"query":"ab"}}',
      "Missing required parameter 'query'",
      'query',
      {},
    ],
  ] as const
  for (const [title, json, what, parameter, details] of cases) {
    it(title, async () => {
      const { check, warnings } = toolWith(search)
      const fault = await check(json)
      const want = what === undefined ? undefined : { message: `Invalid params: ${what}`, parameter, details }
      assert.deepEqual(fault, want)
      assert.deepEqual(warnings, [])
    })
  }

  it('members are not taken from the prototype', async () => {
    const { check } = toolWith({ type: 'object', required: ['toString'] })
    assert.equal((await check('{}'))?.parameter, 'toString')
  })

  it('a branch that was meant says what is wrong inside it', async () => {
    const { check } = toolWith({ type: 'object', properties: { s: { oneOf: [formOf('a'), formOf('b')] } } })
    assert.equal(
      (await check('{"s":{"kind":"b","x":"1"}}'))?.message,
      "Invalid params: '/s/x' must be number",
    )
    assert.equal(
      (await check('{"s":{"kind":"c"}}'))?.message,
      "Invalid params: 's' must have exactly one of the allowed forms",
    )
  })

  it('names only so many allowed values', async () => {
    const { check } = toolWith({ properties: { a: { enum: Array.from({ length: 500 }, (_, i) => i) } } })
    const fault = await check('{"a":"x"}')
    assert.match(fault?.message ?? '', /18, 19, … \(500 in all\)$/)
    assert.equal(JSON.stringify(fault?.details).length < 200, true)
  })

  it('big integers are neither equal nor refused', async () => {
    const { check } = toolWith({
      properties: { a: { type: 'array', uniqueItems: true, items: { type: 'integer' } } },
    })
    assert.equal(await check('{"a":[9007199254740992,9007199254740993,1e400]}'), undefined)
  })
})

describe('dialects', () => {
  const cases = [
    ['prefixItems without $schema', tupleIn({}, 'prefixItems'), '/a/0'],
    [
      'prefixItems in 2020-12',
      tupleIn({ $schema: 'https://json-schema.org/draft/2020-12/schema' }, 'prefixItems'),
      '/a/0',
    ],
    [
      'a list of items in draft-07',
      tupleIn({ $schema: 'http://json-schema.org/draft-07/schema#' }, 'items'),
      '/a/0',
    ],
    [
      'a list of items in 2019-09',
      tupleIn({ $schema: 'https://json-schema.org/draft/2019-09/schema' }, 'items'),
      '/a/0',
    ],
    ['dependentRequired', { dependentRequired: { a: ['b'] } }, 'b'],
    ['dependencies', { dependencies: { a: ['b'] } }, 'b'],
    ['unevaluatedProperties', { allOf: [{ properties: { b: true } }], unevaluatedProperties: false }, '/a'],
    ['$ref into $defs', { $defs: { x: { required: ['b'] } }, $ref: '#/$defs/x' }, 'b'],
    [
      '$ref beside others, by pointer',
      { properties: { a: { $ref: '#/properties/b' }, b: { type: 'string' } } },
      '/a',
    ],
    [
      '$ref with its own id',
      {
        $id: 'https://x.test/s',
        definitions: { x: { required: ['b'] } },
        $ref: 'https://x.test/s#/definitions/x',
      },
      'b',
    ],
    ['$ref to an anchor', { $defs: { x: { $anchor: 'here', required: ['b'] } }, $ref: '#here' }, 'b'],
    ['$dynamicRef', { $defs: { x: { $dynamicAnchor: 'here', required: ['b'] } }, $dynamicRef: '#here' }, 'b'],
    ['nullable', { properties: { a: { type: 'string', nullable: true } } }, '/a'],
    ['nullable of no type', { properties: { a: { nullable: true } }, required: ['b'] }, 'b'],
    ['$async is not obeyed', { $async: true, required: ['b'] }, 'b'],
  ] as const
  for (const [title, schema, parameter] of cases) {
    it(title, async () => {
      const { check, warnings } = toolWith(schema)
      assert.equal((await check('{"a":[1]}'))?.parameter, parameter)
      assert.deepEqual(warnings, [])
    })
  }
})

describe('schemas that are not run', () => {
  const cases = [
    ['no JSON', '{', /not an object/],
    ['no schema', '[]', /not an object/],
    ['an unknown dialect', { $schema: 'https://canary.test/schema', type: 'object' }, /dialect/],
    ['a reference outside', { $ref: 'https://canary.test/other.json' }, /\$ref/],
    ['a reference nowhere', { $ref: '#/$defs/none' }, /\$ref/],
    [
      'a reference past an embedded id',
      { $defs: { a: { $id: 'https://x.test/a' } }, $ref: '#/$defs/a' },
      /\$ref/,
    ],
    ['a type that is none', { type: 'text' }, /cannot be compiled/],
    ['a keyword of the wrong type', { properties: { a: { minLength: '1' } } }, /cannot be compiled/],
    ['a list for a schema', { properties: { a: [], b: 3 } }, /other than a schema/],
    ['a member that cannot be checked', '{"properties":{"__proto__":{"type":"string"}}}', /__proto__/],
  ] as const
  for (const [title, schema, reason] of cases) {
    it(`${title}: one warning, no fault`, async () => {
      const { check, warnings } = toolWith(schema)
      for (let call = 0; call < 3; call++) assert.equal(await check('{"a":1}'), undefined)
      assert.equal(warnings.length, 1)
      assert.match(warnings[0] ?? '', reason)
      assert.match(warnings[0] ?? '', /^Tool 's__t': /)
    })
  }

  it('bytes up to the limit', async () => {
    assert.equal((await toolWith(schemaOfBytes(schemaLimits.schemaBytesMax)).check('{}'))?.parameter, 'b')
    assert.equal(await toolWith(schemaOfBytes(schemaLimits.schemaBytesMax + 1)).check('{}'), undefined)
  })

  it('nesting up to the limit', async () => {
    const at = toolWith(schemaOfDepth(schemaLimits.depthMax))
    const past = toolWith(schemaOfDepth(schemaLimits.depthMax + 1))
    await at.check('{}')
    await past.check('{}')
    assert.deepEqual(at.warnings, [])
    assert.match(past.warnings[0] ?? '', /nested too deeply/)
  })

  it('keywords and subschemas up to the limit', async () => {
    const at = toolWith(schemaOfWeight(schemaLimits.weightMax))
    const past = toolWith(schemaOfWeight(schemaLimits.weightMax + 2))
    assert.equal((await at.check('[]'))?.parameter, '')
    await past.check('[]')
    assert.deepEqual(at.warnings, [])
    assert.match(past.warnings[0] ?? '', /too large/)
  })
})

describe('calls', () => {
  it('are answered at once after the first', async () => {
    const { validator } = toolWith(search)
    const json = Buffer.from('{"query":"ab"}')
    const first = validator.check(json)
    assert.ok(first instanceof Promise)
    // The second waits with the first and is answered after it.
    const order: number[] = []
    void Promise.resolve(validator.check(json)).then(() => order.push(2))
    await first.then(() => order.unshift(1))
    await Promise.resolve()
    assert.deepEqual(order, [1, 2])
    assert.equal(validator.check(json), undefined)
    assert.equal(validator.check(undefined) instanceof Promise, false)
  })

  it('are answered at once where there is nothing to compile', () => {
    for (const schema of [
      {},
      { type: 'object' },
      { type: 'object', properties: {}, required: [], title: 'x' },
      true,
    ]) {
      const { validator } = toolWith(schema)
      assert.equal(validator.check(undefined), undefined)
      assert.equal(validator.check(Buffer.from('{"a":1}')), undefined)
      const fault = validator.check(Buffer.from('[1]'))
      assert.equal(
        fault instanceof Promise ? undefined : fault?.message,
        'Invalid params: arguments must be object',
      )
    }
  })

  it('do not see the schema of another tool', async () => {
    const id = { $id: 'https://x.test/shared' }
    const one = toolWith({ ...id, required: ['a'] })
    const two = toolWith({ ...id, required: ['b'] })
    const three = toolWith({ $ref: 'https://x.test/shared' })
    assert.equal((await one.check('{}'))?.parameter, 'a')
    assert.equal((await two.check('{}'))?.parameter, 'b')
    assert.equal(await three.check('{}'), undefined)
    assert.equal(three.warnings.length, 1)
  })

  it('with large arguments pass unchecked', async () => {
    const { check, warnings } = toolWith({ properties: { a: { type: 'array' } }, required: ['b'] })
    assert.equal((await check(argumentsOfBytes(schemaLimits.argumentBytesMax)))?.parameter, 'b')
    assert.deepEqual(warnings, [])
    assert.equal(await check(argumentsOfBytes(schemaLimits.argumentBytesMax + 2)), undefined)
    assert.match(warnings[0] ?? '', /too large/)
    assert.equal((await check('{}'))?.parameter, 'b', 'a small call is checked again')
  })

  it('of 1 MB in one string are checked', async () => {
    const { validator, check } = toolWith({
      properties: { content: { type: 'string', minLength: 1 }, mode: { enum: ['a', 'b'] } },
    })
    const json = Buffer.from(JSON.stringify({ content: 'text '.repeat(200_000), mode: 'a' }))
    assert.equal(await validator.check(json), undefined)
    assert.equal((await check(JSON.stringify({ content: 'x'.repeat(1e6), mode: 'c' })))?.parameter, '/mode')
    const times = costRatio(
      () => assert.equal(validator.check(json), undefined),
      () => Buffer.from(json),
      20,
    )
    assert.ok(times < 10, `it costs ${times} times as much as a copy`)
  })
})
