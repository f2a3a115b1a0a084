import assert from 'node:assert/strict'
import { Buffer } from 'node:buffer'
import { test } from 'node:test'
import * as fc from 'fast-check'
import { toLine, hasLineBreaks } from '../../src/jsonrpc/line.js'
import { lineBreakEdits, type Edit, splice } from '../../src/jsonrpc/splice.js'
import { Pieces } from '../../src/transports/pieces.js'
import { cut } from './cut.js'
import { numRuns } from './runs.js'

/** Applies edits from the last to the first, on an array of bytes. */
function naive(input: Uint8Array, edits: readonly Edit[]): Buffer {
  const bytes = [...input]
  for (const { start, end, bytes: instead } of edits.toReversed())
    bytes.splice(start, end - start, ...instead)
  return Buffer.from(bytes)
}

/** An input, and edits in order without overlap. */
const spliced = fc
  .tuple(
    fc.uint8Array({ maxLength: 200 }),
    fc.array(fc.tuple(fc.nat(200), fc.uint8Array({ maxLength: 40 })), { maxLength: 12 }),
  )
  .map(([input, parts]): [Uint8Array, Edit[]] => {
    const cuts = parts.map(([at]) => at % (input.length + 1)).sort((a, b) => a - b)
    const edits: Edit[] = []
    for (let i = 0; i + 1 < cuts.length; i += 2) {
      const bytes = parts[i]?.[1] ?? new Uint8Array(0)
      edits.push({ start: cuts[i] ?? 0, end: cuts[i + 1] ?? 0, bytes, why: 'name' })
    }
    return [input, edits]
  })
  // A message is not empty.
  .filter(([input, edits]) => naive(input, edits).length > 0)

test('splice does what its edits say, and no more', () => {
  fc.assert(
    fc.property(spliced, fc.infiniteStream(fc.integer({ min: 1, max: 60 })), ([input, edits], sizes) => {
      const parts = cut(Buffer.from(input), sizes)
      const wanted = naive(input, edits)
      for (const message of [toLine(input), [...parts.slice(0, -1), toLine(parts.at(-1) ?? '')]].map((line) =>
        splice(line, edits),
      )) {
        const { joined: output, length } = message
        assert.equal(output.compare(wanted), 0)
        assert.equal(length, wanted.length)
        assert.equal(Buffer.from(output.buffer, output.byteOffset + output.length, 1)[0], 0x0a)
        const pieces = new Pieces()
        pieces.addMessage(message)
        assert.equal(Buffer.concat(pieces.take()).compare(Buffer.concat([wanted, Buffer.from('\n')])), 0)
      }
    }),
    { numRuns: numRuns(1000) },
  )
})

test('no line break is left where no edit put one, and nothing else changes', () => {
  const text = fc
    .array(fc.constantFrom('a', ' ', '\r', '\n', '\r\n', '"x"'), { maxLength: 40 })
    .map((parts) => parts.join(''))
  fc.assert(
    fc.property(text, fc.nat(), fc.nat(8), (input, at, length) => {
      const line = toLine(input)
      const start = at % (line.length + 1)
      const edit: Edit = {
        start,
        end: Math.min(line.length, start + length),
        bytes: Buffer.from('NEW'),
        why: 'name',
      }
      const output = splice(line, lineBreakEdits(line, [edit])).joined
      assert.equal(hasLineBreaks(output), false)
      assert.equal(output.toString(), naive(Buffer.from(input.replace(/[\r\n]/g, ' ')), [edit]).toString())
    }),
    { numRuns: numRuns(500) },
  )
})
