// Which process goes when there is no place for one more.

import { strict as assert } from 'node:assert'
import { describe, test } from 'node:test'
import { type Lease, StartGate } from '../../src/upstream/server/start-gate.js'
import { FakeRuntime, settled } from './support/fake-runtime.js'

interface World {
  readonly admission: StartGate
  /** The indices of the processes that have given their places up. */
  readonly gone: readonly number[]
  readonly apply: (isCalled?: boolean) => Promise<string>
}

/** Processes that fill all places, each with the time since which it is idle. */
async function full(idle: readonly (number | undefined)[]): Promise<World> {
  const admission = new StartGate(idle.length, new FakeRuntime())
  const gone: number[] = []
  const common = { server: 's', isShared: false }
  for (const [index, since] of idle.entries()) {
    const isShared = since === SHARED
    const idleSince = (): number | undefined => since
    const lease = await admission.admit({
      ...common,
      isShared,
      isCalled: () => false,
      mayWait: () => false,
      idleSince,
    })
    void lease.lost.then(() => {
      gone.push(index)
      lease.release()
    })
  }
  const apply = (isCalled = true): Promise<string> =>
    admission
      .admit({ ...common, isCalled: () => isCalled, mayWait: () => false, idleSince: () => undefined })
      .then(
        () => 'admitted',
        (error: Error) => error.message,
      )
  return { admission, gone, apply }
}

/** A process of several clients that has been idle since then. */
const SHARED = 1

const REFUSED = (count: number): string =>
  `'s' cannot be started: ${count} processes run already, which is processesMax`

const cases: readonly (readonly [
  title: string,
  idle: readonly (number | undefined)[],
  isCalled: boolean,
  answer: string,
  gone: readonly number[],
])[] = [
  ['the one that has been idle for longest', [undefined, 9, 8], true, 'admitted', [2]],
  ['one client before that of several', [SHARED, 9], true, 'admitted', [1]],
  ['several clients', [SHARED, undefined], true, 'admitted', [0]],
  ['none, while all are at work and no call waits', [undefined], true, REFUSED(1), []],
  ['none for a start that no call waits for', [9, 8], false, REFUSED(2), []],
]

describe('a process that finds no place', () => {
  for (const [title, idle, isCalled, answer, gone] of cases)
    test(`gets that of ${title}`, async () => {
      const world = await full(idle)
      assert.deepEqual([await world.apply(isCalled), world.gone], [answer, gone])
    })

  test('waits while all are at work, until one ends or is idle, or no call waits for it', async () => {
    const admission = new StartGate(1, new FakeRuntime())
    const answers: string[] = []
    let idle: number | undefined
    let isCalled = true
    const apply = (name: string): Promise<Lease | undefined> =>
      admission
        .admit({
          server: name,
          isShared: true,
          isCalled: () => isCalled,
          mayWait: () => isCalled,
          idleSince: () => idle,
        })
        .then(
          (lease) => {
            answers.push(name)
            void lease.lost.then(() => lease.release())
            return lease
          },
          (error: Error) => void answers.push(error.message),
        )
    const first = await apply('a')
    const all = [apply('b'), apply('c'), apply('d')]
    admission.changed()
    await settled()
    assert.deepEqual(answers, ['a'])
    first?.release()
    await settled()
    assert.deepEqual(answers, ['a', 'b'])
    idle = 1
    admission.changed()
    await settled()
    assert.deepEqual([...answers].sort(), ['a', 'b', 'c', 'd'])
    idle = undefined
    all.push(apply('s'))
    isCalled = false
    admission.changed()
    await Promise.all(all)
    assert.deepEqual(answers.slice(4), [REFUSED(1)])
  })
})
