import { strict as assert } from 'node:assert'
import { createServer } from 'node:net'
import { test } from 'node:test'
import type { Heard } from '../integration/support/client.js'
import { at } from '../integration/support/json.js'
import { libraryProxy } from '../integration/support/library.js'
import { until } from '../integration/support/waiting.js'
import { limits } from '../../src/limits.js'
import { defaultHttpClientLimits } from '../../src/transports/http-client/options.js'
import { INIT, TOOLS } from '../transports/support/one-tool.js'
import { type Scope, answerOf, called, json, scripted } from '../transports/support/scripted.js'
import { listening } from '../support/listening.js'
import { done, toolServer } from './support/remote.js'

function isAnswered(heard: Heard): boolean {
  return at(heard.value, 'result') !== undefined
}

test('a session without clients ends, and the next call begins another', async (t) => {
  const script = await scripted(t, toolServer(done))
  const count = (what: string): number =>
    script.seen.filter(({ method, rpc }) => method === what || rpc === what).length
  const resting = { ...limits, upstream: { ...limits.upstream, remoteRestMs: 100 } }
  const servers = { s: { url: script.url.href } }
  const { attach, proxy } = await libraryProxy(t, servers, { limits: resting, eager: true })
  // The proxy connects before the first client for the sake of the status, and then disconnects.
  await until(() => count('DELETE') === 1)
  const found = proxy.status().map(({ state, tools }) => [state, tools])
  assert.deepEqual(found, [['connected', 1]])
  const { client, connection } = await attach()
  await client.open()
  assert.ok(isAnswered(await client.call('s__work')))
  assert.equal(count('initialize'), 2)
  // While a client is connected, the proxy keeps the stream open, however long it is idle.
  await new Promise((resolve) => setTimeout(resolve, 500))
  assert.equal(count('DELETE'), 1)
  await connection.close()
  await until(() => count('DELETE') === 2)
})

/** A server that answers unknown requests with 404. */
async function partial(t: Scope, isKnown: (session: unknown, rpc: unknown) => boolean) {
  let sessions = 0
  const capabilities = '{"tools":{},"resources":{},"prompts":{}}'
  const init = INIT.replace('{"tools":{}}', capabilities)
  const script = await scripted(t, (seen, response) => {
    const { method, rpc, id, headers } = seen
    if (rpc === 'initialize') json(response, answerOf(id, init), 200, { 'mcp-session-id': `s-${++sessions}` })
    else if (method === 'GET') response.writeHead(405).end()
    else if (!isKnown(headers['mcp-session-id'], rpc)) response.writeHead(404).end('no such thing')
    else if (rpc === 'tools/list') json(response, answerOf(id, TOOLS))
    else if (rpc === 'tools/call') json(response, answerOf(id, '{"content":[]}'))
    else if (typeof rpc === 'string' && rpc.endsWith('/list'))
      json(response, answerOf(id, `{"${rpc.replace(/.list$/, '')}":[]}`))
    else if (id === undefined) response.writeHead(202).end()
    else json(response, answerOf(id, '{}'))
  })
  const made = await libraryProxy(t, { s: { url: script.url.href, retryDelay: 1 } })
  const { client } = await made.attach()
  await client.open()
  return { ...made, client, count: (what: string) => script.seen.filter(({ rpc }) => rpc === what).length }
}

test('a server that answers a list with 404 keeps its session, and what it has can be called', async (t) => {
  const { proxy, client, log, count } = await partial(t, (_session, rpc) => rpc !== 'prompts/list')
  assert.ok(isAnswered(await client.call('s__work')))
  const isTold = (): boolean =>
    log.some(({ message }) => /prompts\/list: .*HTTP 404: no such thing/.test(message))
  await until(isTold)
  // The proxy has listed again in the same session.
  await until(() => count('prompts/list') >= 4)
  assert.equal(count('initialize'), 2)
  assert.match(proxy.status()[0]?.error ?? '', /prompts\/list: .*HTTP 404/)
})

test('a server that forgets its session twice while it lists is asked in the next one', async (t) => {
  const forgotten: readonly unknown[] = ['s-1', 's-2']
  const isKnown = (session: unknown, rpc: unknown): boolean =>
    !forgotten.includes(session) || rpc === 'notifications/initialized'
  const { proxy, client, count } = await partial(t, isKnown)
  await until(() => proxy.status()[0]?.state === 'connected')
  assert.ok(isAnswered(await client.call('s__work')))
  assert.equal(count('initialize'), 3)
})

test('a server that does not accept a connection in time gets nothing', async (t) => {
  // The server accepts TCP connections and never answers the TLS handshake.
  const silent = createServer((socket) => socket.on('error', () => undefined))
  const url = new URL(`https://127.0.0.1:${await listening(t, silent)}/mcp`)
  const { heard } = await called(t, url, {
    retries: 1,
    retryDelayMs: 1,
    limits: { ...defaultHttpClientLimits, connectMs: 100 },
  })
  assert.equal(heard.failures[0]?.error.code, 'TRANSPORT_UNREACHABLE')
  assert.match(heard.failures[0]?.error.message ?? '', /no connection within 100 ms/)
})
