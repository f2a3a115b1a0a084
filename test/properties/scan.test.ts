// The scanner accepts the same well-formed UTF-8 as `JSON.parse`, and its spans are the same values.

import assert from 'node:assert/strict'
import { Buffer } from 'node:buffer'
import { test } from 'node:test'
import * as fc from 'fast-check'
import { FrameError } from '../../src/jsonrpc/jsonrpc-errors.js'
import { toLine } from '../../src/jsonrpc/line.js'
import { itemsAt, membersAt } from '../../src/jsonrpc/members.js'
import { numRuns } from './runs.js'
import { scanText } from '../../src/jsonrpc/scan.js'
import { requestOf } from '../jsonrpc/support/frames.js'

const DEPTH_MAX = 5000

function scans(bytes: Buffer): boolean {
  try {
    scanText(bytes, DEPTH_MAX)
    return true
  } catch (error) {
    if (!(error instanceof FrameError)) throw error
    assert.ok(error.unreadable)
    assert.ok(error.offset >= 0 && error.offset <= bytes.length)
    return false
  }
}

function parses(bytes: Buffer): boolean {
  try {
    JSON.parse(new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes))
    return true
  } catch {
    return false
  }
}

function agree(bytes: Buffer): void {
  assert.equal(scans(bytes), parses(bytes), JSON.stringify(bytes.toString('latin1')))
}

const space = fc.stringMatching(/^[ \t\r\n]{0,3}$/)
const number = fc.stringMatching(/^-?(0|[1-9][0-9]{0,20})(\.[0-9]{1,5})?([eE][+-]?[0-9]{1,4})?$/)
const string = fc
  .array(
    fc.oneof(
      {
        weight: 6,
        arbitrary: fc
          .string({ unit: 'grapheme', maxLength: 8 })
          .map((text) => JSON.stringify(text).slice(1, -1)),
      },
      {
        weight: 2,
        arbitrary: fc.constantFrom('\\n', '\\"', '\\\\', '\\/', '\\u0000', '\\uD800', '\\udc00', '\\u00Ff'),
      },
      { weight: 1, arbitrary: fc.nat(600).map((length) => 'x'.repeat(length)) },
    ),
    { maxLength: 5 },
  )
  .map((parts) => `"${parts.join('')}"`)

/** JSON in every spelling. */
const { json } = fc.letrec<{ json: string; object: string; array: string }>((tie) => ({
  json: fc.oneof(
    { maxDepth: 4, withCrossShrink: true },
    fc.constantFrom('true', 'false', 'null'),
    number,
    string,
    tie('array'),
    tie('object'),
  ),
  array: fc
    .array(fc.tuple(space, tie('json'), space), { maxLength: 5 })
    .map((items) => `[${items.map((item) => item.join('')).join(',')}]`),
  object: fc
    .array(fc.tuple(space, string, space, space, tie('json'), space), { maxLength: 5 })
    .map((members) => members.map(([a, key, b, c, value, d]) => `${a}${key}${b}:${c}${value}${d}`))
    .chain((members) => space.map((inner) => `{${members.length === 0 ? inner : members.join(',')}}`)),
}))

test('accepts JSON however it is written', () => {
  fc.assert(
    fc.property(space, json, space, (before, value, after) => {
      const bytes = Buffer.from(before + value + after)
      assert.equal(scans(bytes), true)
      assert.equal(parses(bytes), true)
    }),
    { numRuns: numRuns(400) },
  )
})

interface Mutation {
  readonly kind: 'flip' | 'insert' | 'remove' | 'cut' | 'repeat'
  readonly at: number
  readonly byte: number
}

const mutation: fc.Arbitrary<Mutation> = fc.record({
  kind: fc.constantFrom('flip', 'insert', 'remove', 'cut', 'repeat'),
  at: fc.nat(),
  byte: fc.oneof(
    fc.nat(255),
    fc.constantFrom(
      ...Buffer.from('{}[]",:\\0123456789.eE+-tfn \t\r\n\0\x1f\x7f', 'latin1'),
      0x80,
      0xc3,
      0xed,
      0xff,
    ),
  ),
})

function mutate(bytes: Buffer, { kind, at, byte }: Mutation): Buffer {
  const here = at % (bytes.length + 1)
  const [before, after] = [bytes.subarray(0, here), bytes.subarray(here)]
  switch (kind) {
    case 'flip':
      return Buffer.concat([before, Buffer.from([byte]), after.subarray(1)])
    case 'insert':
      return Buffer.concat([before, Buffer.from([byte]), after])
    case 'remove':
      return Buffer.concat([before, after.subarray(1 + (byte % 4))])
    case 'cut':
      return before
    case 'repeat':
      return Buffer.concat([bytes.subarray(0, here + 1), after])
  }
}

test('agrees with JSON.parse about JSON that was damaged', () => {
  fc.assert(
    fc.property(json, fc.array(mutation, { minLength: 1, maxLength: 3 }), (value, mutations) => {
      agree(mutations.reduce(mutate, Buffer.from(value)))
    }),
    { numRuns: numRuns(1500) },
  )
})

test('agrees with JSON.parse about tokens in any order', () => {
  const token = fc.constantFrom(
    ...String.raw`{ } [ ] , : "a" " \ 0 1 - . e E+ true nul é`.split(' '),
    ' ',
    '\n',
    '\x1f',
  )
  fc.assert(
    fc.property(fc.array(token, { maxLength: 12 }), (tokens) => agree(Buffer.from(tokens.join('')))),
    { numRuns: numRuns(2000) },
  )
})

test('agrees with JSON.parse about bytes, alone and in a string', () => {
  const high = fc.oneof(
    fc.nat(255),
    fc.constantFrom(0x7f, 0x80, 0xbf, 0xc0, 0xc1, 0xc2, 0xdf, 0xe0, 0xed, 0xef, 0xf0, 0xf4, 0xf5),
  )
  fc.assert(
    fc.property(fc.array(high, { maxLength: 12 }), fc.nat(300), (bytes, padding) => {
      agree(Buffer.from(bytes))
      agree(Buffer.concat([Buffer.from(`"${'x'.repeat(padding)}`), Buffer.from(bytes), Buffer.from('"')]))
    }),
    { numRuns: numRuns(1500) },
  )
})

test('the spans of members and items are the values that JSON.parse gives', () => {
  fc.assert(
    fc.property(
      fc.dictionary(fc.string(), fc.jsonValue()),
      fc.array(fc.jsonValue()),
      fc.nat(4),
      (object, array, indent) => {
        const text = JSON.stringify(object, null, indent)
        const bytes = toLine(text)
        const members = membersAt(bytes, { start: 0, end: bytes.length })
        assert.ok(members !== undefined)
        const read = (start: number, end: number): unknown => JSON.parse(bytes.toString('utf8', start, end))
        const pairs = [...members].map(({ key, value }) => [
          read(key.start, key.end),
          read(value.start, value.end),
        ])
        assert.deepEqual(pairs, Object.entries(asParsed(object)))
        const list = toLine(JSON.stringify(array, null, indent))
        const items = itemsAt(list, { start: 0, end: list.length })
        const found = items.map(({ start, end }): unknown => JSON.parse(list.toString('utf8', start, end)))
        assert.deepEqual(found, asParsed(array))
      },
    ),
    { numRuns: numRuns(300) },
  )
})

test('a frame is what JSON.parse reads in the message', () => {
  const envelope = fc.record({
    id: fc.oneof(fc.maxSafeInteger(), fc.string()),
    method: fc.string({ maxLength: 20 }),
    args: fc.jsonValue(),
    indent: fc.nat(2),
    order: fc.shuffledSubarray(['jsonrpc', 'id', 'method', 'params'], { minLength: 4 }),
  })
  fc.assert(
    fc.property(envelope, ({ id, method, args, indent, order }) => {
      const members: Record<string, unknown> = { jsonrpc: '2.0', id, method, params: { arguments: args } }
      const text = JSON.stringify(
        Object.fromEntries(order.map((name) => [name, members[name]])),
        null,
        indent,
      )
      const frame = requestOf(text)
      assert.equal(JSON.parse(frame.id), id)
      assert.equal(frame.method, method)
      const span = frame.params.members.span('arguments')
      const value: unknown = JSON.parse(frame.line.toString('utf8', span?.start, span?.end))
      assert.deepEqual(value, asParsed(args))
      assert.equal(frame.multiline, indent > 0)
    }),
    { numRuns: numRuns(300) },
  )
})

/** A value without `-0`, and with `__proto__` as a plain member, as `JSON.parse` returns it. */
function asParsed<T>(value: T): T {
  return JSON.parse(JSON.stringify(value))
}
