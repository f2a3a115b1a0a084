// What a server is busy with, as the status shows it.

import { strict as assert } from 'node:assert'
import { test } from 'node:test'
import { polite, settled, mute } from './support/fake-runtime.js'
import { served } from './support/served.js'

test('calls that run and that wait are counted, and starts after a crash', async (t) => {
  const { client, proxy, runtime } = await served(t, mute, { entry: { concurrency: 2 } })
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
