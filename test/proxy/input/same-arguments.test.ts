import { strict as assert } from 'node:assert'
import { test } from 'node:test'
import { type RequestFrame } from '../../../src/jsonrpc/frame.js'
import { isSameArguments } from '../../../src/proxy/input/pending-input.js'
import { requestOf } from '../../jsonrpc/support/frames.js'

const cases: readonly (readonly [one: string, other: string, isSame: boolean])[] = [
  ['{"a":1,"b":[1.0]}', '{ "b" : [1], "\\u0061" : 1e0 }', true],
  ['{"a":1}', '{"a":"1"}', false],
  ['{"a":[1,2]}', '{"a":[2,1]}', false],
  ['{"a":null}', '{}', false],
  ['{"__proto__":{"a":1}}', '{}', false],
  ['{"__proto__":{"a":1}}', '{"__proto__":{"a":1.0}}', true],
  ['{"__proto__":{"a":1}}', '{"__proto__":{"a":2}}', false],
  ['{"a":1}', '{"b":1}', false],
  ['{"a":1,"b":2}', '{"a":1}', false],
  ['{}', '[]', false],
  ['{}', 'null', false],
]

const callWith = (args: string): RequestFrame =>
  requestOf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"arguments":${args}}}`)

const isSame = (one: string, other: string): boolean => isSameArguments(callWith(one), callWith(other))

for (const [one, other, wanted] of cases)
  test(`${one} and ${other} ${wanted ? 'say' : 'do not say'} the same`, () =>
    assert.equal(isSame(one, other), wanted))

const text = (length: number, more: string): string => `["${'a'.repeat(length)}"${more}]`

test('texts of more than a mebibyte are not parsed: they are the same as they are written', () => {
  const fits = 1024 * 1024 - 10
  assert.equal(isSame(text(fits, ''), text(fits, ' ')), true)
  const tooLong = 1024 * 1024
  assert.equal(isSame(text(tooLong, ''), text(tooLong, '')), true)
  assert.equal(isSame(text(tooLong, ''), text(tooLong, ' ')), false)
})
