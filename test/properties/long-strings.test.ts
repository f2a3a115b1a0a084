// The scanner gives the same result when it knows the positions of long strings.

import assert from 'node:assert/strict'
import { Buffer } from 'node:buffer'
import { test } from 'node:test'
import * as fc from 'fast-check'
import { FrameError } from '../../src/jsonrpc/jsonrpc-errors.js'
import { longStrings } from '../../src/jsonrpc/long-strings.js'
import { Scanner } from '../../src/jsonrpc/scan.js'
import { numRuns } from './runs.js'

const BYTES_MIN = 128

function read(text: Buffer, known: readonly number[] | undefined): unknown {
  const scanner = new Scanner(text, 128, known)
  try {
    const end = scanner.value(scanner.skipSpace(0), 0)
    scanner.finish(end)
    return [end, scanner.hasBreaks]
  } catch (error) {
    if (error instanceof FrameError) return [error.code, error.offset]
    throw error
  }
}

function agrees(text: Buffer): void {
  assert.deepEqual(read(text, longStrings([text], BYTES_MIN)), read(text, undefined), text.toString('latin1'))
}

const usual = ['\\n', '\\"', '\\\\', '\\t', '\\r', '\\/', '\\b', '\\f', '\\u00e9', '\\uD83D', 'é', '中', '😀']
const odd = [...String.raw`\ " \\\ \u \u12 \u123g \a "x"`.split(' '), '\n', '\0', '\x1f', '\x7f', '",\n"']
const broken = ['\x80', '\xc3', '\xed\xa0\x80'].map((text) => Buffer.from(text, 'latin1'))
const filler = fc
  .nat(70)
  .map((length) => 'abcdefghijklmnopqrstuvwxyz0123456789 {}[]:,'.repeat(2).slice(0, length))

function soup(oddWeight: number): fc.Arbitrary<Buffer> {
  const piece = fc.oneof(
    { weight: 30, arbitrary: filler.map((text) => Buffer.from(text)) },
    { weight: 40, arbitrary: fc.constantFrom(...usual).map((text) => Buffer.from(text)) },
    { weight: oddWeight, arbitrary: fc.constantFrom(...odd.map((text) => Buffer.from(text)), ...broken) },
  )
  const quote = Buffer.from('"')
  const string = fc.array(piece, { maxLength: 40 }).map((pieces) => Buffer.concat([quote, ...pieces, quote]))
  const between = fc
    .constantFrom(',"c":', ' ,\n"c": ', ',', ',"c":[1,{}],"d":')
    .map((text) => Buffer.from(text))
  return fc
    .array(fc.tuple(string, between), { maxLength: 8 })
    .map((parts) => Buffer.concat([Buffer.from('{"a":{"b":'), ...parts.flat(), Buffer.from('1}}')]))
}

for (const [title, oddWeight] of [
  ['good strings', 0],
  ['strings that are damaged here and there', 1],
  ['strings that are mostly damaged', 30],
] as const) {
  test(`${title} are read as if they were not found before`, () => {
    fc.assert(fc.property(soup(oddWeight), agrees), { numRuns: numRuns(1000) })
  })
}

test('every byte behind a backslash, or without one, is judged alike at every place', () => {
  for (const escape of ['', '\\', '\\\\', '\\u', '\\u00a'])
    for (let byte = 0; byte < 256; byte++) {
      const tail = Buffer.concat([
        Buffer.from(escape),
        Buffer.from([byte]),
        Buffer.from(`${'x'.repeat(130)}"}}`),
      ])
      for (let before = 50 + (byte % 7); before < 130; before += 7)
        agrees(Buffer.concat([Buffer.from(`{"a":{"b":"${'x'.repeat(before)}`), tail]))
    }
})
