// Responses as servers write them, well and badly: what is read of them, whatever the chunks they
// come in, and where we differ from the client that Node has.

import assert from 'node:assert/strict'
import { request } from 'node:http'
import { describe, test } from 'node:test'
import { assert as check, constantFrom, nat, property, uniqueArray } from 'fast-check'
import { HttpAgent } from '../../src/transports/http-client/agent.js'
import type { HttpAnswer } from '../../src/transports/http-client/answer.js'
import type { ChannelUser } from '../../src/transports/http-client/channel.js'
import { connectPlain } from '../../src/transports/http-client/connect.js'
import { type ResponseHead, ResponseReader } from '../../src/transports/http-client/response-reader.js'
import { HttpSyntaxError } from '../../src/transports/http1/grammar.js'
import type { Scope } from './support/http.js'
import { rawServer } from './support/raw-server.js'

/** What is read of a response, or that it is refused; `ended`: the connection closes behind it. */
interface Case {
  readonly name: string
  readonly raw: string
  readonly read: string | undefined
  readonly keepsAlive?: boolean
  readonly ended?: boolean
  /** Where Node's client reads it in another way, and why ours does as it does. */
  readonly unlikeNode?: string
  /** Versions of Node differ about it. */
  readonly varies?: true
}

const OK = 'HTTP/1.1 200 OK\r\n'
const chunked = `${OK}Transfer-Encoding: chunked\r\n\r\n`

const cases: readonly Case[] = [
  { name: 'a length', raw: `${OK}Content-Length: 5\r\n\r\nhello`, read: '200 hello', keepsAlive: true },
  { name: 'a length of nothing', raw: `${OK}Content-Length: 0\r\n\r\n`, read: '200 ', keepsAlive: true },
  {
    name: 'no reason phrase',
    raw: 'HTTP/1.1 200\r\nContent-Length: 1\r\n\r\nx',
    read: '200 x',
    keepsAlive: true,
  },
  {
    name: 'an empty reason phrase',
    raw: 'HTTP/1.1 200 \r\nContent-Length: 1\r\n\r\nx',
    read: '200 x',
    keepsAlive: true,
  },
  {
    name: 'a field in another case',
    raw: `${OK}cOnTeNt-LeNgTh:5\r\n\r\nhello`,
    read: '200 hello',
    keepsAlive: true,
  },
  {
    name: 'spaces around a length',
    raw: `${OK}Content-Length:  5 \r\n\r\nhello`,
    read: '200 hello',
    keepsAlive: true,
  },
  {
    name: 'tabs around a length',
    raw: `${OK}Content-Length: \t 5 \t\r\n\r\nhello`,
    read: undefined,
    varies: true,
  },
  { name: '204 has no body', raw: 'HTTP/1.1 204 No Content\r\n\r\n', read: '204 ', keepsAlive: true },
  {
    name: '304 has no body, whatever its length says',
    raw: 'HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n',
    read: '304 ',
    keepsAlive: true,
  },
  {
    name: 'Connection: close',
    raw: `${OK}Connection: close\r\nContent-Length: 2\r\n\r\nhi`,
    read: '200 hi',
    keepsAlive: false,
  },
  {
    name: 'Connection: close among others',
    raw: `${OK}Connection: x, Close\r\nContent-Length: 2\r\n\r\nhi`,
    read: '200 hi',
    keepsAlive: false,
  },
  {
    name: 'Connection: close in a field of its own',
    raw: `${OK}Connection: x\r\nConnection: close\r\nContent-Length: 2\r\n\r\nhi`,
    read: '200 hi',
    keepsAlive: false,
  },
  {
    name: 'HTTP/1.0',
    raw: 'HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nhi',
    read: '200 hi',
    keepsAlive: false,
  },
  {
    name: 'HTTP/1.0 that stays',
    raw: 'HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 2\r\n\r\nhi',
    read: '200 hi',
    keepsAlive: true,
  },
  {
    name: 'until the end',
    raw: `${OK}Content-Type: x\r\n\r\nall of it`,
    read: '200 all of it',
    keepsAlive: false,
    ended: true,
  },
  {
    name: 'chunks',
    raw: `${chunked}5\r\nhello\r\n6\r\n world\r\n0\r\n\r\n`,
    read: '200 hello world',
    keepsAlive: true,
  },
  {
    name: 'chunks with sizes in hexadecimal',
    raw: `${chunked}a\r\n0123456789\r\nA\r\n0123456789\r\n0\r\n\r\n`,
    read: '200 01234567890123456789',
    keepsAlive: true,
  },
  {
    name: 'chunks with extensions and trailers',
    raw: `${chunked}5;a=b;c="d"\r\nhello\r\n0;x\r\nA: b\r\nC: d\r\n\r\n`,
    read: '200 hello',
    keepsAlive: true,
  },
  {
    name: 'a last chunk with more than one zero',
    raw: `${chunked}1\r\nx\r\n000\r\n\r\n`,
    read: '200 x',
    keepsAlive: true,
  },
  {
    name: 'what comes first only says that more will come',
    raw: `HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n${OK}Content-Length: 1\r\n\r\nx`,
    read: '200 x',
    keepsAlive: true,
  },
  {
    name: 'a field on two lines',
    raw: `${OK}X: a\r\n b\r\nContent-Length: 1\r\n\r\nx`,
    read: undefined,
  },
  {
    name: 'bytes above ASCII in a field',
    raw: `${OK}X: \xe9\r\nContent-Length: 1\r\n\r\nx`,
    read: '200 x',
    keepsAlive: true,
  },
  {
    name: 'lines that end in LF alone',
    raw: 'HTTP/1.1 200 OK\nContent-Length: 1\n\nx',
    read: undefined,
  },
  { name: 'a body that is cut', raw: `${OK}Content-Length: 5\r\n\r\nhell`, read: undefined, ended: true },
  { name: 'chunks that are cut', raw: `${chunked}5\r\nhello\r\n`, read: undefined, ended: true },
  { name: 'a head that is cut', raw: `${OK}Content-Le`, read: undefined, ended: true },
  { name: 'nothing', raw: '', read: undefined, ended: true },
  { name: 'something else', raw: 'SSH-2.0-OpenSSH_9.6\r\n', read: undefined },
  { name: 'something else without lines', raw: '\x15\x03\x03\x00\x02\x02\x16', read: undefined },
  {
    name: 'another version',
    raw: 'HTTP/2.0 200 OK\r\nContent-Length: 0\r\n\r\n',
    read: undefined,
    unlikeNode: 'nobody can know what it would mean',
  },
  { name: 'a status of two digits', raw: 'HTTP/1.1 20 OK\r\nContent-Length: 0\r\n\r\n', read: undefined },
  {
    name: 'many that say that work goes on',
    raw: `${'HTTP/1.1 102 Processing\r\n\r\n'.repeat(200)}${OK}Content-Length: 1\r\n\r\nx`,
    read: '200 x',
    keepsAlive: true,
  },
  {
    name: 'far too many of them',
    raw: `${'HTTP/1.1 102 Processing\r\n\r\n'.repeat(1001)}${OK}Content-Length: 1\r\n\r\nx`,
    read: undefined,
    unlikeNode: 'somebody plays for time',
  },
  {
    name: 'another protocol',
    raw: 'HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n',
    read: undefined,
  },
  { name: 'two lengths', raw: `${OK}Content-Length: 1\r\nContent-Length: 2\r\n\r\nxy`, read: undefined },
  {
    name: 'the same length twice',
    raw: `${OK}Content-Length: 1\r\nContent-Length: 1\r\n\r\nx`,
    read: undefined,
  },
  { name: 'a list of lengths', raw: `${OK}Content-Length: 1, 1\r\n\r\nx`, read: undefined },
  { name: 'a length with a sign', raw: `${OK}Content-Length: +1\r\n\r\nx`, read: undefined },
  { name: 'a length in hexadecimal', raw: `${OK}Content-Length: 0x1\r\n\r\nx`, read: undefined },
  { name: 'an empty length', raw: `${OK}Content-Length:\r\n\r\nx`, read: undefined },
  {
    name: 'a length and chunks',
    raw: `${OK}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
    read: undefined,
  },
  {
    name: 'chunks and a length',
    raw: `${OK}Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n`,
    read: undefined,
  },
  {
    name: 'another coding',
    raw: `${OK}Transfer-Encoding: gzip\r\n\r\nx`,
    read: undefined,
    ended: true,
    unlikeNode: 'nobody asked for it, and nobody here could read it',
  },
  {
    name: 'a coding below the chunks',
    raw: `${OK}Transfer-Encoding: gzip, chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n`,
    read: undefined,
    unlikeNode: 'nobody asked for it, and nobody here could read it',
  },
  {
    name: 'a coding twice',
    raw: `${OK}Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
    read: undefined,
    unlikeNode: 'chunks within chunks are none',
  },
  {
    name: 'chunks in HTTP/1.0',
    raw: 'HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
    read: undefined,
    unlikeNode: 'a faulty sender (RFC 9112, section 6.1)',
  },
  { name: 'a space before the colon', raw: `${OK}Content-Length : 1\r\n\r\nx`, read: undefined },
  { name: 'a field without a colon', raw: `${OK}Content-Length\r\n\r\n`, read: undefined },
  { name: 'a field without a name', raw: `${OK}: x\r\nContent-Length: 0\r\n\r\n`, read: undefined },
  { name: 'a NUL in a field', raw: `${OK}X: a\0b\r\nContent-Length: 0\r\n\r\n`, read: undefined },
  { name: 'a CR in a field', raw: `${OK}X: a\rContent-Length: 1\r\n\r\n`, read: undefined },
  { name: 'a first line that goes on', raw: `${OK} x\r\nContent-Length: 0\r\n\r\n`, read: undefined },
  { name: 'a size that is none', raw: `${chunked}x\r\n`, read: undefined },
  { name: 'an empty size', raw: `${chunked}\r\n`, read: undefined },
  { name: 'a size with a sign', raw: `${chunked}+1\r\nx\r\n0\r\n\r\n`, read: undefined },
  { name: 'a size without end', raw: `${chunked}${'f'.repeat(40)}\r\n`, read: undefined },
  { name: 'a size whose line ends in LF alone', raw: `${chunked}1\nx\r\n0\r\n\r\n`, read: undefined },
  { name: 'a chunk that is longer than its size', raw: `${chunked}1\r\nxy\r\n0\r\n\r\n`, read: undefined },
  {
    name: 'a head of 20 KB',
    raw: `${OK}X: ${'x'.repeat(20_000)}\r\nContent-Length: 0\r\n\r\n`,
    read: undefined,
  },
  {
    name: 'an extension of 20 KB',
    raw: `${chunked}1;${'x'.repeat(20_000)}\r\nx\r\n0\r\n\r\n`,
    read: undefined,
  },
]

describe('one response', () => {
  for (const each of cases)
    test(each.name, async (t) => {
      const url = await saying(t, each)
      assert.equal(await readByUs(t, url), each.read)
      if (each.varies) return
      const byNode = await readByNode(url)
      if (each.unlikeNode === undefined) assert.equal(byNode, each.read, 'Node reads something else')
      else assert.notEqual(byNode, each.read, 'Node does the same by now')
    })

  test('is the same in whatever chunks it comes', () => {
    const bytes = uniqueArray(nat(300))
    check(
      property(constantFrom(...cases), bytes, ({ raw, read, keepsAlive, ended }, cuts) => {
        const seen = readInPieces(raw, cuts, ended === true)
        assert.equal(seen.read, read)
        if (read !== undefined) assert.equal(seen.keepsAlive, keepsAlive)
      }),
      { numRuns: 3000 },
    )
  })

  test('stops where its reader stops, and loses nothing', () => {
    for (const { raw, read, ended } of cases.filter((each) => each.read !== undefined))
      assert.equal(readInPieces(raw, [], ended === true, true).read, read)
  })
})

interface Seen {
  head: ResponseHead | undefined
  body: string
  keepsAlive: boolean | undefined
}

function readInPieces(
  raw: string,
  cuts: readonly number[],
  ended: boolean,
  stopping = false,
): { read: string | undefined; keepsAlive: boolean | undefined } {
  const seen: Seen = { head: undefined, body: '', keepsAlive: undefined }
  const sink = {
    paused: false,
    head: (head: ResponseHead) => {
      seen.head = head
      sink.paused = stopping
    },
    data: (chunk: Buffer) => {
      assert.equal(sink.paused, false)
      seen.body += chunk.toString('latin1')
      sink.paused = stopping
    },
    end: (keepsAlive: boolean) => {
      assert.equal(sink.paused, false)
      seen.keepsAlive = keepsAlive
    },
  }
  const reader = new ResponseReader(sink)
  reader.begin()
  const bytes = Buffer.from(raw, 'latin1')
  const places = [...cuts.filter((cut) => cut < bytes.length).toSorted((a, b) => a - b), bytes.length]
  let rest = Buffer.alloc(0)
  let from = 0
  try {
    for (const to of places) {
      rest = Buffer.concat([rest, bytes.subarray(from, to)])
      from = to
      do {
        sink.paused = false
        rest = Buffer.from(reader.push(rest))
      } while (sink.paused)
    }
  } catch (error) {
    assert.ok(error instanceof HttpSyntaxError, String(error))
    return { read: undefined, keepsAlive: undefined }
  }
  if (ended && reader.endsWithConnection) seen.keepsAlive = false
  const isWhole = seen.keepsAlive !== undefined && rest.length === 0
  return {
    read: isWhole ? `${seen.head?.status} ${seen.body}` : undefined,
    keepsAlive: seen.keepsAlive,
  }
}

/** A server that says the same to everybody. */
async function saying(t: Scope, { raw, ended }: Case): Promise<URL> {
  const { port } = await rawServer(t, (socket) => {
    socket.once('data', () => {
      if (ended === true) socket.end(raw, 'latin1')
      else socket.write(raw, 'latin1')
    })
  })
  return new URL(`http://127.0.0.1:${port}/`)
}

function readByNode(url: URL): Promise<string | undefined> {
  return new Promise((resolve) => {
    const asked = request(url, { agent: false, timeout: 5000 }, (response) => {
      const parts: Buffer[] = []
      response.on('data', (chunk: Buffer) => parts.push(chunk))
      response.on('error', () => resolve(undefined))
      response.on('close', () => {
        const body = Buffer.concat(parts).toString('latin1')
        resolve(response.complete ? `${response.statusCode} ${body}` : undefined)
        asked.destroy()
      })
    })
    asked.on('upgrade', (_response, socket) => {
      socket.destroy()
      resolve(undefined)
    })
    asked.on('error', () => resolve(undefined))
    asked.end()
  })
}

function readByUs(t: Scope, url: URL): Promise<string | undefined> {
  const agent = new HttpAgent(url, { socketsMax: 1, idleSocketsMax: 1, idleSocketMs: 4000 }, connectPlain)
  t.after(() => agent.destroy())
  return new Promise((resolve) => {
    agent.request(`GET / HTTP/1.1\r\nHost: ${url.host}\r\n\r\n`, undefined, {
      ...asking,
      ...answering(resolve),
    })
  })
}

const asking: Omit<ChannelUser, 'responded' | 'failed'> = {
  gets: () => {},
  connected: () => {},
  sent: () => {},
}

function answering(done: (read: string | undefined) => void): Pick<ChannelUser, 'responded' | 'failed'> {
  return {
    responded: (answer: HttpAnswer) => {
      let body = ''
      answer.readBy({
        data: (chunk) => {
          body += chunk.toString('latin1')
        },
        end: () => done(`${answer.status} ${body}`),
        cut: () => done(undefined),
      })
    },
    failed: () => done(undefined),
  }
}
