import assert from 'node:assert/strict'
import { Buffer, isUtf8 } from 'node:buffer'
import { test } from 'node:test'
import { validPrefix } from '../../src/jsonrpc/scan.js'

/** The longest prefix that is UTF-8, by trying all of them. */
function validPrefixByTrying(bytes: Buffer): number {
  for (let end = bytes.length; end > 0; end--) if (isUtf8(bytes.subarray(0, end))) return end
  return 0
}

const broken: [title: string, hex: string][] = [
  ['a lone continuation byte', '80'],
  ['a lead byte before ASCII', 'c361'],
  ['a lead byte at the end', '61c3'],
  ['a cut character of three bytes', 'e282'],
  ['a cut character of four bytes', 'f09f98'],
  ['an overlong slash', 'c0af'],
  ['an overlong character of three bytes', 'e0809f'],
  ['an overlong character of four bytes', 'f08080af'],
  ['an encoded surrogate', 'eda080'],
  ['a character above U+10FFFF', 'f4908080'],
  ['bytes that never occur', 'feff'],
  ['a continuation byte too many', 'e282ac80'],
]

test('the offset of the first invalid byte, wherever it stands', () => {
  for (const [title, hex] of broken) {
    for (const before of ['', 'a', 'é', '€', '😀', 'ab😀€é'.repeat(20)]) {
      for (const after of ['', 'a', '€', 'ab€'.repeat(30)]) {
        const bytes = Buffer.concat([Buffer.from(before), Buffer.from(hex, 'hex'), Buffer.from(after)])
        assert.equal(
          validPrefix(bytes),
          validPrefixByTrying(bytes),
          `${title} after '${before}' before '${after}'`,
        )
      }
    }
  }
})
