// What the open requests of one client follow together.

import { strict as assert } from 'node:assert'
import { describe, test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import type { Outcome } from '../../../src/calls/call.js'
import { followableResources } from '../../../src/mcp/methods.js'
import { FollowedThings } from '../../../src/proxy/clients/client-subscriptions.js'
import { callOf } from '../../upstream/support/calls.js'

const granted: Outcome = { kind: 'result', result: '{}' }

/** Each request is granted at once, and noted by its method and the name that it is about. */
function followed(followedMax: number) {
  const asked: string[] = []
  const things = new FollowedThings(
    followableResources,
    ({ method }, frame, owner) => {
      asked.push(`${method} ${frame.params.members.string('uri')}`)
      owner.settled(callOf('1', 0), granted)
    },
    followedMax,
  )
  return { things, asked }
}

describe('the resources that a client follows', () => {
  test('are asked for by the first request, and given up with the last one', async () => {
    const { things, asked } = followed(2)
    assert.deepEqual(await Promise.all([things.follow('a'), things.follow('a')]), [true, true])
    things.leave('a')
    await turn()
    assert.deepEqual(asked, ['resources/subscribe a'])
    things.leave('a')
    await turn()
    assert.deepEqual(asked, ['resources/subscribe a', 'resources/unsubscribe a'])
  })

  test('take no further room when another request names them', () => {
    const { things } = followed(1)
    void things.follow('a')
    assert.deepEqual(things.fitting(['b', 'a']), ['a'])
    things.leave('a')
    assert.deepEqual(things.fitting(['b', 'a']), ['b'])
  })
})
