import assert from 'node:assert/strict'
import { Buffer } from 'node:buffer'
import { describe, test } from 'node:test'
import { FileText } from '../../src/sandbox/files.js'

const PIECE_BYTES = 64 * 1024

const beforeEdge = 'a'.repeat(PIECE_BYTES - 1)

const cases: readonly (readonly [title: string, content: Buffer, encoding: 'utf8' | 'base64'])[] = [
  ['nothing', Buffer.alloc(0), 'utf8'],
  ['quotes, controls and separators', Buffer.from('"\\\u0001\n\u2028\u007f'), 'utf8'],
  ['one piece', Buffer.from(`${beforeEdge}b`), 'utf8'],
  ['a character on the border of two pieces', Buffer.from(`${beforeEdge}é`), 'utf8'],
  ['a surrogate pair on the border of two pieces', Buffer.from(`${beforeEdge}😀"`), 'utf8'],
  ['a NUL', Buffer.from('a\0'), 'base64'],
  ...[-1, 0, 1, 2, 3].map(
    (more) =>
      [`${more} bytes more than two pieces`, Buffer.alloc(2 * PIECE_BYTES + more, 0xff), 'base64'] as const,
  ),
]

describe('the content of a file', () => {
  for (const [title, content, encoding] of cases)
    test(`is written as JSON.stringify writes it: ${title}`, async () => {
      const file = new FileText(content)
      // A path may look like the place of the text.
      const path = JSON.stringify(file)
      const [one, other] = [file, content.toString(encoding)].map((data) => {
        return { content: [{ text: data }], path, more: { path, data } }
      })
      assert.equal(file.encoding, encoding)
      assert.equal(Buffer.concat(await file.writeIn(one)).toString(), JSON.stringify(other))
    })

  test('is written in one piece for each turn of the event loop', async () => {
    let turns = 0
    let isWritten = false
    const count = (): void => {
      turns++
      if (!isWritten) setImmediate(count)
    }
    setImmediate(count)
    await new FileText(Buffer.alloc(10 * PIECE_BYTES, 'a')).writeIn({})
    isWritten = true
    assert(turns >= 9, `${turns} turns`)
  })
})
