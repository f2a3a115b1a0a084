import assert from 'node:assert/strict'
import { Buffer } from 'node:buffer'
import { test } from 'node:test'
import { FrameError, type FrameErrorCode } from '../../src/jsonrpc/jsonrpc-errors.js'
import { Scanner } from '../../src/jsonrpc/scan.js'
import { costRatio } from '../support/processor-time.js'

function scan(text: string | Buffer, depthMax = 128): void {
  const scanner = new Scanner(Buffer.from(text), depthMax)
  scanner.finish(scanner.value(scanner.skipSpace(0), 0))
}

function failure(text: string | Buffer, depthMax = 128): FrameError {
  try {
    scan(text, depthMax)
  } catch (error) {
    if (error instanceof FrameError) return error
    throw error
  }
  return assert.fail(`accepted: ${text.toString()}`)
}

const refused: [text: string, offset: number][] = [
  ['', 0],
  ['  ', 2],
  ['{', 1],
  ['[', 1],
  ['[1', 2],
  ['[1,]', 3],
  ['[,1]', 1],
  ['[1,,2]', 3],
  ['[1,02]', 4],
  ['[10,2', 5],
  ['[10,2,', 6],
  ['[1 2]', 3],
  ['{"a"}', 4],
  ['{"a":}', 5],
  ['{"a":1,}', 7],
  ['{a:1}', 1],
  ['{"a":1 "b":2}', 7],
  ['{} x', 3],
  ['01', 1],
  ['-', 1],
  ['+1', 0],
  ['.5', 0],
  ['1.', 2],
  ['1.e1', 2],
  ['1e', 2],
  ['1e+', 3],
  ['0x1', 1],
  ['NaN', 0],
  ['Infinity', 0],
  ['tru', 3],
  ['truE', 3],
  ['nulll', 4],
  ['"', 1],
  ['"abc', 4],
  ['"\\', 2],
  ['"\\x"', 2],
  ['"\\u12g4"', 5],
  ['"\\u12"', 5],
  ['"a\nb"', 2],
  ['"a\tb"', 2],
  ['"\u0000"', 1],
  ['"\u001f"', 1],
  [`"${'x'.repeat(500)}\u001f${'x'.repeat(500)}"`, 501],
  [`"${'x'.repeat(500)}\\n${'x'.repeat(500)}\r${'x'.repeat(500)}"`, 1003],
  [`"${'x'.repeat(500)}`, 501],
  ["'a'", 0],
  ['[1]//', 3],
  ['\u00a01', 0],
  ['\ufeff{}', 0],
]

test('refuses everything else, and says where', () => {
  for (const [text, offset] of refused) {
    const error = failure(text)
    assert.equal(error.code, 'FRAME_SYNTAX', text)
    assert.equal(error.offset, Buffer.byteLength(text.slice(0, offset)), `${text}: ${error.message}`)
    assert.throws(() => JSON.parse(text))
  }
})

const nested = (depth: number): string => '[{"a":'.repeat(depth / 2) + '1' + '}]'.repeat(depth / 2)

test('the depth limit, and one past it', () => {
  scan(nested(128))
  assert.equal(failure(`[${nested(128)}]`).code, 'FRAME_DEPTH')
  scan('[[]]', 2)
  assert.equal(failure('[[[]]]', 2).code, 'FRAME_DEPTH')
  assert.equal(failure('[[[]]]', 2).offset, 2)
})

test('a bomb of brackets is refused at the limit, not at its end', () =>
  assert.equal(failure(Buffer.alloc(1_000_000, '[')).offset, 128))

const notUtf8: [bytes: number[], offset: number][] = [
  [[0x22, 0xff, 0x22], 1],
  [[0x22, 0xc3, 0x22], 1],
  [[0x22, 0x61, 0xed, 0xa0, 0x80, 0x22], 2],
  [[0x22, 0xc0, 0xaf, 0x22], 1],
]

test('refuses what is not UTF-8, anywhere', () => {
  const code: FrameErrorCode = 'FRAME_UTF8'
  for (const [bytes, offset] of notUtf8) {
    const error = failure(Buffer.from(bytes))
    assert.deepEqual([error.code, error.offset, error.unreadable], [code, offset, true])
  }
})

const longLines = (count: number): Buffer => Buffer.from(`["${`${'x'.repeat(400)}\\n`.repeat(count)}"]`)
const strings = (count: number): Buffer => Buffer.from(`[${`"${'x'.repeat(400)}",`.repeat(count)}"\\n"]`)

test('work is linear: a text is not searched again and again, however its quotes and escapes lie', () => {
  for (const text of [longLines, strings]) {
    const [large, small] = [text(8000), text(1000)]
    const times = costRatio(
      () => scan(large),
      () => scan(small),
      25,
    )
    assert.ok(times < 40, `eight times the bytes cost ${times} times as much`)
  }
})
