// How programs are started and ended on Windows, as far as this can be tested elsewhere.

import { strict as assert } from 'node:assert'
import { execFile } from 'node:child_process'
import { readFileSync, readdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, test } from 'node:test'
import { endTree } from '../../src/upstream/process/process-tree.js'
import { spawnProgram } from '../../src/upstream/process/spawn.js'
import { cli } from '../integration/support/programs.js'

describe('a program', () => {
  for (const platform of ['win32', 'linux'])
    test(`is started with its arguments as they are: ${platform}`, async () => {
      const script = 'process.stdout.write(JSON.stringify(process.argv.slice(1)))'
      const args = ['-e', script, 'a b', '"c"', '%PATH%', '$HOME', '^&|']
      const child = spawnProgram(process.execPath, args, { stdio: 'pipe' }, platform)
      let said = ''
      for await (const chunk of child.stdout ?? []) said += String(chunk)
      assert.deepEqual(JSON.parse(said), args.slice(2))
    })

  test('that is not there says so by an event', async () => {
    const child = spawnProgram('no-such-program', [], { stdio: 'pipe' }, 'win32')
    const error = await new Promise((resolve) => child.once('error', resolve))
    assert(error instanceof Error && 'code' in error)
    assert.equal(error.code, 'ENOENT')
  })

  test('of Windows is ended with everything that it has started', () => {
    const runs: unknown[] = []
    const run: unknown = (file: string, args: readonly string[]) => runs.push([file, ...args])
    assert(isExecFile(run))
    endTree(4711, run)
    assert.deepEqual(runs, [['taskkill', '/T', '/F', '/PID', '4711']])
  })
})

test('the built program has cross-spawn in itself, and asks Node for nothing that a module has not', () => {
  const folder = dirname(cli)
  const texts = readdirSync(folder)
    .filter((name) => name.endsWith('.js'))
    .map((name) => readFileSync(join(folder, name), 'utf8'))
  assert(texts.some((text) => text.includes('process.env.comspec')))
  for (const text of texts) assert.doesNotMatch(text, /__require\d*\("child_process"\)/)
})

function isExecFile(value: unknown): value is typeof execFile {
  return typeof value === 'function'
}
