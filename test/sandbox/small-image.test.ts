// Files of a machine whose `find` has none of the options of GNU, as that of Alpine. Of a name with a line feed, the first line is listed.

import assert from 'node:assert/strict'
import { mkdirSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import process from 'node:process'
import { test } from 'node:test'
import { Artifacts, listFiles } from '../../src/sandbox/files.js'
import type { MachineUse } from '../../src/sandbox/runs.js'
import { StateFolder } from '../../src/sandbox/state-folder.js'
import { type Scope, scratch } from '../integration/support/spawned.js'
import { ran, shell, startedMachine } from './machine-contract.js'
import { openRuntime } from '../support/open-runtime.js'
import { LocalRuntime } from './support/local-runtime.js'

/** Programs run on this host, with a `find` that refuses `-printf`. */
async function smallMachine(t: Scope): Promise<{ readonly where: MachineUse; readonly workspace: string }> {
  const bin = scratch(t)
  writeFileSync(
    join(bin, 'find'),
    '#!/bin/sh\ncase "$*" in *-printf*) echo "unrecognized: -printf" >&2; exit 1;; esac\nexec /usr/bin/find "$@"\n',
    { mode: 0o755 },
  )
  const clock = openRuntime(t)
  const runtime = new LocalRuntime(clock, new StateFolder(scratch(t), clock))
  t.after(() => runtime.close())
  const machine = await startedMachine(runtime, { env: { PATH: `${bin}:${process.env['PATH'] ?? ''}` } })
  const { stdout } = await ran(machine, shell('pwd'))
  return { where: { machine, clock }, workspace: stdout.trim() }
}

test('the files of a folder are listed', async (t: Scope) => {
  const { where, workspace } = await smallMachine(t)
  const folder = join(workspace, '-delete')
  mkdirSync(join(folder, 'inner'), { recursive: true })
  for (const name of ['-delete', 'two\nlines', "it's"]) writeFileSync(join(folder, name), 'abc')
  symlinkSync('inner', join(folder, 'link'))
  utimesSync(join(folder, '-delete'), 5, 5)
  const { entries, isCut } = await listFiles(where, '-delete')
  assert.equal(isCut, false)
  const found = entries.map(({ name, type }) => [name, type])
  assert.deepEqual(found, [
    ['-delete', 'file'],
    ['inner', 'folder'],
    ["it's", 'file'],
    ['link', 'link'],
    ['two', 'file'],
  ])
  assert.deepEqual([entries[0]?.size, entries[0]?.modified.getTime()], [3, 5000])
})

test('artifacts are found', async (t: Scope) => {
  const { where, workspace } = await smallMachine(t)
  const artifacts = new Artifacts()
  assert.deepEqual(await artifacts.newArtifacts(where), [])
  mkdirSync(join(workspace, 'artifacts', 'inner'), { recursive: true })
  writeFileSync(join(workspace, 'artifacts', 'picture.png'), 'abc')
  assert.deepEqual(await artifacts.newArtifacts(where), [{ path: 'artifacts/picture.png', bytes: 3 }])
  assert.deepEqual(await artifacts.newArtifacts(where), [])
})
