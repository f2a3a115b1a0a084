// Clients of HTTP/1.0, such as nginx before 1.29.7 and the checks of HAProxy: one request on each connection, and no
// chunks.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { until } from '../integration/support/waiting.js'
import { both, events, front, handshake, message, raw, statusOf } from './support/http.js'

const page = (fields: string, path = '/health', method = 'GET'): string =>
  `${method} ${path} HTTP/1.0\r\n${fields}\r\n`

const post = (port: number, body: string, fields = ''): string =>
  `POST /mcp HTTP/1.0\r\nHost: localhost:${port}\r\nAccept: ${both}\r\nContent-Type: application/json\r\n` +
  `Content-Length: ${body.length}\r\n${fields}\r\n${body}`

test('HTTP/1.0 is answered with a length, and its connection ends', async (t) => {
  const { port } = await front(t)
  for (const fields of ['', 'Connection: close\r\n', 'Connection: keep-alive\r\n']) {
    const answer = await raw(port, post(port, message('echo', 1), fields))
    const [head = '', body = ''] = answer.split('\r\n\r\n')
    assert.equal(statusOf(answer), 200)
    assert.match(head, /\r\nconnection: close(\r\n|$)/)
    assert.match(head, new RegExp(`\\r\\ncontent-length: ${body.length}(\\r\\n|$)`))
    assert.match(body, /"result":\{"id":"1"\}/)
  }
})

test('a stream to HTTP/1.0 is the bytes of its events, to the end of the connection', async (t) => {
  const { port, sessions } = await front(t)
  const answer = await raw(port, post(port, message('noisy', 1)))
  const [head = '', body = ''] = answer.split(/\r\n\r\n([^]*)/)
  assert.equal(statusOf(answer), 200)
  assert.match(head, /\r\ncontent-type: text\/event-stream\r\n/)
  assert.match(head, /\r\nconnection: close$/)
  assert.doesNotMatch(head, /transfer-encoding|content-length/)
  const said = events(body).map(({ data = '' }) => /"(?:method|result)":("[^"]*"|\{\})/.exec(data)?.[1])
  assert.deepEqual(said, ['"notifications/one"', '"notifications/two"', '{}'])
  assert.equal(sessions.length, 1)
})

test('a session of HTTP/1.0 has its own stream, which ends with the session', async (t) => {
  const { port, sessions } = await front(t)
  const { 'mcp-session-id': id = '' } = await handshake(port)
  const fields = `Host: localhost:${port}\r\nAccept: text/event-stream\r\nMcp-Session-Id: ${id}\r\n`
  const stream = raw(port, page(fields, '/mcp'))
  const [session] = sessions
  await until(() => session !== undefined && 'busy' in session.connection && session.connection.busy)
  session?.notify('notifications/one')
  await raw(port, page(fields, '/mcp', 'DELETE'))
  const [head = '', body = ''] = (await stream).split(/\r\n\r\n([^]*)/)
  assert.doesNotMatch(head, /transfer-encoding/)
  assert.match(events(body).at(-1)?.data ?? '', /"notifications\/one"/)
})

test('HTTP/1.0 has no 100 Continue', async (t) => {
  const { port } = await front(t)
  for (const expectation of ['100-continue', 'a miracle']) {
    const asked = post(port, message('echo', 1), `Expect: ${expectation}\r\n`)
    const at = asked.indexOf('\r\n\r\n') + 4
    const answer = await raw(port, [asked.slice(0, at), asked.slice(at)])
    assert.deepEqual(answer.match(/HTTP\/1\.1 \d+/g), ['HTTP/1.1 200'], expectation)
  }
})

test('HTTP/1.0 without Host can only ask whether the process answers', async (t) => {
  const { port, sessions } = await front(t)
  const { port: closed } = await front(t, { principalOf: (token) => (token === 's' ? 'me' : undefined) })
  const rows: [string, number][] = [
    [page(''), 200],
    [page('', '/health?x'), 200],
    [page('', '/health', 'HEAD'), 200],
    // The default check of HAProxy.
    ['OPTIONS / HTTP/1.0\r\n\r\n', 204],
    [page('', '/page'), 400],
    [page('', '/mcp'), 400],
    [page('', '/nothing'), 400],
    [page('', '/health', 'POST'), 405],
    [page('', 'http://localhost/mcp'), 403],
    [page('Origin: http://evil.example\r\n'), 403],
    [page('Host: evil.example\r\n'), 403],
    [page('Host: \r\n'), 400],
    [page('').replace('1.0', '1.1'), 400],
    [post(port, message('echo', 1)).replace(/Host: .*\r\n/, ''), 400],
  ]
  for (const [text, status] of rows) {
    const answer = await raw(port, text.replace('\r\n\r\n', '\r\nConnection: close\r\n\r\n'))
    assert.equal(statusOf(answer), status, text)
    if (status === 204) assert.doesNotMatch(answer, /access-control/)
  }
  assert.equal(sessions.length, 0)
  assert.equal(statusOf(await raw(closed, page(''))), 200)
  assert.equal(statusOf(await raw(closed, page(`Host: localhost:${closed}\r\n`, '/page'))), 401)
})
