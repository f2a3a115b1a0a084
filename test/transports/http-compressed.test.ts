// Answers that are compressed although every request asks for none: a call fails with the reason and the remedy.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib'
import { answerOf, connect, scripted } from './support/scripted.js'

const codings: readonly [coding: string, compress: (text: string) => Buffer][] = [
  ['gzip', gzipSync],
  ['X-GZip', gzipSync],
  ['deflate', deflateSync],
  ['br', brotliCompressSync],
  ['zstd', (text) => Buffer.from(text)],
  ['gzip, br', (text) => Buffer.from(text)],
]

for (const [coding, compress] of codings)
  for (const type of ['application/json', 'text/event-stream'])
    test(`${type} compressed with ${coding} is refused`, async (t) => {
      const { url, seen } = await scripted(t, ({ id }, response) => {
        const answer = answerOf(id)
        response.writeHead(200, { 'content-type': type, 'content-encoding': coding })
        response.end(compress(type === 'application/json' ? answer : `data: ${answer}\n\n`))
      })
      const { heard, request } = connect(t, url)
      request(1, 'work')
      await heard.until(() => heard.messages.length + heard.failures.length === 1)
      assert.deepEqual(heard.messages, [])
      const said = heard.failures[0]?.error.message ?? ''
      assert.ok(said.startsWith(`its answer is compressed (${coding}) although none is asked for`), said)
      assert.equal(seen[0]?.headers['accept-encoding'], 'identity')
    })

test('an answer whose coding is none is read', async (t) => {
  const { url } = await scripted(t, ({ id }, response) => {
    response.writeHead(200, { 'content-type': 'application/json', 'content-encoding': 'identity' })
    response.end(answerOf(id))
  })
  const { heard, request } = connect(t, url)
  request(1, 'work')
  await heard.until(() => heard.messages.length + heard.failures.length === 1)
  assert.deepEqual(heard.messages, [answerOf(1)])
})
