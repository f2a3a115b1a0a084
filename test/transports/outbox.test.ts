import assert from 'node:assert/strict'
import { Buffer } from 'node:buffer'
import { test } from 'node:test'
import { lineAt, toLine } from '../../src/jsonrpc/line.js'
import { splice } from '../../src/jsonrpc/splice.js'
import { Outbox } from '../../src/transports/stdio/outbox.js'

test('neighbours in one chunk leave as one slice of it, without a copy', () => {
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
  assert.equal(buffers[0]?.buffer, chunk.buffer)
  assert.equal(buffers[0]?.toString(), chunk.toString())
})

test('few bytes leave as one buffer, many as they lie', () => {
  const outbox = new Outbox()
  outbox.add(splice(toLine('1'), []))
  outbox.add(splice(toLine('22'), []))
  assert.deepEqual(outbox.take().map(String), ['1\n22\n'])
  const big = 'x'.repeat(70_000)
  outbox.add(splice(toLine('1'), []))
  outbox.add(splice(toLine(big), []))
  assert.deepEqual(outbox.take().map(String), ['1\n', `${big}\n`])
})

test('it is empty afterwards', () => {
  const outbox = new Outbox()
  assert.deepEqual(outbox.take(), [])
  outbox.add(splice(toLine('1'), []))
  outbox.take()
  assert.equal(outbox.bytes, 0)
  assert.deepEqual(outbox.take(), [])
})
