// The order of calls, and the steps that end a call that runs too long.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import PQueue from 'p-queue'
import { inTurn, watchedEnd } from '../../src/sandbox/runs.js'

const { signal } = new AbortController()

/** Works of one queue. Two of them may wait, and each ends when the test calls `end`. */
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

test('a call that was cancelled gets no turn', async () => {
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

interface End {
  readonly at: string
}

/** The steps against a run that ends at this step, or never. */
async function stepsOf(endsAt: string): Promise<{ steps: string[]; end: End | undefined }> {
  const steps: string[] = []
  const timers = new Set<() => void>()
  let finish: ((end: End) => void) | undefined
  const run = new Promise<End>((resolve) => (finish = resolve))
  const step = (name: string): void => {
    steps.push(name)
    if (name === endsAt) finish?.({ at: name })
  }
  const clock = {
    now: () => 0,
    setTimer: (_waitMs: number, then: () => void) => {
      timers.add(then)
      return { cancel: () => void timers.delete(then) }
    },
  }
  const what = { interrupt: () => step('interrupt'), kill: () => step('kill') }
  const machine = { stop: async () => step('stop') }
  const call = new AbortController()
  const ends: (End | undefined)[] = []
  const watched = watchedEnd(run, what, machine, call.signal, clock)
  void watched.then((end) => ends.push(end))
  if (endsAt === 'itself') finish?.({ at: 'itself' })
  await turn()
  call.abort()
  // Each timer fires only when no earlier step has ended the run.
  for (let i = 0; i < 5 && ends.length === 0; i++) {
    for (let j = 0; j < 5; j++) await turn()
    const [due] = timers
    if (due === undefined) continue
    timers.delete(due)
    due()
  }
  assert.equal(timers.size, 0, 'nothing is waited for any more')
  return { steps, end: await watched }
}

const cases: readonly (readonly [title: string, endsAt: string, steps: readonly string[]])[] = [
  ['is left alone when it ends in time', 'itself', []],
  ['is asked to end', 'interrupt', ['interrupt']],
  ['is killed when it does not', 'kill', ['interrupt', 'kill']],
  ['takes its machine with it when nothing else ends it', 'never', ['interrupt', 'kill', 'stop']],
]
for (const [title, endsAt, steps] of cases)
  test(`a call that takes too long ${title}`, async () => {
    const end = endsAt === 'never' ? undefined : { at: endsAt }
    assert.deepEqual(await stepsOf(endsAt), { steps: [...steps], end })
  })
