// Which control groups a sweep removes. Plain folders stand for groups: a group in which nobody is can be removed as they can.

import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, test } from 'node:test'
import { realRuntime } from '../../src/real-runtime.js'
import { ownerInName } from '../../src/sandbox/process-owner.js'
import { MachineGroup } from '../../src/sandbox/runtimes/bubblewrap/machine-group.js'
import { machineGroupName, sweepGroups } from '../../src/sandbox/runtimes/bubblewrap/machine-groups.js'

const skip = process.platform !== 'linux'
const folder = mkdtempSync(join(tmpdir(), 'mcps-groups-'))
const places = { kind: 'v2', folder } as const
const runtime = realRuntime()
after(async () => {
  await runtime.close()
  rmSync(folder, { recursive: true, force: true })
})

/** A name as a service makes it, with another number than any service beside it. */
const service = (number: number): string => String(number).padStart(16, '0')

describe('a sweep of control groups', { skip }, () => {
  test('removes those of dead services, and none that a living one has just made', async (t) => {
    const other = spawn('sleep', ['1000'])
    t.after(() => other.kill('SIGKILL'))
    const living = ownerInName(other.pid ?? 0)
    const ended = spawn('true')
    const dead = ownerInName(ended.pid ?? 0)
    await once(ended, 'exit')
    const cases: readonly (readonly [name: string, isLeft: boolean])[] = [
      [machineGroupName(service(1), 1), true],
      [`mcps-sandbox-${service(2)}-${living}-1`, true],
      [`mcps-sandbox-${service(3)}-${living.replace(/\.\d+\./, '.1.')}-1`, false],
      [`mcps-sandbox-${service(4)}-${dead}-12`, false],
      [`mcps-sandbox-${service(5)}-${dead.replace(/\d+$/, '1')}-1`, true],
      [`mcps-sandbox-${service(6)}-${dead.replace(/\d+$/, '1')}-1`, false],
      [`mcps-sandbox-${service(7)}-1`, true],
      [`mcps-sandbox-${service(9)}-1`, false],
      [`mcps-sandbox-short-${dead}-1`, true],
      ['user.slice', true],
    ]
    for (const [name] of cases) mkdirSync(join(folder, name))
    await sweepGroups(places, new Set([service(6), service(9)]), runtime)
    const left = cases.filter(([, isLeft]) => isLeft).map(([name]) => name)
    assert.deepEqual(readdirSync(folder).sort(), left.sort())

    const gone = once(other, 'exit')
    other.kill('SIGKILL')
    await gone
    await sweepGroups(places, new Set(), runtime)
    assert(!readdirSync(folder).includes(`mcps-sandbox-${service(2)}-${living}-1`))
  })

  test('of another state folder leaves a group that is made, and not yet given its first process', async () => {
    const name = machineGroupName(service(8), 1)
    const group = new MachineGroup(places, name, runtime)
    await group.make({ cpus: 1, memoryMiB: 64, pids: 16, diskGiB: 1 })
    for (const file of readdirSync(join(folder, name))) rmSync(join(folder, name, file))
    await sweepGroups(places, new Set(), runtime)
    await group.add([process.pid])
  })
})
