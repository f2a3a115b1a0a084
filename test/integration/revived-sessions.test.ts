// Sessions that go on in another gateway with the same key, after the one that opened them is gone, with its processes.

import assert from 'node:assert/strict'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import type { Gateway, GatewayOptions } from '../../src/gateway/gateway.js'
import {
  type Answer,
  type Event,
  EventReader,
  events,
  listen,
  message,
  messageIn,
  open,
  send,
} from '../transports/support/http.js'
import { bearer, gatewayConfig, gatewayOf, tokenOf } from './support/gateway.js'
import { at } from './support/json.js'
import { itServer, type ServerEntry } from './support/programs.js'
import { ask, call, type Fields, newId, opened, said } from './support/raw-sessions.js'
import { type Scope, scratch } from './support/spawned.js'
import { until, untilAnswered } from './support/waiting.js'
import { openGateway } from '../../src/gateway/gateway.js'

type Json = Readonly<Record<string, unknown>>

const askable = { sampling: {} }

/** One gateway after the other, with the same configuration and key. */
function runs(t: Scope, servers: Readonly<Record<string, ServerEntry>>, server: Json = {}) {
  const sessionsFolder = join(scratch(t), 'sessions')
  let gateway: Gateway | undefined
  const kill = async (): Promise<void> => gateway?.close(0)
  t.after(kill)
  const next = async (more: Json = {}): Promise<Gateway> => {
    await kill()
    const options: GatewayOptions = { sessionsFolder }
    gateway = await openGateway(gatewayConfig({ mcpServers: servers, server, ...more }), options)
    return gateway
  }
  return { next, kill }
}

const methodOf = ({ data = '{}' }: Event): unknown => at(JSON.parse(data || '{}'), 'method')

describe('a session of a gateway that is gone', () => {
  test('goes on in the next one, with its log level and its subscriptions', async (t) => {
    const { next } = runs(t, { s: itServer() })
    const one = await next()
    const headers = await opened(one, { capabilities: askable })
    await ask(one, headers, 'logging/setLevel', { level: 'error' })
    // An invalid level is not kept.
    await ask(one, headers, 'logging/setLevel', { level: 'x'.repeat(100_000) })
    for (const name of ['a', 'b'])
      await ask(one, headers, 'resources/subscribe', { uri: `it://server/${name}` })
    await ask(one, headers, 'resources/unsubscribe', { uri: 'it://server/a' })
    const before = await call(one, headers, 'pids')

    const two = await next()
    assert.notDeepEqual(await call(two, headers, 'pids'), before)
    const revived = [one, two].map(({ readings }) => readings['mcps_sessions_revived_total']?.())
    assert.deepEqual(revived, [0, 1])
    await untilAnswered(async () => (await said(two, headers, 'resources/subscribe')).length > 0)
    const [initialize] = await said(two, headers, 'initialize')
    assert.deepEqual(at(initialize, 'capabilities'), askable)
    assert.deepEqual(await said(two, headers, 'logging/setLevel'), [{ level: 'error' }])
    assert.deepEqual(await said(two, headers, 'resources/subscribe'), [{ uri: 'it://server/b' }])
    // The new level is kept for the next gateway too.
    await ask(two, headers, 'logging/setLevel', { level: 'info' })
    const three = await next()
    await untilAnswered(async () => (await said(three, headers, 'logging/setLevel')).length > 0)
    assert.deepEqual(await said(three, headers, 'logging/setLevel'), [{ level: 'info' }])
  })

  test('hears on its stream what the servers say, and that lists may have changed', async (t) => {
    const { next } = runs(t, { s: itServer() })
    const headers = await opened(await next(), { capabilities: askable })
    const two = await next()
    const stream = await listen(two.port, headers)
    assert.equal(stream.response.statusCode, 200)
    const updated = { method: 'notifications/resources/updated', params: { uri: 'it://server/a' } }
    await ask(two, headers, 'resources/subscribe', updated.params)
    await call(two, headers, 'tell', updated)
    await stream.having(updated.method)
    const changes = stream.all.map(methodOf).filter((method) => String(method).endsWith('list_changed'))
    assert(changes.includes('notifications/tools/list_changed'))
    assert(changes.includes('notifications/resources/list_changed'))
    assert.equal(new Set(changes).size, changes.length)
  })

  test('is asked under an id that no question of the other gateway had', async (t) => {
    const { next } = runs(t, { s: itServer() })
    const one = await next()
    const headers = await opened(one, { capabilities: askable })
    const questionOf = async (gateway: Gateway): Promise<unknown> => {
      const asking = { method: 'sampling/createMessage', params: { messages: [], maxTokens: 1 } }
      const body = message('tools/call', newId(), { name: 's__ask', arguments: asking })
      const reader = new EventReader(await open(gateway.port, { headers, body }))
      return at(await reader.having(asking.method), 'id')
    }
    const first = await questionOf(one)
    const two = await next()
    const second = await questionOf(two)
    assert.equal(typeof second, 'string')
    assert.notEqual(first, second)
    const late = { jsonrpc: '2.0', id: first, result: { model: 'm', role: 'assistant', content: {} } }
    assert.equal((await send(two.port, { headers, body: JSON.stringify(late) })).status, 202)
  })

  test('tells a client that resumes the stream of a call that the call is lost, and goes on with its other stream', async (t) => {
    const { next } = runs(t, { s: itServer() })
    const one = await next()
    const headers = await opened(one, { capabilities: askable })
    const other = await listen(one.port, headers)
    await until(() => other.all.length > 0)
    const stream = new EventReader(
      await open(one.port, { headers, body: message('tools/call', 'a "7"', { name: 's__never' }) }),
    )
    // The event without data is enough to resume after.
    await until(() => stream.all.length > 0)
    const { id: call = '' } = stream.all[0] ?? {}
    const { id: standalone = '' } = other.all.at(-1) ?? {}
    const asEvents = { ...headers, accept: 'text/event-stream' }
    const pong = await send(one.port, { headers: asEvents, body: message('ping', 8) })
    const { id: answered = '' } = events(pong.body).at(-1) ?? {}

    const two = await next()
    const resumed = (lastEventId: string): Promise<Answer> =>
      send(two.port, {
        method: 'GET',
        headers: { ...headers, accept: 'text/event-stream', 'last-event-id': lastEventId },
      })
    const answer = await resumed(call)
    const error = messageIn(answer.body)
    assert.deepEqual(
      [answer.status, at(error, 'id'), at(error, 'error', 'code'), at(error, 'error', 'data', 'reason')],
      [200, 'a "7"', -32603, 'instance-lost'],
    )
    assert.equal((await resumed(answered)).status, 204, 'nothing was lost of a call that is answered')
    const unknown = [call.replace(/-[^-]*$/, ''), 'x.1-1-e30', 'x.1-1-Ng-1', call.replace(/^.*\./, '.')]
    for (const id of unknown) assert.equal((await resumed(id)).status, 400, id)
    const goesOn = await listen(two.port, headers, standalone)
    assert.equal(goesOn.response.statusCode, 200)
    await goesOn.having('list_changed')
    // Its ids are those of the new process.
    assert.equal((await listen(two.port, headers, goesOn.all.at(-1)?.id)).response.statusCode, 200)
  })

  test('goes on once for requests that come together', async (t) => {
    const { next } = runs(t, { s: itServer() })
    const headers = await opened(await next(), { capabilities: askable })
    const two = await next()
    const pids = await Promise.all([1, 2, 3].map(() => call(two, headers, 'pids')))
    assert.deepEqual(new Set(pids.map((each) => at(each, 'pid'))).size, 1)
    assert.equal(two.proxies.get('default')?.sessions().length, 1)
  })

  test('is ended by its client for all gateways', async (t) => {
    const { next } = runs(t, { s: itServer() })
    const one = await next()
    const [first, second] = [await opened(one), await opened(one)]
    assert.equal((await send(one.port, { method: 'DELETE', headers: first })).status, 200)
    assert.equal((await ask(one, first, 'ping')).status, 404)
    const two = await next()
    assert.equal((await ask(two, first, 'ping')).status, 404)
    assert.equal((await send(two.port, { method: 'DELETE', headers: second })).status, 200)
    assert.equal((await ask(two, second, 'ping')).status, 404)
    assert.equal((await ask(await next(), second, 'ping')).status, 404)
  })

  test('is found by its principal, at its endpoint, before its end', async (t) => {
    const tokens = [tokenOf('a', 'mcps_a'), tokenOf('b', 'mcps_b')]
    const profiles = { profiles: { p: {}, q: {} } }
    const stateKey = 'the key of both instances'
    const { next } = runs(t, { s: itServer() }, { tokens, stateKey })
    const one = await next(profiles)
    const headers = await opened(one, { path: '/p/p/mcp', headers: bearer('mcps_a') })
    const status = async (gateway: Gateway, fields: Fields = {}, path = '/p/p/mcp'): Promise<number> =>
      (await ask(gateway, { ...headers, ...fields }, 'ping', {}, path)).status
    const two = await next(profiles)
    assert.deepEqual(
      [
        await status(two, bearer('mcps_b')),
        await status(two, {}, '/p/q/mcp'),
        await status(two, {}, '/mcp'),
        await status(two, { 'mcp-session-id': `${headers['mcp-session-id']}A` }),
        await status(two),
        await status(two, bearer('mcps_b')),
      ],
      [404, 404, 404, 404, 200, 404],
    )
    const short = { ...profiles, server: { tokens, stateKey, sessionMaxAge: 0 } }
    assert.equal(await status(await next(short)), 404)
  })

  test('has ended where a server has kept it in the memory of a process', async (t) => {
    const servers = { s: itServer({}, { isolation: 'session' }), o: itServer() }
    const { next } = runs(t, servers, { stateKey: 'the key of both instances' })
    const [all, some] = [{}, { profiles: { p: { servers: ['o'] } } }]
    const one = await next({ ...all, ...some })
    const [bound, free] = [await opened(one), await opened(one, { path: '/p/p/mcp' })]
    const two = await next({ ...all, ...some })
    assert.equal((await ask(two, bound, 'ping')).status, 404)
    assert.equal((await ask(two, free, 'ping', {}, '/p/p/mcp')).status, 200)
    // Nor does it go on where no server does any more.
    const shared = await next({ mcpServers: { s: itServer() } })
    assert.equal((await ask(shared, bound, 'ping')).status, 404)
  })

  test('has an ordinary id, and ends with its gateway, where its client says too much', async (t) => {
    const { next } = runs(t, { s: itServer() })
    const one = await next()
    const headers = await opened(one, { capabilities: { experimental: { x: { y: 'z'.repeat(1000) } } } })
    assert.match(headers['mcp-session-id'] ?? '', /^[\w-]{32}$/)
    assert.equal((await ask(one, headers, 'ping')).status, 200)
    assert.equal((await ask(await next(), headers, 'ping')).status, 404)
  })
})

test('a gateway that cannot keep its key says so, and serves', async (t) => {
  const logged: string[] = []
  const folder = join(scratch(t), 'not', 'there')
  const gateway = await gatewayOf(
    t,
    { mcpServers: { s: itServer() } },
    { sessionsFolder: join(folder, 'sessions'), log: ({ message: text }) => void logged.push(text) },
  )
  assert(logged.some((text) => text.includes('sessions end with this process')))
  mkdirSync(folder, { recursive: true })
  assert.equal((await ask(gateway, await opened(gateway), 'ping')).status, 200)
})
