import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import PQueue from 'p-queue'
import { inTurn } from '../../src/sandbox/runs.js'

const { signal } = new AbortController()

/** Works of one queue, two of which wait, and each of which ends when it is told to. */
class Works {
  readonly begun: string[] = []
  readonly #ends = new Map<string, () => void>()
  readonly #queue: PQueue

  constructor(concurrency: number) {
    this.#queue = new PQueue({ concurrency })
  }

  run(name: string, own: AbortSignal = signal): Promise<string> | undefined {
    return inTurn(this.#queue, 2, own, async () => {
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
  test('are not given to a call that was cancelled', async () => {
    const works = new Works(1)
    const leaving = new AbortController()
    void works.run('first')
    const left = assert.rejects(works.run('left', leaving.signal) ?? assert.fail(), /gone/)
    void works.run('next')
    assert.equal(works.run('too many'), undefined)
    leaving.abort(new Error('gone'))
    await left
    void works.run('in its place')
    await works.end('first')
    await works.end('next')
    assert.deepEqual(works.begun, ['first', 'next', 'in its place'])
    assert(works.run('last') !== undefined, 'there is room to wait again')
  })
})
