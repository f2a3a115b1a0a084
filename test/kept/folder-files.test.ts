// Kept files on a real disk.

import assert from 'node:assert/strict'
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, describe, test } from 'node:test'
import { FolderFiles } from '../../src/kept/folder-files.js'

function home(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'mcps-kept-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

async function filesIn(t: TestContext): Promise<FolderFiles> {
  const files = new FolderFiles(join(home(t), '.mcps-proxy', 'kept'))
  assert.equal(await files.prepare(), undefined)
  return files
}

const bytes = Buffer.from('what was said')
const isPosix = process.platform !== 'win32'
const modeOf = (path: string): number => statSync(path).mode & 0o777

describe('kept files', () => {
  test('are written whole, for nobody else, and read again', async (t) => {
    const files = await filesIn(t)
    await files.write('a.kept', Buffer.from('before'))
    await files.write('a.kept', bytes)
    assert.deepEqual(files.read('a.kept', 100)?.bytes, bytes)
    assert.deepEqual(readdirSync(files.folder), ['a.kept'])
    assert.deepEqual(
      (await files.list()).map(({ name, bytes: length }) => [name, length]),
      [['a.kept', bytes.length]],
    )
    if (!isPosix) return
    assert.equal(modeOf(join(files.folder, 'a.kept')), 0o600)
    assert.equal(modeOf(files.folder), 0o700)
  })

  test('are not read beyond the limit', async (t) => {
    const files = await filesIn(t)
    await files.write('a.kept', bytes)
    assert.deepEqual(files.read('a.kept', bytes.length)?.bytes, bytes)
    assert.equal(files.read('a.kept', bytes.length - 1), undefined)
  })

  test('are never half of what two writers write at once', async (t) => {
    const files = await filesIn(t)
    const other = new FolderFiles(files.folder)
    const large = [1, 2].map((value) => Buffer.alloc(1024 * 1024, value))
    for (let round = 0; round < 5; round++) {
      await Promise.all([files.write('a.kept', large[0] ?? bytes), other.write('a.kept', large[1] ?? bytes)])
      const found = files.read('a.kept', 2 ** 30)?.bytes
      assert(large.some((each) => found?.equals(each) === true))
    }
    assert.deepEqual(readdirSync(files.folder), ['a.kept'])
  })

  test('are made only where there is none, on request', async (t) => {
    const files = await filesIn(t)
    await files.create('key', bytes)
    await assert.rejects(files.create('key', Buffer.from('another')), /EEXIST/)
    assert.deepEqual(files.read('key', 100)?.bytes, bytes)
  })

  test('have a time of use, and go when they are removed', async (t) => {
    const files = await filesIn(t)
    await files.write('a.kept', bytes)
    await files.touch('a.kept', 86_400_000)
    assert.equal(files.read('a.kept', 100)?.modifiedMs, 86_400_000)
    await files.remove('a.kept')
    await files.remove('a.kept')
    assert.equal(files.read('a.kept', 100), undefined)
    assert.deepEqual(await files.list(), [])
  })

  test('are not there without a folder, and a home that is not there is not made', async (t) => {
    const folder = home(t)
    const files = new FolderFiles(join(folder, 'gone', '.mcps-proxy', 'kept'))
    assert.match((await files.prepare()) ?? '', /ENOENT/)
    assert.equal(files.read('a.kept', 100), undefined)
    await assert.rejects(files.write('a.kept', bytes), /ENOENT/)
    await assert.rejects(files.list(), /ENOENT/)
    assert.deepEqual(readdirSync(folder), [])
  })

  test('cannot be kept where something else has the name of the folder', async (t) => {
    const folder = home(t)
    writeFileSync(join(folder, '.mcps-proxy'), 'a file')
    assert.match((await new FolderFiles(join(folder, '.mcps-proxy', 'kept')).prepare()) ?? '', /ENOTDIR/)
  })

  if (isPosix) {
    test('are not read through a link, nor from what is no file', async (t) => {
      const files = await filesIn(t)
      const outside = join(home(t), 'outside')
      writeFileSync(outside, bytes, { mode: 0o600 })
      symlinkSync(outside, join(files.folder, 'a.kept'))
      mkdirSync(join(files.folder, 'b.kept'))
      assert.equal(files.read('a.kept', 100), undefined)
      assert.equal(files.read('b.kept', 100), undefined)
      assert.deepEqual(await files.list(), [])
      await files.write('a.kept', Buffer.from('new'))
      assert.deepEqual(readFileSync(outside), bytes)
      assert.deepEqual(files.read('a.kept', 100)?.bytes, Buffer.from('new'))
    })

    test('are not believed where others may have written them', async (t) => {
      const files = await filesIn(t)
      await files.write('a.kept', bytes)
      chmodSync(join(files.folder, 'a.kept'), 0o620)
      assert.equal(files.read('a.kept', 100), undefined)
      chmodSync(join(files.folder, 'a.kept'), 0o600)
      chmodSync(files.folder, 0o777)
      assert.equal(files.read('a.kept', 100), undefined)
      assert.deepEqual(await files.list(), [])
      await assert.rejects(files.write('a.kept', bytes), /may be written by others; run chmod go-w on it/)
      await assert.rejects(files.create('key', bytes), /may be written by others/)
    })

    test('are not believed where the folder is a link', async (t) => {
      const folder = home(t)
      const real = await filesIn(t)
      await real.write('a.kept', bytes)
      const link = join(folder, 'kept')
      symlinkSync(real.folder, link)
      const files = new FolderFiles(link)
      assert.equal(files.read('a.kept', 100), undefined)
      await assert.rejects(files.write('a.kept', bytes), /is not a folder; a link to one is not followed/)
    })
  }
})
