import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { realRuntime } from '../../src/real-runtime.js'
import { MachineStartError } from '../../src/sandbox/runtime.js'
import {
  NoRuntimeError,
  chooseRuntime,
  isolatingRuntimeIds,
  probedRuntime,
  runtimeIds,
} from '../../src/sandbox/runtimes.js'
import { machineContract, plainSpec } from './machine-contract.js'

const stateFolder = mkdtempSync(join(tmpdir(), 'mcps-sandbox-'))
const runtime = realRuntime()
const around = { runtime, log: () => undefined, stateFolder }
after(async () => {
  await runtime.close()
  rmSync(stateFolder, { recursive: true, force: true })
})

machineContract('unsafe-local', async () => (await chooseRuntime('unsafe-local', around)).runtime)

test('auto never takes the runtime without isolation', async () => {
  assert(!isolatingRuntimeIds.includes('unsafe-local'))
  const nowhere = { ...around, programFolder: '/nowhere' }
  await assert.rejects(chooseRuntime('auto', nowhere), (error: unknown) => {
    assert(error instanceof NoRuntimeError)
    assert.match(
      error.message,
      /^no sandbox runtime can be used\nmicrosandbox-server: .+; .+\nmicrosandbox: .+; .+\nbubblewrap: .+; .+\ncontainer: .+; .+\nwasm: .+; .+$/,
    )
    return true
  })
})

test('every runtime says whether it can be used, or what would mend it', async () => {
  for (const id of runtimeIds) {
    const { runtime: made, probe } = await probedRuntime(id, around)
    assert.equal(made.id, id)
    assert.notEqual(probe.kind === 'usable' ? probe.limits : probe.remedy, '')
  }
})

test('a state folder that cannot be made is named', async () => {
  const { runtime: made } = await probedRuntime('unsafe-local', { ...around, stateFolder: '/dev/null/x' })
  await assert.rejects(made.start(plainSpec), (error: unknown) => {
    assert(error instanceof MachineStartError)
    assert.match(error.message, /\/dev\/null\/x/)
    return true
  })
})
