// A set that keeps nothing of what was taken out of it is a set otherwise.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { BriefSet } from '../../../src/jsonrpc/fast/brief-set.js'

test('members come once, leave once, and stand in the order in which they came', () => {
  const [a, b, c] = [{ name: 'a' }, { name: 'b' }, { name: 'c' }]
  const set = new BriefSet<{ readonly name: string }>()
  for (const member of [a, b, c, a]) set.add(member)
  assert.deepEqual([set.size, [...set].map(({ name }) => name)], [3, ['a', 'b', 'c']])
  assert.deepEqual([set.delete(b), set.delete(b), set.size], [true, false, 2])
  set.add(b)
  assert.deepEqual(
    [...set].map(({ name }) => name),
    ['a', 'c', 'b'],
  )
})
