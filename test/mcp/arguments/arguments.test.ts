import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type ArgumentFault, ArgumentValidator } from '../../../src/mcp/arguments/argument-validator.js'
import { argumentLimits } from '../../../src/mcp/arguments/schema.js'

function toolWith(schema: unknown) {
  const warnings: string[] = []
  const json = Buffer.from(typeof schema === 'string' ? schema : JSON.stringify(schema))
  const validator = new ArgumentValidator({ tool: 's__t', schema: json, warn: (text) => warnings.push(text) })
  const check = (text: string | undefined): ArgumentFault | undefined =>
    validator.check(text === undefined ? undefined : Buffer.from(text))
  return { check, validator, warnings }
}

function formOf(kind: string): object {
  return { properties: { kind: { const: kind }, x: { type: 'number' } }, required: ['kind'] }
}

function tupleIn(draft: string | undefined, keyword: string): object {
  return { ...(draft && { $schema: draft }), properties: { a: { [keyword]: [{ type: 'string' }] } } }
}

function schemaOfBytes(bytes: number): string {
  return `{"required":["b"]${' '.repeat(bytes - 18)}}`
}

function schemaOfDepth(depth: number): string {
  return `${'{"items":'.repeat(depth)}{"type":"array"}${'}'.repeat(depth)}`
}

function argumentsOf(bytes: number): string {
  return `{"a":"${'x'.repeat(bytes - 8)}"}`
}

function rowsOf(count: number): string {
  return JSON.stringify({ rows: Array.from({ length: count }, () => 1) })
}

/** A definition that refers to the next one twice. */
function twice(index: number): object {
  const next = { $ref: `#/$defs/${index + 1}` }
  return { allOf: [next, next] }
}

/** Following each reference gives two to the power of `levels` schemas. */
function doubling(levels: number): object {
  const level = (index: number): object => (index === levels ? { required: ['b'] } : twice(index))
  const definitions = Array.from({ length: levels + 1 }, (_, index) => [index, level(index)])
  return { $ref: '#/$defs/0', $defs: Object.fromEntries(definitions) }
}

/** The root and its keyword are two nodes, every branch and its keyword two more. */
function schemaOfNodes(nodes: number): object {
  return { allOf: Array.from({ length: nodes / 2 - 1 }, () => ({ minProperties: 2 })) }
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
  /** The arguments, the message, the parameter, and the keyword. */
  const cases: readonly (readonly [string, string | undefined, string?, string?, string?])[] = [
    ['missing', '{}', "Missing required parameter 'query'", 'query'],
    ['none at all', undefined, "Missing required parameter 'query'", 'query'],
    ['deeper', '{"query":"ab","filter":{}}', "Missing required parameter '/filter/from'", '/filter/from'],
    ['type', '{"query":"ab","count":"x"}', "'count' must be integer", '/count', 'type'],
    ['type inside', '{"query":"ab","tags":["a",{}]}', "'/tags/1' must be string", '/tags/1', 'type'],
    ['minimum', '{"query":"ab","count":0}', "'count' must be >= 1", '/count', 'minimum'],
    ['enum', '{"query":"ab","mode":"x"}', `'mode' must be one of "fast", "deep"`, '/mode', 'enum'],
    ['length', '{"query":"a"}', "'query' must have at least 2 characters", '/query', 'minLength'],
    ['code points', '{"query":"😀"}', "'query' must have at least 2 characters", '/query', 'minLength'],
    ['items', '{"query":"ab","tags":["a","b","c"]}', "'tags' must have at most 2 items", '/tags', 'maxItems'],
    ['two types', '{"query":"ab","either":{}}', "'either' must be string or integer", '/either', 'type'],
    ['odd name', '{"query":"ab","a/b~c":"x"}', "'a/b~c' must be number", '/a~1b~0c', 'type'],
    ['no object', '[]', 'arguments must be object', '', 'type'],
    ['valid', '{"query":"ab","count":50,"mode":"deep","either":7,"code":"ABC"}'],
    ['1.0 is an integer', '{"query":"ab","count":1.0}'],
    ['the last duplicate counts', '{"query":1,"query":"ab"}'],
    ['and is found wrong', '{"query":"ab","query":{}}', "'query' must be string", '/query', 'type'],
    ['only __proto__', '{"__proto__":{"query":"ab"}}', "Missing required parameter 'query'", 'query'],
  ]
  for (const [title, json, what, parameter, keyword] of cases)
    it(title, () => {
      const { check, warnings } = toolWith(search)
      const allowed = keyword === 'enum' && { allowed: ['fast', 'deep'] }
      const details = keyword === undefined ? {} : { keyword, ...allowed }
      const want = what === undefined ? undefined : { message: `Invalid params: ${what}`, parameter, details }
      assert.deepEqual(check(json), want)
      assert.deepEqual(warnings, [])
    })

  it('members are not taken from the prototype', () => {
    const { check } = toolWith({ type: 'object', required: ['toString'] })
    assert.equal(check('{}')?.parameter, 'toString')
  })

  it('a branch that was meant says what is wrong inside it', () => {
    const { check } = toolWith({ type: 'object', properties: { s: { oneOf: [formOf('a'), formOf('b')] } } })
    assert.equal(check('{"s":{"kind":"b","x":"y"}}')?.message, "Invalid params: '/s/x' must be number")
    const message = check('{"s":{"kind":"c"}}')?.message
    assert.equal(message, "Invalid params: 's' must have one of the allowed forms")
  })

  it('a choice inside of a choice says what its own branches ask for', () => {
    const inner = { anyOf: [{ type: 'string' }, { type: 'integer' }] }
    const { check } = toolWith({ properties: { s: { oneOf: [{ const: null }, inner] } } })
    assert.equal(check('{"s":{}}')?.message, "Invalid params: 's' must be string or integer")
  })

  it('names only so many allowed values', () => {
    const { check } = toolWith({ properties: { a: { enum: Array.from({ length: 500 }, (_, i) => i) } } })
    const fault = check('{"a":"x"}')
    assert.match(fault?.message ?? '', /18, 19, … \(500 in all\)$/)
    assert.equal(JSON.stringify(fault?.details).length < 200, true)
  })

  it('big integers are not refused', () => {
    const { check } = toolWith({ properties: { a: { type: 'array', items: { type: 'integer' } } } })
    assert.equal(check('{"a":[9007199254740992,9007199254740993,1e400]}'), undefined)
  })
})

const dialects = [
  ['prefixItems without $schema', tupleIn(undefined, 'prefixItems'), '/a/0'],
  ['prefixItems in 2020-12', tupleIn('https://json-schema.org/draft/2020-12/schema', 'prefixItems'), '/a/0'],
  ['a list of items in draft-07', tupleIn('http://json-schema.org/draft-07/schema#', 'items'), '/a/0'],
  ['a list of items in 2019-09', tupleIn('https://json-schema.org/draft/2019-09/schema', 'items'), '/a/0'],
  ['$ref into $defs', { $defs: { x: { required: ['b'] } }, $ref: '#/$defs/x' }, 'b'],
  ['$ref beside others', { properties: { a: { $ref: '#/properties/b' }, b: { type: 'string' } } }, '/a'],
  ['nullable', { properties: { a: { type: 'string', nullable: true } } }, '/a'],
  ['nullable of no type', { properties: { a: { nullable: true } }, required: ['b'] }, 'b'],
  ['$async is not obeyed', { $async: true, required: ['b'] }, 'b'],
] as const
for (const [title, schema, parameter] of dialects)
  it(`dialects of schemas: ${title}`, () => {
    const { check, warnings } = toolWith(schema)
    assert.equal(check('{"a":[{}]}')?.parameter, parameter)
    assert.deepEqual(warnings, [])
  })

describe('schemas that are not run, or in part', () => {
  const cases = [
    ['no JSON', '{', /not: it is not an object/],
    ['no schema', '[]', /not: it is not an object/],
    ['an unknown dialect', { $schema: 'https://canary.test/schema', type: 'object' }, /dialect/],
    ['a reference outside', { $ref: 'https://canary.test/other.json' }, /\$ref/],
    ['a reference nowhere', { $ref: '#/$defs/none' }, /\$ref/],
    ['an anchor', { $defs: { x: { $anchor: 'here', required: ['b'] } }, $ref: '#here' }, /\$ref/],
    ['a type that is none', { type: 'text' }, /not: it cannot be compiled/],
    ['a keyword of the wrong type', { properties: { a: { minLength: '1' } } }, /not: it cannot be compiled/],
    ['a list for a schema', { properties: { a: [], b: 3 } }, /is no schema/],
    ['too long a schema', schemaOfBytes(argumentLimits.schemaBytesMax + 1), /not: it has 262145 bytes/],
  ] as const
  for (const [title, schema, reason] of cases)
    it(`${title}: one warning, no fault`, () => {
      const { check, warnings } = toolWith(schema)
      for (let call = 0; call < 3; call++) assert.equal(check('{"a":1}'), undefined)
      assert.equal(warnings.length, 1)
      assert.match(warnings[0] ?? '', reason)
      assert.match(warnings[0] ?? '', /^Tool 's__t': /)
    })

  it('a member that ajv passes over', () => {
    const { check, warnings } = toolWith(
      '{"properties":{"__proto__":{"type":"string"},"a":{"type":"number"}}}',
    )
    assert.equal(check('{"__proto__":1,"a":{}}')?.parameter, '/a')
    assert.deepEqual(warnings, [])
  })

  it('bytes up to the limit', () =>
    assert.equal(toolWith(schemaOfBytes(argumentLimits.schemaBytesMax)).check('{}')?.parameter, 'b'))

  it('a schema that refers to itself is checked up to there', () => {
    const { check, warnings } = toolWith({
      properties: { name: { type: 'string' }, next: { $ref: '#' } },
      required: ['name'],
    })
    assert.equal(check('{}')?.parameter, 'name')
    assert.equal(check('{"name":{}}')?.parameter, '/name')
    assert.equal(check('{"name":"a","next":{"name":{}}}'), undefined)
    assert.match(warnings.join(), /^Tool 's__t': its schema is checked only in part: it refers to itself$/)
  })

  it('nesting up to the limit', () => {
    const at = toolWith(schemaOfDepth(argumentLimits.depthMax))
    const past = toolWith(schemaOfDepth(argumentLimits.depthMax + 1))
    at.check('{}')
    past.check('{}')
    assert.deepEqual(at.warnings, [])
    assert.match(past.warnings[0] ?? '', /nested too deeply/)
  })

  it('keywords and subschemas up to the limit', () => {
    const at = toolWith(schemaOfNodes(argumentLimits.nodesMax))
    const past = toolWith(schemaOfNodes(argumentLimits.nodesMax + 4))
    for (const { check } of [at, past]) assert.equal(check('{"a":1}')?.parameter, '')
    assert.deepEqual(at.warnings, [])
    assert.match(past.warnings[0] ?? '', /too large/)
  })

  it('references are counted as what they refer to', () => {
    const [few, many] = [toolWith(doubling(6)), toolWith(doubling(22))]
    assert.equal(few.check('{}')?.parameter, 'b')
    assert.equal(many.check('{}'), undefined)
    assert.match(many.warnings[0] ?? '', /too (?:large|deeply)/)
  })

  it('a schema of 300 typed properties is checked in full', () => {
    const names = Array.from({ length: 300 }, (_, index) => `p${index}`)
    const properties = Object.fromEntries(names.map((name) => [name, { type: 'integer', description: name }]))
    const { check, warnings } = toolWith({ type: 'object', properties, required: ['p7'] })
    assert.equal(check('{}')?.parameter, 'p7')
    assert.equal(check('{"p7":1,"p299":"x"}')?.parameter, '/p299')
    assert.deepEqual(warnings, [])
  })
})

const schema = { properties: { rows: { items: { type: 'integer' } } }, required: ['mode'] }

it('unchecked arguments: too long', () => {
  const { check } = toolWith(schema)
  assert.equal(check(argumentsOf(argumentLimits.argumentBytesMax))?.parameter, 'mode')
  assert.equal(check(argumentsOf(argumentLimits.argumentBytesMax + 1)), undefined)
})

it('unchecked arguments: too many for the schema', () => {
  const { check } = toolWith(schema)
  // The schema is seven nodes, and a quarter for the name of the required member; the arguments are two objects
  // more than the rows.
  const steps = 7.25
  const most = Math.floor(argumentLimits.stepsMax / steps) - 2
  assert.equal(check(rowsOf(most))?.parameter, 'mode')
  assert.equal(check(rowsOf(most + 1)), undefined)
})

const leftOut = [
  ['a pattern', { properties: { a: { pattern: '^x' } } }, undefined],
  ['a pattern among others', { properties: { a: { pattern: '^x', minLength: 9 } } }, '/a'],
  ['pattern', { patternProperties: { '^a': { type: 'number' } }, additionalProperties: false }, undefined],
  ['equal items', { properties: { a: { uniqueItems: true } } }, undefined],
  [
    'one of two patterns, none of which fits by type',
    {
      properties: {
        a: {
          oneOf: [
            { type: 'number', pattern: '^y' },
            { type: 'array', pattern: '^z' },
          ],
        },
      },
    },
    '/a',
  ],
] as const
for (const [title, schema, parameter] of leftOut)
  it(`keywords that are left out of a schema: ${title}`, () => {
    const { check, warnings } = toolWith(schema)
    assert.equal(check('{"a":"wow"}')?.parameter, parameter)
    assert.deepEqual(warnings, [])
  })

it('calls are compared with nothing where there is nothing to compile', () => {
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
    assert.equal(fault?.message, 'Invalid params: arguments must be object')
  }
})

it('calls do not see the schema of another tool', () => {
  const id = { $id: 'https://x.test/shared' }
  const one = toolWith({ ...id, required: ['a'] })
  const two = toolWith({ ...id, required: ['b'] })
  const three = toolWith({ $ref: 'https://x.test/shared' })
  assert.equal(one.check('{}')?.parameter, 'a')
  assert.equal(two.check('{}')?.parameter, 'b')
  assert.equal(three.check('{}'), undefined)
  assert.equal(three.warnings.length, 1)
})
