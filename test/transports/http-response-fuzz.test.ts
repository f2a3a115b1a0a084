// Responses with scraps in them: nothing is read that Node's client refuses, or reads in another way.
//
// A failure prints its seed. FC_RUNS=100 tries a hundred times as many.

import assert from 'node:assert/strict'
import { type IncomingMessage, request } from 'node:http'
import { Duplex } from 'node:stream'
import { test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { assert as check, array, asyncProperty, boolean, constantFrom, tuple } from 'fast-check'
import { numRuns } from '../properties/runs.js'
import { type ResponseHead, ResponseReader } from '../../src/transports/http-client/response-reader.js'
import { HttpSyntaxError } from '../../src/transports/http1/grammar.js'
import { httpScraps, spoil, spoilingsWith } from './support/spoil.js'

const OK = 'HTTP/1.1 200 OK\r\n'
const chunked = `${OK}Transfer-Encoding: chunked\r\nContent-Type: application/json\r\n\r\n`
const hidden = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nno'

/** Responses that are whole. */
const responses = constantFrom(
  `${OK}Content-Type: application/json\r\nContent-Length: 5\r\n\r\nhello`,
  `${OK}Content-Length: ${hidden.length}\r\nX: y\r\n\r\n${hidden}`,
  `${chunked}5\r\nhello\r\n0\r\n\r\n`,
  `${chunked}${hidden.length.toString(16)}\r\n${hidden}\r\n1;a=b;c="d\\"e"\r\nx\r\n0\r\nA: b\r\n\r\n`,
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

/** What is compared: status, fields and body of a response that came whole. */
type Read = string | undefined

interface Seen {
  head: ResponseHead | undefined
  body: string
  isWhole: boolean
}

function readByUs(raw: string, isEnded: boolean): Read {
  const seen: Seen = { head: undefined, body: '', isWhole: false }
  const reader = new ResponseReader({
    paused: false,
    head: (head) => {
      seen.head = head
    },
    data: (chunk) => {
      seen.body += chunk.toString('latin1')
    },
    end: () => {
      seen.isWhole = true
    },
  })
  reader.begin()
  try {
    // What came behind it closes the connection: it is nobody's answer.
    reader.push(Buffer.from(raw, 'latin1'))
  } catch (error) {
    assert.ok(error instanceof HttpSyntaxError, String(error))
    return undefined
  }
  if (isEnded && reader.endsWithConnection) seen.isWhole = true
  const { head } = seen
  if (!seen.isWhole || head === undefined) return undefined
  return line(head.status, [...head.fields], seen.body)
}

function line(status: number, fields: readonly (readonly [string, string])[], body: string): string {
  return `${status} ${fields.map(([name, value]) => `${name}=${value}`).join(',')} ${JSON.stringify(body)}`
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
  const fields = Array.from({ length: rawHeaders.length / 2 }, (_, i) => {
    return [rawHeaders[2 * i]?.toLowerCase() ?? '', rawHeaders[2 * i + 1] ?? ''] as const
  })
  return line(statusCode, fields, body)
}

test('what a response is, Node’s client says too', { timeout: 600_000 }, async () => {
  await check(
    asyncProperty(
      tuple(responses, array(responses, { maxLength: 1 })),
      spoilingsWith(scraps),
      boolean(),
      async ([first, more], spoilings, isEnded) => {
        const raw = spoil([first, ...more].join(''), spoilings)
        const ours = readByUs(raw, isEnded)
        if (ours === undefined) return
        const theirs = await readByNode(raw, isEnded)
        assert.equal(ours, theirs, JSON.stringify([raw, isEnded]))
      },
    ),
    { numRuns: numRuns(3000) },
  )
})
