// Which process goes when there is no place for one more.

import { strict as assert } from 'node:assert'
import { describe, test } from 'node:test'
import { Admission } from '../../src/upstream/server/admission.js'

interface World {
  readonly admission: Admission
  /** The indices of the processes that have given their places up. */
  readonly gone: readonly number[]
  readonly apply: (isCalled?: boolean) => Promise<string>
}

/** Processes that fill all places, each with the time since which it is idle. */
async function full(idle: readonly (number | undefined)[]): Promise<World> {
  const admission = new Admission(idle.length)
  const gone: number[] = []
  const common = { server: 's', principal: undefined }
  for (const [index, since] of idle.entries()) {
    const lease = await admission.admit({ ...common, isCalled: false, idleSince: () => since })
    void lease.lost.then(() => {
      gone.push(index)
      lease.release()
    })
  }
  const apply = (isCalled = true): Promise<string> =>
    admission.admit({ ...common, isCalled, idleSince: () => undefined }).then(
      () => 'admitted',
      (error: Error) => error.message,
    )
  return { admission, gone, apply }
}

const REFUSED = (count: number): string =>
  `'s' cannot be started: ${count} processes run already, which is processesMax`

const cases: readonly (readonly [
  title: string,
  idle: readonly (number | undefined)[],
  isCalled: boolean,
  answer: string,
  gone: readonly number[],
])[] = [
  ['none, while all are at work', [undefined, undefined], true, REFUSED(2), []],
  ['the one that has been idle for longest', [undefined, 9, 8], true, 'admitted', [2]],
  ['none for a start that no call waits for', [9, 8], false, REFUSED(2), []],
]

describe('a process that finds no place', () => {
  for (const [title, idle, isCalled, answer, gone] of cases)
    test(`gets that of ${title}`, async () => {
      const world = await full(idle)
      assert.deepEqual([await world.apply(isCalled), world.gone], [answer, gone])
    })

  test('takes no place that another one is about to get', async () => {
    const world = await full([7, 8])
    const answers = await Promise.all([world.apply(), world.apply(), world.apply()])
    assert.deepEqual(
      [answers, world.gone],
      [
        ['admitted', 'admitted', REFUSED(2)],
        [0, 1],
      ],
    )
  })

  test('is refused at once, and admitted when a process has ended', async () => {
    const admission = new Admission(1)
    const applicant = { server: 's', principal: undefined, isCalled: true, idleSince: () => undefined }
    const lease = await admission.admit(applicant)
    await assert.rejects(admission.admit(applicant), { reason: 'overloaded' })
    lease.release()
    await admission.admit(applicant)
  })
})
