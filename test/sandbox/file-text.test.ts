import assert from 'node:assert/strict'
import { Buffer } from 'node:buffer'
import { describe, test } from 'node:test'
import { FileText } from '../../src/sandbox/files.js'

const cases: readonly (readonly [title: string, content: Buffer, encoding: 'utf8' | 'base64'])[] = [
  ['nothing', Buffer.alloc(0), 'utf8'],
  ['quotes, controls and separators', Buffer.from('"\\\u0001\n\u2028\u007f'), 'utf8'],
  ['a surrogate pair', Buffer.from('é😀"'), 'utf8'],
  ['a NUL', Buffer.from('a\0'), 'base64'],
  ['no UTF-8', Buffer.alloc(5, 0xff), 'base64'],
]

describe('the content of a file', () => {
  for (const [title, content, encoding] of cases)
    test(`is written as JSON.stringify writes it: ${title}`, () => {
      const file = new FileText(content)
      // A path may look like the place of the text.
      const path = JSON.stringify(file)
      const [one, other] = [file, content.toString(encoding)].map((data) => {
        return { content: [{ text: data }], path, more: { path, data } }
      })
      assert.equal(file.encoding, encoding)
      assert.equal(Buffer.concat(file.writeIn(one)).toString(), JSON.stringify(other))
    })
})
