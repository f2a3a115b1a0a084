// Kept files on a real disk.

import assert from 'node:assert/strict'
import {
  chmodSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { type TestContext, describe, test } from 'node:test'
import { FolderFiles } from '../../src/kept/folder-files.js'
import { scratch } from '../integration/support/spawned.js'

function filesIn(t: TestContext): FolderFiles {
  const files = new FolderFiles(join(scratch(t), '.mcps-proxy', 'kept'))
  assert.equal(files.prepare(), undefined)
  return files
}

const bytes = Buffer.from('what was said')
const isPosix = process.platform !== 'win32'
const modeOf = (path: string): number => statSync(path).mode & 0o777

describe('kept files', () => {
  test('are written whole, for nobody else, and read again', (t) => {
    const files = filesIn(t)
    files.write('a.json', Buffer.from('before'))
    files.write('a.json', bytes)
    assert.deepEqual(files.read('a.json', 100), bytes)
    assert.deepEqual(readdirSync(files.folder), ['a.json'])
    if (!isPosix) return
    assert.equal(modeOf(join(files.folder, 'a.json')), 0o600)
    assert.equal(modeOf(files.folder), 0o700)
  })

  test('are not read beyond the limit', (t) => {
    const files = filesIn(t)
    files.write('a.json', bytes)
    assert.deepEqual(files.read('a.json', bytes.length), bytes)
    assert.equal(files.read('a.json', bytes.length - 1), undefined)
  })

  test('go when nobody has written them for long, and what is not of the proxy stays', (t) => {
    const files = filesIn(t)
    const names = ['a.json', 'b.json', 'c.lock', 'notes.txt', '.a.json.1.1.tmp']
    for (const name of names) writeFileSync(join(files.folder, name), bytes, { mode: 0o600 })
    for (const name of names) if (name !== 'b.json') utimesSync(join(files.folder, name), 1, 1)
    files.removeUnused(10_000)
    assert.deepEqual(readdirSync(files.folder), ['b.json', 'notes.txt'])
  })

  test('are not there without a folder, and a home that is not there is not made', (t) => {
    const folder = scratch(t)
    const files = new FolderFiles(join(folder, 'gone', '.mcps-proxy', 'kept'))
    assert.match(files.prepare() ?? '', /ENOENT/)
    assert.equal(files.read('a.json', 100), undefined)
    assert.throws(() => files.write('a.json', bytes), /ENOENT/)
    assert.deepEqual(readdirSync(folder), [])
  })

  test('cannot be kept where something else has the name of the folder', (t) => {
    const folder = scratch(t)
    writeFileSync(join(folder, '.mcps-proxy'), 'a file')
    assert.match(new FolderFiles(join(folder, '.mcps-proxy', 'kept')).prepare() ?? '', /ENOTDIR/)
  })

  if (isPosix) {
    test('are not written through a link, nor read from what is no file', (t) => {
      const files = filesIn(t)
      const outside = join(scratch(t), 'outside')
      writeFileSync(outside, bytes, { mode: 0o600 })
      symlinkSync(outside, join(files.folder, 'a.json'))
      mkdirSync(join(files.folder, 'b.json'))
      assert.equal(files.read('b.json', 100), undefined)
      files.write('a.json', Buffer.from('new'))
      assert.deepEqual(readFileSync(outside), bytes)
      assert.deepEqual(files.read('a.json', 100), Buffer.from('new'))
    })

    test('are not believed where others may have written them', (t) => {
      const files = filesIn(t)
      files.write('a.json', bytes)
      chmodSync(join(files.folder, 'a.json'), 0o620)
      assert.equal(files.read('a.json', 100), undefined)
      chmodSync(join(files.folder, 'a.json'), 0o600)
      chmodSync(files.folder, 0o777)
      assert.equal(files.read('a.json', 100), undefined)
      assert.throws(() => files.write('a.json', bytes), /may be written by others; run chmod go-w on it/)
    })

    test('are not believed where the folder is a link', (t) => {
      const folder = scratch(t)
      const real = filesIn(t)
      real.write('a.json', bytes)
      const link = join(folder, 'kept')
      symlinkSync(real.folder, link)
      const files = new FolderFiles(link)
      assert.equal(files.read('a.json', 100), undefined)
      assert.throws(() => files.write('a.json', bytes), /is not a folder; a link to one is not followed/)
    })
  }
})
