// How a gateway ends while clients use it.

import assert from 'node:assert/strict'
import { Agent, request } from 'node:http'
import { test } from 'node:test'
import { gatewayOf } from '../integration/support/gateway.js'
import { at, parsed, textAt } from '../integration/support/json.js'
import { itServer } from '../integration/support/programs.js'
import { opened } from '../integration/support/raw-sessions.js'
import { HANG_MS, untilAnswered } from '../integration/support/waiting.js'
import { EventReader, handshake, message, messageIn, open, send } from '../transports/support/http.js'

const plain = { mcpServers: { it: itServer({}, { prefix: false, describe: false }) } }
const patient = { ...plain, server: { drainTimeout: HANG_MS } }

const call = (id: number, name: string, args: object = {}): string =>
  message('tools/call', id, { name, arguments: args })

const saidIn = (text: string): unknown => parsed(textAt(messageIn(text), 'result', 'content', 0, 'text'))

test('a draining gateway serves on, while GET /ready has balancers choose another instance', async (t) => {
  const gateway = await gatewayOf(t, plain)
  const { port } = gateway
  const get = (path: string): ReturnType<typeof send> => send(port, { method: 'GET', path })
  assert.deepEqual(parsed((await get('/ready')).body), { status: 'ready' })
  assert.equal(gateway.readings['mcps_draining']?.(), 0)
  gateway.drain()
  const { status, headers, body } = await get('/ready')
  assert.deepEqual([status, headers['retry-after'], parsed(body)], [503, '1', { status: 'draining' }])
  assert.equal(gateway.readings['mcps_draining']?.(), 1)
  assert.equal((await get('/health')).status, 200)
  const session = await handshake(port)
  const answer = await send(port, { headers: session, body: call(1, 'nonce', { n: 'late' }) })
  assert.equal(at(saidIn(answer.body), 'n'), 'late')
})

test('a draining gateway ends used connections with a response, and idle ones after a moment', async (t) => {
  const gateway = await gatewayOf(t, plain)
  const agents = [new Agent({ keepAlive: true }), new Agent({ keepAlive: true })] as const
  t.after(() => agents.forEach((agent) => agent.destroy()))
  const health = (agent: Agent): Promise<string | undefined> =>
    new Promise((resolve, reject) => {
      const asked = request({ port: gateway.port, path: '/health', agent }, (response) => {
        response.resume().on('end', () => resolve(response.headers.connection))
      })
      asked.on('error', reject).end()
    })
  const [busy, idle] = agents
  assert.deepEqual([await health(busy), await health(idle)], [undefined, undefined])
  gateway.drain()
  assert.equal(await health(busy), 'close')
  // Its agent forgets a connection that the gateway has closed.
  await untilAnswered(() => Promise.resolve(Object.keys(idle.freeSockets).length === 0))
})

test('a closing gateway takes only what its calls need until they are answered', async (t) => {
  const gateway = await gatewayOf(t, patient)
  const { port } = gateway
  const params = { protocolVersion: '2025-11-25' }
  const session = await opened({ port }, { capabilities: { sampling: {} } })
  const asking = { method: 'sampling/createMessage', params: { messages: [], maxTokens: 1 } }
  const reader = new EventReader(await open(port, { headers: session, body: call(1, 'ask', asking) }))
  const question = parsed((await reader.next())?.data ?? 'null')
  const closing = gateway.close()

  const refused = [
    { headers: session, body: call(2, 'nonce') },
    { body: message('initialize', 0, params) },
    { headers: { 'mcp-session-id': 'unknown' }, body: message('ping', 3) },
    { method: 'GET', headers: { ...session, accept: 'text/event-stream' } },
    { method: 'GET', path: '/sse' },
  ]
  for (const each of refused) {
    const { status, headers } = await send(port, each)
    assert.deepEqual([status, headers['retry-after'], headers.connection], [503, '1', 'close'])
  }
  assert.equal((await send(port, { method: 'GET', path: '/health' })).status, 200)

  const result = { model: 'm', role: 'assistant', content: { type: 'text', text: 'yes' } }
  const answer = JSON.stringify({ jsonrpc: '2.0', id: at(question, 'id'), result })
  assert.equal((await send(port, { headers: session, body: answer })).status, 202)
  assert.deepEqual(saidIn((await reader.next())?.data ?? 'null'), { result })
  await closing
  await assert.rejects(send(port, { method: 'GET', path: '/health' }), { code: 'ECONNREFUSED' })
})

test('a closing gateway ends streams last, and says when their clients should come back', async (t) => {
  const gateway = await gatewayOf(t, patient)
  const { port } = gateway
  const ends: string[] = []
  const [session, other] = [await handshake(port), await handshake(port)]
  const held = new EventReader(await open(port, { headers: other, body: call(1, 'hold', { key: '' }) }))
  const streams = [
    await open(port, { method: 'GET', headers: { ...session, accept: 'text/event-stream' } }),
    await open(port, { method: 'GET', path: '/sse' }),
  ]
  const texts = streams.map(async (stream) => {
    let text = ''
    for await (const chunk of stream) text += String(chunk)
    ends.push('stream')
    return text
  })
  const closing = gateway.close()
  assert.equal((await send(port, { headers: session, body: call(2, 'nonce') })).status, 503)
  assert.deepEqual(ends, [])
  const cancelled = message('notifications/cancelled', undefined, { requestId: 1 })
  assert.equal((await send(port, { headers: other, body: cancelled })).status, 202)
  assert.equal(await held.next(), undefined)
  await closing
  for (const text of await Promise.all(texts)) assert.match(text, /retry: 1000\n\n$/)
})
