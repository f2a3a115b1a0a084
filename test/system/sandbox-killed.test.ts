// A service that is killed leaves nobody, and its files to the next one.

import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { realRuntime } from '../../src/real-runtime.js'
import { ownerInName } from '../../src/sandbox/process-owner.js'
import { chooseRuntime } from '../../src/sandbox/runtimes.js'
import { findCgroupPlaces } from '../../src/sandbox/runtimes/bubblewrap/cgroup-places.js'
import { until } from '../integration/support/waiting.js'

const folder = mkdtempSync(join(tmpdir(), 'mcps-sandbox-'))
const runtime = realRuntime()
after(async () => {
  await runtime.close()
  rmSync(folder, { recursive: true, force: true })
})

/** The processes of the host with this in their arguments. */
function marked(mark: string): string[] {
  return readdirSync('/proc').filter((pid) => {
    try {
      return /^\d+$/.test(pid) && readFileSync(`/proc/${pid}/cmdline`, 'latin1').includes(`sleep\0${mark}`)
    } catch {
      return false
    }
  })
}

for (const as of ['root', 'user'] as const) {
  test(`kill -9 of a service (${as}) in a call leaves nobody, and the next one removes its files`, async () => {
    const own = join(folder, as)
    const stateFolder = join(own, 'state')
    for (const path of [own, stateFolder, join(own, 'home')]) mkdirSync(path)
    for (const path of [folder, own, stateFolder]) chmodSync(path, 0o711)
    cpSync('dist/sandbox', join(own, 'program/sandbox'), { recursive: true })
    const mark = `${1_000_000 + process.pid}.${as === 'root' ? 1 : 2}`
    const script = join(import.meta.dirname, 'support/sandbox-service.js')
    const service = spawn(process.execPath, [script, as, own, mark], { stdio: ['ignore', 'pipe', 'inherit'] })
    await new Promise((resolve, reject) => {
      service.stdout.once('data', resolve)
      service.once('exit', () => reject(new Error('it ended')))
    })
    await until(() => marked(mark).length === 3)
    service.kill('SIGKILL')
    await until(() => marked(mark).length === 0)
    assert.equal(readdirSync(stateFolder).length, 1)

    const around = { runtime, log: () => undefined, stateFolder, programFolder: join(own, 'program') }
    const { runtime: next } = await chooseRuntime('bubblewrap', around)
    await next.sweep()
    assert.deepEqual(readdirSync(stateFolder), [])
    await next.close()
  })
}

test('a sweep leaves the empty group of another living service to its first process, and takes that of a dead one', async (t) => {
  const places = await findCgroupPlaces(`mcps-sandbox-look-${process.pid}`)
  if (places === undefined) return t.skip('no control groups can be made')
  const other = spawn('sleep', ['1000'])
  t.after(() => other.kill('SIGKILL'))
  const owner = ownerInName(other.pid ?? 0)
  const group = join(
    places.kind === 'v1' ? places.memory : places.folder,
    `mcps-sandbox-${'ab'.repeat(8)}-${owner}-1`,
  )
  mkdirSync(group)

  let waits = 0
  const counting: typeof runtime = {
    ...runtime,
    setTimer: (...asked) => {
      waits++
      return runtime.setTimer(...asked)
    },
  }
  const around = { runtime: counting, log: () => undefined, stateFolder: join(folder, 'other') }
  const { runtime: service } = await chooseRuntime('bubblewrap', around)
  waits = 0
  await service.sweep()
  writeFileSync(join(group, 'cgroup.procs'), String(other.pid))
  await service.sweep()
  assert.deepEqual([waits, existsSync(group)], [0, true])

  const busy = group.replace(/-[\d.]+-1$/, `-${owner.replace(/\.\d+\./, '.1.')}-1`)
  mkdirSync(busy)
  writeFileSync(join(busy, 'cgroup.procs'), String(other.pid))
  await service.sweep()
  assert.deepEqual(
    [waits, existsSync(busy)],
    [5, true],
    'a busy one of a dead service is left for the next sweep',
  )

  other.kill('SIGKILL')
  await once(other, 'exit')
  await service.sweep()
  assert.deepEqual([existsSync(group), existsSync(busy)], [false, false])
  await service.close()
})
