// A long message is looked at while it comes: no turn reads more of it than what came in that turn.

import assert from 'node:assert/strict'
import { Buffer } from 'node:buffer'
import { describe, test } from 'node:test'
import { readLong } from '../../src/jsonrpc/fast/long-frame.js'
import { LongLine } from '../../src/jsonrpc/fast/long-line.js'
import { ValueFinder } from '../../src/jsonrpc/fast/value-finder.js'
import type { Line } from '../../src/jsonrpc/line.js'
import { SseParser } from '../../src/transports/sse/parser.js'
import { LineSplitter } from '../../src/transports/stdio/line-splitter.js'
import { UnfinishedLine } from '../../src/transports/unfinished-line.js'

const CHUNK_BYTES = 64 * 1024

/** Reads one message in chunks; each gives the message once it has come. */
type Reader = (chunk: Buffer, isLast: boolean) => Line | LongLine | undefined

function fail(): never {
  assert.fail('the message is not too long')
}

function lineReader(): Reader {
  let read: Line | LongLine | undefined
  const splitter = new LineSplitter({ line: (line) => (read = line), oversize: fail }, 1e9)
  return (chunk) => {
    splitter.push(chunk)
    return read
  }
}

const readers: readonly [title: string, before: string, after: string, make: () => Reader][] = [
  ['a line', '', '\n', lineReader],
  ['a line of Windows', '', '\r\n', lineReader],
  [
    'an event',
    'id: 1\ndata: ',
    '\n\n',
    () => {
      let read: Line | LongLine | undefined
      const limits = { dataBytesMax: 1e9, fieldBytesMax: 1024 }
      const parser = new SseParser({ event: (_type, data) => (read = data), oversize: fail }, limits)
      return (chunk) => {
        parser.push(chunk)
        return read
      }
    },
  ],
  [
    'a body',
    '',
    '',
    () => {
      const body = new UnfinishedLine()
      return (chunk, isLast) => {
        body.add(chunk)
        return isLast ? body.end() : undefined
      }
    },
  ],
]

const values: readonly [title: string, value: string][] = [
  ['numbers', `[${'1,'.repeat(500_000)}1]`],
  ['objects', `[${'{"a":[]},'.repeat(100_000)}null]`],
  ['short strings', `{"b":{"c":[${'"x",'.repeat(250_000)}""]}}`],
  ['a string', `{"b":"${'\\n'.repeat(500_000)}"}`],
]

for (const [title, before, after, make] of readers)
  describe(`${title} of a megabyte`, () => {
    for (const [what, value] of values)
      for (const order of ['first', 'last'])
        test(`${what}, id ${order}`, (t) => {
          const result = `"result":{"content":[],"structuredContent":{"a":${value}}}`
          const text =
            order === 'first' ? `{"jsonrpc":"2.0","id":7,${result}}` : `{${result},"jsonrpc":"2.0","id":7}`
          const stream = Buffer.from(before + text + after)
          const joins = t.mock.getter(LongLine.prototype, 'line')
          const pushes = t.mock.method(ValueFinder.prototype, 'push')
          const read = make()
          let message: Line | LongLine | undefined
          let pushed = 0
          for (let at = 0; at < stream.length; at += CHUNK_BYTES) {
            message = read(
              Buffer.from(stream.subarray(at, at + CHUNK_BYTES)),
              at + CHUNK_BYTES >= stream.length,
            )
            const all = pushes.mock.calls.reduce((sum, call) => sum + (call.arguments[0]?.length ?? 0), 0)
            assert.ok(all - pushed <= CHUNK_BYTES, 'one chunk a turn')
            pushed = all
          }
          assert.equal(pushed, text.length)
          assert.ok(message instanceof LongLine)
          // What is left for the turn of its end.
          const [start = 0, end = 0, ...others] = message.known?.spans ?? []
          assert.deepEqual(others, [])
          assert.ok(text.length - (end - start) < 150)
          const frame = readLong(message)
          assert.ok(frame.kind === 'result' && !frame.multiline)
          assert.equal(frame.id, '7')
          assert.equal(text.slice(frame.result.start, frame.result.end), result.slice('"result":'.length))
          assert.equal(Buffer.concat(message.parts).toString(), text)
          assert.equal(joins.mock.callCount(), 0)
        })
  })
