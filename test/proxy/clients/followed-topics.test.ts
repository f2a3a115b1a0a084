// What the open requests of one client follow together.

import { strict as assert } from 'node:assert'
import { describe, test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import type { Outcome } from '../../../src/calls/call.js'
import { followableResources } from '../../../src/mcp/methods.js'
import { FollowedTopics } from '../../../src/proxy/clients/client-subscriptions.js'
import { callOf } from '../../upstream/support/calls.js'

const a = { of: followableResources, name: 'a' }
const b = { of: followableResources, name: 'b' }
const granted: Outcome = { kind: 'result', result: '{}' }

/** Each request is granted at once, and noted by its method and the name that it is about. */
function followed(followedMax: number) {
  const asked: string[] = []
  const topics = new FollowedTopics(followedMax, ({ method }, params, owner) => {
    asked.push(`${method} ${params}`)
    owner.settled(callOf('1', 0), granted)
  })
  return { topics, asked }
}

describe('the resources that a client follows', () => {
  test('are asked for by the first request, and given up with the last one', async () => {
    const { topics, asked } = followed(2)
    assert.deepEqual(await Promise.all([topics.follow(a), topics.follow(a)]), [true, true])
    topics.leave(a)
    await turn()
    assert.deepEqual(asked, ['resources/subscribe {"uri":"a"}'])
    topics.leave(a)
    await turn()
    assert.deepEqual(asked, ['resources/subscribe {"uri":"a"}', 'resources/unsubscribe {"uri":"a"}'])
  })

  test('take no further room when another request names them', () => {
    const { topics } = followed(1)
    void topics.follow(a)
    assert.deepEqual(topics.fitting([b, a]), [a])
    topics.leave(a)
    assert.deepEqual(topics.fitting([b, a]), [b])
  })
})
