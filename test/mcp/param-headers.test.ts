// Arguments that are repeated in header fields.

import { strict as assert } from 'node:assert'
import { test } from 'node:test'
import { differingField, paramFields, paramHeaders, textOfField } from '../../src/mcp/http-headers.js'

const schemaOf = (names: readonly string[]): Buffer =>
  Buffer.from(
    JSON.stringify({
      type: 'object',
      properties: Object.fromEntries(names.map((name) => [name, { type: 'string', 'x-mcp-header': name }])),
    }),
  )
const headers = paramHeaders(schemaOf(['region', 'size']))

const sentIn =
  (sent: Readonly<Record<string, string>>) =>
  (name: string): string | undefined =>
    sent[name.replace('mcp-param-', '')]

/** The arguments, the fields, and the field that differs. */
const cases: readonly (readonly [string, Readonly<Record<string, string>>, string | undefined])[] = [
  ['{"region":"eu"}', { region: 'eu' }, undefined],
  ['{"region":"eu","region":"us"}', { region: 'us' }, undefined],
  ['{"region":"eu","region":"us"}', { region: 'eu' }, 'mcp-param-region'],
  ['{"reg\\u0069on":"us"}', {}, 'mcp-param-region'],
  ['{"region":"eu","reg\\u0069on":"us"}', { region: 'eu' }, 'mcp-param-region'],
  ['{"deep":{"region":"us"}}', {}, undefined],
  ['{"size":1e3}', { size: '1e3' }, undefined],
  ['{"size":1e3}', { size: '1000' }, undefined],
  ['{"size":1e3}', { size: '1e4' }, 'mcp-param-size'],
  ['[]', {}, undefined],
]

for (const [args, sent, differs] of cases)
  test(`fields are compared with arguments as a server reads them: ${args} and ${JSON.stringify(sent)}`, () =>
    assert.equal(differingField(headers, Buffer.from(args), sentIn(sent)), differs))

const typed = paramHeaders(
  Buffer.from(
    JSON.stringify({
      type: 'object',
      properties: {
        region: { type: ['string', 'null'], 'x-mcp-header': 'region' },
        size: { type: 'integer', 'x-mcp-header': 'size' },
        deep: { type: 'object', properties: { on: { type: 'boolean', 'x-mcp-header': 'on' } } },
      },
    }),
  ),
)

/** The title, the arguments, the fields, and the field that differs. */
const ofTypes: readonly [string, object, Readonly<Record<string, string>>, string | undefined][] = [
  [
    'all that is given',
    { region: 'eu', size: 42, deep: { on: true } },
    { region: 'eu', size: '42.0', on: 'true' },
    undefined,
  ],
  ['what is not there, or null', { region: null }, { size: '9' }, undefined],
  ['a text in Base64', { region: 'é' }, { region: '=?base64?w6k=?=' }, undefined],
  ['nothing, for nothing at all', { region: '' }, { region: '' }, undefined],
  ['nothing, though there is an argument', { region: 'eu' }, {}, 'mcp-param-region'],
  ['another text', { region: 'eu' }, { region: 'EU' }, 'mcp-param-region'],
  ['another number', { size: 42 }, { size: '43' }, 'mcp-param-size'],
  ['a text in place of true', { deep: { on: true } }, { on: 'yes' }, 'mcp-param-on'],
]

for (const [title, args, sent, differs] of ofTypes)
  test(`fields of typed arguments: ${title}`, () =>
    assert.equal(differingField(typed, Buffer.from(JSON.stringify(args)), sentIn(sent)), differs))

test('a server over HTTP is told of the argument that it reads', () =>
  assert.deepEqual(paramFields(headers, Buffer.from('{"region":"eu","region":"us"}')), [
    'mcp-param-region',
    'us',
  ]))

/** The fields have the bytes of the numbers, which a JavaScript number would not preserve. */
const numbers = ['9007199254740993', '1.0', '1e3', '-0', '1E400']

for (const number of numbers)
  test(`a server over HTTP is told of ${number} as it is written`, () => {
    const args = Buffer.from(`{"region":"eu","size":0,"deep":{ "count" : ${number} },"s\\u0069ze":${number}}`)
    const deep = { field: 'mcp-param-count', path: ['deep', 'count'] }
    const told = paramFields([...headers, deep], args)
    const wanted = ['mcp-param-region', 'eu', 'mcp-param-size', number, 'mcp-param-count', number]
    assert.deepEqual(told, wanted)
  })

test('a number among more arguments than are read as bytes is told of by its value', () => {
  const many = Object.fromEntries(Array.from({ length: 10_000 }, (_, at) => [`n${at}`, at]))
  const args = Buffer.from(JSON.stringify({ ...many, size: 42 }))
  assert.deepEqual(paramFields(headers, args), ['mcp-param-size', '42'])
})

const base64 = (text: string): string => `=?base64?${Buffer.from(text).toString('base64')}?=`
const encoded = Buffer.from('s__nonce').toString('base64')

for (const twin of [
  `=?BASE64?${encoded}?=`,
  `=?base64?${encoded}`,
  `=?base64?${encoded.replace(/=+$/, '')}?=`,
  `=?base64?${encoded}=?=`,
  `=?base64? ${encoded}?=`,
  `=?base64?${encoded.slice(0, 4)} ${encoded.slice(4)}?=`,
  base64(base64('s__nonce')),
])
  test(`a field value that another reader might take for a name in Base64 is no such name: ${twin}`, () =>
    assert.notEqual(textOfField(twin), 's__nonce'))

test('a field value that is a name in Base64 is read as that name', () =>
  assert.equal(textOfField(base64('s__nonce')), 's__nonce'))
