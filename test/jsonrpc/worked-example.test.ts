// The example in bytes of docs/library.md.

import assert from 'node:assert/strict'
import { Buffer } from 'node:buffer'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { splice } from '../../src/jsonrpc/splice.js'
import { requestOf } from './support/frames.js'

test('the request of the page has the spans and becomes the output that the page shows', () => {
  const page = readFileSync(new URL('../../../docs/library.md', import.meta.url), 'utf8')
  const [input = '', output] = [...page.matchAll(/^\{"jsonrpc":"2\.0".*\}$/gm)].map(([line]) => line)
  const frame = requestOf(input)
  const name = frame.params.members.span('name')
  const facts = [frame.idSpan, name]
  assert.deepEqual(facts, [
    { start: 22, end: 25 },
    { start: 65, end: 76 },
  ])
  assert.ok(name !== undefined)
  const edits = [
    { ...frame.idSpan, bytes: Buffer.from('7'), why: 'id' },
    { ...name, bytes: Buffer.from('"now"'), why: 'name' },
  ]
  assert.equal(splice(frame.line, edits).toString(), output)
})
