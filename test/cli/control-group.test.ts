import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { tightLimits } from '../../src/cli/control-group.js'

const group = '0::/system.slice/mcps-proxy.service\n'
const own = 'sys/fs/cgroup/system.slice/mcps-proxy.service'

const cases: [title: string, files: Record<string, string>, processesMax: number, want: RegExp[]][] = [
  ['nothing without cgroup v2', { 'proc/self/cgroup': '4:memory:/a\n' }, 256, []],
  ['nothing where no limit is set', { [`${own}/pids.max`]: 'max\n' }, 256, []],
  [
    'nothing where all fits',
    { [`${own}/pids.max`]: '3072\n', [`${own}/memory.max`]: '8589934592\n' },
    256,
    [],
  ],
  [
    'the tasks, with a number that fits',
    { [`${own}/pids.max`]: '1024\n' },
    256,
    [/^pids\.max .* "processesMax" to 89$/],
  ],
  ['the memory', { [`${own}/memory.max`]: '2147483648\n' }, 256, [/^memory\.max .* "processesMax" to 84$/]],
  ['nothing where few processes may run', { [`${own}/pids.max`]: '1024\n' }, 80, []],
]

for (const [title, files, processesMax, want] of cases)
  test(`tightLimits names: ${title}`, (t) => {
    const root = mkdtempSync(join(tmpdir(), 'control-group-'))
    t.after(() => rmSync(root, { recursive: true }))
    for (const [path, text] of Object.entries({ 'proc/self/cgroup': group, ...files })) {
      mkdirSync(dirname(join(root, path)), { recursive: true })
      writeFileSync(join(root, path), text)
    }
    const warnings = tightLimits(processesMax, root)
    assert.equal(warnings.length, want.length, warnings.join('\n'))
    for (const [at, pattern] of want.entries()) assert.match(warnings[at] ?? '', pattern)
  })
