// The transcripts of the sandbox, replayed against the runtime that it has by default.

import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'

const root = join(import.meta.dirname, '../../..')
const folder = join(root, 'spec-fixtures/sandbox')
const files = readdirSync(folder).filter((name) => name.endsWith('.jsonl'))

test('every transcript of the sandbox replays', async () => {
  assert(files.length >= 3)
  const args = [join(root, 'dist/cli.js'), 'replay', '--trust', ...files.map((name) => join(folder, name))]
  const { stdout } = await promisify(execFile)(process.execPath, args)
  assert.match(stdout, new RegExp(`^${files.length} passed, 0 failed`, 'm'))
})
