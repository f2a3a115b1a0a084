// When a file was changed, as programs print it.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fileTimeMs } from '../../src/sandbox/files.js'

const cases: readonly (readonly [text: string, timeMs: number])[] = [
  ['0', 0],
  ['1795454873.1668891180', 1_795_454_873_166],
  ['1.5', 1500],
  ['1.', 1000],
  ['-1.7500000000', -250],
  ['-2.2500000000', -1750],
  ['-315619200.0000000000', -315_619_200_000],
  ['9999999999999.0', 8_640_000_000_000_000],
  ['-9999999999999.0', -8_640_000_000_000_000],
]
for (const [text, timeMs] of cases)
  test(`${text} is a date`, () => {
    assert.equal(fileTimeMs(text), timeMs)
    assert(Number.isFinite(new Date(fileTimeMs(text)).getTime()))
  })
