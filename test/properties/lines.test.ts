import assert from 'node:assert/strict'
import { Buffer } from 'node:buffer'
import { test } from 'node:test'
import * as fc from 'fast-check'
import { lineAt, toLine } from '../../src/jsonrpc/line.js'
import { type Edit, type Message, splice } from '../../src/jsonrpc/splice.js'
import { joinedLine } from '../../src/jsonrpc/long-line.js'
import { LineSplitter } from '../../src/transports/stdio/line-splitter.js'
import { Pieces } from '../../src/transports/pieces.js'
import { numRuns } from './runs.js'

/** A limit for short lines alone, and one that lines in parts reach. */
const LIMITS = [64, 16_384]

function split(chunks: Iterable<Buffer>, limit: number): string[] {
  const said: string[] = []
  const splitter = new LineSplitter(
    {
      line: (line) => said.push(joinedLine(line).toString('latin1')),
      oversize: (id, bytes, isCall) => said.push(`OVERSIZE ${id} ${bytes} ${isCall}`),
    },
    limit,
  )
  for (const chunk of chunks) splitter.push(chunk)
  splitter.end()
  return said
}

/** A slow reference for the lines of a text. */
function linesOf(bytes: Buffer, limit: number): string[] {
  return bytes
    .toString('latin1')
    .split('\n')
    .map((line) =>
      line.length > limit ? `OVERSIZE undefined ${line.length} false` : line.replace(/\r$/, ''),
    )
    .filter((line) => line !== '')
}

function* chunksOf(bytes: Buffer, size: () => number): Iterable<Buffer> {
  for (let at = 0; at < bytes.length;) {
    const end = at + size()
    yield Buffer.from(bytes.subarray(at, end))
    at = end
  }
}

const partOf = (limit: number): fc.Arbitrary<string> =>
  fc.oneof(
    fc.constantFrom('\n', '\r\n', '\r', '\n\n', '{"a":1}', '\u2028', '\u0085', '😀', ' ', '\0', '"'),
    fc
      .constantFrom(limit - 2, limit - 1, limit, limit + 1, 3 * limit)
      .map((length) => `${'{'.padEnd(length, 'x')}\n`),
    fc.string({ maxLength: 20 }),
  )

for (const limit of LIMITS)
  test(`the lines are the same for all chunks, up to ${limit} bytes`, () => {
    const stream = fc.array(partOf(limit), { maxLength: 20 }).map((parts) => Buffer.from(parts.join('')))
    fc.assert(
      fc.property(stream, fc.infiniteStream(fc.integer({ min: 1, max: 2 * limit })), (bytes, random) => {
        const lines = linesOf(bytes, limit)
        for (const size of limit > 1000 ? [1000, 64 * 1024] : [1, 2, 3, 7, 64 * 1024])
          assert.deepEqual(
            split(
              chunksOf(bytes, () => size),
              limit,
            ),
            lines,
            `chunks of ${size}`,
          )
        assert.deepEqual(
          split(
            chunksOf(bytes, () => random.next().value),
            limit,
          ),
          lines,
        )
      }),
      { numRuns: numRuns(limit > 1000 ? 60 : 300) },
    )
  })

/** Messages in every memory layout. */
const messages = fc
  .array(
    fc.record({
      text: fc.string({ minLength: 1, maxLength: 40 }),
      kind: fc.constantFrom('chunk', 'pool', 'own', 'edited', 'large'),
    }),
    {
      maxLength: 30,
    },
  )
  .map((wanted) => {
    const texts = wanted.map(({ text, kind }) =>
      (kind === 'large' ? text.repeat(500) : text).replaceAll('\n', ' '),
    )
    const chunk = Buffer.from(texts.map((text) => `${text}\n`).join(''))
    let at = 0
    return wanted.map(({ kind }, i): [string, Message] => {
      const text = texts[i] ?? ''
      const end = at + Buffer.byteLength(text)
      const view = lineAt(chunk, at, end)
      at = end + 1
      return [text, lying(kind, text, view)]
    })
  })

function lying(kind: string, text: string, view: ReturnType<typeof lineAt>): Message {
  const whole: Edit = { start: 0, end: view.length, bytes: Buffer.from(text), why: 'name' }
  switch (kind) {
    case 'pool':
      return splice(toLine(text), [])
    case 'own': {
      const memory = Buffer.allocUnsafeSlow(Buffer.byteLength(text) + 1)
      memory.write(`${text}\n`)
      return splice(lineAt(memory, 0, memory.length - 1), [])
    }
    case 'edited':
      return splice(view, [whole])
    default:
      return splice(view, [])
  }
}

test('what leaves is the messages, each with its line feed, wherever they lie', () => {
  fc.assert(
    fc.property(messages, fc.nat(30), (all, pause) => {
      const pieces = new Pieces()
      const written: Uint8Array[] = []
      all.forEach(([, message], i) => {
        if (i === pause) written.push(...pieces.take())
        pieces.addMessage(message)
      })
      const waiting = pieces.bytes
      const rest = pieces.take()
      assert.equal(Buffer.concat(rest).length, waiting)
      const want = all.map(([text]) => `${text}\n`).join('')
      assert.equal(Buffer.concat([...written, ...rest]).toString(), want)
    }),
    { numRuns: numRuns(400) },
  )
})
