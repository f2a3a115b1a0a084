import { strict as assert } from 'node:assert'
import { describe, test } from 'node:test'
import { libraryProxy } from '../integration/support/library.js'
import { type Heard, failure } from '../integration/support/client.js'
import { at, textAt } from '../integration/support/json.js'
import type { Scope } from '../integration/support/spawned.js'
import { type FakeChild, FakeRuntime, type Script, polite, settled, mute } from './support/fake-runtime.js'
import { type Served, served } from './support/served.js'

const IDLE_MS = 5000

interface Run extends Served {
  readonly child: FakeChild
}

async function run(t: Scope, entry: object = {}, script: Script = polite): Promise<Run> {
  const made = await served(t, script, { entry })
  const [child] = made.runtime.children
  assert(child !== undefined)
  t.after(() => child.end(0))
  return { ...made, child }
}

/** A server whose stdin was closed because it was idle, and that has not ended yet. */
async function restingRun(t: Scope): Promise<Run> {
  const it = await run(t, { idleTimeout: IDLE_MS })
  // The first call waits for the validator; later ones do not.
  await it.client.call('s__t')
  it.child.lingers = true
  while (!it.child.stdin.writableEnded) await it.runtime.pass(100, 100)
  return it
}

/** The result, after this much time has passed. */
async function passed<T>(runtime: FakeRuntime, ms: number, heard: Promise<T>): Promise<T> {
  await runtime.pass(ms, 100)
  return heard
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

/** Answers an earlier call, as a process does after the end of its stdin. */
function answer(child: FakeChild, id: string, text: string): void {
  child.say(`{"jsonrpc":"2.0","id":${id},"result":{"content":[{"type":"text","text":"${text}"}]}}`)
}

/** A server that leaves calls unanswered, and has one in flight. */
async function withOneInFlight(t: Scope, more: object): Promise<Run & { heard: Promise<Heard>; id: string }> {
  const it = await run(t, more)
  it.runtime.script = (method, params, child) => (child === it.child ? mute : polite)(method, params, child)
  it.child.lingers = true
  const heard = it.client.call('s__t')
  while (!it.child.heard.includes('tools/call')) await settled()
  return { ...it, heard, id: it.child.lastId }
}

test('the last answer of a server that stops reaches the call within the time of the server', async (t) => {
  const { proxy, runtime, child, heard, id } = await withOneInFlight(t, {})
  const reloaded = proxy.reload({ mcpServers: { o: { command: 'x' } } })
  while (!child.stdin.writableEnded) await runtime.pass(100, 100)
  await runtime.pass(800, 100)
  answer(child, id, 'last')
  assert.equal(textAt((await heard).value, 'result', 'content', '0', 'text'), 'last')
  child.end(0)
  await runtime.pass(1000, 100)
  await reloaded
})

test('the last answer of a server that stops is waited for though the server is started anew', async (t) => {
  const times = { onTimeout: 'restart', timeout: 3000 }
  const { client, runtime, child, heard } = await withOneInFlight(t, times)
  await runtime.pass(2000, 100)
  const second = client.call('s__t')
  await settled()
  const secondId = child.lastId
  const third = client.call('s__t')
  await settled()
  const thirdId = child.lastId
  assert.equal(failure(await passed(runtime, 1000, heard))[2], 'timeout')
  assert.equal(child.stdin.writableEnded, true)
  answer(child, secondId, 'second')
  assert.equal(textAt((await second).value, 'result', 'content', '0', 'text'), 'second')
  await runtime.pass(800, 100)
  answer(child, thirdId, 'third')
  assert.equal(textAt((await third).value, 'result', 'content', '0', 'text'), 'third')
  child.end(0)
})

test('who closes again with less patience does not wait for calls', async (t) => {
  const { client, proxy, runtime } = await run(t, {}, mute)
  const heard = client.call('s__t')
  await settled()
  const closed = proxy.close()
  const again = proxy.close(0)
  let said: unknown
  void heard.then((answer) => (said = failure(answer)[2]))
  await runtime.pass(1, 1)
  assert.equal(said, 'shutting-down')
  await Promise.all([closed, again])
})

test('a server that ended before the first client came is started again for it', async (t) => {
  const runtime = new FakeRuntime()
  const { attach } = await libraryProxy(t, { s: { command: 'x' } }, { runtime, eager: true })
  await runtime.pass(1000)
  assert.equal(runtime.children.length, 1)
  runtime.children[0]?.end(3)
  await runtime.pass(1000)
  const { client } = await attach()
  await client.open()
  assert.deepEqual(at((await client.call('s__t')).value, 'result'), { content: [] })
  assert.equal(runtime.children.length, 2)
})
