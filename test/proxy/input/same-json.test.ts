// Whether two texts say the same.

import { strict as assert } from 'node:assert'
import { test } from 'node:test'
import { isSameJson } from '../../../src/proxy/input/client-input.js'

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

for (const [one, other, isSame] of cases)
  test(`${one} and ${other} ${isSame ? 'say' : 'do not say'} the same`, () => {
    assert.equal(isSameJson(one, other), isSame)
  })

const nested = (inside: string): string => '['.repeat(100_000) + inside + ']'.repeat(100_000)

test('texts may be nested as deep as they are long', () => {
  assert.equal(isSameJson(nested('1'), nested('1.0')), true)
  assert.equal(isSameJson(nested('1'), nested('2')), false)
})

const text = (length: number, more: string): string => `["${'a'.repeat(length)}"${more}]`

test('texts of more than a mebibyte are not parsed: they are the same as they are written', () => {
  const fits = 1024 * 1024 - 10
  assert.equal(isSameJson(text(fits, ''), text(fits, ' ')), true)
  const tooLong = 1024 * 1024
  assert.equal(isSameJson(text(tooLong, ''), text(tooLong, '')), true)
  assert.equal(isSameJson(text(tooLong, ''), text(tooLong, ' ')), false)
})
