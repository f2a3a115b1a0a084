// The finder of long values, held against the scanner of whole texts.

import assert from 'node:assert/strict'
import { Buffer } from 'node:buffer'
import { test } from 'node:test'
import * as fc from 'fast-check'
import { ValueFinder } from '../../src/jsonrpc/fast/value-finder.js'
import { FrameError } from '../../src/jsonrpc/jsonrpc-errors.js'
import { itemsAt, membersAt } from '../../src/jsonrpc/members.js'
import { type KnownValues, type Span, Scanner } from '../../src/jsonrpc/scan.js'
import { cut } from './cut.js'
import { numRuns } from './runs.js'

const BYTES_MIN = 128
const DEPTH_MAX = 128

function found(parts: readonly Buffer[]): KnownValues | undefined {
  const finder = ValueFinder.make(BYTES_MIN)
  assert.ok(finder !== undefined)
  for (const part of parts) finder.push(part)
  return finder.finish()
}

/** What the finder should say. */
function foundSlowly(text: Buffer): KnownValues | undefined {
  const scanner = new Scanner(text, DEPTH_MAX)
  try {
    const start = scanner.skipSpace(0)
    const end = scanner.value(start, 0)
    scanner.finish(end)
    const spans: number[] = []
    const depth = collect(text, { start, end }, 0, spans)
    return { spans, depth, hasBreaks: scanner.hasBreaks }
  } catch (error) {
    if (error instanceof FrameError) return undefined
    throw error
  }
}

/** Adds the long values at `span`, around which there are `around` containers; gives how deep the text is there. */
function collect(text: Buffer, span: Span, around: number, spans: number[]): number {
  const first = String.fromCharCode(text[span.start] ?? 0)
  const isLong = span.end - span.start >= BYTES_MIN
  const isOpaque = first === '[' || (first === '{' && around >= 3) || (first === '"' && around > 1)
  if (isLong && isOpaque) spans.push(span.start, span.end)
  if (first !== '[' && first !== '{') return around
  const inner =
    first === '[' ? itemsAt(text, span) : [...(membersAt(text, span) ?? [])].map(({ value }) => value)
  const into = isLong && isOpaque ? [] : spans
  return Math.max(around + 1, ...inner.map((each) => collect(text, each, around + 1, into)))
}

const sizes = fc.infiniteStream(fc.oneof(fc.integer({ min: 1, max: 130 }), fc.constant(64)))

function agrees(text: Buffer, random: Iterator<number>): void {
  assert.deepEqual(found(cut(text, random)), foundSlowly(text), text.toString('latin1'))
}

const json = fc
  .tuple(fc.json({ maxDepth: 6, noUnicodeString: false }), fc.constantFrom(undefined, 0, 1, ' \r', '\n\t'))
  .map(([text, space]) => JSON.stringify(JSON.parse(text), undefined, space))
const inMessage = json.map((text) => `{"id":1,"result":{"a":${text},"b":{"c":{"d":${text}}}}}`)

test('of valid texts is found what is found slowly', () => {
  fc.assert(
    fc.property(fc.oneof(json, inMessage), sizes, (text, random) => agrees(Buffer.from(text), random)),
    { numRuns: numRuns(600) },
  )
})

const token = fc.constantFrom(
  '{',
  '}',
  '[',
  ']',
  ',',
  ':',
  '"a":',
  '"a"',
  '1',
  '-',
  '0',
  '01',
  '-0',
  '1.5',
  '1.',
  '.5',
  '1e5',
  '1E+05',
  '1e',
  '2e-',
  'true',
  'false',
  'null',
  'tru',
  'nulll',
  ' ',
  '\t',
  '\n',
  '\r',
  '\\',
  '\x00',
  '\x0b',
  '\x7f',
  '\u00e9',
  '"',
  '/',
)

test('of texts that are damaged is found what is found slowly', () => {
  const places = fc.array(fc.tuple(fc.nat(), fc.nat(3), token), { maxLength: 2 })
  fc.assert(
    fc.property(fc.oneof(json, inMessage), places, sizes, (text, damages, random) => {
      let damaged = text
      for (const [place, removed, put] of damages) {
        const at = place % (damaged.length + 1)
        damaged = damaged.slice(0, at) + put + damaged.slice(at + removed)
      }
      agrees(Buffer.from(damaged), random)
    }),
    { numRuns: numRuns(1500) },
  )
})

test('of tokens by chance is found what is found slowly', () => {
  fc.assert(
    fc.property(fc.array(token, { maxLength: 8 }), sizes, (tokens, random) =>
      agrees(Buffer.from(tokens.join('')), random),
    ),
    { numRuns: numRuns(1500) },
  )
})

const usual = ['\\n', '\\"', '\\\\', '\\t', '\\r', '\\/', '\\b', '\\f', '\\u00e9', '\\uD83D', 'é', '中', '😀']
const odd = [
  '\\',
  '"',
  '\\\\\\',
  '\\u',
  '\\u12',
  '\\u123g',
  '\\a',
  '\n',
  '\x00',
  '\x1f',
  '\x7f',
  '"x"',
  '",\n"',
]
const filler = fc
  .nat(70)
  .map((length) => 'abcdefghijklmnopqrstuvwxyz0123456789 {}[]:,'.repeat(2).slice(0, length))

function soup(oddWeight: number): fc.Arbitrary<Buffer> {
  const piece = fc.oneof(
    { weight: 30, arbitrary: filler },
    { weight: 40, arbitrary: fc.constantFrom(...usual) },
    { weight: oddWeight, arbitrary: fc.constantFrom(...odd) },
  )
  const string = fc.array(piece, { maxLength: 40 }).map((pieces) => `"${pieces.join('')}"`)
  return fc
    .array(string, { maxLength: 8 })
    .map((parts) => Buffer.from(`{"a":{"b":${parts.join(',"c":') || '1'}}}`))
}

for (const [title, oddWeight] of [
  ['good strings', 0],
  ['strings that are damaged here and there', 1],
  ['strings that are mostly damaged', 30],
] as const) {
  test(`of ${title} is found what is found slowly`, () => {
    fc.assert(fc.property(soup(oddWeight), sizes, agrees), { numRuns: numRuns(600) })
  })
}

test('every byte behind a backslash, or without one, is judged alike at every place', () => {
  for (const escape of ['', '\\', '\\\\', '\\u', '\\u00a']) {
    for (let byte = 0; byte < 256; byte++) {
      const tail = Buffer.concat([
        Buffer.from(escape),
        Buffer.from([byte]),
        Buffer.from(`${'x'.repeat(130)}"}}`),
      ])
      for (let before = 50 + (byte % 7); before < 130; before += 7) {
        const text = Buffer.concat([Buffer.from(`{"a":{"b":"${'x'.repeat(before)}`), tail])
        assert.deepEqual(found([text]), foundSlowly(text), `${escape} ${byte} at ${before}`)
      }
    }
  }
})
