// A service with a running program in a machine, which is killed.
//
// usage: node sandbox-service.js root|user FOLDER MARK
// Says `running` when programs run that have left their parents, their session and their variables.

import assert from 'node:assert/strict'
import { join } from 'node:path'
import { realRuntime } from '../../../src/real-runtime.js'
import { chooseRuntime } from '../../../src/sandbox/runtimes.js'
import { said, shell, startedMachine } from '../../sandbox/machine-contract.js'
import { becomeUser } from './sandbox-scene.js'

const [as, folder, mark] = process.argv.slice(2)
assert(folder !== undefined && mark !== undefined)
if (as === 'user') becomeUser(folder, join(folder, 'home'))
const around = {
  runtime: realRuntime(),
  log: () => undefined,
  stateFolder: join(folder, 'state'),
  programFolder: join(folder, 'program'),
}
const { runtime } = await chooseRuntime('bubblewrap', around)
const machine = await startedMachine(runtime)
const program = machine.run(
  shell(`env -i setsid sh -c '(sleep ${mark} & sleep ${mark} &) & exit'; sleep ${mark} & echo running; wait`),
)
await said(program, 'running')
process.stdout.write('running\n')
