// The files of a folder as the agent of a machine tells them.

import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { listingOf } from '../../../src/sandbox/guest/listing.js'

test('a listing has the times of files as find prints them, before 1970 too', (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'mcps-listing-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  mkdirSync(join(folder, 'folder'))
  const files: readonly (readonly [name: string, timeMs: number, line: string])[] = [
    ['a', 1250, 'a/1/1.250'],
    ['b', -1750, 'b/1/-2.250'],
    ['c', -3000, 'c/1/-3.000'],
  ]
  for (const [name, timeMs] of files) {
    writeFileSync(join(folder, name), 'x')
    utimesSync(join(folder, name), new Date(timeMs), new Date(timeMs))
  }
  const lines = listingOf(folder).toString().split('\n')
  assert.deepEqual(lines.sort(), ['', ...files.map(([, , line]) => line)])
})
