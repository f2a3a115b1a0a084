// The example in bytes of docs/library.md.

import assert from 'node:assert/strict'
import { Buffer } from 'node:buffer'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { readFrame } from '../../src/jsonrpc/frame.js'
import { toLine } from '../../src/jsonrpc/line.js'
import { splice } from '../../src/jsonrpc/splice.js'

test('the request of the page has the spans and becomes the output that the page shows', () => {
  const page = readFileSync(new URL('../../../docs/library.md', import.meta.url), 'utf8')
  const [input = '', output] = [...page.matchAll(/^\{"jsonrpc":"2\.0".*\}$/gm)].map(([line]) => line)
  const frame = readFrame(toLine(input))
  assert.ok(frame.kind === 'request')
  const name = frame.params.members.span('name')
  assert.deepEqual(
    [frame.idSpan, name],
    [
      { start: 22, end: 25 },
      { start: 65, end: 76 },
    ],
  )
  assert.ok(name !== undefined)
  const edits = [
    { ...frame.idSpan, bytes: Buffer.from('7'), why: 'id' },
    { ...name, bytes: Buffer.from('"now"'), why: 'name' },
  ]
  assert.equal(splice(frame.line, edits).toString(), output)
})
