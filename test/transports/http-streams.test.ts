import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type Socket, connect } from 'node:net'
import { describe, test } from 'node:test'
import type { RequestId } from '../../src/jsonrpc/request-id.js'
import { quote } from '../../src/jsonrpc/text.js'
import { EventStore, type StoredEvents } from '../../src/transports/http-server/event-stream.js'
import { until } from '../integration/support/waiting.js'
import {
  EventReader,
  type Play,
  type ScriptedSession,
  front,
  handshake,
  listen,
  message,
  opened,
  open,
  posting,
  send,
} from './support/http.js'

const stream = { accept: 'text/event-stream' }

function idOf({ received }: ScriptedSession, method: string): RequestId {
  const frame = received.findLast((each) => each.kind === 'request' && each.method === method)
  assert.ok(frame?.kind === 'request')
  return frame.id
}

describe('a stream that was cut', () => {
  test('is found only in its own session, and while it is kept', async (t) => {
    const { port, headers, session } = await opened(t, {
      limits: { answerWaitMs: 1, events: { eventsMax: 3, bytesMax: 10_000, totalBytesMax: 10_000 } },
    })
    const other = await handshake(port)
    const reader = new EventReader(await open(port, { body: message('work', 1), headers }))
    const id = idOf(session, 'work')
    session.notify('notifications/1', id)
    await reader.next()
    const resume = async (fields: Record<string, string>, lastId: string): Promise<number> => {
      const reader = await listen(port, fields, lastId)
      reader.cut()
      return reader.response.statusCode ?? 0
    }
    reader.cut()
    await new Promise((resolve) => setTimeout(resolve, 10))
    for (const lastId of ['', '1', '1-', '1-9', '2-0', 'x-y', '-1-0', '1-1-', 'zzzzzzzzz-1'])
      assert.equal(await resume(headers, lastId), 400, lastId)
    assert.equal(await resume(other, '1-1'), 400)
    for (let at = 2; at <= 5; at++) session.notify(`notifications/${at}`, id)
    // The store has dropped events 1 and 2. Resuming after 1 would lack event 2; resuming after 2 lacks nothing.
    assert.equal(await resume(headers, '1-1'), 400)
    assert.equal(await resume(headers, '1-2'), 200)
  })

  test('is taken over by a request that resumes it, although its last response seems to be open', async (t) => {
    const { port, headers, session } = await opened(t, { limits: { answerWaitMs: 1 } })
    const first = new EventReader(await open(port, { body: message('work', 1), headers }))
    const id = idOf(session, 'work')
    session.notify('notifications/1', id)
    const lastId = (await first.next())?.id ?? ''
    const second = await listen(port, headers, lastId)
    assert.equal(await first.next(), undefined)
    session.answer(id, '"done"')
    assert.match((await second.next())?.data ?? '', /"done"/)
    assert.equal(await second.next(), undefined)
  })

  test('is not resumed where its call was cancelled and everything was told: 204 says so', async (t) => {
    const { port, headers, session } = await opened(t, { limits: { answerWaitMs: 1 } })
    const first = new EventReader(await open(port, { body: message('work', 1), headers }))
    session.notify('notifications/1', idOf(session, 'work'))
    const lastId = (await first.next())?.id ?? ''
    const cancel = message('notifications/cancelled', undefined, { requestId: 1 })
    assert.equal((await send(port, { body: cancel, headers })).status, 202)
    assert.equal(await first.next(), undefined)
    const get = { method: 'GET', headers: { ...headers, ...stream, 'last-event-id': lastId } }
    const { status, body } = await send(port, get)
    assert.deepEqual([status, body], [204, ''])
    const before = { ...get, headers: { ...get.headers, 'last-event-id': '1-0' } }
    assert.match((await send(port, before)).body, /notifications\/1/)
  })
})

const small = { backlogBytesHigh: 64 * 1024, backlogBytesMax: 256 * 1024, answerWaitMs: 1 }
const large = `"${'x'.repeat(20_000)}"`

test('a client that reads nothing is cut off with all that is unread; its session goes on', async (t) => {
  const events = { eventsMax: 16, bytesMax: 100_000, totalBytesMax: 100_000 }
  const { port, headers, session } = await opened(t, { limits: { ...small, events } })
  const response = await open(port, { method: 'GET', headers: { ...headers, ...stream } })
  response.pause()
  response.on('error', () => undefined)
  let backlogMax = 0
  let isCut = false
  response.on('close', () => (isCut = true))
  for (let at = 0; at < 20_000; at++) {
    session.say(`{"jsonrpc":"2.0","method":"notifications/x","params":{"p":${large}}}`)
    backlogMax = Math.max(backlogMax, session.connection.backlogBytes)
    if (at % 50 === 0) await new Promise((resolve) => setImmediate(resolve))
    if (isCut) break
  }
  assert.ok(backlogMax < 2 * small.backlogBytesMax, String(backlogMax))
  response.destroy()
  await until(() => session.connection.backlogBytes === 0 && !session.connection.congested)
  assert.equal((await send(port, { body: message('echo', 1), headers })).status, 200)
})

test('a client that reads nothing is given up when it takes nothing for long', async (t) => {
  const { port, headers, session } = await opened(t, {
    limits: { ...small, keepAliveMs: 10, stallMs: 50 },
  })
  const socket = connect(port, '127.0.0.1')
  socket.pause()
  socket.on('error', () => undefined)
  socket.write(
    `GET /mcp HTTP/1.1\r\nHost: localhost:${port}\r\nAccept: text/event-stream\r\nMcp-Session-Id: ${headers['mcp-session-id']}\r\n\r\n`,
  )
  await until(() => session.connection.busy === true)
  // The limit applies before the next message, so one message may have any size.
  session.say(`{"jsonrpc":"2.0","method":"n","params":{"p":"${'x'.repeat(20_000_000)}"}}`)
  assert.ok(session.connection.backlogBytes > 1_000_000)
  await until(() => session.connection.backlogBytes === 0)
  socket.destroy()
})

const answer = quote('x'.repeat(40_000_000))
const play: Play = (frame, session) => {
  if (frame.kind === 'request') session.answer(frame.id, answer)
}
test('a reader of a plain answer that takes nothing for long is cut', async (t) => {
  const { port, sessions } = await front(t, { limits: { stallMs: 50 }, play })
  const socket = ask(port)
  t.after(() => void socket.destroy())
  await until(() => (sessions[0]?.connection.backlogBytes ?? 0) > 0)
  await until(() => sessions[0]?.connection.backlogBytes === 0)
})

test('a reader of a plain answer that is slow but steady gets all of it', async (t) => {
  const { port } = await front(t, { limits: { stallMs: 1000 }, play })
  const socket = ask(port)
  let bytes = 0
  socket.on('data', (chunk: Buffer) => {
    // 4 MB in 150 ms: far slower than the answer could come, and in total longer than a stall may last.
    const before = bytes
    bytes += chunk.length
    if (Math.floor(before / 4e6) === Math.floor(bytes / 4e6)) return
    socket.pause()
    setTimeout(() => socket.resume(), 150)
  })
  socket.resume()
  await until(() => bytes > answer.length || socket.destroyed)
  assert.ok(bytes > answer.length, String(bytes))
  socket.destroy()
})

/** Sends a request, and does not read. */
function ask(port: number): Socket {
  const socket = connect(port, '127.0.0.1')
  socket.on('error', () => undefined)
  socket.write(posting(port, message('x', 1)))
  return socket.pause()
}

const limits = { eventsMax: 3, bytesMax: 100, totalBytesMax: 150 }
test('kept events are limited in number and bytes, and together', () => {
  const all: StoredEvents = { stores: new Set(), bytes: 0 }
  const [one, two] = [new EventStore(limits, all), new EventStore(limits, all)]
  for (let at = 1; at <= 4; at++) one.add(0, at, [Buffer.alloc(10)])
  assert.equal(one.after(0, 0).length, 3)
  one.add(0, 5, [Buffer.alloc(100)])
  assert.equal(one.after(0, 0).length, 1)
  one.add(0, 6, [Buffer.alloc(101)])
  assert.deepEqual([one.after(0, 0).length, one.after(0, 5).length], [1, 0])
  // The largest store drops events first.
  assert.equal(two.add(0, 1, [Buffer.alloc(60)]), true)
  assert.deepEqual([one.after(0, 0).length, two.after(0, 0).length], [0, 1])
  assert.equal(two.add(0, 2, [Buffer.alloc(101)]), false)
  two.clear()
  assert.deepEqual([all.stores.size, all.bytes], [0, 0])
})

const question = '{"jsonrpc":"2.0","id":7,"method":"roots/list"}'

test('a question of no known request comes on the latest response that the client reads, if it does not listen', async (t) => {
  const { port, headers, session } = await opened(t)
  const called = []
  const ids = []
  for (const id of [1, 2, 3]) {
    const before = session.received.length
    called.push(open(port, { body: message('work', id), headers }))
    await until(() => session.received.length > before)
    ids.push(idOf(session, 'work'))
  }
  const [, second, third] = called
  session.notify('notifications/work', ids[2])
  assert.ok(second && third && ids[1])
  const gone = new EventReader(await third)
  gone.cut()
  await once(gone.response, 'close')
  // The front notices the end of that connection before it reads a later request.
  await send(port, { body: message('echo', 9), headers })
  session.say(question)
  session.answer(ids[1], '{}')
  const reader = new EventReader(await second)
  assert.equal((await reader.next())?.data, question)
  assert.match((await reader.next())?.data ?? '', /"result"/)
  assert.equal(await reader.next(), undefined)
})
