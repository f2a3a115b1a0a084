// Servers that take their time to end, and what happens meanwhile.

import { strict as assert } from 'node:assert'
import { describe, test } from 'node:test'
import { type Attached, type TestProxy, libraryProxy } from '../integration/support/library.js'
import { failure } from '../integration/support/client.js'
import { at } from '../integration/support/json.js'
import type { Scope } from '../integration/support/spawned.js'
import { type FakeChild, FakeRuntime, polite, settled } from './support/fake-runtime.js'

const IDLE_MS = 5000

interface Run extends Attached, Pick<TestProxy, 'proxy'> {
  readonly runtime: FakeRuntime
  readonly child: FakeChild
}

async function run(t: Scope, more: object = {}, runtime = new FakeRuntime()): Promise<Run> {
  const { attach, proxy } = await libraryProxy(t, { s: { command: 'x', ...more } }, { runtime })
  const attached = await attach()
  const opening = attached.client.open()
  await runtime.pass(1000)
  await opening
  const [child] = runtime.children
  assert(child !== undefined)
  t.after(() => child.end(0))
  return { ...attached, proxy, runtime, child }
}

/** A server whose stdin has been closed since nobody called it, and that has not ended yet. */
async function restingRun(t: Scope): Promise<Run> {
  const it = await run(t, { idleTimeout: IDLE_MS })
  it.child.lingers = true
  while (!it.child.stdin.writableEnded) await it.runtime.pass(100, 100)
  return it
}

describe('a server that rests', () => {
  test('ends in its own time when the proxy is closed meanwhile', async (t) => {
    const { proxy, child } = await restingRun(t)
    let isClosed = false
    const closed = proxy.close().then(() => (isClosed = true))
    await settled()
    assert.deepEqual([isClosed, child.signals], [false, 0])
    child.end(0)
    await closed
  })

  test('has ended before a call starts its successor', async (t) => {
    const { client, runtime, child } = await restingRun(t)
    const heard = client.call('s__t')
    await settled()
    assert.equal(runtime.children.length, 1)
    child.end(0)
    assert.deepEqual(at((await heard).value, 'result'), { content: [] })
    assert.equal(runtime.children.length, 2)
  })

  test('does so when it has not been called for that long, and no later', async (t) => {
    const { client, runtime, child } = await run(t, { idleTimeout: IDLE_MS })
    await runtime.pass(2000)
    await client.call('s__t')
    await runtime.pass(IDLE_MS - 100, 100)
    assert.equal(child.stdin.writableEnded, false)
    await runtime.pass(100, 100)
    assert.equal(child.stdin.writableEnded, true)
  })
})

test('who closes again with less patience does not wait for calls', async (t) => {
  const runtime = new FakeRuntime()
  runtime.script = (method, params, child) =>
    method === 'tools/call' ? undefined : polite(method, params, child)
  const { client, proxy } = await run(t, {}, runtime)
  const heard = client.call('s__t')
  await settled()
  const closed = proxy.close()
  const again = proxy.close(0)
  await runtime.pass(1, 1)
  assert.equal(failure(await heard)[2], 'shutting-down')
  await Promise.all([closed, again])
})

test('a server that ended before anybody came is started anew for the first client', async (t) => {
  const runtime = new FakeRuntime()
  const { attach } = await libraryProxy(t, { s: { command: 'x' } }, { runtime })
  assert.equal(runtime.children.length, 1)
  runtime.children[0]?.end(3)
  await runtime.pass(1000)
  const { client } = await attach()
  await client.open()
  assert.deepEqual(at((await client.call('s__t')).value, 'result'), { content: [] })
  assert.equal(runtime.children.length, 2)
})
