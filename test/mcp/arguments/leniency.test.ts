import assert from 'node:assert/strict'
import { it } from 'node:test'
import { type ArgumentFault, ArgumentValidator } from '../../../src/mcp/arguments/argument-validator.js'

function checker(schema: unknown): (args: string) => string | undefined {
  const json = Buffer.from(JSON.stringify(schema))
  const validator = new ArgumentValidator({ tool: 't', schema: json, warn: (text) => assert.fail(text) })
  return (args) => {
    const fault: ArgumentFault | undefined = validator.check(Buffer.from(args))
    return fault?.message.replace('Invalid params: ', '')
  }
}

const object = (properties: object, more: object = {}): object => ({ type: 'object', properties, ...more })
const one = (schema: object): object => object({ a: schema }, { required: ['a'] })
const closed = { additionalProperties: false }
const [integer, text] = [{ type: 'integer' }, { type: 'string' }]

const forgiven: readonly (readonly [title: string, schema: object, args: string])[] = [
  ['a required member with a default', one({ ...text, default: 'x' }), '{}'],
  ['a default that does not fit its own schema', one({ ...text, default: null }), '{}'],
  ['a default in a list', object({ rows: { type: 'array', items: one({ default: 1 }) } }), '{"rows":[{}]}'],
  ['a default beside $ref', { ...one({ $ref: '#/$defs/x', default: 1 }), $defs: { x: { enum: [1] } } }, '{}'],
  ['a text for a number', one({ type: 'number' }), '{"a":" 1.5e3 "}'],
  ['a text for an integer', one({ ...integer, minimum: 1 }), '{"a":"1"}'],
  ['a text of a whole number with a point', one(integer), '{"a":"1.0"}'],
  ['a text of a large integer', one(integer), '{"a":"12345678901234567890"}'],
  ['a text for a boolean', one({ type: 'boolean' }), '{"a":"True"}'],
  ['0 for a boolean', one({ type: 'boolean' }), '{"a":0}'],
  ['a boolean for an integer', one(integer), '{"a":true}'],
  ['a number for a text', one(text), '{"a":5.0}'],
  ['a boolean for a text', one({ ...text, enum: ['true'] }), '{"a":true}'],
  ['a text for an integer or null', one({ type: ['integer', 'null'] }), '{"a":"7"}'],
  ['"null" for null', one({ type: ['integer', 'null'] }), '{"a":"null"}'],
  ['JSON in a text for a list', one({ type: 'array', items: text }), '{"a":"[\\"x\\", 1]"}'],
  ['JSON in a text for an object', one(object({ n: integer }, { required: ['n'] })), '{"a":" {\\"n\\":1}"}'],
  [
    'long JSON in a text',
    one({ type: 'array', minItems: 2, items: integer }),
    JSON.stringify({ a: JSON.stringify(Array.from({ length: 5000 }, (_, index) => index)) }),
  ],
  ['a text for a constant number', one({ const: 1 }), '{"a":"1"}'],
  ['a number for a listed text', one({ enum: ['1', '2'] }), '{"a":1}'],
  ['a text for a listed number', one({ ...integer, enum: [1, 2] }), '{"a":"2"}'],
  ['null for an optional member', object({ a: text }), '{"a":null}'],
  ['null for a member with a default', one({ ...text, default: 'x' }), '{"a":null}'],
  ['an extra member', object({}, closed), '{"x":1}'],
  ['an extra member named __proto__', object({ a: {} }, closed), '{"__proto__":{"a":1}}'],
  ['an extra member inside', one(object({ b: {} }, closed)), '{"a":{"c":1}}'],
  [
    'an extra member of unevaluatedProperties',
    { type: 'object', allOf: [object({ a: {} })], unevaluatedProperties: false },
    '{"b":1}',
  ],
  [
    'closed objects in allOf, each without the members of the other',
    { allOf: [object({ a: {} }, closed), object({ b: {} }, { ...closed, required: ['b'] })] },
    '{"a":1,"b":1}',
  ],
  ['all three', object({ a: integer, b: { default: 1 } }, { ...closed, required: ['b'] }), '{"a":"1","c":1}'],
  ['a text in anyOf', one({ anyOf: [{ ...integer, minimum: 1 }, { type: 'null' }] }), '{"a":"5"}'],
  ['a text in oneOf, for two forms', one({ oneOf: [integer, { type: 'number' }] }), '{"a":"5"}'],
  ['one missing form', object({}, { oneOf: [{ minProperties: 1 }, { required: ['a'] }] }), '{"a":1}'],
  [
    'a schema behind `not`, `else` and `contains`',
    one({
      not: { const: 5 },
      if: { const: 4 },
      else: { const: 4 },
      contains: false,
      uniqueItems: true,
      pattern: 'x',
    }),
    '{"a":5}',
  ],
  ['tuple', one({ type: 'array', prefixItems: [integer], items: { type: 'boolean' } }), '{"a":["1","true"]}'],
]

/** Values that are invalid even after coercion. The server decides. */
const forwarded: typeof forgiven = [
  ['JSON in a text, wrong inside', one({ type: 'array', items: integer }), '{"a":"[\\"x\\"]"}'],
  ['a text of a number that is too small', one({ ...integer, minimum: 1 }), '{"a":"0"}'],
  ['a bound elsewhere', { allOf: [object({ a: integer }), object({ a: { minimum: 1 } })] }, '{"a":"0"}'],
  ['a number whose text does not fit', one({ ...text, minLength: 2 }), '{"a":5}'],
]

/** Invalid values, and the message. */
const refused: readonly (readonly [title: string, schema: object, args: string, fault: string])[] = [
  ['a text that is no number', one({ type: 'number' }), '{"a":"abc"}', "'a' must be number"],
  ['an empty text for a number', one({ type: 'number' }), '{"a":""}', "'a' must be number"],
  ['a text of infinity', one({ type: 'number' }), '{"a":"Infinity"}', "'a' must be number"],
  ['a text of a fraction for an integer', one(integer), '{"a":"1.5"}', "'a' must be integer"],
  ['a fraction for an integer', one(integer), '{"a":1.5}', "'a' must be integer"],
  ['a text that is not listed', one({ ...integer, enum: [1, 2] }), '{"a":"3"}', "'a' must be one of 1, 2"],
  ['2 for a boolean', one({ type: 'boolean' }), '{"a":2}', "'a' must be boolean"],
  ['a value for a list', one({ type: 'array' }), '{"a":"x"}', "'a' must be array"],
  ['JSON of another kind in a text', one({ type: 'array' }), '{"a":"{}"}', "'a' must be array"],
  ['an object for a text', one(text), '{"a":{}}', "'a' must be string"],
  ['null for a required member', one(text), '{"a":null}', "'a' must be string"],
  [
    'what is missing behind a default',
    object({ a: { default: 1 } }, { required: ['a', 'b'] }),
    '{}',
    "Missing required parameter 'b'",
  ],
  ['a wrong and an extra member', object({ a: integer }, closed), '{"x":1,"a":"b"}', "'a' must be integer"],
  ['a wrong text', object({ a: integer, b: { enum: ['x'] } }), '{"a":"1","b":"y"}', `'b' must be "x"`],
  ['a member that is not allowed', object({ a: false }), '{"a":1}', "'a' is not allowed"],
  [
    'an extra member that is too many',
    object({ b: {} }, { ...closed, maxProperties: 1 }),
    '{"b":1,"c":1}',
    'arguments must have at most 1 member',
  ],
  [
    'too few',
    object({ b: {} }, { minProperties: 2 }),
    '{"b":null}',
    'arguments must have at least 2 members',
  ],
  [
    'items behind a tuple',
    object({ a: { type: 'array', prefixItems: [integer], items: false } }),
    '{"a":["1",2]}',
    "'a' must have at most 1 item",
  ],
]

for (const [title, schema, args] of [...forgiven, ...forwarded])
  it(`the check of arguments forgives ${title}`, () => assert.equal(checker(schema)(args), undefined))

for (const [title, schema, args, fault] of refused)
  it(`the check of arguments refuses ${title}`, () => assert.equal(checker(schema)(args), fault))
