// Reads, writes and changes of ownership, while another program may replace the files.

import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import {
  chownSync,
  lchownSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import process from 'node:process'
import { describe, test } from 'node:test'
import { openToWrite, replaceFile } from '../../src/runtime/write-file.js'
import { readTextFile } from '../../src/runtime/read-file.js'
import { type Scope, scratch } from '../integration/support/spawned.js'

const isRoot = process.geteuid?.() === 0
const STRANGER = 65_534

function folderWith(t: Scope): string {
  const folder = scratch(t)
  mkdirSync(join(folder, 'data'))
  writeFileSync(join(folder, 'data', 'file'), 'text')
  symlinkSync('data', join(folder, '..data'))
  symlinkSync('..data/file', join(folder, 'link'))
  symlinkSync('data/file', join(folder, 'foreign'))
  if (isRoot) lchownSync(join(folder, 'foreign'), STRANGER, STRANGER)
  execFileSync('mkfifo', [join(folder, 'pipe')])
  return folder
}

describe('a file is read', () => {
  const cases: [name: string, want: string, needsRoot?: boolean][] = [
    ['data/file', 'text'],
    ['link', 'text'],
    ['foreign', 'no-file', true],
    ['pipe', 'no-file'],
    ['data', 'no-file'],
    ['absent', 'failed'],
  ]
  for (const [name, want, needsRoot = false] of cases)
    test(`${name}: ${want}`, { skip: needsRoot && !isRoot }, (t) => {
      const read = readTextFile(join(folderWith(t), name), 100)
      assert.equal(read.kind === 'read' ? read.text : read.kind, want)
    })

  test('no further than its limit', (t) => {
    assert.equal(readTextFile(join(folderWith(t), 'data/file'), 3).kind, 'too-large')
  })
})

const cases: [name: string, how: 'append' | 'create' | 'replace', want: string | RegExp, needsRoot?: true][] =
  [
    ['new', 'append', '+'],
    ['new', 'create', '+'],
    ['data/file', 'append', 'text+'],
    ['data/file', 'replace', '+'],
    ['data/file', 'create', /EEXIST/],
    ['link', 'append', /ELOOP/],
    ['link', 'replace', /ELOOP/],
    ['pipe', 'append', /ENXIO/],
    ['theirs', 'append', /belongs to another user/, true],
  ]
for (const [name, how, want, needsRoot = false] of cases)
  test(
    `a file is opened for writing: ${name}, ${how}: ${String(want)}`,
    { skip: needsRoot && !isRoot },
    async (t) => {
      const folder = folderWith(t)
      if (needsRoot) {
        writeFileSync(join(folder, 'theirs'), '')
        chownSync(join(folder, 'theirs'), STRANGER, STRANGER)
      }
      const path = join(folder, name)
      if (typeof want !== 'string') return assert.rejects(openToWrite(path, how), want)
      const file = await openToWrite(path, how)
      await file.appendFile('+')
      await file.close()
      assert.equal(readFileSync(path, 'utf8'), want)
      assert.equal(statSync(path).mode & 0o777, 0o600)
    },
  )

describe('a file is replaced', () => {
  test('by a draft whose name no other program can have taken', (t) => {
    const folder = folderWith(t)
    const before = readdirSync(folder)
    for (let pid = process.pid; pid < process.pid + 3; pid++)
      symlinkSync('data/file', join(folder, `new.${pid}.tmp`))
    replaceFile(join(folder, 'new'), 'other', 0o600, true)
    assert.equal(readFileSync(join(folder, 'data/file'), 'utf8'), 'text')
    const found = readdirSync(folder).filter((name) => !name.endsWith('.tmp'))
    assert.deepEqual(found, [...before, 'new'].toSorted())
  })

  const owners: [title: string, folder: number, want: number][] = [
    ['keeps its owner in a folder of that owner', STRANGER, STRANGER],
    ['keeps its owner in a folder of root, which no one else may write', 0, STRANGER],
    ['is not given away in the folder of a third user', STRANGER - 1, 0],
  ]
  for (const [title, owner, want] of owners)
    test(title, { skip: !isRoot }, (t) => {
      const folder = folderWith(t)
      const path = join(folder, 'data/file')
      chownSync(path, STRANGER, STRANGER)
      chownSync(join(folder, 'data'), owner, owner)
      replaceFile(path, 'other', 0o600, true)
      assert.equal(statSync(path).uid, want)
    })
})
