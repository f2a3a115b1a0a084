import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { Turns } from '../../src/sandbox/turns.js'

const { signal } = new AbortController()

describe('turns', () => {
  test('are given in the order in which they were asked for, so many at once', async () => {
    const turns = new Turns(2, 2)
    const order: string[] = []
    const take = async (name: string): Promise<() => void> => {
      const back = await (turns.take(signal) ?? assert.fail('too many'))
      order.push(name)
      return back
    }
    const first = await take('a')
    await take('b')
    const waiting = [take('c'), take('d')]
    assert.equal(turns.take(signal), undefined, 'no more than two wait')
    assert.deepEqual(order, ['a', 'b'])
    first()
    first()
    const third = await (waiting[0] ?? assert.fail())
    assert.deepEqual(order, ['a', 'b', 'c'])
    third()
    await waiting[1]
    assert.deepEqual(order, ['a', 'b', 'c', 'd'])
  })

  test('are not waited for by a call that was cancelled before', async () => {
    const turns = new Turns(1, 1)
    await turns.take(signal)
    await assert.rejects(turns.take(AbortSignal.abort(new Error('gone'))) ?? assert.fail(), /gone/)
    assert(turns.take(signal) !== undefined, 'it waits for no turn')
  })

  test('are not given to who has left the queue', async () => {
    const turns = new Turns(1, 2)
    const back = await (turns.take(signal) ?? assert.fail())
    const leaving = new AbortController()
    const left = turns.take(leaving.signal) ?? assert.fail()
    const next = turns.take(signal) ?? assert.fail()
    leaving.abort(new Error('gone'))
    await assert.rejects(left, /gone/)
    back()
    const last = await next
    assert(turns.take(signal) !== undefined, 'there is room to wait again')
    last()
  })
})
