import { strict as assert } from 'node:assert'
import { test } from 'node:test'
import { libraryProxy } from '../integration/support/library.js'
import { FakeRuntime, settled } from '../upstream/support/fake-runtime.js'

test('a client that attaches to a closed proxy is closed immediately, and starts nothing', async (t) => {
  const runtime = new FakeRuntime()
  const { attach, proxy } = await libraryProxy(t, { s: { command: 'x' } }, { runtime })
  const first = await attach()
  const opening = first.client.open()
  await runtime.pass(1000)
  await opening
  await proxy.close()
  const late = await attach()
  await assert.rejects(late.client.call('s__t'), /closed/)
  await settled()
  assert.equal(runtime.children.length, 1)
  assert.deepEqual(await late.session.ended, { exitCode: 0, cause: undefined })
})
