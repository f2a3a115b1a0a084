// However familiar a message is, it is read as if it were the first.

import assert from 'node:assert/strict'
import { Buffer } from 'node:buffer'
import { test } from 'node:test'
import * as fc from 'fast-check'
import { FrameError } from '../../src/jsonrpc/errors.js'
import { FamiliarFrames } from '../../src/jsonrpc/familiar-frames.js'
import { FamiliarShape } from '../../src/jsonrpc/familiar-shape.js'
import { frameOrError } from '../../src/jsonrpc/frame-or-error.js'
import type { Frame, Params } from '../../src/jsonrpc/frame.js'
import { toLine } from '../../src/jsonrpc/line.js'
import { numRuns } from './runs.js'

function factsOfParams({ span, members, metaSpan, meta }: Params): unknown {
  const texts = ['name', 'uri', 'arguments'].map((name) => members.string(name))
  return {
    span,
    metaSpan,
    texts,
    members: [...members],
    meta: [...meta],
    bytes: members.bytes.toString('latin1'),
  }
}

/** All there is to know of a frame. */
function facts(frame: Frame | FrameError): unknown {
  if (frame instanceof FrameError) return [frame.code, frame.message, frame.offset, frame.id]
  const line = frame.line.toString('latin1')
  if (frame.kind !== 'request' && frame.kind !== 'notification') return { ...frame, line }
  return { ...frame, line, params: factsOfParams(frame.params) }
}

const id = fc.oneof(
  { weight: 8, arbitrary: fc.integer({ min: 0, max: 2_000_000_000 }).map(String) },
  {
    weight: 1,
    arbitrary: fc.constantFrom('"a"', '01', '1.0', '-1', 'null', '', '1e2', '999999999', '1000000000', '7 '),
  },
)
const value = fc.oneof(
  { weight: 8, arbitrary: fc.jsonValue({ maxDepth: 2 }).map((each) => JSON.stringify(each)) },
  {
    weight: 2,
    arbitrary: fc.constantFrom('{"a":"é"}', '{"a":\n1}', '{ "\\u0061": "\\ud800" }', '[[[[[[[1]]]]]]]'),
  },
  {
    weight: 1,
    arbitrary: fc.constantFrom('', '{', '{"a":1}}', '"\x1f"', '{},"id":5', '{}},{', '1 2', '{"a":"\x80"}'),
  },
)

const shapes: ((id: string, value: string) => string)[] = [
  (i, v) => `{"jsonrpc":"2.0","id":${i},"method":"tools/call","params":{"name":"a__b","arguments":${v}}}`,
  (i, v) => `{"jsonrpc":"2.0","id":${i},"method":"tools/call","params":{"name":"a__c","arguments":${v}}}`,
  (i, v) =>
    `{"method":"tools/call","params":{"arguments":${v},"name":"a\\u005fb"},"jsonrpc":"2.0","id":${i}}`,
  (i, v) =>
    `{"params":{"_meta":{"progressToken":${i}},"arguments":${v}},"jsonrpc":"2.0","id":${i},"method":"m"}`,
  (i, v) => `{"jsonrpc":"2.0","id":${i},"result":${v}}`,
  (i, v) => `{"result":${v},"jsonrpc":"2.0","id":${i}}`,
  (i, v) => ` { "result" : ${v} , "id" : ${i} , "jsonrpc" : "2.0" } `,
  (i, v) => `{"jsonrpc":"2.0","id":${i},"error":${v}}`,
  (_i, v) => `{"jsonrpc":"2.0","method":"n","params":${v}}`,
]

/** Messages of few shapes, some of them damaged. */
const messages = fc
  .tuple(
    fc.subarray(shapes, { minLength: 1, maxLength: 3 }),
    fc.array(fc.tuple(fc.nat(), id, value, fc.nat(60), fc.nat(2000), fc.nat(255)), { maxLength: 30 }),
  )
  .map(([some, all]) =>
    all.map(([which, i, v, damage, at, byte]) => {
      const bytes = Buffer.from(some[which % some.length]?.(i, v) ?? '', 'latin1')
      if (damage < 3 && bytes.length > 0) bytes[at % bytes.length] = byte
      return damage === 3 ? bytes.subarray(0, at % (bytes.length + 1)) : bytes
    }),
  )

test('a message is read the same, whatever was read before', () => {
  fc.assert(
    fc.property(messages, (all) => {
      const limits = { depthMax: 6, methodBytesMax: 256 }
      const frames = new FamiliarFrames(limits)
      for (const bytes of all) {
        assert.deepEqual(facts(frames.read(toLine(bytes))), facts(frameOrError(toLine(bytes), limits)))
      }
    }),
    { numRuns: numRuns(600) },
  )
})

test('what changes only in its id and its value is familiar', () => {
  const depthMax = 128
  for (const shape of [shapes[0], shapes[2], shapes[4], shapes[5], shapes[6]]) {
    assert.ok(shape !== undefined)
    const first = frameOrError(toLine(shape('8', '{"x":1}')))
    assert.ok(!(first instanceof FrameError))
    const familiar = FamiliarShape.of(first)
    for (const [i, v] of [
      ['9', '{"y":[2,3]}'],
      ['123456789', '{}'],
    ] as const) {
      const line = toLine(shape(i, v))
      const read = familiar?.read(line, depthMax)
      assert.ok(read !== undefined)
      assert.deepEqual(facts(read), facts(frameOrError(line)))
    }
    assert.equal(familiar?.read(toLine(shape('"9"', '{}')), depthMax), undefined)
    assert.equal(familiar?.read(toLine(shape('9', '{')), depthMax), undefined)
  }
})
