// Machines of bubblewrap, on the real kernel.

import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after } from 'node:test'
import { realRuntime } from '../../src/real-runtime.js'
import { chooseRuntime } from '../../src/sandbox/runtimes.js'
import { machineContract } from '../sandbox/machine-contract.js'

const runtime = realRuntime()
const stateFolder = mkdtempSync(join(tmpdir(), 'mcps-sandbox-'))
// The users of sessions pass through it.
chmodSync(stateFolder, 0o711)
const around = { runtime, log: () => undefined, stateFolder, programFolder: join(process.cwd(), 'dist') }
after(async () => {
  await runtime.close()
  rmSync(stateFolder, { recursive: true, force: true })
})

machineContract('bubblewrap', async () => (await chooseRuntime('bubblewrap', around)).runtime)
