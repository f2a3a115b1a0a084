// Machines that are containers of Podman, from an image that is made here.

import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, test } from 'node:test'
import type { Machine, SandboxRuntime } from '../../src/sandbox/runtime.js'
import { chooseRuntime } from '../../src/sandbox/runtimes.js'
import { until } from '../integration/support/waiting.js'
import { machineContract, ran, said, shell, startedMachine } from '../sandbox/machine-contract.js'
import { makeImage } from './support/container-image.js'
import { python } from './support/sandbox-attacks.js'
import { sandboxScene } from './support/sandbox-scene.js'

const image = `localhost/mcps-sandbox-test-${process.pid}:1`
const folder = mkdtempSync(join(tmpdir(), 'mcps-podman-'))
// The kernel may refuse the usual limits when the tests run in a container. Of the runtimes in Debian, runc knows control
// groups of versions 1 and 2 together.
const settings = `[containers]
default_ulimits = ["nofile=1024:1024", "nproc=4096:4096"]
[engine]
runtime = "runc"
`
writeFileSync(join(folder, 'containers.conf'), settings)
process.env['CONTAINERS_CONF'] = join(folder, 'containers.conf')
process.env['MCPS_PLANTED_SECRET'] = 'planted'

makeImage(image, process.env)
const scene = sandboxScene('root')
after(() => {
  execFileSync('podman', ['rmi', '--force', image], { stdio: 'ignore' })
  rmSync(folder, { recursive: true, force: true, maxRetries: 10 })
})

const images = [{ language: 'python', image }] as const

async function containers(): Promise<SandboxRuntime> {
  return (await chooseRuntime('container', { ...scene.around, templates: images })).runtime
}

/** The reason why Podman runs no container, as when the kernel refuses to nest them. Undefined when Podman runs one. */
function whyNone(): string | undefined {
  const plain = ['run', '--rm', '--network', 'none', image, 'sh', '-c', 'exit 0']
  const { status, stderr } = spawnSync('podman', plain, { encoding: 'utf8' })
  return status === 0 ? undefined : stderr.trim()
}

const refusal = whyNone()
const options = refusal === undefined ? {} : { skip: `Podman runs no container here: ${refusal}` }
if (refusal === undefined) machineContract('container of Podman', containers, { image })

async function machine(t: { after(fn: () => Promise<void>): void }): Promise<Machine> {
  const runtime = await containers()
  t.after(() => runtime.close())
  return startedMachine(runtime, { image, flavor: { cpus: 1, memoryMiB: 128, pids: 32, diskGiB: 1 } })
}

describe('a container of Podman', options, () => {
  test('has no network, no rights, and nothing to write to but its folder and /tmp', async (t) => {
    const inside = await machine(t)
    const { stdout } = await ran(
      inside,
      shell(`id -u; grep -E 'CapEff|NoNewPrivs' /proc/self/status; ls /sys/class/net
        for d in / /usr /etc /workspace /tmp; do touch $d/x 2>/dev/null && echo "writes $d"; done
        grep -ci planted /proc/1/environ /proc/self/environ`),
    )
    assert.match(
      stdout,
      /^1879\d{6}\nCapEff:\t0+\nNoNewPrivs:\t1\nlo\nwrites \/workspace\nwrites \/tmp\n.*:0\n.*:0\n$/,
    )
  })

  test('is refused more memory and more processes than its flavor', async (t) => {
    const inside = await machine(t)
    const greedy = await ran(inside, python('x = bytearray(b"x") * (400 << 20); print(len(x))'))
    assert.deepEqual([greedy.stdout, greedy.signal], ['', 'SIGKILL'])
    const bomb = python(`
import os, time
children = 0
try:
    while children < 200:
        if os.fork() == 0:
            time.sleep(100)
        children += 1
except OSError as error:
    print(error.strerror, flush=True)
`)
    assert.equal((await ran(inside, bomb)).stdout, 'Resource temporarily unavailable\n')
  })

  test('ends with its first program, and is removed', async (t) => {
    const others = containersListed()
    const inside = await machine(t)
    const waiting = inside.run(shell('echo ready; sleep 1000'))
    await said(waiting, 'ready')
    await ran(inside, shell('kill -KILL -1'))
    assert.equal((await inside.ended).reason, 'died')
    await waiting.exited
    await until(() => containersListed().every((each) => others.includes(each)))
  })
})

/** Those of machines, also of services that other programs have started. */
function containersListed(): string[] {
  const listed = execFileSync('podman', ['ps', '--all', '--quiet', '--filter', 'label=mcps-sandbox'])
  return listed.toString().split('\n').filter(Boolean)
}
