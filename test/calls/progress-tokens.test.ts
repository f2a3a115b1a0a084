import { strict as assert } from 'node:assert'
import { test } from 'node:test'
import { ProgressTokens } from '../../src/calls/progress-tokens.js'

test("a client's own token passes where the connection is its own, and is minted where it is not", () => {
  const tokens = new ProgressTokens<string>()
  assert.equal(tokens.lend('1', 'a', true), '1')
  assert.equal(tokens.lend('"x"', 'b', true), '"x"')
  const minted = tokens.lend('2', 'c', false)
  assert.notEqual(minted, '2')
  assert.deepEqual(
    ['1', '"x"', minted].map((token) => tokens.find(token)),
    ['a', 'b', 'c'],
  )
})

test('a token in use, or one that would come back spelt otherwise, is not lent', () => {
  const tokens = new ProgressTokens<string>()
  tokens.lend('1', 'a', true)
  for (const own of ['1', '1.0', '-0', '1e3', '"\\u0041"']) assert.notEqual(tokens.lend(own, own, true), own)
  assert.equal(tokens.find('1'), 'a')
})

test('what is minted for one client was never lent to another, nor the other way round', () => {
  const tokens = new ProgressTokens<string>()
  const own = [
    ...Array.from({ length: 2000 }, (_, at) => String(at)),
    '1000000001',
    '1000000009',
    '4000000000',
  ]
  const lent = own.map((token) => tokens.lend(token, token, true))
  assert.deepEqual(lent, own)
  for (const token of lent) tokens.release(token)
  const minted = Array.from({ length: 3000 }, (_, at) => tokens.lend(`"${at}"`, 'other', false))
  assert.deepEqual(
    minted.filter((token) => lent.includes(token)),
    [],
  )
  for (const token of minted) tokens.release(token)
  for (const token of minted) assert.notEqual(tokens.lend(token, 'late', true), token)
})

test('progress that may still come for a call that is over finds nobody', () => {
  const tokens = new ProgressTokens<string>()
  const token = tokens.lend('7', 'a', true)
  tokens.retire(token)
  assert.equal(tokens.find(token), undefined)
  assert.notEqual(tokens.lend('7', 'b', true), '7')
})
