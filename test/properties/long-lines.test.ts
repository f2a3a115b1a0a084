// Long messages are read, cut and joined like short ones.

import assert from 'node:assert/strict'
import { Buffer } from 'node:buffer'
import { test } from 'node:test'
import * as fc from 'fast-check'
import { type Frame, readMessage } from '../../src/jsonrpc/frame.js'
import { toLine } from '../../src/jsonrpc/line.js'
import { LongLine, readLong } from '../../src/jsonrpc/long-line.js'
import { longStrings } from '../../src/jsonrpc/long-strings.js'
import type { Members } from '../../src/jsonrpc/members.js'
import { cut } from './cut.js'
import { numRuns } from './runs.js'

const piece = fc.oneof(
  { weight: 6, arbitrary: fc.nat(1000).map((length) => Buffer.from('x'.repeat(length))) },
  {
    weight: 6,
    arbitrary: fc
      .constantFrom(...String.raw`\\ \" \n \/ \u0000 \uD83d é 中 😀 { ] ,`.split(' '), '\u007f')
      .map((text) => Buffer.from(text)),
  },
)
const badPiece = fc
  .constantFrom(
    ...String.raw`\ " \x \u12 \u00g0 \"`.split(' '),
    ...'\n,\x00,\x1f,\x80,\xc3,\xed\xa0\x80'.split(','),
  )
  .map((text) => Buffer.from(text, 'latin1'))

function stringOf(pieces: fc.Arbitrary<Buffer>): fc.Arbitrary<Buffer> {
  const quote = Buffer.from('"')
  return fc.array(pieces, { maxLength: 12 }).map((parts) => Buffer.concat([quote, ...parts, quote]))
}

const heads = [
  '{"jsonrpc":"2.0","id":1,"result":{"_meta":{"a":1,"c":"x"},"task":"y","a":[',
  '{"id":"a","jsonrpc":"2.0","method":"m","params":{"a":[',
]

/** A message around some strings. */
function messageOf(strings: fc.Arbitrary<Buffer>): fc.Arbitrary<Buffer> {
  const between = fc.constantFrom(',', ' , ', ',1,', ',{"k":"v"},', '\t,\n')
  const parts = fc.array(fc.tuple(strings, between), { minLength: 1, maxLength: 5 })
  return fc.tuple(fc.nat(1), parts).map(([head, all]) => {
    const inside = all.flatMap(([string, then], i) => (i === 0 ? [string] : [Buffer.from(then), string]))
    return Buffer.concat([Buffer.from(heads[head] ?? ''), ...inside, Buffer.from(']}}')])
  })
}

const sizes = fc.infiniteStream(fc.integer({ min: 1, max: 300 }))

function longLine(parts: readonly Buffer[]): LongLine {
  return new LongLine(parts.slice(0, -1), toLine(parts.at(-1) ?? ''), longStrings(parts))
}

/** The named members of a result, and those of its `_meta`. */
function shown(named: Members | undefined): unknown {
  if (named === undefined) return undefined
  const all = [...named].map((member, index) => [named.name(index), member])
  const texts = ['a', 'task'].map((name) => [named.span(name), named.string(name)])
  return { all, texts, inner: shown(named.inner('_meta')) }
}

function idOf(frame: Frame): unknown {
  return 'id' in frame ? [frame.id, frame.idSpan] : undefined
}

test('what is read of a long message is what is read of the whole', () => {
  const damaged = stringOf(fc.oneof({ weight: 12, arbitrary: piece }, { weight: 1, arbitrary: badPiece }))
  fc.assert(
    fc.property(messageOf(damaged), sizes, (bytes, random) => {
      const whole = readMessage(toLine(bytes))
      const read = readLong(longLine(cut(bytes, random)))
      if (whole.kind === 'unreadable' || read.kind === 'unreadable') return assert.deepEqual(read, whole)
      assert.deepEqual([read.kind, idOf(read), read.multiline], [whole.kind, idOf(whole), whole.multiline])
      assert.ok(read.line.equals(whole.line))
      if (read.kind === 'result' && whole.kind === 'result') {
        assert.deepEqual(read.result, whole.result)
        assert.deepEqual(shown(read.members), shown(whole.members))
      }
      if (read.kind === 'request' && whole.kind === 'request')
        assert.deepEqual([...read.params.members], [...whole.params.members])
    }),
    { numRuns: numRuns(1000) },
  )
})
