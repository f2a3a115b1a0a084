// Many sessions, and a session with many calls, leave no memory, descriptor, timer or process behind.

import { strict as assert } from 'node:assert'
import { test } from 'node:test'
import { textAt } from '../integration/support/json.js'
import { scratch } from '../integration/support/spawned.js'
import { untilAnswered } from '../integration/support/waiting.js'
import type { Facts } from './programs/watch.js'
import { HttpCaller, answerOf } from './support/http-caller.js'
import { SwiftServers } from './support/swift.js'
import { MiB, type UnderTest, isLinux, settled, startUnderTest, times } from './support/under-test.js'

const IN_FLIGHT = 32
/** At most this many sessions and calls precede the measurement, so that code is compiled and the heap has grown. */
const WARM_SESSIONS_MAX = 4000
const WARM_CALLS_MAX = 50_000

test('sessions that come and go', { skip: !isLinux }, async (t) => {
  const proxy = startUnderTest(t, '--http', { s: new SwiftServers(scratch(t)).entry() })
  const port = await proxy.port()
  const open = async (count: number): Promise<void> => {
    for (let done = 0; done < count; done++) await session(port)
  }
  const count = times(100)
  await open(Math.min(count, WARM_SESSIONS_MAX))
  const [before, children] = [await settled(proxy), proxy.children().length]
  await open(count)
  let after = await settled(proxy)
  // A short timer may exist at any moment.
  await untilAnswered(
    async () => {
      after = await settled(proxy)
      return leftOf(before, after).length === 0
    },
    () => leftOf(before, after).join(),
  )
  assert(after.rss - before.rss < 20 * MiB, `${after.rss - before.rss} bytes`)
  assert.deepEqual([after.descriptors, proxy.children().length], [before.descriptors, children])
})

/** One complete session on a new socket. */
async function session(port: number): Promise<void> {
  const caller = new HttpCaller(port)
  await caller.open()
  const called = answerOf(await caller.call('s__hit', { nonce: 'n' }))
  assert.equal(textAt(called, 'result', 'content', 0, 'text'), 'n')
  assert.equal((await caller.leave()).status, 200)
  caller.close()
}

/** New resources that keep the process alive. */
function leftOf(before: Facts, after: Facts): string[] {
  const left = [...after.resources]
  for (const resource of before.resources) {
    const at = left.indexOf(resource)
    if (at >= 0) left.splice(at, 1)
  }
  return left
}

test('a session with many calls', { skip: !isLinux }, async (t) => {
  const proxy = startUnderTest(t, '--stdio', { s: new SwiftServers(scratch(t)).entry() })
  await proxy.client.open()
  const count = times(8000)
  await calls(proxy, Math.min(count, WARM_CALLS_MAX))
  const before = await settled(proxy)
  await calls(proxy, count)
  const after = await settled(proxy)
  assert(after.rss - before.rss < 30 * MiB, `${after.rss - before.rss} bytes`)
  assert(after.descriptors <= before.descriptors)
})

/** Makes so many calls. Each must be answered once. */
async function calls({ client }: UnderTest, count: number): Promise<void> {
  let [made, answers] = [0, 0]
  client.heard.splice(0)
  const lane = async (): Promise<void> => {
    while (made < count) {
      const nonce = String(made++)
      const { value } = await client.call('s__hit', { nonce })
      assert.equal(textAt(value, 'result', 'content', 0, 'text'), nonce)
      answers += client.heard.splice(0).length
    }
  }
  await Promise.all(Array.from({ length: IN_FLIGHT }, lane))
  assert.equal(answers + client.heard.length, made)
}
