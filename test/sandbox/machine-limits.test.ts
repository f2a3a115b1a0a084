// The limits of a machine, where only a session that tries finds what they leave open.

import assert from 'node:assert/strict'
import { appendFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { after, describe, test } from 'node:test'
import { type Runtime, realRuntime } from '../../src/index.js'
import { MachineGroup } from '../../src/sandbox/runtimes/bubblewrap/machine-group.js'
import { MachineLimits } from '../../src/sandbox/runtimes/bubblewrap/machine-limits.js'

const MiB = 1024 * 1024
const skip = process.platform !== 'linux'
const folder = mkdtempSync(join(tmpdir(), 'mcps-machine-limits-'))
const runtime = realRuntime()
after(async () => {
  await runtime.close()
  rmSync(folder, { recursive: true, force: true })
})

const flavor = { cpus: 1, memoryMiB: 256, pids: 48, diskGiB: 1 / 1024 }

describe('control groups of version 1', { skip }, () => {
  test('count buffers of sockets too, which the kernel does only where they have a limit', async () => {
    const memory = join(folder, 'memory')
    mkdirSync(memory)
    const group = new MachineGroup({ kind: 'v1', memory, pids: undefined, cpu: undefined }, 'one', runtime)
    await group.make(flavor)
    const limit = readFileSync(join(memory, 'one', 'memory.kmem.tcp.limit_in_bytes'), 'latin1')
    assert.equal(Number(limit), 32 * MiB)
  })
})

describe('the disk of a machine', { skip }, () => {
  test('is looked at when it fills, however long a look takes', async () => {
    const path = join(folder, 'session')
    mkdirSync(path)
    const waiting: (() => void)[] = []
    let now = 0
    const slow: Runtime = {
      ...runtime,
      // Each look takes an hour, so that the next one is due in a day.
      now: () => (now += 3_600_000),
      setTimer: (delayMs, run) => {
        if (delayMs <= 1000) waiting.push(run)
        return { cancel: () => {} }
      },
    }
    const child = runtime.spawn({ command: 'sleep', args: ['600'], cwd: '/', env: {} })
    const reached: string[] = []
    const full = (limit: string): void => void reached.push(limit)
    const parts = { runtime: slow, child, flavor, group: undefined, folder: path, first: { pid: 0 } }
    const limits = new MachineLimits({ ...parts, isBusy: () => true, full })
    await limits.begin()
    for (let turns = 0; turns < 2000 && reached.length === 0; turns++) {
      // Others may give back some of the disk meanwhile.
      if (turns % 50 === 49) appendFileSync(join(path, 'file'), Buffer.alloc(8 * MiB, turns), { flush: true })
      for (const run of waiting.splice(0)) run()
      await setImmediate()
    }
    limits.stop()
    child.signal('SIGKILL')
    await child.exited
    assert.match(reached[0] ?? '', /^the disk limit of/)
  })
})
