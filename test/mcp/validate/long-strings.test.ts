import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import * as fc from 'fast-check'
import { toLine } from '../../../src/jsonrpc/line.js'
import { LongLine } from '../../../src/jsonrpc/fast/long-line.js'
import { LongValue } from '../../../src/jsonrpc/fast/long-value.js'
import { StringFinder } from '../../../src/jsonrpc/fast/string-finder.js'
import { shortenKnownStrings, shortenLongStrings } from '../../../src/mcp/validate/long-strings.js'

const LONG = 4097

/** What the result should be once parsed. */
function shortened(value: unknown, standIn: string): unknown {
  if (typeof value === 'string') {
    return Buffer.byteLength(JSON.stringify(value)) - 2 >= LONG ? standIn : value
  }
  if (Array.isArray(value)) return value.map((item) => shortened(item, standIn))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, shortened(inner, standIn)]))
}

function standIn(): string {
  const value: unknown = JSON.parse(shortenLongStrings(Buffer.from(`["${'a'.repeat(LONG)}"]`), 1e6) ?? '[]')
  return Array.isArray(value) ? String(value[0]) : ''
}

describe('shortenLongStrings', () => {
  it('replaces long values and nothing else', () => {
    // Pieces that make the end of a string hard to find, and lengths around the limit.
    const piece = fc.constantFrom('a', '"', '\\', '\\"', 'é', '😀', '\n', '{', ':', 'x'.repeat(70))
    const filler = fc.constantFrom(0, 0, 0, 60, 64, 65, 4090, 4095, 4096, 4097, 9000)
    const text = fc.tuple(fc.array(piece, { maxLength: 8 }), filler, fc.constantFrom('a', '\\', '"', 'é'))
    const string = text.map(([parts, count, fill]) => parts.join('') + fill.repeat(count) + parts.join(''))
    const value = fc.oneof(string, fc.integer(), fc.array(string, { maxLength: 3 }), fc.constant(null))
    fc.assert(
      fc.property(fc.dictionary(string, value, { maxKeys: 5 }), fc.constantFrom(0, 2), (object, indent) => {
        const json = Buffer.from(JSON.stringify(object, undefined, indent))
        assert.deepEqual(JSON.parse(shortenLongStrings(json, 1e9) ?? ''), shortened(object, standIn()))
      }),
      { numRuns: 300 },
    )
  })

  it('keeps long names, with space before the colon too', () => {
    const name = 'n'.repeat(LONG)
    const text = shortenLongStrings(Buffer.from(`{"${name}" \n:"${'v'.repeat(LONG)}"}`), 1e6)
    assert.deepEqual(Object.keys(JSON.parse(text ?? '{}')), [name])
    assert.ok((text ?? '').length < LONG + 1000)
  })

  it('gives up when too much is left', () => {
    const json = Buffer.from(JSON.stringify(['b'.repeat(LONG - 1), 'b'.repeat(LONG - 1), 'a'.repeat(1e6)]))
    assert.equal(shortenLongStrings(json, 8000), undefined)
    assert.notEqual(shortenLongStrings(json, 10_000), undefined)
  })
})

describe('shortenKnownStrings', () => {
  const finder = StringFinder.make()

  /** The same of a value in the middle of a message that came in parts. */
  function shortenedInParts(json: Buffer, lengthMax: number): string | undefined {
    const line = toLine(Buffer.concat([Buffer.from('{"a":'), json, Buffer.from('}')]))
    assert.ok(finder !== undefined)
    finder.start()
    finder.push(line)
    const head = [line.subarray(0, 7), line.subarray(7, 2000)].filter((part) => part.length > 0)
    const long = new LongLine(head, toLine(line.subarray(2000)), finder.finish())
    const value = new LongValue(long, { start: 5, end: line.length - 1 })
    assert.ok(value.strings !== undefined)
    assert.equal(value.first, json[0])
    return shortenKnownStrings(value, value.strings, lengthMax)
  }

  it('makes of strings that were found what it makes of strings that it has to find', () => {
    const piece = fc.constantFrom('a', '"', '\\', 'é', '😀', '\n', '{', ':', 'x'.repeat(70))
    const length = fc.constantFrom(0, 3, 1000, 1020, 1024, 2000, 4090, 4095, 4096, 4097, 9000)
    const text = fc.tuple(fc.array(piece, { maxLength: 8 }), length)
    const string = text.map(([parts, count]) => parts.join('') + 'z'.repeat(count))
    const value = fc.oneof(string, fc.integer(), fc.array(string, { maxLength: 3 }))
    fc.assert(
      fc.property(fc.dictionary(fc.constantFrom('a', 'b', 'c'), value), (object) => {
        const json = Buffer.from(JSON.stringify(object))
        assert.equal(shortenedInParts(json, 1e9), shortenLongStrings(json, 1e9))
      }),
      { numRuns: 300 },
    )
  })

  it('gives up when too much is left', () => {
    const json = Buffer.from(JSON.stringify(['b'.repeat(LONG - 1), 'b'.repeat(LONG - 1), 'a'.repeat(1e6)]))
    assert.equal(shortenedInParts(json, 8000), undefined)
    assert.notEqual(shortenedInParts(json, 10_000), undefined)
  })
})
