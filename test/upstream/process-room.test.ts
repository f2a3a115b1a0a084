// Which process goes when there is no place for one more.

import { strict as assert } from 'node:assert'
import { test } from 'node:test'
import { type IdleProcess, ProcessLimit } from '../../src/upstream/server/process-limit.js'

/** Processes that fill all places, each with the time since which it is idle; gives which went for one newcomer. */
async function gone(given: readonly (number | undefined)[]): Promise<readonly number[]> {
  const room = new ProcessLimit(given.length)
  const went: number[] = []
  for (const [index, since] of given.entries()) {
    const release = room.take()
    assert(release !== undefined)
    const process: IdleProcess = {
      get idleSince() {
        return went.includes(index) ? undefined : since
      },
      yield: () => {
        went.push(index)
        release()
        return Promise.resolve()
      },
    }
    room.offer(process)
  }
  await room.free()
  return went
}

const cases: readonly (readonly [
  title: string,
  given: readonly (number | undefined)[],
  went: readonly number[],
])[] = [
  ['none, while all are at work', [undefined, undefined], []],
  ['the one that has been idle for longest', [undefined, 9, 8], [2]],
]

for (const [title, given, went] of cases)
  test(`room is made by ${title}`, async () => {
    assert.deepEqual(await gone(given), went)
  })
