// The files of a folder as the agent of a machine tells them.

import assert from 'node:assert/strict'
import { lstatSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { listingOf } from '../../../src/sandbox/guest/listing.js'

test('a listing has plain files, with the times of their last change in microseconds', (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'mcps-listing-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  mkdirSync(join(folder, 'folder'))
  symlinkSync('/etc/passwd', join(folder, 'link'))
  writeFileSync(join(folder, 'a'), 'x')
  const { ctimeNs } = lstatSync(join(folder, 'a'), { bigint: true })
  const us = String(ctimeNs / 1000n)
  assert.equal(listingOf(folder).toString(), `a/1/${us.slice(0, -6)}.${us.slice(-6)}\n`)
  assert.equal(listingOf(join(folder, 'none')).length, 0)
})
