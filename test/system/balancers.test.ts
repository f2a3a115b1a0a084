// Every kind of request that a client makes, through nginx and HAProxy as Debian configures them.

import assert from 'node:assert/strict'
import { createHash, randomUUID } from 'node:crypto'
import { before, describe, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { resolveConfig } from '../../src/config/config.js'
import { openGateway } from '../../src/gateway/gateway.js'
import { at, parsed, textAt } from '../integration/support/json.js'
import { itServer, root } from '../integration/support/programs.js'
import { opened } from '../integration/support/raw-sessions.js'
import type { Scope } from '../integration/support/spawned.js'
import { EventReader, handshake, message, messageIn, open, send } from '../transports/support/http.js'
import { balancers, checked, haproxyProgram, nginxKeepingAlive } from './support/balancers.js'
import { HANG_MS, untilAnswered } from '../integration/support/waiting.js'
import { Relay } from '../support/relay.js'
import { suiteScope } from '../support/scope.js'
import { startProgram } from './support/system-program.js'

const MiB = 1024 * 1024
/** A busy machine must not run into the limit of a call. */
const plain = { prefix: false, describe: false, timeout: HANG_MS }

/** A front with a server whose tools behave as their arguments ask. */
async function front(scope: Scope, more: object = {}): Promise<number> {
  const value = {
    server: { port: 0, allowedHosts: ['127.0.0.1'], ...more },
    mcpServers: { it: itServer({}, plain) },
  }
  const gateway = await openGateway(resolveConfig(value, { source: 'test', folder: root, env: process.env }))
  scope.after(() => gateway.close(0))
  return gateway.port
}

const call = (id: number, name: string, args: object = {}): string =>
  message('tools/call', id, { name, arguments: args })

/** The response of a tool of the server. */
function saidIn(body: string): unknown {
  const answer = messageIn(body)
  assert(at(answer, 'error') === undefined, JSON.stringify(answer))
  return parsed(textAt(answer, 'result', 'content', 0, 'text'))
}

async function until(holds: () => Promise<boolean>): Promise<void> {
  while (!(await holds())) await delay(20)
}

const digest = (text: string): string => createHash('sha256').update(text).digest('hex')

type Operation = (port: number) => Promise<void>

const operations: readonly (readonly [string, Operation])[] = [
  [
    'a question in the middle of a call, whose answer is waited for',
    async (port) => {
      const session = await opened({ port }, { capabilities: { sampling: {} } })
      const asking = { method: 'sampling/createMessage', params: { messages: [], maxTokens: 1 } }
      const reader = new EventReader(await open(port, { headers: session, body: call(1, 'ask', asking) }))
      const question = parsed((await reader.next())?.data ?? 'null')
      assert.equal(at(question, 'method'), 'sampling/createMessage')
      const result = { model: 'm', role: 'assistant', content: { type: 'text', text: 'yes' } }
      const said = JSON.stringify({ jsonrpc: '2.0', id: at(question, 'id'), result })
      assert.equal((await send(port, { headers: session, body: said })).status, 202)
      assert.deepEqual(saidIn((await reader.next())?.data ?? 'null'), { result })
      assert.equal(await reader.next(), undefined)
    },
  ],
  [
    'what is said unasked on the stream of the session',
    async (port) => {
      const session = await handshake(port)
      const stream = await open(port, { method: 'GET', headers: { ...session, accept: 'text/event-stream' } })
      assert.equal(stream.statusCode, 200)
      const reader = new EventReader(stream)
      await send(port, {
        headers: session,
        body: message('resources/subscribe', 1, { uri: 'it://server/a' }),
      })
      for (const id of [2, 3]) {
        const telling = { method: 'notifications/resources/updated', params: { uri: 'it://server/a' } }
        await send(port, { headers: session, body: call(id, 'tell', telling) })
        assert.match((await reader.next())?.data ?? '', /resources\/updated/)
      }
      reader.cut()
    },
  ],
  [
    'a call whose client goes away, which goes on',
    async (port) => {
      for (const headers of [await handshake(port), {}]) {
        const left = await open(port, { headers, body: call(1, 'hold', { key: 'left' }) })
        left.destroy()
        const { body } = await send(port, { headers, body: call(2, 'release', { key: 'left' }) })
        assert.deepEqual(saidIn(body), { released: true })
      }
    },
  ],
  [
    '10 MB in both directions, as JSON and as an event',
    async (port) => {
      const n = randomUUID().repeat(Math.ceil((10 * MiB) / 36))
      for (const accept of ['application/json', 'text/event-stream']) {
        const answer = await send(port, { headers: { accept }, body: call(1, 'nonce', { n }) })
        assert.equal(digest(textAt(saidIn(answer.body), 'n')), digest(n))
      }
    },
  ],
  [
    'the older pair',
    async (port) => {
      const stream = new EventReader(await open(port, { method: 'GET', path: '/sse' }))
      const path = (await stream.next())?.data ?? ''
      const opening = {
        protocolVersion: '2024-11-05',
        capabilities: {},
        clientInfo: { name: 'c', version: '1' },
      }
      for (const body of [message('initialize', 0, opening), call(1, 'nonce', { n: 'pair' })]) {
        assert.equal((await send(port, { path, body })).status, 202)
        assert.match((await stream.next())?.data ?? '', /"result":/)
      }
      stream.cut()
    },
  ],
]

for (const balancer of balancers)
  describe(`behind ${balancer.title}`, () => {
    const scope = suiteScope()
    let port = 0
    before(async () => {
      ;({ port } = await balancer.start(scope, await front(scope)))
    })
    for (const [title, operation] of operations) test(title, () => operation(port))
  })

describe('connections of a balancer to the front', () => {
  for (const balancer of balancers)
    test(`are ${balancer.reuses ? 'used again' : 'one for each request'}: ${balancer.title}`, async (t) => {
      const relay = await Relay.open(t, await front(t))
      const { port } = await balancer.start(t, relay.port)
      // `fetch` keeps its connection to the balancer.
      const ping = async (id: number): Promise<void> => {
        const headers = { 'content-type': 'application/json' }
        const body = message('ping', id)
        const response = await fetch(`http://127.0.0.1:${port}/mcp`, { method: 'POST', headers, body })
        assert.equal(await response.text(), `{"jsonrpc":"2.0","id":${id},"result":{}}`)
      }
      await ping(0)
      const first = relay.made
      for (let id = 1; id <= 20; id++) await ping(id)
      // HAProxy opens separate connections for its checks.
      if (balancer.reuses) assert.ok(relay.made - first < 20, `${relay.made - first}`)
      else assert.equal(relay.made - first, 20)
    })

  // HAProxy takes the end of a client's half of a connection for just that, until it has something to pass on.
  for (const each of balancers.filter(({ title }) => title !== 'HAProxy')) {
    // nginx closes an idle connection after a second.
    const balancer = each.reuses ? nginxKeepingAlive({ seconds: 1, connections: 16 }) : each
    test(`end when the client of a stream goes away: ${balancer.title}`, async (t) => {
      const relay = await Relay.open(t, await front(t))
      const { port } = await balancer.start(t, relay.port)
      const session = await handshake(port)
      const headers = { ...session, accept: 'text/event-stream' }
      const streams = [
        await open(port, { method: 'GET', headers }),
        await open(port, { body: call(1, 'never') }),
      ]
      for (const stream of streams) stream.destroy()
      await until(() => Promise.resolve(relay.open === 0))
    })
  }

  test('may be ended by the balancer at any moment', async (t) => {
    const balancer = nginxKeepingAlive({ seconds: 1, connections: 4 })
    const { port } = await balancer.start(t, await front(t))
    const statuses = new Set<number>()
    // These requests come around the moment at which nginx closes an idle connection.
    const pauses = Array.from({ length: 12 }, (_, index) => 985 + index * 3)
    await Promise.all(
      pauses.map(async (pause) => {
        for (let id = 0; id < 4; id++) {
          statuses.add((await send(port, { body: call(id, 'nonce', { n: 'idle' }) })).status)
          await delay(pause)
        }
      }),
    )
    assert.deepEqual([...statuses], [200])
  })
})

const checks = ['option httpchk GET /health', 'option httpchk', 'option httpchk OPTIONS /health']
for (const check of checks)
  test(`health checks of HAProxy find the front well: ${check}`, async (t) => {
    const running = await startProgram(t, haproxyProgram(await front(t), check, 'default-server inter 100'))
    // A check that a busy machine answers too late is followed by another one.
    let found = await checked(running)
    const isUp = async (): Promise<boolean> => {
      found = await checked(running)
      return found.status === 'UP' && found.check === 'L7OK'
    }
    await untilAnswered(isUp, () => JSON.stringify(found))
  })
