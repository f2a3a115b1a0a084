// Many waits on one timer end as if each had its own.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Waits } from '../../src/runtime/timeout-queue.js'

/** Time that goes by when the test says so, and one timer at most. */
class OneTimer {
  nowMs = 0
  #timer: { readonly atMs: number; readonly fire: () => void } | undefined

  readonly now = (): number => this.nowMs

  readonly setTimer = (delayMs: number, fire: () => void): { cancel(): void } => {
    assert.equal(this.#timer, undefined, 'one timer is enough')
    this.#timer = { atMs: this.nowMs + delayMs, fire }
    return { cancel: () => (this.#timer = undefined) }
  }

  get isIdle(): boolean {
    return this.#timer === undefined
  }

  to(ms: number): void {
    while (this.#timer !== undefined && this.#timer.atMs <= ms) {
      const { atMs, fire } = this.#timer
      this.nowMs = atMs
      this.#timer = undefined
      fire()
    }
    this.nowMs = ms
  }
}

function scene(): { clock: OneTimer; waits: Waits; ended: string[]; begin: (name: string) => () => void } {
  const clock = new OneTimer()
  const waits = new Waits(250, clock)
  const ended: string[] = []
  const begin = (name: string): (() => void) => {
    const wait = waits.begin({ waited: () => ended.push(`${name} at ${clock.nowMs}`) })
    return () => waits.cancel(wait)
  }
  return { clock, waits, ended, begin }
}

test('each wait ends at its own time', () => {
  const { clock, ended, begin } = scene()
  begin('a')
  clock.to(100)
  begin('b')
  clock.to(120)
  begin('c')
  clock.to(1000)
  assert.deepEqual(ended, ['a at 250', 'b at 350', 'c at 370'])
  assert.ok(clock.isIdle)
  begin('d')
  clock.to(2000)
  assert.equal(ended.at(-1), 'd at 1250')
})

test('what is called off never ends, wherever it stands, also twice', () => {
  const { clock, ended, begin } = scene()
  const [a, b, c, d, e] = ['a', 'b', 'c', 'd', 'e'].map(begin)
  a?.()
  c?.()
  c?.()
  e?.()
  clock.to(300)
  assert.deepEqual(ended, ['b at 250', 'd at 250'])
  for (const cancel of [b, d]) cancel?.()
  const last = begin('f')
  last()
  begin('g')
  clock.to(600)
  assert.deepEqual(ended.slice(2), ['g at 550'])
})

test('nobody is told once it has stopped', () => {
  const { clock, waits, ended, begin } = scene()
  begin('a')
  waits.stop()
  begin('b')
  clock.to(1000)
  assert.deepEqual([ended, clock.isIdle], [[], true])
})

test('a wait whose owner throws does not keep the others from ending', () => {
  const { clock, waits, ended, begin } = scene()
  begin('a')
  waits.begin({
    waited: () => {
      throw new Error('not today')
    },
  })
  begin('c')
  assert.throws(() => clock.to(1000), /not today/)
  clock.to(1000)
  assert.deepEqual(ended, ['a at 250', 'c at 250'])
  begin('d')
  clock.to(2000)
  assert.equal(ended.at(-1), 'd at 1250')
})
