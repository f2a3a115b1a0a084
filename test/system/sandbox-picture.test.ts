// The picture of README and docs/sandbox.md is what the code beside it draws.

import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'

const root = join(import.meta.dirname, '../../..')

test('the picture of the documents comes out of their code, in a session of the default runtime', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'mcps-picture-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const file = join(folder, 'dice.svg')
  const args = [join(root, 'scripts/sandbox-picture.mjs'), file]
  const { stdout } = await promisify(execFile)(process.execPath, args)
  assert.equal(stdout.trim(), '(27, 216)')
  assert.equal(readFileSync(file, 'utf8'), readFileSync(join(root, 'docs/dice.svg'), 'utf8'))
})
