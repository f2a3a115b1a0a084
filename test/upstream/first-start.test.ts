// When servers start of a proxy with one client, which may only want to know what there is.

import { strict as assert } from 'node:assert'
import { describe, test } from 'node:test'
import type { RawClient } from '../integration/support/client.js'
import { libraryProxy } from '../integration/support/library.js'
import type { Scope } from '../integration/support/spawned.js'
import { FakeRuntime, settled } from './support/fake-runtime.js'
import { claim } from '../integration/support/claim.js'

interface Run {
  readonly client: RawClient
  readonly started: () => number
  readonly pass: (ms: number) => Promise<void>
  readonly discover: () => Promise<unknown>
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
  const { attach } = await libraryProxy({ after }, servers, { runtime, ownStart: 'with-client' })
  const { client } = await attach()
  await settled()
  return {
    client,
    started: () => runtime.children.length,
    pass: (ms) => runtime.pass(ms, 20),
    discover: () => client.request('server/discover', { _meta: claim() }),
  }
}

/** Longer than anything that is put off. */
const LONG_MS = 5000

describe('a server', () => {
  test('starts with the first message that needs it, and not before', async (t) => {
    const { client, started, pass } = await run(t)
    await pass(LONG_MS)
    assert.equal(started(), 0)
    await client.open()
    assert.equal(started(), 1)
    await pass(LONG_MS)
    assert.equal(started(), 1)
  })

  test('does not start for the question what there is', async (t) => {
    const { discover, started, pass } = await run(t)
    for (let asked = 0; asked < 3; asked++) await discover()
    await pass(LONG_MS)
    assert.equal(started(), 0)
  })

  test('that is lazy starts for none of this', async (t) => {
    const { discover, client, started, pass } = await run(t, { lazy: true })
    await discover()
    await client.open()
    await pass(LONG_MS)
    assert.equal(started(), 0)
  })
})
