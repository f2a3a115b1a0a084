// A server that rests, time and again, and lists that change, all at once.

import { strict as assert } from 'node:assert'
import { test } from 'node:test'
import { at } from '../integration/support/json.js'
import { polite, settled } from './support/fake-runtime.js'
import { served } from './support/served.js'

/** Many more on demand. */
const rounds = Number(process.env['IDLE_ROUNDS'] ?? 100)

test('however often it has rested, the next calls succeed and share one start', async (t) => {
  const { client, proxy, runtime } = await served(t, polite, { entry: { idleTimeout: 5000 } })
  for (let round = 1; round <= rounds; round++) {
    const answers = await Promise.all([1, 2, 3].map(() => client.call('s__t')))
    for (const { value, text } of answers) assert.notEqual(at(value, 'result'), undefined, text)
    assert.equal(runtime.children.length, round)
    assert.equal(proxy.status()[0]?.pids.length, 1)
    await runtime.pass(10_000, 2500)
    assert.deepEqual([proxy.status()[0]?.pids, proxy.status()[0]?.state], [[], 'connected'])
  }
  assert(runtime.clock.timers < 5, `${runtime.clock.timers} timers are left`)
})

test('a thousand changes of a list at once are read at most twice more', async (t) => {
  const { runtime } = await served(t, (method, params, child) => {
    // Each list is answered later, so that changes come while it is read.
    if (method !== 'tools/list') return polite(method, params, child)
    setImmediate(() =>
      child.say(`{"jsonrpc":"2.0","id":${child.lastId},"result":${polite(method, params, child)}}`),
    )
    return undefined
  })
  const [child] = runtime.children
  const lists = (): number => child?.heard.filter((method) => method === 'tools/list').length ?? 0
  const before = lists()
  for (let i = 0; i < 1000; i++) child?.say('{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}')
  await settled()
  assert(lists() - before >= 1 && lists() - before <= 2, `${lists() - before} times`)
})
