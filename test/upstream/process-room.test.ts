// Which process goes when there is no place for one more.

import { strict as assert } from 'node:assert'
import { test } from 'node:test'
import { type IdleProcess, ProcessRoom } from '../../src/upstream/pool/process-room.js'

interface Given {
  readonly whose: string
  readonly idleSince?: number
  readonly awaySince?: number
}

/** Processes that fill all places; gives in which order they went for one newcomer. */
async function gone(given: readonly Given[], principal: string, places = 1): Promise<readonly number[]> {
  const room = new ProcessRoom(given.length, 30)
  const went: number[] = []
  for (const [index, { whose, idleSince, awaySince }] of given.entries()) {
    const release = room.take()
    assert(release !== undefined)
    const isThere = (since: number | undefined): number | undefined =>
      went.includes(index) ? undefined : since
    const process: IdleProcess = {
      principal: whose,
      get idleSince() {
        return isThere(idleSince)
      },
      get awaySince() {
        return isThere(awaySince)
      },
      yield: () => {
        went.push(index)
        release()
        return Promise.resolve()
      },
    }
    room.offer(process)
  }
  for (let place = 0; place < places; place++) {
    await room.free({ principal, nowMs: 100 })
    room.take()
  }
  return went
}

const away = (whose: string, awaySince: number): Given => ({ whose, awaySince })

const cases: readonly (readonly [title: string, given: readonly Given[], went: readonly number[]])[] = [
  ['nobody, while all are at work', [{ whose: 'a' }, { whose: 'b' }], []],
  [
    'who is idle for longest, before anybody who waits',
    [away('a', 1), { whose: 'a', idleSince: 9 }, { whose: 'b', idleSince: 8 }],
    [2],
  ],
  ['whose client is away for long', [away('a', 71), away('b', 70)], [1]],
  ['nobody for a client that is away for a moment, where that has one', [away('a', 71), away('b', 72)], []],
  ['the first of the one that has several', [away('a', 80), away('b', 71), away('a', 79)], [2]],
  ['nobody of the newcomer itself, which has as many', [away('c', 80), away('c', 81), away('c', 82)], []],
]

for (const [title, given, went] of cases)
  test(`room is made by ${title}`, async () => {
    assert.deepEqual(await gone(given, 'c'), went)
  })

test('each newcomer has places until it has as many as the others', async () => {
  const many = Array.from({ length: 6 }, (_, at) => away('a', 80 + at))
  assert.deepEqual(await gone(many, 'c'), [0])
  assert.deepEqual(await gone([...many, away('c', 90), away('c', 91)], 'c', 1), [0])
  assert.deepEqual(await gone([...many.slice(0, 3), away('c', 90), away('c', 91)], 'c', 1), [])
})
