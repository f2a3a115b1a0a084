import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { Turns } from '../../src/sandbox/runs.js'

const { signal } = new AbortController()

/** Works of one queue, each of which ends when it is told to. */
class Works {
  readonly begun: string[] = []
  readonly #ends = new Map<string, () => void>()
  readonly #turns: Turns

  constructor(turns: Turns) {
    this.#turns = turns
  }

  run(name: string, own: AbortSignal = signal): Promise<string> | undefined {
    return this.#turns.run(own, async () => {
      this.begun.push(name)
      await new Promise<void>((resolve) => this.#ends.set(name, resolve))
      return name
    })
  }

  async end(name: string): Promise<void> {
    this.#ends.get(name)?.()
    await turn()
  }
}

describe('turns', () => {
  test('are given in the order in which they were asked for, so many at once', async () => {
    const works = new Works(new Turns(2, 2))
    const all = ['a', 'b', 'c', 'd'].map((name) => works.run(name) ?? assert.fail('too many'))
    assert.equal(works.run('e'), undefined, 'no more than two wait')
    assert.deepEqual(works.begun, ['a', 'b'])
    await works.end('a')
    assert.deepEqual(works.begun, ['a', 'b', 'c'])
    await works.end('c')
    assert.deepEqual(works.begun, ['a', 'b', 'c', 'd'])
    for (const name of ['b', 'd']) await works.end(name)
    assert.deepEqual(await Promise.all(all), ['a', 'b', 'c', 'd'])
  })

  test('are not waited for by a call that was cancelled before', async () => {
    const works = new Works(new Turns(1, 1))
    void works.run('a')
    await assert.rejects(works.run('b', AbortSignal.abort(new Error('gone'))) ?? assert.fail(), /gone/)
    assert(works.run('c') !== undefined, 'it waits for no turn')
  })

  test('are not given to a call that has left the queue, and go on after one that failed', async () => {
    const turns = new Turns(1, 2)
    const works = new Works(turns)
    const failed = turns.run(signal, async () => {
      await turn()
      throw new Error('failed')
    })
    const leaving = new AbortController()
    const left = works.run('left', leaving.signal) ?? assert.fail()
    void works.run('next')
    leaving.abort(new Error('gone'))
    await assert.rejects(left, /gone/)
    await assert.rejects(failed ?? assert.fail(), /failed/)
    await turn()
    assert.deepEqual(works.begun, ['next'])
    assert(works.run('last') !== undefined, 'there is room to wait again')
  })
})
