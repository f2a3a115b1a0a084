// A service that is killed leaves nobody, and its files to the next one.

import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { chmodSync, cpSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { realRuntime } from '../../src/real-runtime.js'
import { chooseRuntime } from '../../src/sandbox/runtimes.js'
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
