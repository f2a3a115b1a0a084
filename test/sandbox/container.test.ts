// The command lines for a container engine, recorded by a fake engine. test/system has the tests of real containers.

import assert from 'node:assert/strict'
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { type RealRuntime, realRuntime } from '../../src/real-runtime.js'
import { type Machine, MachineStartError, type SandboxRuntime } from '../../src/sandbox/runtime.js'
import { type ProbedRuntime, probedRuntime } from '../../src/sandbox/runtimes.js'
import { scratch } from '../integration/support/spawned.js'
import { plainSpec, ran, shell, startedMachine } from './machine-contract.js'
import type { Scope } from '../support/scope.js'

const program = join(import.meta.dirname, '../../../test/programs/fake-docker.mjs')
const image = 'registry.example/python:1'

class FakeEngine {
  readonly folder: string
  readonly runtime: RealRuntime
  readonly #made: SandboxRuntime[] = []

  constructor(t: Scope) {
    this.folder = scratch(t)
    const bin = join(this.folder, 'bin')
    mkdirSync(bin)
    const command = `#!/bin/sh\nexec '${process.execPath}' '${program}' '${this.folder}' "$@"\n`
    // Both, so that none of this machine is found.
    for (const name of ['docker', 'podman']) writeFileSync(join(bin, name), command, { mode: 0o755 })
    this.set('images', image)
    this.runtime = { ...realRuntime(), env: { PATH: '/usr/bin:/bin', HOME: '/', SECRET: 'ours' } }
    // Users of sessions pass through it.
    chmodSync(this.folder, 0o711)
    t.after(async () => {
      await Promise.all(this.#made.map((each) => each.close()))
      await this.runtime.close()
    })
  }

  set(name: string, text: string): void {
    writeFileSync(join(this.folder, name), text)
  }

  get state(): string {
    return join(this.folder, 'state')
  }

  async probed(): Promise<ProbedRuntime> {
    const images = [{ language: 'python', image } as const]
    const { runtime, state: stateFolder } = this
    const probed = await probedRuntime('container', {
      runtime,
      log: () => undefined,
      stateFolder,
      templates: images,
      programs: [join(this.folder, 'bin')],
    })
    this.#made.push(probed.runtime)
    return probed
  }

  async machine(spec: Parameters<typeof startedMachine>[1] = {}): Promise<Machine> {
    return startedMachine((await this.probed()).runtime, { image, ...spec })
  }

  asked(command: string): string[][] {
    const lines = readFileSync(join(this.folder, 'asked'), 'utf8').trim().split('\n')
    return lines.flatMap((line) => {
      const args: unknown = JSON.parse(line)
      return Array.isArray(args) && args[0] === command ? [args.map(String)] : []
    })
  }
}

describe('a container engine', () => {
  test('is asked for a container without network, rights, or a file system to write to', async (t) => {
    const engine = new FakeEngine(t)
    const machine = await engine.machine({ flavor: { cpus: 2, memoryMiB: 512, pids: 64, diskGiB: 1 } })
    const [asked = []] = engine.asked('run')
    const name = asked[asked.indexOf('--name') + 1] ?? ''
    assert.match(name, /^mcps-sandbox-[\da-f]{16}-1$/)
    const [, owner] = name.split('mcps-sandbox-').map((each) => each.slice(0, -2))
    const isRoot = process.getuid?.() === 0
    const user = asked[asked.indexOf('--user') + 1] ?? ''
    assert.match(user, isRoot ? /^(1879\d{6}):\1$/ : new RegExp(`^${process.getuid?.()}:`))
    const source = /^type=bind,source=(.+),target=\/workspace$/.exec(
      asked[asked.indexOf('--mount') + 1] ?? '',
    )
    assert(source?.[1]?.startsWith(engine.state) === true)
    const wanted = [
      ['run', '--rm', '--interactive', '--pull', 'never', '--name', name, '--label', `mcps-sandbox=${owner}`],
      ['--hostname', 'sandbox', '--network', 'none', '--log-driver', 'none'],
      ['--read-only', '--cap-drop', 'ALL', '--security-opt', 'no-new-privileges', '--user', user],
      ['--memory', '512m', '--memory-swap', '512m', '--cpus', '2', '--pids-limit', '72'],
      ['--tmpfs', '/tmp:rw,nosuid,nodev,size=134217728,mode=1777', '--mount', source[0]],
      ['--workdir', '/workspace', '--entrypoint', 'sh'],
    ]
    assert.deepEqual(asked.slice(0, -3), wanted.flat())
    assert.equal(asked.at(-3), image)
    await machine.stop()
    assert.equal((await machine.ended).reason, 'stopped')
  })

  test('starts programs, whose variables stand on no command line', async (t) => {
    const engine = new FakeEngine(t)
    const machine = await engine.machine({
      env: { TOKEN: 'planted-1', OWN: 'planted-2', PATH: '/usr/bin:/bin' },
    })
    const line = 'echo "$TOKEN $OWN $SECRET."; cat; echo e >&2; exit 3'
    const { stdout, stderr, code } = await ran(machine, shell(line), 'in\n')
    assert.deepEqual([stdout, stderr, code], ['planted-1 planted-2 .\nin\n', 'e\n', 3])
    const [asked = []] = engine.asked('exec')
    assert.deepEqual(asked.slice(0, 2), ['exec', '--interactive'])
    assert.doesNotMatch(asked.join(' '), /planted/)
    const missing = await ran(machine, { program: 'no-such-program', args: [] })
    assert.equal(missing.failure, 'no-such-program: ENOENT')
  })

  test('gives folders whose names have commas, to read only where it is said', async (t) => {
    const engine = new FakeEngine(t)
    const volume = join(engine.folder, 'a,b')
    mkdirSync(volume)
    await engine.machine({ volumes: [{ hostPath: volume, guestPath: '/data', isReadOnly: true }] })
    const [asked = []] = engine.asked('run')
    const found = asked[asked.lastIndexOf('--mount') + 1]
    assert.equal(found, `type=bind,"source=${volume}",target=/data,readonly`)
  })

  test('that does not answer cannot be used, and one without the image is never asked to fetch it', async (t) => {
    const engine = new FakeEngine(t)
    const { runtime } = await engine.probed()
    engine.set('images', '')
    await assert.rejects(engine.probed(), {
      message: `docker has none of the images ${image}, and none is fetched unasked; fetch one: docker pull ${image}`,
    })
    await assert.rejects(runtime.start({ ...plainSpec, language: 'python', image }), (error: unknown) => {
      assert(error instanceof MachineStartError)
      assert.match(error.message, /^the image registry\.example\/python:1 is not there: docker pull /)
      return true
    })
    assert.deepEqual([engine.asked('pull'), engine.asked('run')], [[], []])
    const down = new FakeEngine(t)
    down.set('down', '')
    await assert.rejects(down.probed(), /docker does not answer: Cannot connect to the Docker daemon/)
  })

  test('that refuses a container says why', async (t) => {
    const engine = new FakeEngine(t)
    engine.set(
      'refuses',
      "WARNING: old kernel\ndocker: Error response from daemon: no space left on device.\n\nRun 'docker run --help' for more information",
    )
    await assert.rejects(engine.machine(), {
      name: 'MachineStartError',
      message: 'docker did not start it: docker: Error response from daemon: no space left on device.',
    })
  })

  test('is asked to remove containers of dead services of this state folder, and no others', async (t) => {
    const engine = new FakeEngine(t)
    const [dead, stranger] = ['0123456789abcdef', 'fedcba9876543210']
    mkdirSync(join(engine.state, dead), { recursive: true })
    writeFileSync(join(engine.state, dead, 'lock'), '')
    engine.set('names', `mcps-sandbox-${dead}-1\nmcps-sandbox-${stranger}-1\nmcps-sandbox-other\ndatabase\n`)
    const { runtime } = await engine.probed()
    await runtime.sweep()
    assert.deepEqual(engine.asked('rm'), [['rm', '--force', `mcps-sandbox-${dead}-1`]])
  })
})
