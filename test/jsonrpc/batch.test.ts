import assert from 'node:assert/strict'
import { Buffer } from 'node:buffer'
import { test } from 'node:test'
import { splitBatch } from '../../src/jsonrpc/frame.js'
import type { FrameErrorCode } from '../../src/jsonrpc/jsonrpc-errors.js'
import { toLine } from '../../src/jsonrpc/line.js'

const batches: [batch: string, messages: string[]][] = [
  ['[{"a":1}]', ['{"a":1}']],
  [' [ {"a":[1,2]} , 1 ,\t"x,]" ] ', ['{"a":[1,2]}', '1', '"x,]"']],
  ['[[]]', ['[]']],
]

test('the messages of a batch, each a line of its own', () => {
  for (const [batch, messages] of batches) {
    const lines = splitBatch(toLine(batch))
    const found = lines.map((line) => line.toString())
    assert.deepEqual(found, messages)
    for (const line of lines)
      assert.equal(Buffer.from(line.buffer, line.byteOffset + line.length, 1)[0], 0x0a)
  }
})

const refused: [batch: string, code: FrameErrorCode][] = [
  ['[]', 'FRAME_ENVELOPE'],
  ['[ ]', 'FRAME_ENVELOPE'],
  ['[1,]', 'FRAME_SYNTAX'],
  ['[1]]', 'FRAME_SYNTAX'],
  ['[1', 'FRAME_SYNTAX'],
  [`${'['.repeat(129)}${']'.repeat(129)}`, 'FRAME_DEPTH'],
  [`[${'1,'.repeat(100)}1]`, 'FRAME_TOO_LARGE'],
]

test('refuses what is no batch, an empty one, and one message too many', () => {
  for (const [batch, code] of refused)
    assert.throws(() => splitBatch(toLine(batch)), { name: 'FrameError', code }, batch.slice(0, 40))
  assert.equal(splitBatch(toLine(`[${'1,'.repeat(99)}1]`)).length, 100)
})
