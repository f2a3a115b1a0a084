// What is kept comes back as it was, or not at all.

import assert from 'node:assert/strict'
import { Buffer } from 'node:buffer'
import { createHash } from 'node:crypto'
import { describe, test } from 'node:test'
import * as fc from 'fast-check'
import { decodeKept, encodeKept } from '../../src/kept/format.js'
import { listKinds } from '../../src/mcp/lists.js'
import type { ListKind } from '../../src/mcp/methods/method-row.js'
import type { KeptFacts } from '../../src/upstream/contracts/kept.js'
import { numRuns } from '../properties/runs.js'
import { factsOf, inText } from './support/facts.js'

const seal = (content: Uint8Array): string => createHash('sha256').update(content).digest('hex')
const LARGE = 1024 * 1024

const json = fc
  .tuple(fc.jsonValue({ maxDepth: 2 }), fc.constantFrom('', ' ', '\n'))
  .map(([value, space]) => Buffer.from(`${JSON.stringify(value)}${space}`))
const lists = fc
  .array(fc.tuple(fc.constantFrom(...listKinds), fc.array(json, { maxLength: 5 })))
  .map((entries) => new Map<ListKind, readonly Uint8Array[]>(entries))
const facts: fc.Arbitrary<KeptFacts> = fc.record({
  answered: fc.boolean(),
  description: fc.option(fc.record({ handshake: json, lists, isShy: fc.boolean() }), { nil: undefined }),
})
const sets = fc
  .array(fc.tuple(fc.string({ unit: 'grapheme' }), facts), { maxLength: 4 })
  .map((entries) => new Map(entries))

type Lists = ReadonlyMap<ListKind, readonly Uint8Array[]>

function inOrder(all: Lists): Lists {
  return new Map(listKinds.flatMap((kind) => (all.has(kind) ? [[kind, all.get(kind) ?? []] as const] : [])))
}

function withOrder([set, { answered, description }]: [string, KeptFacts]): [string, KeptFacts] {
  return [
    set,
    { answered, description: description && { ...description, lists: inOrder(description.lists) } },
  ]
}

/** In text, with the lists in one order. */
function sorted(all: ReadonlyMap<string, KeptFacts> | undefined): unknown {
  return inText(all && new Map([...all].map(withOrder)))
}

function keptTools(handshake: Uint8Array, tools: Uint8Array[]): Buffer {
  const description = { handshake, lists: new Map([['tools' as const, tools]]), isShy: false }
  const all = { answered: true, description }
  return encoded(new Map([['', all]]))
}

const otherSeal = (content: Uint8Array): string => seal(Buffer.concat([content, Buffer.from('other')]))

function encoded(all: ReadonlyMap<string, KeptFacts>): Buffer {
  return encodeKept(all, seal, LARGE) ?? assert.fail('it is not too long')
}

describe('what is kept of a server', () => {
  test('comes back byte for byte', () => {
    fc.assert(
      fc.property(sets, (all) => {
        assert.deepEqual(sorted(decodeKept(encoded(all), seal)), sorted(all))
      }),
      { numRuns: numRuns(300) },
    )
  })

  test('is nothing once any byte of it is another', () => {
    fc.assert(
      fc.property(sets, fc.nat(), fc.integer({ min: 1, max: 255 }), (all, at, flip) => {
        const bytes = encoded(all)
        const index = at % bytes.length
        bytes[index] = (bytes[index] ?? 0) ^ flip
        assert.equal(decodeKept(bytes, seal), undefined)
      }),
      { numRuns: numRuns(300) },
    )
  })

  test('is nothing when a part of it is missing or there is more', () => {
    const bytes = encoded(new Map([['roots', factsOf('a', 'b')]]))
    for (let length = 0; length < bytes.length; length++)
      assert.equal(decodeKept(bytes.subarray(0, length), seal), undefined, `${length} bytes`)
    assert.equal(decodeKept(Buffer.concat([bytes, Buffer.from('x')]), seal), undefined)
  })

  test('is nothing for random bytes, also where their checksum is right', () => {
    const words = fc.constantFrom(
      'set',
      'answered',
      'silent',
      'handshake',
      ...listKinds,
      '0',
      '1',
      '2',
      '-1',
      '9'.repeat(20),
      '',
    )
    const line = fc.array(words, { maxLength: 12 }).map((all) => all.join(' '))
    const content = fc.oneof(
      fc.uint8Array().map((bytes) => Buffer.from(bytes)),
      fc.tuple(line, fc.string()).map(([head, rest]) => Buffer.from(`${head}\n${rest}`)),
    )
    fc.assert(
      fc.property(content, (bytes) => {
        decodeKept(bytes, seal)
        const sealed = Buffer.concat([Buffer.from(`mcps-proxy-kept 1 ${seal(bytes)} `), bytes])
        const found = decodeKept(sealed, seal)
        if (found !== undefined) assert.deepEqual(sorted(decodeKept(encoded(found), seal)), sorted(found))
      }),
      { numRuns: numRuns(300) },
    )
  })

  test('is not written when it is longer than the limit', () => {
    const all = new Map([['', factsOf('a')]])
    const { length } = encoded(all)
    assert.equal(encodeKept(all, seal, length)?.length, length)
    assert.equal(encodeKept(all, seal, length - 1), undefined)
  })

  const deep = `${'['.repeat(129)}${']'.repeat(129)}`
  const notJson: [string, Buffer][] = [
    ['no JSON', Buffer.from('{')],
    ['two values', Buffer.from('{}{}')],
    ['nothing', Buffer.from('')],
    ['no UTF-8', Buffer.from([0x22, 0xff, 0x22])],
    ['too deep', Buffer.from(deep)],
  ]
  for (const [title, item] of notJson) {
    test(`is nothing where an item is ${title}`, () => {
      const { description } = factsOf('a')
      assert(description)
      assert.notEqual(decodeKept(keptTools(description.handshake, [Buffer.from('{}')]), seal), undefined)
      assert.equal(decodeKept(keptTools(description.handshake, [Buffer.from('{}'), item]), seal), undefined)
      assert.equal(decodeKept(keptTools(item, []), seal), undefined)
    })
  }

  test('is nothing under another name', () => {
    assert.equal(decodeKept(encoded(new Map([['', factsOf('a')]])), otherSeal), undefined)
  })
})
