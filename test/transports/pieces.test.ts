import assert from 'node:assert/strict'
import { Buffer } from 'node:buffer'
import { test } from 'node:test'
import { toLine } from '../../src/jsonrpc/line.js'
import { type Edit, splice } from '../../src/jsonrpc/splice.js'
import { Pieces } from '../../src/transports/pieces.js'

test('a long message leaves from where it lies, between its neighbours', () => {
  for (const bytes of [4095, 4096, 70_000]) {
    const pieces = new Pieces()
    const big = toLine('x'.repeat(bytes))
    pieces.addMessage(splice(toLine('1'), []))
    pieces.addMessage(splice(toLine('22'), []))
    pieces.addMessage(splice(big, []))
    pieces.addMessage(splice(toLine('3'), []))
    const buffers = pieces.take()
    const isCopied = bytes < 4096
    assert.equal(buffers.length, isCopied ? 1 : 3)
    const found = buffers.some(({ buffer }) => buffer === big.buffer)
    assert.equal(found, !isCopied)
    assert.equal(Buffer.concat(buffers).toString(), `1\n22\n${'x'.repeat(bytes)}\n3\n`)
  }
})

test('a message that cannot be spliced leaves nothing behind for the one after it', () => {
  const pieces = new Pieces()
  const wrong: Edit[] = [
    { start: 3, end: 6, bytes: Buffer.from('abc'), why: 'id' },
    { start: 4, end: 7, bytes: Buffer.from('defg'), why: 'name' },
  ]
  assert.throws(() => pieces.addMessage(splice(toLine('{"jsonrpc":"2.0"}'), wrong)), /does not hold/)
  pieces.addMessage(splice(toLine('{"next":1}'), []))
  assert.equal(Buffer.concat(pieces.take()).toString(), '{"next":1}\n')
})
