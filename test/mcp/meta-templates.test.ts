// The `_meta` of a request from a client with a session to a server without one.

import { strict as assert } from 'node:assert'
import { test } from 'node:test'
import { inOrder, splice } from '../../src/jsonrpc/splice.js'
import { StatelessWriter } from '../../src/mcp/eras/server-writers.js'
import { at, parsed } from '../integration/support/json.js'
import { requestOf } from '../jsonrpc/support/frames.js'
import { callOf } from '../upstream/support/calls.js'

const key = (name: string): string => `io.modelcontextprotocol/${name}`
const [C, I, L] = [
  `"${key('clientCapabilities')}":{"sampling":{}}`,
  `"${key('clientInfo')}":{"name":"forged","version":"0"}`,
  `"${key('logLevel')}":"debug"`,
]

function said(params: string): unknown {
  const call = callOf('1', 0)
  call.frame = requestOf(`{"jsonrpc":"2.0","id":1,"method":"tools/call"${params}}`)
  const edits = new StatelessWriter({ name: 'p', version: '1' }, () => {}).edits(call)
  return parsed(splice(call.frame.line, inOrder(edits)).toString())
}

const own = {
  [key('protocolVersion')]: '2026-07-28',
  [key('clientCapabilities')]: {},
  [key('clientInfo')]: { name: 'p', version: '1' },
}

const cases: readonly (readonly [params: string, kept: object])[] = [
  ['', {}],
  [',"params":{}', {}],
  [',"params":{"name":"t"}', {}],
  [',"params":{"name":"t","_meta":{}}', {}],
  [',"params":{"_meta":null,"name":"t"}', {}],
  [`,"params":{"_meta":{${C}}}`, {}],
  [`,"params":{"_meta":{${C},${I}}}`, {}],
  [`,"params":{"_meta":{ ${C} , ${I} , ${L} }}`, {}],
  [`,"params":{"_meta":{"a":1,${C},${I}}}`, { a: 1 }],
  [`,"params":{"_meta":{${C},${I},"a":1}}`, { a: 1 }],
  [`,"params":{"_meta":{${C},"a":1,${L}}}`, { a: 1 }],
]

for (const [params, kept] of cases)
  test(`the proxy's own words, whatever the client says: ${params}`, () =>
    assert.deepEqual(at(said(params), 'params', '_meta'), { ...own, ...kept }))

test('unrequested answers and states are left out', () =>
  assert.deepEqual(said(',"params":{"inputResponses":{"a":{}},"requestState":"x","name":"t"}'), {
    jsonrpc: '2.0',
    id: 1,
    method: 'tools/call',
    params: { _meta: own, name: 't' },
  }))
