// When servers start of a proxy with one client, which may only want to know what there is.

import { strict as assert } from 'node:assert'
import { describe, test } from 'node:test'
import { limits } from '../../src/index.js'
import type { RawClient } from '../integration/support/client.js'
import { libraryProxy } from '../integration/support/library.js'
import type { Scope } from '../integration/support/spawned.js'
import { FakeRuntime, settled } from './support/fake-runtime.js'

const { firstWaitMs } = limits

const claim = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientCapabilities': {},
}

interface Run {
  readonly client: RawClient
  readonly started: () => number
  readonly pass: (ms: number) => Promise<void>
  readonly discover: () => Promise<unknown>
  readonly close: () => Promise<void>
}

async function run(t: Scope, more: object = {}): Promise<Run> {
  const runtime = new FakeRuntime()
  const servers = { s: { command: 'x', ...more } }
  const after = (end: () => void | Promise<void>): void =>
    t.after(async () => {
      const ended = end()
      // A server that nobody has read is not known to have ended for a while.
      await runtime.pass(5000)
      await ended
    })
  const { attach, proxy } = await libraryProxy({ after }, servers, { runtime, ownStart: 'with-client' })
  const { client } = await attach()
  await settled()
  return {
    client,
    started: () => runtime.children.length,
    pass: (ms) => runtime.pass(ms, 1),
    discover: () => client.request('server/discover', { _meta: claim }),
    close: () => proxy.close(0),
  }
}

describe('a server', () => {
  test('starts a moment after the proxy where its client says nothing', async (t) => {
    const { started, pass } = await run(t)
    await pass(firstWaitMs - 1)
    assert.equal(started(), 0)
    await pass(1)
    assert.equal(started(), 1)
  })

  test('starts with the first message that needs it', async (t) => {
    const { client, started, pass } = await run(t)
    await client.open()
    assert.equal(started(), 1)
    await pass(2 * firstWaitMs)
    assert.equal(started(), 1)
  })

  test('waits behind every question what there is, and does not start for a client that leaves then', async (t) => {
    const { discover, started, pass, close } = await run(t)
    for (let asked = 0; asked < 3; asked++) {
      await pass(firstWaitMs - 1)
      await discover()
    }
    await pass(firstWaitMs - 1)
    await close()
    await pass(2 * firstWaitMs)
    assert.equal(started(), 0)
  })

  test('starts when such a client stays', async (t) => {
    const { discover, started, pass } = await run(t)
    await discover()
    await pass(firstWaitMs)
    assert.equal(started(), 1)
    await discover()
    await pass(firstWaitMs)
    assert.equal(started(), 1)
  })

  test('that is lazy starts for none of this', async (t) => {
    const { discover, started, pass } = await run(t, { lazy: true })
    await discover()
    await pass(2 * firstWaitMs)
    assert.equal(started(), 0)
  })
})
