import assert from 'node:assert/strict'
import { once } from 'node:events'
import { test } from 'node:test'
import { until } from '../integration/support/waiting.js'
import { front, message, posting as post, statusOf } from './support/http.js'
import { Wire } from './support/wire.js'

const get = (port: number, path: string, fields = ''): string =>
  `GET ${path} HTTP/1.1\r\nHost: localhost:${port}\r\n${fields}\r\n`

test('a response says when it was made', async (t) => {
  const { port } = await front(t)
  const wire = new Wire(t, port)
  const before = Date.now()
  wire.say(post(port, message('echo', 1)))
  const heard = await wire.hears('"id":1')
  assert.match(heard, /^HTTP\/1\.1 200 OK\r\n/)
  const [, date = ''] = /\r\ndate: (.+ GMT)\r\n/.exec(heard) ?? []
  assert.ok(Date.parse(date) > before - 1000 && Date.parse(date) <= Date.now(), date)
})

test('100 Continue is sent only when the body is wanted', async (t) => {
  const { port } = await front(t)
  const expect = 'Expect: 100-continue\r\n'
  const wire = new Wire(t, port)
  const asked = post(port, message('echo', 1), expect)
  const at = asked.indexOf('\r\n\r\n') + 4
  wire.say(asked.slice(0, at))
  assert.equal(await wire.hears('\r\n\r\n'), 'HTTP/1.1 100 Continue\r\n\r\n')
  wire.say(asked.slice(at))
  assert.equal(statusOf(await wire.hears('"id":1')), 200)
  // A body that has already arrived needs no `100 Continue`.
  wire.say(asked)
  assert.equal(statusOf(await wire.hears('"id":1')), 200)
  wire.say(asked.slice(0, at).replace('application/json', 'text/plain'))
  assert.equal(statusOf(await wire.hears('}')), 415)
})

test('a request for another protocol is answered in this one, and the connection stays', async (t) => {
  const { port } = await front(t)
  const wire = new Wire(t, port)
  wire.say(
    post(
      port,
      message('echo', 1),
      'Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: x\r\n',
    ),
  )
  assert.equal(statusOf(await wire.hears('"id":1')), 200)
  wire.say(post(port, message('echo', 2)))
  assert.equal(statusOf(await wire.hears('"id":2')), 200)
})

test('an empty line behind a body is ignored, and the end of its connection is seen', async (t) => {
  const { port, sessions } = await front(t)
  const wire = new Wire(t, port)
  for (const id of [1, 2]) {
    wire.say(`${post(port, message('echo', id))}\r\n`)
    assert.equal(statusOf(await wire.hears(`"id":${id}`)), 200)
  }
  wire.say(`${post(port, message('wait', 3))}\r\n`)
  await until(() => sessions.at(-1)?.received.length === 1)
  wire.socket.end()
  await until(() => wire.isEnded)
  assert.equal(wire.heard, '')
})

test('empty lines are no request that could keep a connection', async (t) => {
  let nowMs = 0
  const { port } = await front(t, { now: () => nowMs, limits: { headersTimeoutMs: 150, lateCheckMs: 5 } })
  const wire = new Wire(t, port)
  while (!wire.isEnded) {
    nowMs += 10
    wire.say('\r\n')
    await new Promise((resolve) => setImmediate(resolve))
  }
  assert.equal(statusOf(wire.heard), 408)
})

test('only the head of a page can be asked for', async (t) => {
  const { port } = await front(t)
  const wire = new Wire(t, port)
  wire.say(get(port, '/mcp').replace('GET', 'HEAD') + get(port, '/mcp', 'Connection: close\r\n'))
  await until(() => wire.isEnded)
  const [first = '', second = ''] = wire.heard.split(/(?=HTTP\/1\.1 )/)
  const [, length = ''] = /content-length: (\d+)/.exec(first) ?? []
  assert.ok(Number(length) > 0)
  assert.ok(first.endsWith('\r\n\r\n'))
  assert.equal(second.split('\r\n\r\n')[1]?.length, Number(length))
})

test('a connection that rests too long is closed, and one that is used is not', async (t) => {
  let nowMs = 0
  const limits = { idleConnectionMs: 150, lateCheckMs: 5 }
  const { port } = await front(t, { now: () => nowMs, limits })
  const [resting, used] = [new Wire(t, port), new Wire(t, port)]
  for (const wire of [resting, used]) {
    wire.say(post(port, message('echo', 1)))
    assert.equal(statusOf(await wire.hears('"id":1')), 200)
  }
  while (!resting.isEnded) {
    nowMs += 100
    used.say(post(port, message('echo', 1)))
    assert.equal(statusOf(await used.hears('"id":1')), 200)
  }
  assert.equal(used.isEnded, false)
  assert.equal(resting.heard, '')
})

test('a connection whose client is still being answered does not rest', async (t) => {
  const { port, sessions } = await front(t, {
    limits: { idleConnectionMs: 30, headersTimeoutMs: 30, requestTimeoutMs: 30, lateCheckMs: 5 },
  })
  const wire = new Wire(t, port)
  wire.say(post(port, message('wait', 1)))
  await until(() => sessions[0]?.received.length === 1)
  const other = new Wire(t, port)
  await once(other.socket, 'close')
  assert.equal(statusOf(other.heard), 408)
  const [asked] = sessions[0]?.received ?? []
  if (asked?.kind === 'request') sessions[0]?.answer(asked.id, '{}')
  assert.equal(statusOf(await wire.hears('"id":1')), 200)
})

test('the answer to a client that has sent all it wants to is not lost with the end of its sending', async (t) => {
  const { port } = await front(t)
  const wire = new Wire(t, port)
  wire.socket.end(post(port, message('echo', 1)))
  await until(() => wire.isEnded)
  assert.equal(statusOf(wire.heard), 200)
})
