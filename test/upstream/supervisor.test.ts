import { strict as assert } from 'node:assert'
import { describe, test } from 'node:test'
import { limits } from '../../src/index.js'
import { failure } from '../integration/support/client.js'
import { at } from '../integration/support/json.js'
import type { Scope } from '../integration/support/spawned.js'
import { type Script, polite, settled, dead, mute } from './support/fake-runtime.js'
import { served } from './support/served.js'

const { restart } = limits.upstream

async function run(t: Scope, script: Script, more: object = {}) {
  const { client, proxy, runtime } = await served(t, script, { entry: { protocol: 'legacy', ...more } })
  const starts = (): number[] => runtime.children.map(({ startedAt }) => startedAt)
  return { runtime, client, starts, state: () => proxy.status()[0]?.state }
}

describe('the breaker', () => {
  test('lets one attempt through when the hold is over, and calls fail immediately until it has succeeded', async (t) => {
    const { runtime, client, starts, state } = await run(t, dead)
    await runtime.pass(20_000)
    runtime.script = (method, params, child) =>
      method === 'initialize' && child.heard.length === 1 ? undefined : polite(method, params, child)
    await runtime.pass(restart.holdMs)
    const [probe] = runtime.children.slice(restart.crashesMax)
    assert.equal(starts().length, restart.crashesMax + 1)
    const answers = await Promise.all(Array.from({ length: 50 }, () => client.call('s__t')))
    for (const heard of answers) assert.deepEqual(failure(heard).slice(0, 2), [-32603, 's'])
    assert.equal(starts().length, restart.crashesMax + 1, 'exactly one')
    assert.equal(state(), 'error')
    probe?.say(`{"jsonrpc":"2.0","id":1,"result":${polite('initialize', undefined, probe) ?? ''}}`)
    await settled()
    assert.equal(state(), 'connected', 'without a call')
    assert.deepEqual(at((await client.call('s__t')).value, 'result'), { content: [] })
  })

  test('opens again when what came back does not stay up for a while', async (t) => {
    const { runtime, client, starts, state } = await run(t, dead)
    await runtime.pass(20_000)
    runtime.script = polite
    await runtime.pass(restart.holdMs)
    assert.equal(state(), 'connected')
    await runtime.pass(restart.healthyMs - 10_000)
    runtime.children.at(-1)?.end(1)
    await settled()
    assert.deepEqual(failure(await client.call('s__t')), [-32603, 's', 'unavailable'])
    await runtime.pass(restart.holdMs - 1000)
    assert.equal(starts().length, restart.crashesMax + 1)
    await runtime.pass(2000)
    assert.equal(state(), 'connected')
  })

  test('forgets everything after real uptime', async (t) => {
    const { runtime, state } = await run(t, dead)
    await runtime.pass(20_000)
    runtime.script = polite
    await runtime.pass(restart.holdMs + restart.healthyMs)
    runtime.children.at(-1)?.end(1)
    await runtime.pass(1000)
    assert.equal(state(), 'connected')
  })
})

test('the delay before a restart grows with every crash, and is small again after real uptime', async (t) => {
  const { runtime, starts } = await run(t, polite)
  const delays: number[] = []
  const crash = async (upMs: number): Promise<void> => {
    await runtime.pass(upMs)
    const before = runtime.now()
    runtime.children.at(-1)?.end(1)
    const known = starts().length
    while (starts().length === known) await runtime.pass(500, 500)
    delays.push((starts().at(-1) ?? 0) - before)
  }
  // Too seldom for the breaker, and too often to reset the delay.
  for (let i = 0; i < 6; i++) await crash(20_000)
  await crash(restart.healthyMs)
  assert.deepEqual(delays, [1000, 2000, 4000, 8000, 16_000, 30_000, 1000])
})

test('the delay before a restart is skipped by a call, which a single crash does not hold up', async (t) => {
  const { runtime, client } = await run(t, polite)
  runtime.children[0]?.end(1)
  await settled()
  const before = runtime.now()
  assert.deepEqual(at((await client.call('s__t')).value, 'result'), { content: [] })
  assert.equal(runtime.now(), before)
})

test('a thousand simultaneous calls start one process', async (t) => {
  const { runtime, client, starts } = await run(t, polite)
  runtime.children[0]?.end(1)
  await settled()
  const answers = await Promise.all(Array.from({ length: 1000 }, () => client.call('s__t')))
  for (const { value } of answers) assert.notEqual(at(value, 'result'), undefined)
  assert.equal(starts().length, 2)
})

test('a time-out on a process that is being replaced leaves its successor alone', async (t) => {
  const { runtime, client } = await run(t, mute, { timeout: 2000, onTimeout: 'restart' })
  // The process ignores the end of its stdin.
  runtime.children[0]?.stdin.removeAllListeners('end')
  const first = client.call('s__t')
  await runtime.pass(300, 100)
  const second = client.call('s__t')
  await runtime.pass(1800, 50)
  assert.deepEqual(failure(await first), [-32603, 's', 'timeout'])
  const third = client.call('s__t')
  await runtime.pass(300, 50)
  assert.deepEqual(failure(await second), [-32603, 's', 'timeout'])
  await runtime.pass(1000, 50)
  const [, successor, ...more] = runtime.children
  assert.deepEqual(more, [])
  successor?.say(`{"jsonrpc":"2.0","id":${successor.lastId},"result":{"content":[]}}`)
  assert.deepEqual(at((await third).value, 'result'), { content: [] })
})
