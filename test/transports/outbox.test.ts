import assert from 'node:assert/strict'
import { Buffer } from 'node:buffer'
import { test } from 'node:test'
import { lineAt, toLine } from '../../src/jsonrpc/line.js'
import { type Edit, splice } from '../../src/jsonrpc/splice.js'
import { Outbox } from '../../src/transports/stdio/outbox.js'

test('short messages leave as one buffer', () => {
  const chunk = Buffer.from('{"a":1}\n{"b":2}\n{"c":3}\n')
  const outbox = new Outbox()
  for (const [start, end] of [
    [0, 7],
    [8, 15],
    [16, 23],
  ]) {
    outbox.add(splice(lineAt(chunk, start ?? 0, end ?? 0), []))
  }
  assert.equal(outbox.bytes, 24)
  const buffers = outbox.take()
  assert.equal(buffers.length, 1)
  assert.equal(buffers[0]?.toString(), chunk.toString())
})

test('a long message leaves from where it lies, between its neighbours', () => {
  for (const bytes of [4095, 4096, 70_000]) {
    const outbox = new Outbox()
    const big = toLine('x'.repeat(bytes))
    outbox.add(splice(toLine('1'), []))
    outbox.add(splice(toLine('22'), []))
    outbox.add(splice(big, []))
    outbox.add(splice(toLine('3'), []))
    const buffers = outbox.take()
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
  const outbox = new Outbox()
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
    outbox.add(splice(toLine(text), edits))
    outbox.add(splice(toLine('|'), []))
    wanted += '|\n'
    assert.equal(outbox.bytes, Buffer.byteLength(wanted))
  }
  assert.equal(Buffer.concat(outbox.take()).toString(), wanted)
})

test('it is empty afterwards', () => {
  const outbox = new Outbox()
  assert.deepEqual(outbox.take(), [])
  outbox.add(splice(toLine('1'), []))
  outbox.take()
  assert.equal(outbox.bytes, 0)
  assert.deepEqual(outbox.take(), [])
})

test('a message that cannot be spliced leaves nothing behind for the one after it', () => {
  const outbox = new Outbox()
  const wrong: Edit[] = [
    { start: 3, end: 6, bytes: Buffer.from('abc'), why: 'id' },
    { start: 4, end: 7, bytes: Buffer.from('defg'), why: 'name' },
  ]
  assert.throws(() => outbox.add(splice(toLine('{"jsonrpc":"2.0"}'), wrong)), /does not hold/)
  outbox.add(splice(toLine('{"next":1}'), []))
  assert.equal(Buffer.concat(outbox.take()).toString(), '{"next":1}\n')
})
