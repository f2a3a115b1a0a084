// Which kept files go.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { KeptNames } from '../../src/kept/names.js'
import { untidy } from '../../src/kept/tidy.js'
import { limits } from '../../src/limits.js'
import { serverOf } from './support/facts.js'

const DAY_MS = 24 * 3_600_000
const now = 100 * DAY_MS
const own = new KeptNames(Buffer.alloc(32), '/own.json')
const others = new KeptNames(Buffer.alloc(32), '/others.json')

const fileOf = (names: KeptNames, command: string): string => names.file(serverOf({ command }))
const entry = (
  name: string,
  daysAgo: number,
  bytes = 1,
): { name: string; bytes: number; modifiedMs: number } => ({
  name,
  bytes,
  modifiedMs: now - daysAgo * DAY_MS,
})
const rules = { limits: limits.kept, now, isOrphan: () => false }

describe('the folder of kept files', () => {
  test('loses what nobody has used for 30 days, whoever has kept it', () => {
    const entries = [
      entry(fileOf(own, 'a'), 29),
      entry(fileOf(own, 'b'), 31),
      entry(fileOf(others, 'a'), 29),
      entry(fileOf(others, 'b'), 31),
    ]
    assert.deepEqual(untidy(entries, rules), [entries[1]?.name, entries[3]?.name])
  })

  test('loses what belongs to a server that is not configured any more', () => {
    const entries = [entry(fileOf(own, 'a'), 0), entry(fileOf(others, 'a'), 0)]
    const isOrphan = ({ owner }: { owner: string }): boolean => owner === own.owner
    assert.deepEqual(untidy(entries, { ...rules, isOrphan }), [entries[0]?.name])
  })

  test('loses what was never written to its end, and nothing else that is not ours', () => {
    const entries = [
      entry('key', 400),
      entry('notes.txt', 400),
      entry('.x.kept.17.1.tmp', 1),
      entry('.x.kept.18.1.tmp', 0),
    ]
    assert.deepEqual(untidy(entries, rules), ['.x.kept.17.1.tmp'])
  })

  test('loses what is oldest where there are too many files, or too large ones', () => {
    const entries = ['a', 'b', 'c'].map((command, at) => entry(fileOf(own, command), at, 10))
    const oldest = entries[2]?.name
    const kept = limits.kept
    assert.deepEqual(untidy(entries, { ...rules, limits: { ...kept, filesMax: 3 } }), [])
    assert.deepEqual(untidy(entries, { ...rules, limits: { ...kept, filesMax: 2 } }), [oldest])
    assert.deepEqual(untidy(entries, { ...rules, limits: { ...kept, folderBytesMax: 30 } }), [])
    assert.deepEqual(untidy(entries, { ...rules, limits: { ...kept, folderBytesMax: 29 } }), [oldest])
  })
})
