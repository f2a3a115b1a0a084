import assert from 'node:assert/strict'
import { test } from 'node:test'
import { toLine } from '../../src/jsonrpc/line.js'
import { stringAt } from '../../src/jsonrpc/text.js'

const strings: [json: string, text: string | undefined][] = [
  ['""', ''],
  ['"abc"', 'abc'],
  ['"é😀\u2028"', 'é😀\u2028'],
  ['"\\u00e9\\n\\""', 'é\n"'],
  ['"\\ud800"', '\ud800'],
  ['1', undefined],
  ['null', undefined],
  ['{}', undefined],
]

test('the text of a JSON string', () => {
  for (const [json, text] of strings) {
    const line = toLine(json)
    const span = { start: 0, end: line.length }
    assert.equal(stringAt(line, span), text, json)
  }
  assert.equal(stringAt(toLine('""'), undefined), undefined)
})
