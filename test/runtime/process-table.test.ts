import assert from 'node:assert'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { readProcess } from '../../src/runtime/process-table.js'

const onLinux = { skip: process.platform === 'linux' ? false : 'there is no /proc' }

describe('a process', () => {
  test('is told by its number and by when it started', onLinux, () => {
    const own = readProcess(process.pid)
    assert(own !== undefined)
    assert.equal(own.parent, process.ppid)
    assert.deepEqual(readProcess(process.pid), own)
    const parent = readProcess(process.ppid)
    assert(Number(own.startedAt) > 0)
    assert(parent === undefined || Number(parent.startedAt) <= Number(own.startedAt))
  })

  test('may have a name that looks like what stands behind it', onLinux, async (t) => {
    const folder = mkdtempSync(join(tmpdir(), 'process-table-'))
    const program = join(folder, 'a) R 1 1')
    t.after(() => rmSync(folder, { recursive: true }))
    symlinkSync(process.execPath, program)
    const child = spawn(program, ['--eval', 'process.stdin.resume(); console.log()'], {
      stdio: ['pipe', 'pipe', 'ignore'],
      detached: true,
    })
    t.after(() => child.kill())
    await once(child.stdout, 'data')
    const row = readProcess(child.pid ?? 0)
    assert.equal(row?.parent, process.pid)
    assert.equal(row?.group, child.pid)
  })

  test('that has ended has no row', async () => {
    const child = spawn(process.execPath, ['--eval', ''])
    await once(child, 'exit')
    assert.equal(readProcess(child.pid ?? 0), undefined)
  })
})
