// Every kind of message, with every status, cut and redirect.

import { strict as assert } from 'node:assert'
import { test } from 'node:test'
import type { HttpTarget } from '../../src/transports/http-client/options.js'
import { rawServer } from './support/raw-server.js'
import { type Opened, type Scope, answerOf, called, connect, json, scripted } from './support/scripted.js'

/** Nearly all registered statuses, and two that are not registered. */
const statuses =
  '200 201 202 203 204 205 206 208 226 300 301 302 303 304 305 307 308 400 401 402 403 404 405 406 407 408 409 410 411 412 413 414 415 416 417 418 421 422 423 424 425 426 428 429 431 451 500 501 502 503 504 505 507 511 520 599'
    .split(' ')
    .map(Number)

interface Message {
  readonly title: string
  /** Whether it may be sent twice. */
  readonly isRead: boolean
  readonly isRequest: boolean
  readonly text: string
}

const request = (title: string, isRead: boolean): Message => ({
  title,
  isRead,
  isRequest: true,
  text: `{"jsonrpc":"2.0","id":1,"method":"${title}","params":{}}`,
})

const messages: readonly Message[] = [
  request('initialize', true),
  request('work', false),
  request('tools/list', true),
  { ...request('a notification', false), isRequest: false, text: '{"jsonrpc":"2.0","method":"n/x"}' },
  // The first answer counts.
  { ...request('an answer', true), isRequest: false, text: '{"jsonrpc":"2.0","id":9,"result":{}}' },
]

const once: Partial<HttpTarget> = { retries: 1, retryDelayMs: 1 }

/** The error code of a request without a session that gets this status. */
function wantedCode(status: number): string {
  if (status === 401 || status === 403) return 'TRANSPORT_AUTH'
  return status < 300 ? 'TRANSPORT_ANSWER' : 'TRANSPORT_STATUS'
}

function wantedTimes(status: number, { isRead }: Message): number {
  const isPassing = [502, 503, 504].includes(status)
  return status === 429 || (isPassing && isRead) ? 2 : 1
}

for (const message of messages)
  test(`a status that is no answer, to ${message.title}`, async (t) => {
    for (const status of statuses) {
      const server = await scripted(t, (_seen, response) => {
        response.writeHead(status, { 'content-type': 'text/html' }).end('<h1>Hello</h1>')
      })
      const opened = connect(t, server.url, once)
      opened.send(message.text)
      const isTaken = status < 300 && !message.isRequest
      await settled(opened, isTaken)
      const codes = opened.heard.failures.map(({ error }) => error.code)
      assert.deepEqual(codes, isTaken ? [] : [wantedCode(status)], `${status}`)
      assert.equal(server.seen.length, wantedTimes(status, message), `${status}`)
      assert.deepEqual(opened.heard.messages, [], `${status}`)
      if (!isTaken) assert.equal(opened.heard.closed, undefined, `${status}`)
      await opened.connection.close()
      await server.close()
    }
  })

const words =
  '{"jsonrpc":"2.0","error":{"code":-32000,"message":"Bad Request: No valid session ID"},"id":null}'
for (const [status, body] of [
  [404, ''],
  [400, words],
] as const)
  test(`a status of ${status} in a session ends it, and a refused request fails`, async (t) => {
    const others = messages.filter(({ title }) => title !== 'initialize')
    for (const message of status === 404 ? others : others.slice(0, 1)) {
      const server = await scripted(t, (seen, response) => {
        if (seen.rpc === 'initialize') json(response, answerOf(seen.id), 200, { 'mcp-session-id': 's' })
        else json(response, body, status)
      })
      const opened = connect(t, server.url, once)
      opened.request(0, 'initialize')
      await opened.heard.until(() => opened.heard.messages.length === 1)
      opened.send(message.text)
      await opened.heard.until(() => opened.heard.closed !== undefined)
      assert.equal(opened.heard.closed?.cause?.code, 'TRANSPORT_SESSION')
      const codes = opened.heard.failures.map(({ error }) => error.code)
      assert.deepEqual(codes, ['TRANSPORT_SESSION'], message.title)
      await opened.connection.close()
      // A session that the server does not know is not ended there.
      assert.equal(server.seen.length, 2)
    }
  })

/** Waits until the message has failed or been answered, or until the server has accepted it. */
async function settled({ heard, connection }: Opened, isTaken: boolean): Promise<void> {
  if (!isTaken) return heard.until(() => heard.failures.length + heard.messages.length === 1)
  // A message without an answer is finished when the connection has closed.
  await connection.close()
}

/** A server that sends the first bytes of an answer and disconnects. */
async function hangingUp(scope: Scope, bytes: string): Promise<{ url: URL; asked: () => number }> {
  let asked = 0
  const { port } = await rawServer(scope, (socket) => {
    socket.once('data', () => {
      asked++
      if (bytes === '') socket.resetAndDestroy()
      else socket.write(bytes, () => socket.destroy())
    })
  })
  return { url: new URL(`http://127.0.0.1:${port}/mcp`), asked: () => asked }
}

const whole = `HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 39\r\n\r\n${answerOf(1, '{"a":1}')}`
const cuts: [string, number][] = [
  ['before the head', 0],
  ['in the middle of the head', 30],
  ['before the body', whole.indexOf('\r\n\r\n') + 4],
  ['in the middle of the body', whole.length - 5],
]
for (const [title, bytes] of cuts)
  test(`a connection that is cut ${title}: a call is made once and fails, and a read is tried again`, async (t) => {
    for (const message of messages.filter(({ isRequest }) => isRequest)) {
      const server = await hangingUp(t, whole.slice(0, bytes))
      const { heard, send } = connect(t, server.url, once)
      send(message.text)
      await heard.until(() => heard.failures.length === 1)
      assert.equal(heard.failures[0]?.error.code, 'TRANSPORT_IO', message.title)
      assert.equal(server.asked(), message.isRead ? 2 : 1, message.title)
      assert.deepEqual(heard.messages, [])
    }
  })

for (const status of [301, 302, 303, 307, 308])
  test(`a redirect of ${status} leads nowhere else, with or without what was said`, async (t) => {
    const other = await scripted(t, (seen, response) => json(response, answerOf(seen.id)))
    const { port } = other.url
    const places: readonly (readonly [location: string | undefined, told: string])[] = [
      [other.url.href, other.url.origin],
      [`http://localhost:${port}/mcp`, `http://localhost:${port}`],
      [`//127.0.0.1:${port}/mcp`, other.url.origin],
      [`https://127.0.0.1:${port}/mcp`, `https://127.0.0.1:${port}`],
      ['http://user:pass@127.0.0.1:1/mcp', 'http://127.0.0.1:1'],
      ['javascript:alert(1)', 'nowhere'],
      ['file:///etc/passwd', 'nowhere'],
      ['http://[::1', 'nowhere'],
      [undefined, 'nowhere'],
    ]
    for (const [location, told] of places) {
      const server = await scripted(t, (_seen, response) => {
        response.writeHead(status, location === undefined ? {} : { location }).end()
      })
      const headers = { Authorization: 'Bearer CANARY', 'x-api-key': 'CANARY', Cookie: 'CANARY' }
      const { heard, connection } = await called(t, server.url, { ...once, headers })
      const said = heard.failures[0]?.error.message ?? ''
      assert.ok(said.startsWith(`it redirects to ${told} (HTTP ${status}), which is not followed`), said)
      assert.equal(/CANARY|pass@/.test(said), false)
      assert.equal(server.seen.length, 1, location)
      await connection.close()
    }
    assert.deepEqual(other.seen, [])
  })

for (const status of [301, 302, 303, 307, 308])
  test(`a redirect of ${status} in the origin is ${status >= 307 ? '' : 'not '}followed`, async (t) => {
    const server = await scripted(t, (seen, response) => {
      if (seen.url === '/mcp') response.writeHead(status, { location: '/there?a=1' }).end()
      else json(response, answerOf(seen.id))
    })
    const { heard, request } = await called(t, server.url, { ...once, headers: { 'x-api-key': 'k' } })
    assert.equal(heard.messages.length, status >= 307 ? 1 : 0)
    assert.deepEqual(
      server.seen.map((seen) => [seen.method, seen.url, seen.headers['x-api-key'], seen.rpc]),
      [
        ['POST', '/mcp', 'k', 'work'],
        ['POST', '/there?a=1', 'k', 'work'],
      ].slice(0, status >= 307 ? 2 : 1),
    )
    if (status < 307) {
      const said = heard.failures[0]?.error.message ?? ''
      return assert.ok(
        said.startsWith(`it redirects to /there (HTTP ${status}), which is not followed`),
        said,
      )
    }
    // The client remembers the redirect.
    request(2, 'work')
    await heard.until(() => heard.messages.length === 2)
    assert.equal(server.seen.at(-1)?.url, '/there?a=1')
    assert.equal(server.seen.length, 3)
  })
