import assert from 'node:assert/strict'
import { Buffer } from 'node:buffer'
import { test } from 'node:test'
import { lineAt, toLine } from '../../src/jsonrpc/line.js'
import { type Edit, splice } from '../../src/jsonrpc/splice.js'
import { Pieces } from '../../src/transports/pieces.js'

test('short messages leave as one buffer', () => {
  const chunk = Buffer.from('{"a":1}\n{"b":2}\n{"c":3}\n')
  const pieces = new Pieces(32 * 1024)
  for (const [start, end] of [
    [0, 7],
    [8, 15],
    [16, 23],
  ]) {
    pieces.addMessage(splice(lineAt(chunk, start ?? 0, end ?? 0), []))
  }
  assert.equal(pieces.bytes, 24)
  const buffers = pieces.take()
  assert.equal(buffers.length, 1)
  assert.equal(buffers[0]?.toString(), chunk.toString())
})

test('a long message leaves from where it lies, between its neighbours', () => {
  for (const bytes of [4095, 4096, 70_000]) {
    const pieces = new Pieces(32 * 1024)
    const big = toLine('x'.repeat(bytes))
    pieces.addMessage(splice(toLine('1'), []))
    pieces.addMessage(splice(toLine('22'), []))
    pieces.addMessage(splice(big, []))
    pieces.addMessage(splice(toLine('3'), []))
    const buffers = pieces.take()
    const isCopied = bytes < 4096
    assert.equal(buffers.length, isCopied ? 1 : 3)
    assert.equal(
      buffers.some(({ buffer }) => buffer === big.buffer),
      !isCopied,
    )
    assert.equal(Buffer.concat(buffers).toString(), `1\n22\n${'x'.repeat(bytes)}\n3\n`)
  }
})

test('messages are spliced where they leave from, over several blocks', () => {
  const sizes = [2, 31, 400, 3000, 4095, 5000, 40_000]
  const pieces = new Pieces(32 * 1024)
  let wanted = ''
  for (let n = 0; n < 200; n++) {
    const text = String.fromCodePoint(0x61 + (n % 26)).repeat(sizes[n % sizes.length] ?? 0)
    const at = n % text.length
    // One grows and then shrinks, another shrinks and then grows.
    const edits: Edit[] = [
      { start: 0, end: at >> 1, bytes: Buffer.from('+'.repeat(n * 7)), why: 'name' },
      { start: at, end: text.length, bytes: Buffer.from('-'.repeat(n + 1)), why: 'meta' },
    ]
    wanted += `${splice(toLine(text), edits).toString()}\n`
    pieces.addMessage(splice(toLine(text), edits))
    pieces.addMessage(splice(toLine('|'), []))
    wanted += '|\n'
    assert.equal(pieces.bytes, Buffer.byteLength(wanted))
  }
  assert.equal(Buffer.concat(pieces.take()).toString(), wanted)
})

test('it is empty afterwards', () => {
  const pieces = new Pieces(32 * 1024)
  assert.deepEqual(pieces.take(), [])
  pieces.addMessage(splice(toLine('1'), []))
  pieces.take()
  assert.equal(pieces.bytes, 0)
  assert.deepEqual(pieces.take(), [])
})

test('a message that cannot be spliced leaves nothing behind for the one after it', () => {
  const pieces = new Pieces(32 * 1024)
  const wrong: Edit[] = [
    { start: 3, end: 6, bytes: Buffer.from('abc'), why: 'id' },
    { start: 4, end: 7, bytes: Buffer.from('defg'), why: 'name' },
  ]
  assert.throws(() => pieces.addMessage(splice(toLine('{"jsonrpc":"2.0"}'), wrong)), /does not hold/)
  pieces.addMessage(splice(toLine('{"next":1}'), []))
  assert.equal(Buffer.concat(pieces.take()).toString(), '{"next":1}\n')
})
