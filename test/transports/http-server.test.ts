import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { describe, test } from 'node:test'
import type { Frame, RequestFrame } from '../../src/jsonrpc/frame.js'
import { sessionRevisions } from '../../src/mcp/revisions.js'
import { realRuntime } from '../../src/real-runtime.js'
import { SealedIds } from '../../src/store/sealed-id.js'
import { MemoryBook } from '../../src/store/session-book.js'
import { until } from '../integration/support/waiting.js'
import {
  EventReader,
  type Sent,
  events,
  front,
  handshake,
  listen,
  message,
  opened,
  open,
  posting,
  raw,
  read,
  send,
  statusOf,
} from './support/http.js'

const stream = { accept: 'text/event-stream' }
const maxAgeMs = (): number => 3_600_000

describe('one request without a session', () => {
  const echo = message('echo', 1)
  const unknown = { 'mcp-protocol-version': '1999-01-01' }
  /** The request, the status, and a part of the body. */
  const cases: [string, Sent, number, RegExp][] = [
    ['in plain JSON', { body: echo }, 200, /^\{"jsonrpc":"2.0","id":1,"result":\{"id":"1"\}\}$/],
    ['whose id is a text', { body: message('echo', 'a\u00e9') }, 200, /"id":"a\u00e9"/],
    ['of who accepts anything', { body: echo, headers: { accept: '*/*' } }, 200, /"result"/],
    ['that is refused by a server', { body: message('refuse', 1) }, 200, /"error":\{"code":-32600/],
    ['of a notification', { body: message('notifications/x') }, 202, /^$/],
    ['of an answer', { body: '{"jsonrpc":"2.0","id":1,"result":{}}' }, 400, /Mcp-Session-Id is required/],
    ['in a batch', { body: `[${echo}]` }, 200, /^\[\{.*"result".*\}\]$/],
    ['of notifications in a batch', { body: `[${message('notifications/x')}]` }, 202, /^$/],
    ['with an id that is none', { body: '{"jsonrpc":"2.0","id":1.5,"method":"echo"}' }, 400, /-32600/],
    ['that is nested deep', { body: '['.repeat(20_000) }, 400, /"error"/],
    ['with an empty batch', { body: '[]' }, 400, /-32600/],
    ['that opens a session in a batch', { body: `[${message('initialize', 1)}]` }, 400, /-32600/],
    ['with a line feed behind it', { body: `${echo}\r\n` }, 200, /"result"/],
    ['for nobody', { body: echo, headers: { accept: 'text/html' } }, 406, /Accept/],
    ['in a coding', { body: echo, headers: { 'content-encoding': 'gzip' } }, 415, /Content-Encoding/],
    ['by PUT', { method: 'PUT', body: echo }, 405, /Method/],
    ['of an unknown version', { body: echo, headers: unknown }, 400, /supported versions/],
    ['of known version', { body: echo, headers: { 'mcp-protocol-version': '2025-06-18' } }, 200, /"result"/],
    ['to an unknown session', { body: echo, headers: { 'mcp-session-id': 'x' } }, 404, /-32001/],
    ['by DELETE', { method: 'DELETE' }, 400, /Mcp-Session-Id/],
    ['for the status', { method: 'GET', headers: { accept: '*/*' } }, 200, /^\{"schema":"one"\}$/],
    ['to listen', { method: 'GET', headers: stream }, 400, /Mcp-Session-Id/],
    ['to a page by POST', { path: '/page', body: '{}' }, 405, /Method/],
    ['to nowhere', { path: '/nowhere', body: echo }, 404, /nothing/],
  ]
  test('is answered at once', async (t) => {
    const { port, failures, sessions } = await front(t)
    for (const [title, sent, status, body] of cases) {
      const answer = await send(port, sent)
      assert.equal(answer.status, status, title)
      assert.match(answer.body, body, title)
      if (status === 405) assert.match(String(answer.headers.allow), /GET/)
      await until(() => sessions.every(({ closed }) => closed))
    }
    assert.deepEqual(failures, [])
  })

  test('becomes an event stream when the answer takes long', async (t) => {
    const { port, sessions } = await front(t, { limits: { answerWaitMs: 30 } })
    const response = await open(port, { body: message('wait', 5) })
    assert.equal(response.headers['content-type'], 'text/event-stream')
    const [session] = sessions
    const [frame] = session?.received ?? []
    assert.ok(frame?.kind === 'request')
    session?.answer(frame.id, '{}')
    const { body } = await read(response)
    assert.deepEqual(events(body), [{ event: 'message', data: '{"jsonrpc":"2.0","id":5,"result":{}}' }])
    await until(() => session?.closed === true)
  })

  test('is limited in number', async (t) => {
    const { port, sessions } = await front(t, { limits: { sessionlessMax: 2, answerWaitMs: 1 } })
    const waiting = [
      await open(port, { body: message('wait', 1) }),
      await open(port, { body: message('wait', 1) }),
    ]
    const refused = await send(port, { body: message('wait', 1) })
    assert.equal(refused.status, 503)
    assert.equal(refused.headers['retry-after'], '5')
    for (const { connection } of sessions) await connection.close()
    for (const response of waiting) await read(response)
    assert.equal((await send(port, { body: message('echo', 1) })).status, 200)
  })

  test('is not cancelled when its client goes away', async (t) => {
    const { port, sessions, failures } = await front(t, { limits: { answerWaitMs: 1 } })
    const response = await open(port, { body: message('wait', 1) })
    response.destroy()
    const [session] = sessions
    await new Promise((resolve) => setTimeout(resolve, 20))
    assert.equal(session?.closed, false)
    const [frame] = session?.received ?? []
    assert.ok(frame?.kind === 'request')
    session?.answer(frame.id, '{}')
    await until(() => sessions.every(({ closed }) => closed))
    assert.deepEqual(failures, [])
  })
})

const odd =
  '{"result":{"n":12345678901234567890,"f":1.0,"e":1E+2,"d":1,"d":2,"u":"\\u00e9\u00e9\\/","__proto__":{}}, "jsonrpc":"2.0","id":1 }'
test('the bytes of a message cross unchanged as JSON and as an event', async (t) => {
  const { port } = await front(t, {
    play: (frame, session) => frame.kind === 'request' && session.say(odd, frame.id),
  })
  assert.equal((await send(port, { body: message('x', 1) })).body, odd)
  const { body } = await send(port, { body: message('x', 1), headers: stream })
  assert.equal(events(body)[0]?.data, odd)
})

for (const say of ['say', 'sayInParts'] as const)
  test(`the bytes of a message cross whole, in one or in parts: ${say}`, async (t) => {
    let large = ''
    const { port } = await front(t, {
      play: (frame, session) => frame.kind === 'request' && session[say](large, frame.id),
    })
    for (const bytes of [100, 65_535, 65_536, 65_537, 3_000_000]) {
      large = `{"jsonrpc":"2.0","id":1,"result":"${'é'.repeat(bytes / 2)}"}`
      const plain = await send(port, { body: message('x', 1) })
      const length = String(Buffer.byteLength(large))
      assert.deepEqual([plain.headers['content-length'], plain.body], [length, large])
      const { body } = await send(port, { body: message('x', 1), headers: stream })
      assert.equal(events(body)[0]?.data, large)
      assert.equal((await send(port, { body: `[${message('x', 1)}]` })).body, `[${large}]`)
    }
  })

describe('bodies', () => {
  const limits = { bodyBytesMax: 100, refusedBodyMs: 100 }
  test('are read up to the limit, declared or not', async (t) => {
    const { port, sessions } = await front(t, { limits })
    const exact = message('echo', 1).padEnd(100)
    assert.equal((await send(port, { body: exact })).status, 200)
    assert.equal((await send(port, { body: `${exact} ` })).status, 413)
    const chunked = `POST /mcp HTTP/1.1\r\nHost: localhost:${port}\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n`
    const chunk = `32\r\n${' '.repeat(50)}\r\n`
    assert.equal(statusOf(await raw(port, [chunked, chunk, chunk, chunk, '0\r\n\r\n'])), 413)
    const declared = chunked.replace('Transfer-Encoding: chunked', 'Content-Length: 99999999')
    assert.equal(statusOf(await raw(port, declared)), 413)
    assert.equal(sessions.length, 1)
  })

  test('that are large share what there is for all of them until they are answered', async (t) => {
    const limits = { smallBodyBytes: 1000, bodiesBytesMax: 25_000 }
    const { port, sessions } = await front(t, { limits })
    const first = send(port, { body: large('wait', 1) })
    const gone = connect(port, '127.0.0.1')
    gone.write(posting(port, large('wait', 2)))
    await until(() => sessions.filter(({ received }) => received.some(isWaiting)).length === 2)
    gone.destroy()
    const refused = await send(port, { body: large('echo', 3) })
    assert.deepEqual([refused.status, refused.headers['retry-after']], [503, '1'])
    assert.match(refused.body, /"code":-32603,"message":"[^"]*Too many large messages/)
    assert.equal((await send(port, { body: message('echo', 4) })).status, 200)
    // A refused request frees exactly the memory that it had reserved.
    for (let at = 0; at < 4; at++) assert.equal((await send(port, { body: large('echo', 5) })).status, 503)
    // One of the two waiting clients has disconnected.
    for (const session of sessions)
      for (const { id } of session.received.filter(isWaiting)) session.answer(id, '{}')
    assert.equal((await first).status, 200)
    for (let at = 0; at < 10; at++) {
      assert.equal((await send(port, { body: large('echo', at) })).status, 200)
      assert.equal((await send(port, { body: large('notifications/x') })).status, 202)
      assert.equal((await send(port, { body: large('x', 1).slice(1) })).status, 400)
    }
  })

  test('that are large share it over the older pair too, until they are answered or given up', async (t) => {
    const { port, sessions } = await front(t, { limits: { smallBodyBytes: 1000, bodiesBytesMax: 25_000 } })
    const reader = new EventReader(await open(port, { path: '/sse', method: 'GET', headers: stream }))
    const path = (await reader.next())?.data ?? ''
    const post = async (body: string): Promise<number> => (await send(port, { path, body })).status
    assert.deepEqual([await post(large('wait', 1)), await post(large('wait', 2))], [202, 202])
    assert.equal(await post(large('wait', 3)), 503)
    assert.equal(await post(message('notifications/cancelled', undefined, { requestId: 2 })), 202)
    assert.equal(await post(large('wait', 4)), 202)
    assert.equal(await post(large('wait', 5)), 503)
    const [session] = sessions
    const [first] = session?.received.filter(isWaiting) ?? []
    if (first !== undefined) session?.answer(first.id, '{}')
    assert.equal(await post(large('wait', 6)), 202)
    reader.cut()
    await until(() => session?.closed === true)
    assert.equal((await send(port, { body: large('echo', 1) })).status, 200)
    assert.equal((await send(port, { body: large('echo', 2) })).status, 200)
  })

  test('that are cut are not read as messages', async (t) => {
    const { port, sessions, failures } = await front(t)
    const socket = connect(port, '127.0.0.1')
    socket.write(posting(port, '{"jsonrpc"', '', 500))
    await new Promise((resolve) => setTimeout(resolve, 20))
    socket.destroy()
    assert.equal((await send(port, { body: message('echo', 1) })).status, 200)
    assert.equal(sessions.length, 1)
    assert.deepEqual(failures, [])
  })

  test('that never come are given up', async (t) => {
    const { port } = await front(t, { limits: { headersTimeoutMs: 60, slowBodyMs: 80, lateCheckMs: 20 } })
    assert.equal(statusOf(await raw(port, 'POST /mcp HTTP/1.1\r\n')), 408)
    assert.equal(statusOf(await raw(port, posting(port, '', '', 5))), 408)
  })

  test('that no client reads are given up too', async (t) => {
    const { port, sessions } = await front(t, { limits: { requestTimeoutMs: 80, lateCheckMs: 20 } })
    const { 'mcp-session-id': id = '' } = await handshake(port)
    const head = `GET /mcp HTTP/1.1\r\nHost: localhost:${port}\r\nAccept: text/event-stream\r\nMcp-Session-Id: ${id}\r\n`
    const answer = await raw(port, `${head}Content-Length: 5\r\n\r\n`)
    assert.equal(statusOf(answer), 200)
    assert.equal(sessions.length, 1)
  })

  test('that drip are given up, and those that come are not, however long they take', async (t) => {
    const limits = {
      requestTimeoutMs: 40,
      slowBodyMs: 1000,
      slowBodyBytes: 333,
      lateCheckMs: 20,
      refusedBodyMs: 20,
    }
    const { port } = await front(t, { limits })
    const said = message('echo', 1, { text: 'x'.repeat(24_000) })
    const post = async (bytesEach: number): Promise<string> => {
      const socket = connect(port, '127.0.0.1')
      t.after(() => void socket.destroy())
      socket.on('error', () => undefined)
      const answer = new Promise<string>((resolve) => {
        socket.once('data', (chunk: Buffer) => resolve(chunk.toString()))
      })
      socket.write(posting(port, '', '', said.length))
      for (let at = 0; at < said.length && socket.writable; at += bytesEach) {
        socket.write(said.slice(at, at + bytesEach))
        await new Promise((resolve) => setTimeout(resolve, 20))
        if (socket.readableEnded || socket.bytesRead > 0) break
      }
      return answer
    }
    // A third of the minimum rate, and 45 times as much for more than a second.
    const [slow, fast] = await Promise.all([post(2), post(300)])
    assert.match(slow, /^HTTP\/1\.1 408 [^]*The body comes too slowly/)
    assert.match(fast, /^HTTP\/1\.1 200 /)
  })

  test('that are no HTTP close the connection', async (t) => {
    const { port, sessions } = await front(t)
    const host = `Host: localhost:${port}\r\n`
    const rows: [string, number][] = [
      ['hello\r\n\r\n', 400],
      [`POST /mcp HTTP/1.1\r\n${host}Content-Length : 1\r\n\r\nx`, 400],
      [`POST /mcp HTTP/1.1\r\n${host}X: ${'x'.repeat(20_000)}\r\n\r\n`, 431],
    ]
    for (const [text, status] of rows)
      assert.equal(statusOf(await raw(port, text)), status, text.slice(0, 90))
    assert.equal(sessions.length, 0)
  })
})

function large(method: string, id?: number): string {
  return message(method, id, { text: 'x'.repeat(10_000) })
}

function isWaiting(frame: Frame): frame is RequestFrame {
  return frame.kind === 'request' && frame.method === 'wait'
}

/** Every token of one letter is valid. */
const ownToken = (token: string): string | undefined => (token.length === 1 ? token : undefined)

describe('a session', () => {
  test('is opened by initialize and named by visible ASCII', async (t) => {
    const { port, sessions } = await front(t)
    const first = await handshake(port)
    const second = await handshake(port)
    assert.match(first['mcp-session-id'] ?? '', /^[\x21-\x7e]{16,}$/)
    assert.notEqual(first['mcp-session-id'], second['mcp-session-id'])
    assert.equal(sessions.length, 2)
    const { headers, body } = await send(port, { body: message('echo', 1), headers: first })
    assert.equal(headers['mcp-session-id'], first['mcp-session-id'])
    assert.match(body, /result/)
    assert.equal(sessions.length, 2)
  })

  test('belongs to its endpoint and to who opened it', async (t) => {
    const { port } = await front(t, { principalOf: ownToken })
    const session = await handshake(port, undefined, undefined, { authorization: 'Bearer a' })
    const rows: [string, string, number][] = [
      ['/mcp', 'a', 200],
      ['/mcp', 'b', 404],
      ['/other', 'a', 404],
      ['/mcp', 'wrong', 401],
    ]
    for (const [path, token, status] of rows) {
      const headers = { ...session, authorization: `Bearer ${token}` }
      const found = (await send(port, { path, body: message('echo', 1), headers })).status
      assert.equal(found, status, path + token)
    }
    for (const method of ['GET', 'DELETE']) {
      const headers = { ...session, ...stream, authorization: 'Bearer b' }
      assert.equal((await send(port, { method, headers })).status, 404, method)
    }
  })

  test('ends when it is idle for long, but not while its stream is open', async (t) => {
    let now = 0
    const { port, sessions } = await front(t, { now: () => now, limits: { sessionIdleMs: 1000, sweepMs: 5 } })
    const idle = await handshake(port)
    const used = await handshake(port)
    const listens = await handshake(port)
    const stays = await listen(port, listens)
    now = 900
    assert.equal((await send(port, { body: message('echo', 1), headers: used })).status, 200)
    now = 1500
    await until(() => sessions[0]?.closed === true)
    assert.equal((await send(port, { body: message('echo', 1), headers: idle })).status, 404)
    assert.equal((await send(port, { body: message('echo', 1), headers: used })).status, 200)
    now = 5000
    await until(() => sessions[1]?.closed === true)
    assert.equal(sessions[2]?.closed, false)
    stays.cut()
    await until(() => sessions[2]?.connection.busy === false)
    now = 7000
    await until(() => sessions[2]?.closed === true)
  })

  test('is given up for a new one when there are too many, the longest idle first', async (t) => {
    const { port, sessions } = await front(t, { limits: { sessionsMax: 2 } })
    const first = await handshake(port)
    const second = await handshake(port)
    await send(port, { body: message('echo', 1), headers: first })
    const third = await handshake(port)
    const closings = sessions.map(({ closed }) => closed)
    assert.deepEqual(closings, [false, true, false])
    assert.equal((await send(port, { body: message('echo', 1), headers: second })).status, 404)
    const kept = await Promise.all([first, third].map((headers) => listen(port, headers)))
    const refused = await send(port, { body: message('initialize', 0, { protocolVersion: '2025-06-18' }) })
    assert.equal(refused.status, 503)
    for (const reader of kept) reader.cut()
  })

  test('goes on after it was given up, with ids of events that it has not had before', async (t) => {
    const runtime = realRuntime()
    const ids = new SealedIds({ keys: () => ['the key of this process'], label: 'a', maxAgeMs, runtime })
    const kept = { ids, book: new MemoryBook(runtime, maxAgeMs) }
    const { port, sessions } = await front(t, { limits: { sessionsMax: 1 }, kept })
    const headers = await handshake(port)
    for (const attempt of ['first', 'second']) {
      const { body } = await send(port, { body: message('noisy', attempt), headers })
      const { id: last = '' } = events(body)[0] ?? {}
      await handshake(port)
      const lost = await (await listen(port, headers, last)).next()
      assert.match(String(lost?.data), new RegExp(`"id":"${attempt}".*instance-lost`))
      const standalone = await listen(port, headers, last.replace(/\.[^.]*$/, '.0-9'))
      assert.equal(standalone.response.statusCode, 200)
      standalone.cut()
      await until(() => sessions.at(-1)?.connection.busy === false)
    }
  })

  test('is given up for a new one of the principal that has most, although others are idle for longer', async (t) => {
    const { port, sessions } = await front(t, { limits: { sessionsMax: 3 }, principalOf: (token) => token })
    const opened = (token: string): Promise<Record<string, string>> =>
      handshake(port, undefined, undefined, { authorization: `Bearer ${token}` })
    await opened('few')
    const reader = await listen(port, await opened('many'))
    await opened('many')
    await opened('other')
    const areClosed = sessions.map(({ closed }) => closed)
    assert.deepEqual(areClosed, [false, false, true, false])
    reader.cut()
  })

  test('ends the response of a request that its client cancels', async (t) => {
    const { port, sessions } = await front(t)
    const headers = await handshake(port)
    const response = open(port, { body: message('wait', 7), headers })
    await until(() => sessions[0]?.connection.busy === true)
    const cancel = message('notifications/cancelled', undefined, { requestId: 7 })
    assert.equal((await send(port, { body: cancel, headers })).status, 202)
    const { status, body } = await read(await response)
    assert.deepEqual([status, body], [202, ''])
    assert.equal((await send(port, { body: message('echo', 7), headers })).status, 200)
  })

  for (const { version, hasBatches, hasVersionHeader, primesStreams } of sessionRevisions)
    test(`speaks as ${version} says`, async (t) => {
      const { port } = await front(t, { limits: { retryMs: 123 } })
      const headers = await handshake(port, version)
      const batch = {
        body: `[${message('echo', 1)},${message('echo', 2)},${message('notifications/x')}]`,
        headers,
      }
      const answer = await send(port, batch)
      assert.equal(answer.status, hasBatches ? 200 : 400)
      if (hasBatches) assert.match(answer.body, /^\[\{.*"id":1,.*\},\{.*"id":2,.*\}\]$/)
      const unknown = {
        body: message('echo', 1),
        headers: { ...headers, 'mcp-protocol-version': '2099-01-01' },
      }
      assert.equal((await send(port, unknown)).status, hasVersionHeader ? 400 : 200)
      for (const method of hasVersionHeader ? ['GET', 'DELETE'] : [])
        assert.equal((await send(port, { method, headers: { ...unknown.headers, ...stream } })).status, 400)
      const noisy = events((await send(port, { body: message('noisy', 3), headers })).body)
      const found = noisy.map(({ id }) => id)
      assert.deepEqual(found, primesStreams ? ['1-0', '1-1', '1-2', '1-3'] : ['1-1', '1-2', '1-3'])
      assert.deepEqual(noisy[0]?.retry, primesStreams ? '123' : undefined)
      assert.equal(noisy.filter(({ data }) => data === '').length, primesStreams ? 1 : 0)
    })
})

test('the standalone stream has what belongs to no request, also what came before it', async (t) => {
  const { port, headers, session } = await opened(t, {}, '2025-06-18')
  session.notify('notifications/early')
  const get = { method: 'GET', headers: { ...headers, ...stream } }
  const reader = new EventReader(await open(port, get))
  session.notify('notifications/late')
  assert.match((await reader.next())?.data ?? '', /early/)
  assert.match((await reader.next())?.data ?? '', /late/)
  const [opening] = session.received
  assert.ok(opening?.kind === 'request')
  // An answer whose client has disconnected is dropped.
  session.answer(opening.id, '{}')
  session.notify('notifications/last')
  assert.match((await reader.next())?.data ?? '', /last/)
  assert.equal((await send(port, get)).status, 409)
  reader.cut()
  await until(() => session.connection.busy === false)
  const again = new EventReader(await open(port, get))
  session.notify('notifications/again')
  assert.match((await again.next())?.data ?? '', /again/)
  again.cut()
})

test('the standalone stream is kept alive', async (t) => {
  const { port } = await front(t, { limits: { keepAliveMs: 10 } })
  const headers = await handshake(port)
  const response = await open(port, { method: 'GET', headers: { ...headers, ...stream } })
  let text = ''
  for await (const chunk of response) {
    text += String(chunk)
    if (text.split(': keep-alive\n\n').length > 3) break
  }
  assert.match(text, /^id: 0-0\nretry: \d+\ndata: \n\n(?:: keep-alive\n\n)+/)
})

test('closing ends every stream and every connection, and takes nothing new', async (t) => {
  const { port, server, sessions } = await front(t, { limits: { answerWaitMs: 1 } })
  const headers = await handshake(port)
  const listening = await listen(port, headers)
  const waiting = new EventReader(await open(port, { body: message('wait', 1), headers }))
  const pair = new EventReader(await open(port, { path: '/sse', method: 'GET', headers: stream }))
  await pair.next()
  server.stop()
  assert.equal((await send(port, { body: message('echo', 1) })).status, 503)
  await server.close()
  for (const reader of [listening, waiting, pair]) assert.equal(await reader.next(), undefined)
  assert.ok(sessions.every(({ closed }) => closed))
})

test('closing does not wait for a client that reads nothing', async (t) => {
  const { port, server, sessions } = await front(t, {
    limits: { closeWaitMs: 50 },
    play: (frame, session) => {
      if (frame.kind === 'request') session.answer(frame.id, `"${'x'.repeat(40_000_000)}"`)
    },
  })
  const socket = connect(port, '127.0.0.1').pause()
  t.after(() => void socket.destroy())
  socket.on('error', () => undefined)
  socket.write(posting(port, message('x', 1)))
  await until(() => (sessions[0]?.connection.backlogBytes ?? 0) > 0)
  await server.close()
  assert.ok(sessions.every(({ closed }) => closed))
})
