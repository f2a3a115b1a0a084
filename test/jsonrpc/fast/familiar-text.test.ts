// A string that messages have in common is read as if each of them had been decoded.

import { strict as assert } from 'node:assert'
import { test } from 'node:test'
import { FamiliarText } from '../../../src/jsonrpc/fast/familiar-text.js'
import type { Span } from '../../../src/jsonrpc/scan.js'
import { stringAt } from '../../../src/jsonrpc/text.js'

/** In the order in which they come: each stands where the one before is remembered. */
const values: readonly string[] = [
  '"tools/call"',
  '"tools/call"',
  '"tools/cal1"',
  '"tools/call"',
  '""',
  '""',
  '12345',
  '"234"',
  '12345',
  '[234]',
  // As Latin-1 these two would be the same bytes.
  '"Ã©"',
  '"é"',
  '"Ã©"',
  // The text of the first is how the second is written, and the other way round.
  String.raw`"a\\b"`,
  String.raw`"a\b"`,
  String.raw`"a\\b"`,
  String.raw`"\u0061"`,
  '"a"',
  String.raw`"\u0061"`,
  `"${'x'.repeat(300)}"`,
  `"${'x'.repeat(300)}"`,
]

function spanOf(text: string): Span {
  return { start: 0, end: Buffer.byteLength(text) }
}

test('whatever was there before, the text is the one that is written', () => {
  const familiar = new FamiliarText()
  for (const value of values) {
    const bytes = Buffer.from(`[${value}]`)
    const span = { start: 1, end: bytes.length - 1 }
    assert.equal(familiar.at(bytes, span), stringAt(bytes, span), value)
  }
})

test('what is remembered of each value before is mistaken for none of the others', () => {
  for (const before of values)
    for (const value of values) {
      const familiar = new FamiliarText()
      familiar.at(Buffer.from(before), spanOf(before))
      const bytes = Buffer.from(value)
      assert.equal(familiar.at(bytes, spanOf(value)), stringAt(bytes, spanOf(value)), `${before} ${value}`)
    }
})
