// Valid and invalid responses of servers, in all chunks, and the differences to Node's client.

import assert from 'node:assert/strict'
import { type IncomingMessage, request } from 'node:http'
import { Duplex } from 'node:stream'
import { describe, test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import {
  array,
  asyncProperty,
  boolean,
  assert as check,
  constantFrom,
  nat,
  property,
  tuple,
  uniqueArray,
} from 'fast-check'
import { numRuns } from '../properties/runs.js'
import { responseReader } from '../../src/transports/http1/reader.js'
import { HttpSyntaxError, type ResponseHead } from '../../src/transports/http1/head.js'
import { httpScraps, spoil, spoilingsWith } from './support/spoil.js'

interface More {
  readonly keepsAlive?: boolean
  /** The connection closes after it. */
  readonly ended?: boolean
  /** How Node's client reads it, and why ours differs. */
  readonly unlikeNode?: string
  readonly varies?: true
}

/** `read` is undefined for a response that is refused. */
interface Case extends More {
  readonly name: string
  readonly raw: string
  readonly read: string | undefined
}

const OK = 'HTTP/1.1 200 OK\r\n'
const chunked = `${OK}Transfer-Encoding: chunked\r\n\r\n`

const closing = { keepsAlive: false }
/** The end of a response whose body is `hi`. */
const hi = 'Content-Length: 2\r\n\r\nhi'
const unread = { unlikeNode: 'nobody asked for it, and nobody here could read it' }

/** Valid responses. The connection stays open unless `More` says otherwise. */
const well: readonly (readonly [name: string, raw: string, read: string, more?: More])[] = [
  ['a length', `${OK}Content-Length: 5\r\n\r\nhello`, '200 hello'],
  ['a length of nothing', `${OK}Content-Length: 0\r\n\r\n`, '200 '],
  ['no reason phrase', 'HTTP/1.1 200\r\nContent-Length: 1\r\n\r\nx', '200 x'],
  ['an empty reason phrase', 'HTTP/1.1 200 \r\nContent-Length: 1\r\n\r\nx', '200 x'],
  ['a field in another case', `${OK}cOnTeNt-LeNgTh:5\r\n\r\nhello`, '200 hello'],
  ['spaces around a length', `${OK}Content-Length:  5 \r\n\r\nhello`, '200 hello'],
  ['204 has no body', 'HTTP/1.1 204 No Content\r\n\r\n', '204 '],
  ['304 has no body, but a length', 'HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n', '304 '],
  ['Connection: close', `${OK}Connection: close\r\nContent-Length: 2\r\n\r\nhi`, '200 hi', closing],
  ['Connection: close among others', `${OK}Connection: x, Close\r\n${hi}`, '200 hi', closing],
  ['Connection: close, second field', `${OK}Connection: x\r\nConnection: close\r\n${hi}`, '200 hi', closing],
  ['HTTP/1.0', 'HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nhi', '200 hi', closing],
  ['HTTP/1.0 that would stay', `HTTP/1.0 200 OK\r\nConnection: keep-alive\r\n${hi}`, '200 hi', closing],
  ['until the end', `${OK}Content-Type: x\r\n\r\nall of it`, '200 all of it', { ...closing, ended: true }],
  ['chunks', `${chunked}5\r\nhello\r\n6\r\n world\r\n0\r\n\r\n`, '200 hello world'],
  ['hexadecimal', `${chunked}a\r\n0123456789\r\nA\r\n0123456789\r\n0\r\n\r\n`, '200 01234567890123456789'],
  ['extensions and trailers', `${chunked}5;a=b;c="d"\r\nhello\r\n0;x\r\nA: b\r\nC: d\r\n\r\n`, '200 hello'],
  ['a last chunk with more than one zero', `${chunked}1\r\nx\r\n000\r\n\r\n`, '200 x'],
  [
    'what comes first only says that more will come',
    `HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n${OK}Content-Length: 1\r\n\r\nx`,
    '200 x',
  ],
  ['bytes above ASCII in a field', `${OK}X: \xe9\r\nContent-Length: 1\r\n\r\nx`, '200 x'],
  [
    'many that say that work goes on',
    `${'HTTP/1.1 102 Processing\r\n\r\n'.repeat(200)}${OK}Content-Length: 1\r\n\r\nx`,
    '200 x',
  ],
]

const refused: readonly (readonly [name: string, raw: string, more?: More])[] = [
  ['tabs around a length', `${OK}Content-Length: \t 5 \t\r\n\r\nhello`, { varies: true }],
  ['a field on two lines', `${OK}X: a\r\n b\r\nContent-Length: 1\r\n\r\nx`],
  ['lines that end in LF alone', 'HTTP/1.1 200 OK\nContent-Length: 1\n\nx'],
  ['a body that is cut', `${OK}Content-Length: 5\r\n\r\nhell`, { ended: true }],
  ['chunks that are cut', `${chunked}5\r\nhello\r\n`, { ended: true }],
  ['a head that is cut', `${OK}Content-Le`, { ended: true }],
  ['nothing', '', { ended: true }],
  ['something else', 'SSH-2.0-OpenSSH_9.6\r\n'],
  ['something else without lines', '\x15\x03\x03\x00\x02\x02\x16'],
  ['HTTP/2', 'HTTP/2.0 200 OK\r\nContent-Length: 0\r\n\r\n', { unlikeNode: 'its meaning is unknown' }],
  ['a status of two digits', 'HTTP/1.1 20 OK\r\nContent-Length: 0\r\n\r\n'],
  ['another protocol', 'HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n'],
  ['two lengths', `${OK}Content-Length: 1\r\nContent-Length: 2\r\n\r\nxy`],
  ['the same length twice', `${OK}Content-Length: 1\r\nContent-Length: 1\r\n\r\nx`],
  ['a list of lengths', `${OK}Content-Length: 1, 1\r\n\r\nx`],
  ['a length with a sign', `${OK}Content-Length: +1\r\n\r\nx`],
  ['a length in hexadecimal', `${OK}Content-Length: 0x1\r\n\r\nx`],
  ['an empty length', `${OK}Content-Length:\r\n\r\nx`],
  ['a length and chunks', `${OK}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`],
  ['chunks and a length', `${OK}Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n`],
  ['another coding', `${OK}Transfer-Encoding: gzip\r\n\r\nx`, { ended: true, ...unread }],
  ['a coding below the chunks', `${OK}Transfer-Encoding: gzip, chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n`, unread],
  [
    'a coding twice',
    `${OK}Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
    { unlikeNode: 'chunks within chunks are none' },
  ],
  [
    'chunks in HTTP/1.0',
    'HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
    { unlikeNode: 'a faulty sender (RFC 9112, section 6.1)' },
  ],
  ['a space before the colon', `${OK}Content-Length : 1\r\n\r\nx`],
  ['a field without a colon', `${OK}Content-Length\r\n\r\n`],
  ['a field without a name', `${OK}: x\r\nContent-Length: 0\r\n\r\n`],
  ['a NUL in a field', `${OK}X: a\0b\r\nContent-Length: 0\r\n\r\n`],
  ['a CR in a field', `${OK}X: a\rContent-Length: 1\r\n\r\n`],
  ['a first line that goes on', `${OK} x\r\nContent-Length: 0\r\n\r\n`],
  ['a size that is none', `${chunked}x\r\n`],
  ['an empty size', `${chunked}\r\n`],
  ['a size with a sign', `${chunked}+1\r\nx\r\n0\r\n\r\n`],
  ['a size without end', `${chunked}${'f'.repeat(40)}\r\n`],
  ['a size whose line ends in LF alone', `${chunked}1\nx\r\n0\r\n\r\n`],
  ['a chunk that is longer than its size', `${chunked}1\r\nxy\r\n0\r\n\r\n`],
  ['a head of 20 KB', `${OK}X: ${'x'.repeat(20_000)}\r\nContent-Length: 0\r\n\r\n`],
]

const cases: readonly Case[] = [
  ...well.map(([name, raw, read, more]) => ({ name, raw, read, keepsAlive: true, ...more })),
  ...refused.map(([name, raw, more]) => ({ name, raw, read: undefined, ...more })),
]

/** A complete response. `fields` is set only where it is compared. */
type Read = { readonly status: number; readonly fields: string; readonly body: string } | undefined

const shown = (read: Read): string | undefined => read && `${read.status} ${read.body}`

describe('one response', () => {
  for (const { name, raw, read, ended = false, unlikeNode, varies } of cases)
    test(name, async () => {
      assert.equal(shown(readByUs(raw, ended).read), read)
      if (varies) return
      const byNode = shown(await readByNode(raw, ended))
      if (unlikeNode === undefined) assert.equal(byNode, read, 'Node reads something else')
      else assert.notEqual(byNode, read, 'Node does the same by now')
    })

  test('is the same in whatever chunks it comes', () => {
    const bytes = uniqueArray(nat(300))
    check(
      property(constantFrom(...cases), bytes, ({ raw, read, keepsAlive, ended = false }, cuts) => {
        const seen = readByUs(raw, ended, cuts)
        assert.equal(shown(seen.read), read)
        if (read !== undefined) assert.equal(seen.keepsAlive, keepsAlive)
      }),
      { numRuns: 1000 },
    )
  })

  test('stops where its reader stops, and loses nothing', () => {
    for (const { raw, read, ended = false } of cases.filter((each) => each.read !== undefined))
      assert.equal(shown(readByUs(raw, ended, [], true).read), read)
  })

  // With scraps: a failure prints its seed, and FC_RUNS=100 makes a hundred times as many runs.
  test('is nothing that Node’s client refuses, or reads in another way', { timeout: 600_000 }, async () => {
    await check(
      asyncProperty(
        tuple(responses, array(responses, { maxLength: 1 })),
        spoilingsWith(scraps),
        boolean(),
        async ([first, more], spoilings, isEnded) => {
          const raw = spoil([first, ...more].join(''), spoilings)
          // Bytes behind a response belong to no request, so they close the connection.
          const { read } = readByUs(raw, isEnded, [], false, 'before more')
          if (read !== undefined)
            assert.deepEqual(read, await readByNode(raw, isEnded), JSON.stringify([raw, isEnded]))
        },
      ),
      { numRuns: numRuns(1000) },
    )
  })
})

const hidden = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nno'
const json = `${OK}Transfer-Encoding: chunked\r\nContent-Type: application/json\r\n\r\n`

const responses = constantFrom(
  `${OK}Content-Type: application/json\r\nContent-Length: 5\r\n\r\nhello`,
  `${OK}Content-Length: ${hidden.length}\r\nX: y\r\n\r\n${hidden}`,
  `${json}5\r\nhello\r\n0\r\n\r\n`,
  `${json}${hidden.length.toString(16)}\r\n${hidden}\r\n1\r\nx\r\n0\r\n\r\n`,
  `${OK}Content-Type: text/event-stream\r\n\r\ndata: x\n\n`,
  `${OK}Connection: close\r\nContent-Length: 2\r\n\r\nhi`,
  'HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 2\r\n\r\nhi',
  'HTTP/1.1 204 No Content\r\nA: b\r\n\r\n',
  'HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n',
  `HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n${OK}Content-Length: 1\r\n\r\nx`,
  'HTTP/1.1 404\r\nSet-Cookie: a=b\r\nSet-Cookie: c=d\r\nContent-Length: 0\r\n\r\n',
)

const scraps = [
  ...httpScraps,
  'Trailer: x\r\n',
  'HTTP/1.1 200 OK\r\n',
  'HTTP/1.1 101 x\r\n\r\n',
  'HTTP/1.1 100 x\r\n\r\n',
]

/** Reads the bytes cut at these places. `stopping` pauses after each piece of the response. */
function readByUs(
  raw: string,
  isEnded: boolean,
  cuts: readonly number[] = [],
  stopping = false,
  end: 'of all' | 'before more' = 'of all',
): { readonly read: Read; readonly keepsAlive: boolean | undefined } {
  let head: ResponseHead | undefined
  let body = ''
  let keepsAlive: boolean | undefined
  const reading = { isPaused: false }
  const sink = {
    head: (came: ResponseHead) => {
      head = came
      reading.isPaused = stopping
    },
    data: (chunk: Buffer) => {
      assert.equal(reading.isPaused, false)
      body += chunk.toString('latin1')
      reading.isPaused = stopping
    },
  }
  const reader = responseReader()
  const bytes = Buffer.from(raw, 'latin1')
  const places = [...cuts.filter((cut) => cut < bytes.length).toSorted((a, b) => a - b), bytes.length]
  let rest = Buffer.alloc(0)
  let from = 0
  try {
    for (const to of places) {
      rest = Buffer.concat([rest, bytes.subarray(from, to)])
      from = to
      do {
        reading.isPaused = false
        while (rest.length > 0 && !reading.isPaused && !reader.isWhole)
          rest = Buffer.from(reader.take(rest, sink))
      } while (reading.isPaused)
    }
  } catch (error) {
    assert.ok(error instanceof HttpSyntaxError, String(error))
    return { read: undefined, keepsAlive: undefined }
  }
  if (reader.isWhole) keepsAlive = head?.keepsAlive
  if (isEnded && reader.endsWithConnection) keepsAlive = false
  const isWhole = keepsAlive !== undefined && (rest.length === 0 || end === 'before more')
  const { names = [], values = [] } = head?.fields ?? {}
  const fields = names.map((name, at) => `${name}=${values[at]}`).join()
  return { read: isWhole ? { status: head?.status ?? 0, fields, body } : undefined, keepsAlive }
}

async function readByNode(raw: string, isEnded: boolean): Promise<Read> {
  const socket = new Duplex({ read: () => undefined, write: (_chunk, _encoding, done) => done() })
  socket.on('error', () => undefined)
  let response: IncomingMessage | undefined
  let body = ''
  const asked = request({ host: 'h', createConnection: () => socket }, (came) => {
    response = came
    came.on('data', (chunk: Buffer) => (body += chunk.toString('latin1')))
    came.on('error', () => undefined)
  })
  asked.on('error', () => undefined)
  asked.on('upgrade', () => undefined)
  asked.end()
  await turn()
  socket.push(Buffer.from(raw, 'latin1'))
  if (isEnded) socket.push(null)
  for (let n = 0; n < 4; n++) await turn()
  socket.destroy()
  asked.destroy()
  if (response?.complete !== true) return undefined
  const { rawHeaders, statusCode = 0 } = response
  const fields = Array.from(
    { length: rawHeaders.length / 2 },
    (_, i) => `${rawHeaders[2 * i]?.toLowerCase()}=${rawHeaders[2 * i + 1]}`,
  ).join()
  return { status: statusCode, fields, body }
}
