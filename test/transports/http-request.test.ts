// Valid and invalid requests of clients. Chunks make no difference, and no request is read that Node's server would
// read differently.

import assert from 'node:assert/strict'
import { type IncomingMessage, createServer } from 'node:http'
import { Duplex } from 'node:stream'
import { test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { array, assert as check, asyncProperty, constantFrom, nat, property, uniqueArray } from 'fast-check'
import { requestReader } from '../../src/transports/http1/reader.js'
import { numRuns } from '../properties/runs.js'
import { HttpSyntaxError, type RequestHead } from '../../src/transports/http1/head.js'
import { httpScraps, spoil, spoilingsWith } from './support/spoil.js'

const POST = 'POST /mcp HTTP/1.1\r\nHost: h\r\n'
const chunked = `${POST}Transfer-Encoding: chunked\r\n\r\n`
const long = 'x'.repeat(9000)

/** The reading of a POST with these fields and this body. */
const posted = (fields: string, body: string): string => `POST /mcp ${fields} "${body}"`
const inChunks = (body: string): string => posted('host=h,transfer-encoding=chunked', body)
const a = posted('host=h,content-length=1', 'a')

/** One line in `read` for each complete request. */
const well: readonly (readonly [name: string, raw: string, read: readonly string[]])[] = [
  ['no body', 'GET /health HTTP/1.1\r\nHost: h\r\n\r\n', ['GET /health host=h ""']],
  ['a length', `${POST}Content-Length: 5\r\n\r\nhello`, ['POST /mcp host=h,content-length=5 "hello"']],
  ['a length of nothing', `${POST}Content-Length: 0\r\n\r\n`, ['POST /mcp host=h,content-length=0 ""']],
  ['chunks', `${chunked}5\r\nhello\r\n6\r\n world\r\n0\r\n\r\n`, [inChunks('hello world')]],
  [
    'many chunks, and the same again',
    `${chunked}${'1\r\na\r\n'.repeat(100)}0\r\n\r\n`.repeat(2),
    Array.from({ length: 2 }, () => `POST /mcp host=h,transfer-encoding=chunked "${'a'.repeat(100)}"`),
  ],
  ['several', `${POST}Content-Length: 1\r\n\r\naGET / HTTP/1.1\r\n\r\n`, [a, 'GET /  ""']],
  ['the same again', `${POST}Content-Length: 1\r\n\r\na`.repeat(3), [a, a, a]],
  [
    'empty lines before and behind',
    `\r\n\r\n${POST}Content-Length: 1\r\n\r\na\r\nGET / HTTP/1.1\r\n\r\n\r\n`,
    [a, 'GET /  ""'],
  ],
  ['spaces around a value', 'GET / HTTP/1.1\r\nHost: \t h \t\r\n\r\n', ['GET / host=h ""']],
  ['an absolute target', 'GET http://h/x?y HTTP/1.1\r\n\r\n', ['GET http://h/x?y  ""']],
  ['HTTP/1.0', 'GET / HTTP/1.0\r\n\r\n', ['GET /  ""']],
  ['a body in 1.0', 'POST /mcp HTTP/1.0\r\nContent-Length: 2\r\n\r\nhi', [posted('content-length=2', 'hi')]],
  [
    'nothing behind HTTP/1.0',
    'GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\nGET / HTTP/1.1\r\n\r\n',
    ['GET / connection=keep-alive ""'],
  ],
  ['a long body', `${POST}Content-Length: 9000\r\n\r\n${long}`, [posted('host=h,content-length=9000', long)]],
]

const refused: readonly (readonly [name: string, raw: string])[] = [
  ['an empty line in LF before', '\nGET / HTTP/1.1\r\n\r\n'],
  ['no version', 'GET /\r\n\r\n'],
  ['HTTP/2', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'],
  ['TLS', '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n'],
  ['another method', 'BREW / HTTP/1.1\r\n\r\n'],
  ['a tunnel', 'CONNECT h:80 HTTP/1.1\r\n\r\n'],
  ['two spaces', 'GET  / HTTP/1.1\r\n\r\n'],
  ['a space behind the line', 'GET / HTTP/1.1 \r\n\r\n'],
  ['a control character in the target', 'GET /\x01 HTTP/1.1\r\n\r\n'],
  ['a line that ends in LF', 'GET / HTTP/1.1\nHost: h\r\n\r\n'],
  ['lines that end in LF', 'GET / HTTP/1.1\nHost: h\n\n'],
  ['a line that ends in CR', 'GET / HTTP/1.1\rHost: h\r\n\r\n'],
  ['a space before a colon', 'GET / HTTP/1.1\r\nHost : h\r\n\r\n'],
  ['a line that goes on', 'GET / HTTP/1.1\r\nHost: h\r\n x\r\n\r\n'],
  ['a line without a colon', 'GET / HTTP/1.1\r\nHost\r\n\r\n'],
  ['a name that is none', 'GET / HTTP/1.1\r\n: h\r\n\r\n'],
  ['NUL in a value', 'GET / HTTP/1.1\r\nHost: h\0\r\n\r\n'],
  ['two lengths', `${POST}Content-Length: 1\r\nContent-Length: 1\r\n\r\na`],
  ['a list of lengths', `${POST}Content-Length: 1, 1\r\n\r\na`],
  ['a length with a sign', `${POST}Content-Length: +1\r\n\r\na`],
  ['a length of too many digits', `${POST}Content-Length: 0000000000000001\r\n\r\na`],
  ['a length and chunks', `${POST}Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`],
  ['chunks in HTTP/1.0', 'POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n'],
  ['another coding', `${POST}Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n`],
  ['two codings', `${POST}Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`],
  ['a size that is no number', `${chunked}x\r\n`],
  ['a size that is too large', `${chunked}fffffffffffffffff\r\n`],
  ['no size', `${chunked}\r\n`],
  ['a size that ends in LF', `${chunked}1\na\r\n0\r\n\r\n`],
  ['a chunk that is longer than its size', `${chunked}1\r\nab\r\n0\r\n\r\n`],
  ['a chunk that ends in LF', `${chunked}1\r\na\n0\r\n\r\n`],
  ['a trailer', `${chunked}0\r\na: b\r\n\r\n`],
  ['an extension of a chunk', `${chunked}1;a=b\r\na\r\n0\r\n\r\n`],
  ['a quote in an authority', 'GET http://h"/ HTTP/1.1\r\n\r\n'],
  ['a backslash in an authority', 'GET http://h\\@i/ HTTP/1.1\r\n\r\n'],
  ['a fragment behind an authority', 'GET http://h#@i/ HTTP/1.1\r\n\r\n'],
  ['no authority', 'GET http:///x HTTP/1.1\r\n\r\n'],
  ['a target that is no path', 'GET x/y HTTP/1.1\r\n\r\n'],
  ['too many fields', `GET / HTTP/1.1\r\n${'a: b\r\n'.repeat(101)}\r\n`],
  ['too long a head', `GET / HTTP/1.1\r\na: ${'b'.repeat(17_000)}\r\n\r\n`],
  ['too long a head without an end', `GET / HTTP/1.1\r\na: ${'b'.repeat(17_000)}`],
  ['too long a size', `${chunked}${'0'.repeat(100)}`],
]

for (const [name, raw, read] of [...well, ...refused.map((each) => [...each, ['refused']] as const)])
  test(`a request is read, or refused: ${name}`, () => {
    assert.deepEqual(readByUs(raw, []), read)
    check(
      property(uniqueArray(nat({ max: raw.length }), { maxLength: 12 }), (cuts) => {
        assert.deepEqual(readByUs(raw, cuts), read)
      }),
      { numRuns: 50 },
    )
    const everywhere = raw.length < 1000 ? Array.from(raw, (_, at) => at) : []
    assert.deepEqual(readByUs(raw, everywhere), read)
  })

test('what a request is, the reader of Node’s server says too', async () => {
  await check(
    asyncProperty(requests, spoilings, async (parts, spoilt) => {
      const raw = spoil(parts.join(''), spoilt)
      const read = readByUs(raw, []).filter((line) => line !== 'refused')
      // Node drops bytes in the same packet as an ignored upgrade request.
      const upgrade = read.findIndex((line) => line.includes('upgrade='))
      const ours = upgrade < 0 ? read : read.slice(0, upgrade + 1)
      const theirs = await readByNode(raw)
      assert.deepEqual(ours, theirs.slice(0, ours.length), JSON.stringify([raw, ours, theirs]))
    }),
    { numRuns: numRuns(1000) },
  )
})

const requests = array(
  constantFrom(
    'GET / HTTP/1.1\r\nHost: h\r\n\r\n',
    'POST /mcp HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nhello',
    'POST /mcp HTTP/1.1\r\nHost: h\r\nContent-Length: 35\r\nX: y\r\n\r\nGET /hidden HTTP/1.1\r\nHost: h\r\n\r\nxx',
    `${chunked}5\r\nhello\r\n0\r\n\r\n`,
    `${chunked}23\r\nGET /hidden HTTP/1.1\r\nHost: h\r\n\r\nxx\r\n1\r\nx\r\n0\r\n\r\n`,
    'GET http://h:80/x?y HTTP/1.1\r\nHost: h\r\n\r\n',
    'DELETE /mcp HTTP/1.1\r\nConnection: close\r\nAccept: a, b\r\n\r\n',
    'OPTIONS * HTTP/1.0\r\nConnection: keep-alive\r\n\r\n',
    'POST /mcp HTTP/1.0\r\nContent-Length: 5\r\n\r\nhello',
    'POST /mcp HTTP/1.0\r\nContent-Length: 23\r\nConnection: keep-alive\r\n\r\nGET /hidden HTTP/1.0\r\n\r\n',
  ),
  { minLength: 1, maxLength: 3 },
)

const spoilings = spoilingsWith([
  ...httpScraps,
  'Expect: 100-continue\r\n',
  '@',
  '[',
  'http://',
  ';a=b',
  ';"',
  'Host: i\r\n',
  'Trailer: Content-Length\r\n',
  'Connection: keep-alive\r\n',
  'GET ',
])

function readByUs(raw: string, cuts: readonly number[]): string[] {
  const bytes = Buffer.from(raw, 'latin1')
  const read: string[] = []
  let head: RequestHead | undefined
  let body = ''
  const sink = {
    head: (read: RequestHead, whole: Buffer | undefined) => {
      head = read
      body = whole?.toString('latin1') ?? ''
    },
    data: (chunk: Buffer) => (body += chunk.toString('latin1')),
  }
  const reader = requestReader({ headersBytesMax: 16 * 1024, headersMax: 100 })
  const places = [...cuts.toSorted((a, b) => a - b), bytes.length]
  let from = 0
  try {
    for (const to of places) {
      let rest: Buffer = bytes.subarray(from, to)
      from = to
      while (rest.length > 0) {
        rest = reader.take(rest, sink)
        if (!reader.isWhole) continue
        if (head !== undefined) read.push(lineOf(head, body))
        if (head?.keepsAlive === false) return read
        reader.next()
      }
    }
  } catch (error) {
    assert.ok(error instanceof HttpSyntaxError, String(error))
    read.push('refused')
  }
  return read
}

function lineOf(head: RequestHead, body: string): string {
  const { names, values } = head.fields
  const fields = names.map((name, at) => `${name}=${values[at]}`)
  return `${head.method} ${head.target} ${fields.join(',')} ${JSON.stringify(body)}`
}

async function readByNode(raw: string): Promise<string[]> {
  const came: { readonly request: IncomingMessage; body: string }[] = []
  const server = createServer({ requireHostHeader: false }, (request, response) => {
    const one = { request, body: '' }
    came.push(one)
    request.on('data', (chunk: Buffer) => (one.body += chunk.toString('latin1')))
    request.on('error', () => undefined)
    response.on('error', () => undefined)
    request.on('end', () => response.end())
  })
  for (const name of ['checkContinue', 'checkExpectation'])
    server.on(name, (request, response) => server.emit('request', request, response))
  server.on('clientError', () => undefined)
  const socket = new Duplex({ read: () => undefined, write: (_chunk, _encoding, done) => done() })
  socket.on('error', () => undefined)
  server.emit('connection', socket)
  socket.push(Buffer.from(raw, 'latin1'))
  for (let n = 0; n < 8; n++) await turn()
  const whole = came.filter(({ request }) => request.complete)
  const lines = whole.map(({ request, body }) => {
    const fields = Array.from(
      { length: request.rawHeaders.length / 2 },
      (_, i) => `${request.rawHeaders[2 * i]?.toLowerCase()}=${request.rawHeaders[2 * i + 1]}`,
    )
    return `${request.method} ${request.url} ${fields.join(',')} ${JSON.stringify(body)}`
  })
  socket.destroy()
  server.close()
  return lines
}
