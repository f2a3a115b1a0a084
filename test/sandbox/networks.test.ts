// The networks of each runtime. No runtime gives code more than its configuration allows.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { runtimeReport } from '../../src/sandbox/program.js'
import { NoRuntimeError, chooseRuntime, runtimeIds } from '../../src/sandbox/runtimes.js'
import { FakeMicrosandbox } from './support/fake-microsandbox.js'
import { openRuntime } from '../support/open-runtime.js'
import { settingsOf } from './support/sandbox.js'

const network = { kind: 'allow', hosts: ['a.example'] } as const

for (const id of runtimeIds.filter((each) => each !== 'bubblewrap'))
  test(`${id} does not start where hosts are named, and says what would`, async (t) => {
    const runtime = openRuntime(t)
    await assert.rejects(
      chooseRuntime(id, { runtime, log: () => undefined, stateFolder: undefined, network }),
      (error) =>
        error instanceof NoRuntimeError &&
        /cannot hold programs to the hosts of network\.allow; use the runtime bubblewrap/.test(error.message),
    )
  })

test('--check names the network of what is used', async (t) => {
  const runtime = openRuntime(t)
  const fake = new FakeMicrosandbox()
  t.after(() => fake.close())
  const around = { runtime, log: (): void => undefined }
  const section = { runtime: 'microsandbox-server', serverUrl: await fake.listen() }
  const { text } = await runtimeReport(settingsOf(section), around)
  assert.match(text, /microsandbox-server: microsandbox-server is used, network as its server has it\n$/)
  const named = settingsOf({ ...section, network: { allow: ['a.example'] } })
  const { text: refused, isUsable } = await runtimeReport(named, around)
  assert.match(refused, /microsandbox-server +not usable: it cannot hold programs/)
  assert.equal(isUsable, false)
})
