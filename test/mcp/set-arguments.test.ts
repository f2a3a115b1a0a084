// Arguments that the configuration sets: the call at the server, and the schema for clients.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { inOrder, splice } from '../../src/jsonrpc/splice.js'
import { argumentEdits, withoutParameters } from '../../src/mcp/set-arguments.js'
import { readListItem } from '../../src/mcp/list-items.js'
import { requestOf } from '../jsonrpc/support/frames.js'

const set = new Map([
  ['owner', '"acme"'],
  ['deep', '{"a":[1.0]}'],
])
const whole = '"owner":"acme","deep":{"a":[1.0]}'

const calls: readonly (readonly [title: string, params: string, want: string])[] = [
  ['none', '"name":"t"', `"name":"t","arguments":{${whole}}`],
  ['none, and more behind the name', '"name":"t","_meta":{}', `"name":"t","arguments":{${whole}},"_meta":{}`],
  ['null', '"arguments":null,"name":"t"', `"arguments":{${whole}},"name":"t"`],
  ['an empty object', '"name":"t","arguments":{ }', `"name":"t","arguments":{${whole} }`],
  ['others', '"name":"t","arguments":{"x":1}', `"name":"t","arguments":{${whole},"x":1}`],
  ['one of them', '"name":"t","arguments":{"x":1,"owner":"me"}', `"name":"t","arguments":{${whole},"x":1}`],
  ['an escape', '"name":"t","arguments":{"deep":0,"\\u006fwner":"me"}', `"name":"t","arguments":{${whole}}`],
  ['one twice', '"name":"t","arguments":{"owner":1,"deep":2,"owner":3}', `"name":"t","arguments":{${whole}}`],
  ['one in another case', '"name":"t","arguments":{"Owner":"me"}', `"name":"t","arguments":{${whole}}`],
  ['no object', '"name":"t","arguments":[1]', `"name":"t","arguments":{${whole}}`],
]

function filled(params: string): string {
  const frame = requestOf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{${params}}}`)
  const text = splice(frame.line, inOrder(argumentEdits(frame, set))).toString()
  return text.slice(text.indexOf('"params":{') + 10, -2)
}

for (const [title, params, want] of calls)
  test(`a call that brings ${title}`, () => assert.equal(filled(params), want))

test('a call that brings more members than are read keeps none of them', () => {
  const many = Array.from({ length: 10_001 }, (_, at) => `"k${at}":1`).join(',')
  assert.equal(filled(`"name":"t","arguments":{${many},"owner":"me"}`), `"name":"t","arguments":{${whole}}`)
})

const schemas: readonly (readonly [title: string, schema: string, want: string])[] = [
  [
    'first',
    '{"properties":{"owner":{}, "x":{}},"required":["owner", "x"]}',
    '{"properties":{"x":{}},"required":["x"]}',
  ],
  [
    'last',
    '{"required":["x","owner"],"properties":{"x":1 , "owner":2}}',
    '{"required":["x"],"properties":{"x":1}}',
  ],
  ['in the middle', '{"properties":{"x":{},"deep":{},"owner":{},"y":{}}}', '{"properties":{"x":{},"y":{}}}'],
  ['alone', '{"properties":{ "owner":{} },"required":["owner"]}', '{"properties":{  },"required":[]}'],
  ['at both ends', '{"properties":{"owner":{},"x":{},"deep":{}}}', '{"properties":{"x":{}}}'],
  [
    'nowhere',
    '{"properties":{"x":{"properties":{"owner":{}}}}}',
    '{"properties":{"x":{"properties":{"owner":{}}}}}',
  ],
  ['with escapes', '{"properties":{"\\u006fwner":{},"x":{}}}', '{"properties":{"x":{}}}'],
  ['in no schema', 'true', 'true'],
]

for (const [title, schema, want] of schemas)
  test(`a schema with the parameters ${title} is listed without them`, () => {
    const item = readListItem(Buffer.from(`{"name":"t","inputSchema":${schema}}`), 'tools')
    assert(item !== undefined)
    const tool = withoutParameters(item.line, item.schemaSpan, set).toString()
    assert.equal(tool, `{"name":"t","inputSchema":${want}}`)
  })
