// What a stateless request says of itself, and when the next one says the same.

import { strict as assert } from 'node:assert'
import { describe, test } from 'node:test'
import { readFrame } from '../../src/jsonrpc/frame.js'
import { toLine } from '../../src/jsonrpc/line.js'
import { reservedMeta } from '../../src/mcp/eras/request-context.js'

const prefix = 'io.modelcontextprotocol'
const V = `"${prefix}/protocolVersion":"2026-07-28"`
const C = `"${prefix}/clientCapabilities":{"roots":{}}`
const L = `"${prefix}/logLevel":"info"`

function said(meta: string): string | undefined {
  const frame = readFrame(toLine(`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":${meta}}}`))
  assert(frame.kind === 'request')
  return reservedMeta(frame)
}

const same: readonly (readonly [title: string, meta: string])[] = [
  ['a progress token before it', `{"progressToken":7,${V},${C}}`],
  ['a trace behind it', `{${V},${C},"traceparent":"00-1"}`],
]
const other: readonly (readonly [title: string, meta: string])[] = [
  ['another version', `{"${prefix}/protocolVersion":"2026-07-29",${C}}`],
  ['other capabilities', `{${V},"${prefix}/clientCapabilities":{"roots":{} }}`],
  ['a level', `{${V},${C},${L}}`],
  ['a level behind something else', `{${V},${C},"progressToken":1,${L}}`],
  ['nothing', '{}'],
]

describe('a request says the same of itself', () => {
  for (const [title, meta] of same) test(`with ${title}`, () => assert.equal(said(meta), said(`{${V},${C}}`)))
})

describe('a request says something else of itself', () => {
  for (const [title, meta] of other)
    test(`with ${title}`, () => assert.notEqual(said(meta), said(`{${V},${C}}`)))
})

test('what is in two places is known wherever the rest is', () => {
  assert.equal(said(`{${V},"a":1,${C}}`), said(`{"a":[2],${V},"b":{},${C}}`))
})

test('much is not remembered', () => {
  const long = `"${prefix}/clientInfo":{"name":"${'n'.repeat(4096)}"}`
  assert.equal(said(`{${V},${C},${long}}`), undefined)
})
