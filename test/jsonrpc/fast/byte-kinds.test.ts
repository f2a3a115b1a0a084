import assert from 'node:assert/strict'
import { Buffer, isUtf8 } from 'node:buffer'
import { test } from 'node:test'
import { HAS_CONTROL, HAS_HIGH, byteKinds, validPrefix } from '../../../src/jsonrpc/fast/byte-kinds.js'

function kindsOneByOne(bytes: Buffer): number {
  let kinds = 0
  for (const c of bytes) {
    if (c < 0x20) kinds |= HAS_CONTROL
    if (c > 0x7f) kinds |= HAS_HIGH
  }
  return kinds
}

/** The longest prefix that is UTF-8, by trying all of them. */
function validPrefixByTrying(bytes: Buffer): number {
  for (let end = bytes.length; end > 0; end--) if (isUtf8(bytes.subarray(0, end))) return end
  return 0
}

test('one byte of each kind is found at every length, alignment and place', () => {
  const memory = Buffer.alloc(400)
  for (const length of [0, 1, 2, 3, 4, 5, 31, 255, 256, 257, 258, 259, 260, 263, 300]) {
    for (let alignment = 0; alignment < 8; alignment++) {
      const bytes = memory.subarray(alignment, alignment + length).fill('a')
      assert.equal(byteKinds(bytes), 0)
      for (let at = 0; at < length; at++) {
        for (const c of [0x00, 0x1f, 0x20, 0x7f, 0x80, 0xff]) {
          bytes[at] = c
          assert.equal(
            byteKinds(bytes),
            kindsOneByOne(bytes),
            `${c} at ${at} of ${length}, alignment ${alignment}`,
          )
        }
        bytes[at] = 0x61
      }
    }
  }
})

test('neighbours do not hide each other: every pair of bytes in one word', () => {
  const bytes = Buffer.alloc(256, 'a')
  for (let at = 0; at < 3; at++) {
    for (let pair = 0; pair < 0x10000; pair++) {
      bytes.writeUInt16LE(pair, 100 + at)
      const low = pair & 0xff
      const high = pair >> 8
      const control = low < 0x20 || high < 0x20 ? HAS_CONTROL : 0
      const want = control | (low > 0x7f || high > 0x7f ? HAS_HIGH : 0)
      if (byteKinds(bytes) !== want) assert.equal(byteKinds(bytes), want, `pair ${pair.toString(16)}`)
      bytes.fill('a', 100, 108)
    }
  }
})

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
