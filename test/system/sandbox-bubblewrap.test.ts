// Machines of bubblewrap that root makes, or the user who runs the tests.

import assert from 'node:assert/strict'
import { chownSync, mkdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { MachineStartError } from '../../src/sandbox/runtime.js'
import { NoRuntimeError, chooseRuntime } from '../../src/sandbox/runtimes.js'
import { machineContract, ran, shell, startedMachine } from '../sandbox/machine-contract.js'
import { sandboxAttacks } from './support/sandbox-attacks.js'
import { sandboxDefences } from './support/sandbox-defences.js'
import { sandboxScene } from './support/sandbox-scene.js'

const scene = sandboxScene('root')
machineContract('bubblewrap', () => scene.bubblewrap())
sandboxAttacks('bubblewrap', scene)
sandboxDefences('bubblewrap', scene)

describe('runAs', { skip: process.getuid?.() !== 0 && 'only root gives sessions another user' }, () => {
  const user = { uid: 65_533, gid: 65_532 }

  test('lets sessions write to volumes of that user, and to nothing of others', async () => {
    const [own, others] = ['own', 'others'].map((name) => join(scene.folder, name))
    assert(own !== undefined && others !== undefined)
    for (const path of [own, others]) mkdirSync(path)
    chownSync(own, user.uid, user.gid)
    const volumes = [
      { hostPath: own, guestPath: '/own', isReadOnly: false },
      { hostPath: others, guestPath: '/others', isReadOnly: false },
    ]
    const plain = await scene.bubblewrap()
    await assert.rejects(
      startedMachine(plain, { volumes }),
      (error) => error instanceof MachineStartError && /set runAs to its owner/.test(error.message),
    )
    const { runtime } = await chooseRuntime('bubblewrap', { ...scene.around, runAs: '65533:65532' })
    const machine = await startedMachine(runtime, { volumes })
    const { stdout, stderr } = await ran(
      machine,
      shell('id -u; echo mine > /own/file; echo mine > file; cat file; echo x > /others/file'),
    )
    assert.equal(stdout, '1000\nmine\n', 'inside the user is who it always is')
    assert.match(stderr, /others\/file: Permission denied/)
    assert.equal(readFileSync(join(own, 'file'), 'utf8'), 'mine\n')
    const { uid, gid } = statSync(join(own, 'file'))
    assert.deepEqual({ uid, gid }, user)
    await runtime.close()
  })

  test('is never root', () =>
    assert.rejects(
      chooseRuntime('bubblewrap', { ...scene.around, runAs: '0:0' }),
      (error) => error instanceof NoRuntimeError && /never runs as root/.test(error.message),
    ))
})
