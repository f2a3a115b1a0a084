// Which runtime takes which network: none may give code more than was configured.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { LogRecord } from '../../src/index.js'
import { realRuntime } from '../../src/index.js'
import { runtimeReport } from '../../src/sandbox/readiness.js'
import { NoRuntimeError, chooseRuntime, runtimeIds } from '../../src/sandbox/runtimes.js'
import { settingsOf } from './support/sandbox.js'

const network = { kind: 'allow', hosts: ['a.example'] } as const

for (const id of runtimeIds.filter((each) => each !== 'bubblewrap'))
  test(`${id} does not start where hosts are named, and says what would`, async (t) => {
    const runtime = realRuntime()
    t.after(() => runtime.close())
    await assert.rejects(
      chooseRuntime(id, { runtime, log: () => undefined, stateFolder: undefined, network }),
      (error) =>
        error instanceof NoRuntimeError &&
        /cannot hold programs to the hosts of network\.allow; use the runtime bubblewrap/.test(error.message),
    )
  })

test('wasm does not start with the network of the host', async (t) => {
  const runtime = realRuntime()
  t.after(() => runtime.close())
  const around = { runtime, log: () => undefined, stateFolder: undefined, network: { kind: 'host' } } as const
  await assert.rejects(chooseRuntime('wasm', around), /has no network; set network to "none"/)
})

test('--check names the network of what is used', async (t) => {
  const runtime = realRuntime()
  t.after(() => runtime.close())
  const log: LogRecord[] = []
  const around = { name: 's', runtime, log: (record: LogRecord): void => void log.push(record) }
  const { text } = await runtimeReport(settingsOf({ runtime: 'unsafe-local' }), around)
  assert.match(text, /unsafe-local: unsafe-local is used, network host\n$/)
  const named = settingsOf({ runtime: 'unsafe-local', network: { allow: ['a.example'] } })
  const { text: refused, isUsable } = await runtimeReport(named, around)
  assert.match(refused, /unsafe-local +not usable: it cannot hold programs/)
  assert.equal(isUsable, false)
})
