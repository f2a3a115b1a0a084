// The id in a line that is too long to keep, compared with a reader of the whole line.

import assert from 'node:assert/strict'
import { Buffer } from 'node:buffer'
import { test } from 'node:test'
import * as fc from 'fast-check'
import { IdFinder } from '../../src/jsonrpc/id-finder.js'
import { toLine } from '../../src/jsonrpc/line.js'
import { membersAt } from '../../src/jsonrpc/members.js'
import { scanText } from '../../src/jsonrpc/scan.js'
import { rawAt, stringAt } from '../../src/jsonrpc/text.js'
import { LineSplitter } from '../../src/transports/stdio/line-splitter.js'
import { cut } from './cut.js'
import { numRuns } from './runs.js'

function found(parts: readonly Buffer[]): [id: string | undefined, isCall: boolean] {
  const ids = new IdFinder()
  for (const part of parts) ids.push(part)
  const { id, isCall } = ids.found()
  return [id, isCall]
}

function line(): void {
  assert.fail('no line is short enough')
}

function dropped(parts: readonly Buffer[]): unknown[] {
  const said: unknown[] = []
  const oversize = (...all: unknown[]): void => void said.push(all)
  const splitter = new LineSplitter({ line, oversize }, 8)
  for (const part of parts) splitter.push(Buffer.from(part))
  splitter.end()
  return said
}

const texts = [...String.raw`\" \\ \n \u00e9 é 中😀 { } ] [ : , id`.split(' '), '\x01', '\xff']
const inside = fc
  .array(
    fc.oneof(
      fc.constantFrom(...texts),
      fc.nat(200).map((length) => 'x'.repeat(length)),
    ),
    { maxLength: 8 },
  )
  .map((pieces) => `"${pieces.join('')}"`)
const space = fc.constantFrom('', '', '', ' ', '\t ', ' '.repeat(70))
const scalar = fc.constantFrom('1', '-1.5e3', 'true', 'null', '""', '"\\""')
const { value } = fc.letrec<{ value: string }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small' },
    scalar,
    inside,
    fc.array(tie('value'), { maxLength: 4 }).map((items) => `[${items.join(',')}]`),
    fc
      .array(fc.tuple(inside, tie('value')), { maxLength: 4 })
      .map((all) => `{${all.map((m) => m.join(':')).join(',')}}`),
  ),
}))
const id = fc.oneof(
  fc.constantFrom('1', '"a"', '1.0', 'null', '1.5', `"${'i'.repeat(300)}"`, '{"id":2}', '[3]'),
  inside,
)
const member = fc.oneof(
  fc.tuple(fc.constantFrom('"id"', '"Id"', '"i\\u0064"', '"result"', '"method"', '"x"'), value),
  fc.tuple(fc.constant('"id"'), id),
  fc.tuple(fc.constant('"result"'), value),
  fc.tuple(inside, value),
)
const message = fc
  .array(fc.tuple(space, member, space), { minLength: 1, maxLength: 5 })
  .map((all) =>
    Buffer.from(
      `{${all.map(([before, [key, of], behind]) => `${before}${key}${behind}:${of}`).join(',')}}`,
      'latin1',
    ),
  )
/** The beginning of a message, followed by surplus brackets. */
const spoilt = fc
  .tuple(message, fc.nat(), fc.constantFrom('', '}', ']]', '}}}', '{'))
  .map(([bytes, at, more]) =>
    Buffer.concat([
      bytes.subarray(0, at % bytes.length),
      Buffer.from(more),
      bytes.subarray(at % bytes.length),
    ]),
  )
const sizes = fc.infiniteStream(fc.oneof(fc.integer({ min: 1, max: 200 }), fc.constant(64)))

/** The members of the top level, as a reader of the whole message finds them. */
function membersOf(bytes: Buffer): (readonly [key: string, value: string])[] {
  const line = toLine(bytes)
  try {
    scanText(line, 10_000)
  } catch {
    return []
  }
  const members = [...(membersAt(line, { start: 0, end: line.length }) ?? [])]
  return members.map(({ key, value: span }) => [stringAt(line, key) ?? '', rawAt(line, span)])
}

test('the found id is one of the top level, and the same for all chunks', () => {
  fc.assert(
    fc.property(fc.oneof(message, spoilt), sizes, (bytes, random) => {
      const want = found([bytes])
      assert.deepEqual(found(cut(bytes, random)), want)
      const [id, isCall] = want
      const members = membersOf(bytes)
      if (members.length > 0) {
        assert.equal(isCall && !members.some(([key]) => key === 'method'), false)
        if (id !== undefined) assert.ok(members.some(([key, of]) => key.toLowerCase() === 'id' && of === id))
      }
      if (bytes.length <= 8) return
      const told = [[id, bytes.length, isCall]]
      assert.deepEqual(dropped(cut(bytes, random)), told)
    }),
    { numRuns: numRuns(600) },
  )
})
