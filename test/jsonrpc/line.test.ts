import assert from 'node:assert/strict'
import { Buffer } from 'node:buffer'
import { test } from 'node:test'
import { joinLine, lineAt, toLine } from '../../src/jsonrpc/line.js'

/** The byte directly behind a line. */
function behind(line: Buffer): number {
  return new Uint8Array(line.buffer, line.byteOffset + line.length, 1)[0] ?? -1
}

test('a line has a line feed directly behind it, whatever it is made of', () => {
  const chunk = Buffer.from('{"a":1}\n{"b":2}\n')
  const lines = [
    lineAt(chunk, 0, 7),
    lineAt(chunk, 8, 15),
    toLine('text é😀\ud800'),
    toLine(Buffer.from('bytes')),
    toLine(new Uint8Array([1, 2, 3])),
    toLine(''),
    joinLine([Buffer.from('one'), new Uint8Array(0), Buffer.from('two')], 6),
    joinLine([], 0),
  ]
  for (const line of lines) assert.equal(behind(line), 0x0a)
  assert.deepEqual(
    lines.map((line) => line.toString('latin1')),
    [
      '{"a":1}',
      '{"b":2}',
      Buffer.from('text é😀\ufffd').toString('latin1'),
      'bytes',
      '\x01\x02\x03',
      '',
      'onetwo',
      '',
    ],
  )
})

test('a view shares the memory of its chunk, a copy does not', () => {
  const chunk = Buffer.from('abc\n')
  assert.equal(lineAt(chunk, 0, 3).buffer, chunk.buffer)
  const copy = toLine(chunk.subarray(0, 3))
  chunk.fill('x')
  assert.equal(copy.toString(), 'abc')
})

test('a line that does not end at a line feed is a programming error', () => {
  assert.throws(() => lineAt(Buffer.from('abc'), 0, 2), /does not hold/)
  assert.throws(() => lineAt(Buffer.from('abc'), 0, 3), /does not hold/)
  assert.throws(() => joinLine([Buffer.from('abc')], 4), /does not hold/)
})
