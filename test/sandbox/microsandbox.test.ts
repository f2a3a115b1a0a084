// Virtual machines of the package `microsandbox`, which a fake stands for: no machine of this project's tests boots one.

import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, test } from 'node:test'
import { realRuntime } from '../../src/real-runtime.js'
import { MicrosandboxRuntime } from '../../src/sandbox/runtimes/microsandbox/microsandbox.js'
import { StateFolder } from '../../src/sandbox/state-folder.js'
import { machineContract, plainSpec, startedMachine } from './machine-contract.js'
import { FakeMicrovm, FakeMicrovms } from './support/fake-microvm.js'

const root = mkdtempSync(join(tmpdir(), 'mcps-microvm-'))
const runtime = realRuntime()
after(async () => {
  await runtime.close()
  rmSync(root, { recursive: true, force: true })
})

const image = 'registry.example/node:1'

function made(fake: FakeMicrovms, nodeVersion = '22.0.0'): MicrosandboxRuntime {
  return new MicrosandboxRuntime({
    runtime,
    folder: new StateFolder(root, runtime),
    images: [{ language: 'node', image }],
    load: async () => fake,
    nodeVersion,
  })
}

machineContract('microsandbox, by a fake', async () => made(new FakeMicrovms()))

describe('a virtual machine', () => {
  test('is built without network, from an image that is there, with the folder of the session', async (t) => {
    const fake = new FakeMicrovms()
    const own = made(fake)
    t.after(() => own.close())
    const volume = mkdtempSync(join(tmpdir(), 'mcps-volume-'))
    t.after(() => rmSync(volume, { recursive: true }))
    await startedMachine(own, {
      image,
      volumes: [{ hostPath: volume, guestPath: '/data', isReadOnly: true }],
    })
    const [[name = '', calls = []] = []] = fake.built
    assert.match(name, /^mcps-sandbox-[\da-f]{16}-1$/)
    const [, session] = JSON.stringify(calls).split('"bind","')
    const folder = session?.split('"')[0] ?? ''
    assert(folder.startsWith(root))
    assert.deepEqual(calls, [
      ['pullPolicy', 'never'],
      ['ephemeral', true],
      ['image', image],
      ['cpus', 1],
      ['memory', 1024],
      ['workdir', '/workspace'],
      ['volume', '/workspace', [['bind', folder], ['quota', 1024], ['nosuid'], ['nodev']]],
      ['volume', '/data', [['bind', volume], ['nosuid'], ['nodev'], ['readonly']]],
      ['disableNetwork'],
    ])
  })

  test('that ends by itself ends its programs', async (t) => {
    const fake = new FakeMicrovms()
    const own = made(fake)
    t.after(() => own.close())
    const machine = await startedMachine(own)
    const program = machine.run({ program: 'sleep', args: ['1000'] })
    await [...fake.running.values()][0]?.kill()
    assert.equal((await machine.ended).reason, 'died')
    assert.notEqual((await program.exited).code, 0)
  })

  test('that does not boot leaves no record, and one that boots too late is ended', async (t) => {
    const fake = new FakeMicrovms()
    const own = made(fake)
    t.after(() => own.close())
    fake.failure = new Error('[BootStart] failed to start "x": signal: 6 (SIGABRT)\nmore')
    await assert.rejects(own.start(plainSpec), {
      message: '[BootStart] failed to start "x": signal: 6 (SIGABRT)',
    })
    assert.deepEqual(fake.removed, [...fake.built.keys()])
    fake.failure = undefined
    fake.isSlow = true
    await assert.rejects(own.start({ ...plainSpec, startTimeoutMs: 1 }), {
      message: 'it took longer than 1 ms',
    })
    assert.equal(await fake.forgotten, [...fake.built.keys()].at(-1))
    assert.equal(fake.running.size, 0)
  })

  test('of a dead service of this state folder is destroyed, and no other', async (t) => {
    const fake = new FakeMicrovms()
    const own = made(fake)
    t.after(() => own.close())
    const [dead, stranger] = ['0123456789abcdef', 'fedcba9876543210']
    mkdirSync(join(root, dead))
    writeFileSync(join(root, dead, 'owner'), '999999999 1 boot namespace')
    for (const name of [`mcps-sandbox-${dead}-1`, `mcps-sandbox-${stranger}-1`, 'worker'])
      fake.running.set(name, new FakeMicrovm('/', () => fake.running.delete(name)))
    await own.sweep()
    assert.deepEqual([...fake.running.keys()], [`mcps-sandbox-${stranger}-1`, 'worker'])
  })
})

describe('whether virtual machines can be used', () => {
  test('is found by booting one, once', async () => {
    const fake = new FakeMicrovms()
    const own = made(fake)
    assert.deepEqual(await own.probe(), { kind: 'usable', limits: 'the virtual machine' })
    assert.deepEqual(await own.probe(), await own.probe())
    assert.equal(fake.built.size, 1)
    assert.equal(fake.running.size, 0, 'it is gone')
  })

  test('is denied with the reason and the remedy', async () => {
    const failing = new FakeMicrovms()
    failing.failure = new Error('KvmContext(KvmApiVersion(-1))')
    const missing = new MicrosandboxRuntime({
      runtime,
      folder: new StateFolder(root, runtime),
      images: [],
      load: () => Promise.reject(new Error('Cannot find native binding.\nmore')),
      nodeVersion: '22.0.0',
    })
    assert.deepEqual(await made(new FakeMicrovms(), '20.19.0').probe(), {
      kind: 'unusable',
      why: 'it needs Node.js 22, and this is 20.19.0',
      remedy: 'use a newer Node.js',
    })
    assert.deepEqual(await missing.probe(), {
      kind: 'unusable',
      why: 'the package microsandbox cannot be loaded: Cannot find native binding.',
      remedy: 'npm install microsandbox',
    })
    assert.deepEqual(await made(failing).probe(), {
      kind: 'unusable',
      why: 'no virtual machine boots: KvmContext(KvmApiVersion(-1))',
      remedy: `look at what npx msb doctor says, and that the image ${image} is there: none is fetched unasked`,
    })
  })
})
