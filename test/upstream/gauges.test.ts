// What a server is busy with, as the status shows it.

import { strict as assert } from 'node:assert'
import { test } from 'node:test'
import { libraryProxy } from '../integration/support/library.js'
import { FakeRuntime, type Script, polite, settled } from './support/fake-runtime.js'

const mute: Script = (method, ...said) => (method === 'tools/call' ? undefined : polite(method, ...said))

test('calls that run and that wait are counted, and starts after a crash', async (t) => {
  const runtime = new FakeRuntime()
  runtime.script = mute
  const { attach, proxy } = await libraryProxy(t, { s: { command: 'x', concurrency: 2 } }, { runtime })
  const { client } = await attach()
  const opening = client.open()
  await runtime.pass(1000)
  await opening
  const gauges = (): unknown => proxy.status()[0]?.gauges
  const none = { inFlight: 0, queued: 0, slots: 2, restarts: 0, memoryBytes: undefined }
  assert.deepEqual(gauges(), none)
  const calls = Promise.all([1, 2, 3].map(() => client.call('s__t')))
  await settled()
  assert.deepEqual(gauges(), { ...none, inFlight: 2, queued: 1 })
  runtime.script = polite
  runtime.children[0]?.end(1)
  await runtime.pass(2000)
  await calls
  assert.deepEqual(gauges(), { ...none, restarts: 1 })
})
