// The validation of a kept file.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { decodeKept, encodeKept, fromEntry, toEntry } from '../../src/kept/store.js'
import { limits } from '../../src/limits.js'
import { factsOf } from './support/facts.js'

const entry = (change: object = {}): unknown => ({ ...Object(toEntry('s', 7, factsOf('t'))), ...change })

const said = (change: object): unknown =>
  entry({
    description: { handshake: '{}', probeFailed: false, lists: { tools: ['{"name":"t"}'] }, ...change },
  })

test('an entry is the facts that were written', () =>
  assert.deepEqual(fromEntry(JSON.parse(JSON.stringify(entry()))), factsOf('t')))

const cases: readonly (readonly [string, unknown])[] = [
  ['no object', 'text'],
  ['a list', []],
  ['whose failure is no text', entry({ failure: 1 })],
  ['whose description is no object', entry({ description: 1 })],
  ['whose handshake is no JSON', said({ handshake: '{' })],
  ['whose handshake is two JSON texts', said({ handshake: '{},{}' })],
  ['whose list is no list', said({ lists: { tools: 'x' } })],
  ['whose item is no text', said({ lists: { tools: [1] } })],
  ['whose item is no JSON', said({ lists: { tools: ['{"name":"t"'] } })],
  ['whose item ends another one', said({ lists: { tools: ['{}],"x":[{}'] } })],
  ['that does not say whether its probe failed', said({ probeFailed: 1 })],
]
for (const [what, value] of cases)
  test(`an entry: ${what} counts as missing`, () => assert.equal(fromEntry(value), undefined))

const text = encodeKept({ salt: 's', entries: new Map([['id', entry()]]) }, '/mcp.json', 7, limits.kept)

test('a file has the entries that were written', () => {
  const json = decodeKept(text)
  assert.equal(json?.salt, 's')
  assert.deepEqual(fromEntry(json.entries.get('id')), factsOf('t'))
})

for (const [what, bytes] of [
  ['cut', text.subarray(0, -3)],
  ['empty', Buffer.alloc(0)],
  ['of another format', Buffer.from('{"format":2,"salt":"s","servers":{}}')],
  ['without a salt', Buffer.from('{"format":1,"salt":"","servers":{}}')],
  ['without servers', Buffer.from('{"format":1,"salt":"s"}')],
] as const)
  test(`a file that is ${what} counts as missing`, () => assert.equal(decodeKept(bytes), undefined))
