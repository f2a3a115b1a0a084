// The limit on the unread bytes of all clients together.

import { strict as assert } from 'node:assert'
import { test } from 'node:test'
import { Unread } from '../../src/proxy/clients/unread.js'

function readers(gone: string[]) {
  return (name: string, backlogBytes: number) => ({
    name,
    backlogBytes,
    disconnectSlow: (bytes: number) => {
      gone.push(`${name} ${bytes}`)
      return bytes
    },
  })
}

test('who has left most unread makes room when it is too much in all', () => {
  const gone: string[] = []
  const reader = readers(gone)
  const unread = new Unread(100)
  const [a, b, c] = [reader('a', 40), reader('b', 50), reader('c', 10)]
  for (const each of [a, b, c]) unread.add(each)
  assert.deepEqual(gone, [])
  a.backlogBytes = 41
  unread.add(a)
  assert.deepEqual(gone, ['b 50'])
  a.backlogBytes = 91
  unread.add(a)
  assert.deepEqual(gone, ['b 50', 'a 91'], 'what b left does not count any more')
})

test('who has read everything, or is gone, does not count', () => {
  const gone: string[] = []
  const reader = readers(gone)
  const unread = new Unread(100)
  const [a, b] = [reader('a', 100), reader('b', 60)]
  unread.add(a)
  unread.remove(a)
  unread.add(b)
  assert.deepEqual(gone, [])
})

test('one client alone may be too much', () => {
  const gone: string[] = []
  new Unread(100).add(readers(gone)('a', 101))
  assert.deepEqual(gone, ['a 101'])
})
