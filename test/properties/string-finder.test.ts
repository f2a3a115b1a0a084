// The finder of long strings, held against one that reads a byte at a time.

import assert from 'node:assert/strict'
import { Buffer, isUtf8 } from 'node:buffer'
import { test } from 'node:test'
import * as fc from 'fast-check'
import { StringFinder } from '../../src/jsonrpc/fast/string-finder.js'
import { cut } from './cut.js'
import { numRuns } from './runs.js'

const BYTES_MIN = 128
const QUOTE = 0x22
const BACKSLASH = 0x5c
const finder = StringFinder.make(BYTES_MIN)

function found(parts: readonly Buffer[]): readonly number[] | undefined {
  assert.ok(finder !== undefined)
  finder.start()
  for (const part of parts) finder.push(part)
  return finder.finish()
}

/** What the finder should say. */
function foundSlowly(text: Buffer): number[] | undefined {
  const places: number[] = []
  for (let at = 0; at < text.length; at++) {
    if (text[at] === BACKSLASH) return undefined
    if (text[at] !== QUOTE) continue
    const end = stringEnd(text, at + 1)
    if (end === undefined) return undefined
    if (end - at >= BYTES_MIN) places.push(at, end)
    at = end - 1
  }
  return isUtf8(text) ? places : undefined
}

/** Behind the string whose first byte is at `from`; undefined when it is no good one. */
function stringEnd(text: Buffer, from: number): number | undefined {
  for (let at = from; at < text.length; at++) {
    const byte = text[at] ?? 0
    if (byte === QUOTE) return at + 1
    if (byte < 0x20) return undefined
    if (byte !== BACKSLASH) continue
    at++
    const escape = String.fromCharCode(text[at] ?? 0)
    if (escape === 'u' && /^[0-9a-fA-F]{4}$/.test(text.toString('latin1', at + 1, at + 5))) at += 4
    else if (!'"\\/bfnrt'.includes(escape)) return undefined
  }
  return undefined
}

const usual = ['\\n', '\\"', '\\\\', '\\t', '\\r', '\\/', '\\b', '\\f', '\\u00e9', '\\uD83D', 'é', '中', '😀']
const odd = [
  '\\',
  '"',
  '\\\\\\',
  '\\u',
  '\\u12',
  '\\u123g',
  '\\a',
  '\n',
  '\x00',
  '\x1f',
  '\x7f',
  '"x"',
  '",\n"',
]
const filler = fc
  .nat(70)
  .map((length) => 'abcdefghijklmnopqrstuvwxyz0123456789 {}[]:,'.repeat(2).slice(0, length))

function soup(oddWeight: number): fc.Arbitrary<Buffer> {
  const piece = fc.oneof(
    { weight: 30, arbitrary: filler },
    { weight: 40, arbitrary: fc.constantFrom(...usual) },
    { weight: oddWeight, arbitrary: fc.constantFrom(...odd) },
  )
  const string = fc.array(piece, { maxLength: 40 }).map((pieces) => `"${pieces.join('')}"`)
  const between = fc.constantFrom(',', ' ', '\n', '\r\n\t', ':', '{', ']', '1.5', '')
  return fc
    .array(fc.tuple(between, string), { maxLength: 8 })
    .map((parts) => Buffer.from(parts.flat().join('')))
}

const sizes = fc.infiniteStream(fc.oneof(fc.integer({ min: 1, max: 130 }), fc.constant(64)))

for (const [title, oddWeight] of [
  ['good strings', 0],
  ['strings that are damaged here and there', 1],
  ['strings that are mostly damaged', 30],
] as const) {
  test(`of ${title} is found what is found slowly`, () => {
    fc.assert(
      fc.property(soup(oddWeight), sizes, (text, random) => {
        assert.deepEqual(found(cut(text, random)), foundSlowly(text))
      }),
      { numRuns: numRuns(600) },
    )
  })
}

test('of bytes by chance is found what is found slowly', () => {
  const byte = fc.oneof(fc.nat(255), fc.constantFrom(QUOTE, BACKSLASH, 0x6e, 0x75, 0x30, 0x0a, 0xc3, 0xa9))
  fc.assert(
    fc.property(fc.array(byte, { maxLength: 200 }), sizes, (bytes, random) => {
      const text = Buffer.concat([Buffer.from(`"${'x'.repeat(130)}`), Buffer.from(bytes), Buffer.from('"')])
      assert.deepEqual(found(cut(text, random)), foundSlowly(text))
    }),
    { numRuns: numRuns(600) },
  )
})

test('every byte behind a backslash, or without one, is judged alike at every place', () => {
  for (const escape of ['', '\\', '\\\\', '\\u', '\\u00a']) {
    for (let byte = 0; byte < 256; byte++) {
      const tail = Buffer.concat([
        Buffer.from(escape),
        Buffer.from([byte]),
        Buffer.from(`${'x'.repeat(130)}"`),
      ])
      for (let before = 50 + (byte % 7); before < 130; before += 7) {
        const text = Buffer.concat([Buffer.from(`"${'x'.repeat(before)}`), tail])
        assert.deepEqual(found([text]), foundSlowly(text), `${escape} ${byte} at ${before}`)
      }
    }
  }
})
