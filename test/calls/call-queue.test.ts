import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Call } from '../../src/calls/call.js'
import { CallQueue } from '../../src/calls/call-queue.js'
import { realClock } from '../../src/runtime/deadline.js'
import { callOf, nobody } from '../upstream/support/calls.js'

/** A call with this id. `serial` is its number among the calls of its client. */
function call(name: string, arrivedAt: number, serial: number, client = nobody): Call {
  const made = callOf(JSON.stringify(name), arrivedAt, { client })
  made.serial = serial
  return made
}

function queueOf(calls: readonly Call[]): CallQueue<string> {
  const queue = new CallQueue<string>({ now: () => 0, setTimer: realClock.setTimer }, Infinity)
  for (const each of calls) queue.add(each, each.frame.id)
  return queue
}

const other = { ...nobody, serial: 2 }

const cases: readonly [title: string, calls: readonly Call[], order: readonly string[]][] = [
  ['one after the other', [call('a', 1, 1), call('b', 2, 2)], ['a', 'b']],
  ['one that comes back', [call('b', 2, 2), call('c', 3, 3), call('a', 1, 1)], ['a', 'b', 'c']],
  ['at the same time', [call('b', 1, 2), call('c', 1, 3), call('a', 1, 1)], ['a', 'b', 'c']],
  ['of two clients at the same time', [call('a', 1, 7), call('b', 1, 1, other)], ['a', 'b']],
  ['all that come back', [call('c', 3, 3), call('b', 2, 2), call('a', 1, 1)], ['a', 'b', 'c']],
]
for (const [title, calls, order] of cases)
  test(`calls wait in the order in which they came to the proxy: ${title}`, () => {
    const names = order.map((name) => JSON.stringify(name))
    const found = [...queueOf(calls)].map(([, value]) => value)
    assert.deepEqual(found, names)
    assert.deepEqual(queueOf(calls).takeAll(), names)
  })

test('a call that waits again while the others are looked at keeps its place', () => {
  const [first, second] = [call('a', 1, 1), call('b', 1, 2)]
  const queue = queueOf([first, second])
  const looked: string[] = []
  for (const [call, value] of queue) {
    looked.push(value)
    if (looked.length === 1) queue.take(call)
    if (looked.length === 1) queue.add(first, 'again')
  }
  assert.deepEqual(looked, ['"a"', 'again', '"b"'])
})
