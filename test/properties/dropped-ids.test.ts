// The id of a line that is too long to keep, held against one that reads all of it.

import assert from 'node:assert/strict'
import { Buffer } from 'node:buffer'
import { test } from 'node:test'
import * as fc from 'fast-check'
import { IdFinder } from '../../src/jsonrpc/id-finder.js'
import { StringFinder } from '../../src/jsonrpc/fast/string-finder.js'
import { LineSplitter } from '../../src/transports/stdio/line-splitter.js'
import { cut } from './cut.js'
import { numRuns } from './runs.js'

const finder = StringFinder.make()

function walked(parts: readonly Buffer[]): [string | undefined, boolean, readonly string[]] {
  const ids = new IdFinder()
  for (const part of parts) ids.push(part)
  return [ids.id, ids.isCall, ids.claims]
}

function scanned(parts: readonly Buffer[]): [string | undefined, boolean, readonly string[]] {
  const ids = new IdFinder()
  assert.ok(finder !== undefined)
  finder.start(ids)
  for (const part of parts) finder.push(part)
  finder.finish()
  return [ids.id, ids.isCall, ids.claims]
}

function line(): void {
  assert.fail('no line is short enough')
}

function dropped(parts: readonly Buffer[], takesLong: boolean): unknown[] {
  const said: unknown[] = []
  const oversize = (...all: unknown[]): void => void said.push(all)
  const splitter = new LineSplitter(takesLong ? { line, long: line, oversize } : { line, oversize }, 8)
  for (const part of parts) splitter.push(Buffer.from(part))
  splitter.end()
  return said
}

const texts = [
  '\\"',
  '\\\\',
  '\\n',
  '\\u00e9',
  'é',
  '中😀',
  '{',
  '}',
  ']',
  '[',
  ':',
  ',',
  'id',
  '\x01',
  '\xff',
]
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
/** The beginning of one, with more brackets than it has. */
const spoilt = fc
  .tuple(message, fc.nat(), fc.constantFrom('', '}', ']]', '}}}', '{'))
  .map(([bytes, at, more]) =>
    Buffer.concat([
      bytes.subarray(0, at % bytes.length),
      Buffer.from(more),
      bytes.subarray(at % bytes.length),
    ]),
  )
/** Outside of a string, a backslash means nothing that two readers agree on. */
const isJsonLike = (bytes: Buffer): boolean =>
  !bytes
    .toString('latin1')
    .replaceAll(/"(?:[^"\\]|\\.)*("|$)/gs, '')
    .includes('\\')
const sizes = fc.infiniteStream(fc.oneof(fc.integer({ min: 1, max: 200 }), fc.constant(64)))

test('an id is found by the blocks at the top level as by all bytes, whatever the chunks', () => {
  fc.assert(
    fc.property(fc.oneof(message, spoilt).filter(isJsonLike), sizes, (bytes, random) => {
      const want = walked([bytes])
      assert.deepEqual(walked(cut(bytes, random)), want)
      assert.deepEqual(scanned([bytes]), want)
      assert.deepEqual(scanned(cut(bytes, random)), want)
      if (bytes.length > 8) {
        const told = [[want[0], bytes.length, want[1]]]
        for (const takesLong of [true, false]) assert.deepEqual(dropped(cut(bytes, random), takesLong), told)
      }
    }),
    { numRuns: numRuns(600) },
  )
})
