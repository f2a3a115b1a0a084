// Answers that are compressed though nobody asked for it.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  brotliCompressSync,
  constants,
  createBrotliCompress,
  createGzip,
  deflateRawSync,
  deflateSync,
  gzipSync,
} from 'node:zlib'
import { type Opened, answerOf, connect, scripted, testLimits } from './support/scripted.js'

type Compress = (text: string) => Buffer

const codings: readonly [title: string, coding: string, compress: Compress][] = [
  ['gzip', 'gzip', gzipSync],
  ['gzip by its old name', 'X-GZip', gzipSync],
  ['deflate', 'deflate', deflateSync],
  ['deflate without what belongs around it', 'deflate', deflateRawSync],
  ['br', 'br', brotliCompressSync],
]

const BIG = JSON.stringify({ text: 'y'.repeat(100_000) })

/** What became of one request. */
async function heardOf({
  heard,
  request,
}: Opened): Promise<readonly [message: string | undefined, failure: string | undefined]> {
  request(1, 'work')
  await heard.until(() => heard.messages.length + heard.failures.length + heard.oversize.length === 1)
  return [heard.messages[0], heard.failures[0]?.error.message]
}

for (const [title, coding, compress] of codings)
  for (const type of ['application/json', 'text/event-stream'])
    test(`${type}, compressed: ${title}`, async (t) => {
      const { url, seen } = await scripted(t, ({ id }, response) => {
        const answer = answerOf(id, BIG)
        response.writeHead(200, { 'content-type': type, 'content-encoding': coding })
        response.end(compress(type === 'application/json' ? answer : `data: ${answer}\n\n`))
      })
      assert.deepEqual(await heardOf(connect(t, url)), [answerOf(1, BIG), undefined])
      // Nothing may be held back on the way to be compressed.
      assert.equal(seen[0]?.headers['accept-encoding'], 'identity')
    })

for (const coding of ['gzip', 'br'])
  test(`an event that is compressed with ${coding} is heard when it is sent, and the stream goes on`, async (t) => {
    let goOn: (() => void) | undefined
    const { url } = await scripted(t, ({ id }, response) => {
      const gzip = coding === 'gzip'
      const compress = gzip ? createGzip() : createBrotliCompress()
      const flush = gzip ? constants.Z_SYNC_FLUSH : constants.BROTLI_OPERATION_FLUSH
      response.writeHead(200, { 'content-type': 'text/event-stream', 'content-encoding': coding })
      compress.pipe(response)
      compress.write('data: {"jsonrpc":"2.0","method":"notifications/x"}\n\n')
      compress.flush(flush)
      goOn = () => compress.end(`data: ${answerOf(id)}\n\n`)
    })
    const { heard, request } = connect(t, url)
    request(1, 'work')
    await heard.until(() => heard.messages.length === 1)
    goOn?.()
    await heard.until(() => heard.messages.length === 2)
    assert.equal(heard.messages[1], answerOf(1))
  })

const broken: readonly [title: string, type: string, coding: string, body: Buffer, told: RegExp][] = [
  [
    'JSON that is none',
    'application/json',
    'gzip',
    Buffer.from('plain'),
    /^its answer cannot be read: what is compressed with gzip is broken: /,
  ],
  [
    'JSON that is cut',
    'application/json',
    'gzip',
    gzipSync('{}').subarray(0, 15),
    /what is compressed with gzip is broken/,
  ],
  [
    'events that are none',
    'text/event-stream',
    'br',
    Buffer.from('plain'),
    /what is compressed with br is broken/,
  ],
  [
    'events that are cut',
    'text/event-stream',
    'gzip',
    gzipSync('data: x').subarray(0, 15),
    /what is compressed with gzip is broken/,
  ],
  [
    'another coding',
    'application/json',
    'zstd',
    Buffer.from('x'),
    /is compressed \(zstd\), which was not asked for and cannot be read/,
  ],
  ['two codings', 'application/json', 'gzip, br', Buffer.from('x'), /is compressed \(gzip, br\)/],
]
for (const [title, type, coding, body, told] of broken)
  test(`what is broken is said to be so: ${title}`, async (t) => {
    const { url } = await scripted(t, (_seen, response) => {
      response.writeHead(200, { 'content-type': type, 'content-encoding': coding }).end(body)
    })
    const [message, failure] = await heardOf(connect(t, url))
    assert.equal(message, undefined)
    assert.match(failure ?? '', told)
  })

for (const type of ['application/json', 'text/event-stream'])
  test(`few bytes do not become more than an answer may have: ${type}`, async (t) => {
    const limits = {
      ...testLimits,
      answerBytesMax: 100_000,
      sse: { ...testLimits.sse, dataBytesMax: 100_000 },
    }
    const { url } = await scripted(t, ({ id }, response) => {
      const answer = answerOf(id, JSON.stringify('y'.repeat(50_000_000)))
      response.writeHead(200, { 'content-type': type, 'content-encoding': 'gzip' })
      response.end(gzipSync(type === 'application/json' ? answer : `data: ${answer}\n\n`))
    })
    const opened = connect(t, url, { limits })
    assert.deepEqual(await heardOf(opened), [undefined, undefined])
    assert.equal(opened.heard.oversize.length, 1)
  })
