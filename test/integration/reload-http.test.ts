// A gateway whose configuration changes while clients use it.

import { strict as assert } from 'node:assert'
import { describe, test } from 'node:test'
import type { Configuration } from '../../src/config/configuration.js'
import { type GatewayOptions, openGateway } from '../../src/gateway/gateway.js'
import { limits } from '../../src/limits.js'
import type { LogRecord } from '../../src/index.js'
import { until } from './support/waiting.js'
import {
  type Answer,
  EventReader,
  type Sent,
  both,
  handshake,
  message,
  open,
  send,
} from '../transports/support/http.js'
import { at, numberAt, parsed, textAt } from './support/json.js'
import { bearer, gatewayConfig, tokenOf } from './support/gateway.js'
import { itServer } from './support/programs.js'
import type { Scope } from './support/spawned.js'
import { gone } from './support/waiting.js'

type Json = Readonly<Record<string, unknown>>

const a = itServer({ IT_NAME: 'a' })
const b = itServer({ IT_NAME: 'b' })

function config(schemas: Readonly<Record<string, Json>>, server: Json = {}): Configuration {
  const of = (servers: Json): Json => ({ mcpServers: servers })
  const value = {
    server,
    schemas: Object.fromEntries(Object.entries(schemas).map(([name, servers]) => [name, of(servers)])),
  }
  return gatewayConfig(value)
}

const drained = { limits: { ...limits, drainMs: 1000 } }

async function opened(scope: Scope, first: Configuration, options: GatewayOptions = {}) {
  const log: LogRecord[] = []
  const gateway = await openGateway(first, { log: (record) => void log.push(record), ...options })
  scope.after(() => gateway.close(0))
  return { gateway, port: gateway.port, log }
}

const callBody = (name: string, args: unknown, id: number | string = 1): string =>
  message('tools/call', id, { name, arguments: args })

/** The text of a result of the test server, from JSON or the last event. */
function said({ body }: Pick<Answer, 'body'>): unknown {
  const json = body.startsWith('{') ? body : (/data: (\{.*\})\n\n$/s.exec(body)?.[1] ?? body)
  return parsed(textAt(parsed(json), 'result', 'content', 0, 'text'))
}

const pid = async (port: number, more: Partial<Sent>, name = 'a__nonce'): Promise<number> =>
  numberAt(said(await send(port, { body: callBody(name, { n: '' }), ...more })), 'pid')

async function codeAt(port: number, sent: Sent): Promise<readonly [number, unknown]> {
  const { status, body } = await send(port, { body: message('ping', 1), ...sent })
  return [status, body.startsWith('{') ? at(parsed(body), 'error', 'code') : undefined]
}

const tokens = (...named: readonly [name: string, token: string][]): Json => ({
  tokens: named.map(([name, token]) => tokenOf(name, token)),
})

describe('reload over HTTP', () => {
  test('schemas come and go, and those that stay keep sessions, processes and streams', async (t) => {
    const { gateway, port } = await opened(t, config({ default: { a }, old: { a: b } }), drained)
    const session = await handshake(port)
    const inOld = await handshake(port, '2025-11-25', '/api/old/mcp')
    await send(port, { headers: session, body: message('notifications/initialized') })
    await send(port, { headers: session, body: message('tools/list', 'l') })
    const stream = new EventReader(await open(port, { method: 'GET', headers: { ...session, accept: both } }))
    const before = await pid(port, { headers: session })
    const running = send(port, {
      path: '/api/old/mcp',
      headers: inOld,
      body: callBody('a__hold', { key: 'k' }, 'h'),
    })
    const oldPid = await pid(port, { path: '/api/old/mcp', headers: inOld })
    const oldStream = new EventReader(
      await open(port, { path: '/api/old/mcp', method: 'GET', headers: { ...inOld, accept: both } }),
    )

    await gateway.reload(config({ default: { b, a }, fresh: { a } }))
    assert.equal((await codeAt(port, { path: '/api/fresh/mcp' }))[0], 200)
    assert.deepEqual(await codeAt(port, { path: '/api/old/mcp', headers: inOld }), [404, 404])
    assert.equal(await pid(port, { headers: session }), before)
    await pid(port, { headers: session }, 'b__nonce')
    const method = textAt(parsed((await stream.next())?.data ?? ''), 'method')
    assert.equal(method, 'notifications/tools/list_changed')
    assert.equal(stream.all.filter(({ data }) => data?.includes('list_changed')).length, 1)
    const { body } = await send(port, { path: '/api/status', method: 'GET', headers: { accept: '*/*' } })
    assert.deepEqual(Object.keys(Object(at(parsed(body), 'schemas'))), ['default', 'fresh'])

    // No client can release the call any more, so it is answered when the drain time is over.
    const answer = await running
    const failure = at(parsed(/\{.*\}/.exec(answer.body)?.[0] ?? ''), 'error', 'data', 'reason')
    assert.equal(failure, 'shutting-down')
    assert.equal(await oldStream.next(), undefined, 'its stream has ended')
    await until(() => gone(oldPid))

    await gateway.reload(config({ default: { b, a }, old: { a: b } }))
    assert.equal((await codeAt(port, { path: '/api/old/mcp', headers: inOld }))[0], 200)
    assert.equal((await codeAt(port, { path: '/api/old/mcp' }))[0], 200)
    assert.equal(await pid(port, { headers: session }), before)
    stream.cut()
  })

  test('another token: the old one is refused at once, its calls are answered, and its sessions end', async (t) => {
    const { gateway, port } = await opened(t, config({ default: { a } }, { token: 'first-token' }), drained)
    const first = bearer('first-token')
    const session = await handshake(port, undefined, undefined, first)
    const running = send(port, {
      headers: session,
      body: message('tools/call', 9, {
        name: 'a__slow',
        arguments: { steps: 3, everyMs: 100 },
        _meta: { progressToken: 1 },
      }),
    })
    const process = await pid(port, { headers: session })
    await gateway.reload(config({ default: { a } }, { token: 'second-token' }))
    const second = bearer('second-token')
    assert.equal((await codeAt(port, { headers: session }))[0], 401)
    assert.equal((await codeAt(port, { headers: second }))[0], 200)
    const foreign = await codeAt(port, { headers: { ...session, ...second } })
    assert.equal(foreign[0], 404, 'who has another token is somebody else, also while the session has a call')
    assert.match((await running).body, /\\"at\\":4/)
    assert.equal(await pid(port, { headers: second }), process, 'no server was started anew')
  })

  test('a token that is revoked or replaced: its sessions end, and those of the others stay', async (t) => {
    const first = tokens(['ann', 'ann-1'], ['bob', 'bob-1'], ['cyd', 'cyd-1'])
    const { gateway, port } = await opened(t, config({ default: { a } }, first), drained)
    const sessions = await Promise.all(
      ['ann-1', 'bob-1', 'cyd-1'].map((token) => handshake(port, undefined, undefined, bearer(token))),
    )
    const [ann = {}, bob = {}, cyd = {}] = sessions
    assert.equal((await codeAt(port, { headers: { ...ann, ...bearer('bob-1') } }))[0], 404)
    // The events begin while the call runs.
    const stuck = new EventReader(await open(port, { headers: bob, body: callBody('a__never', {}, 1) }))
    await gateway.reload(config({ default: { a } }, tokens(['ann', 'ann-1'], ['cyd', 'cyd-2'])))
    assert.match((await stuck.next())?.data ?? '', /The session has ended: its client .* may not use it/)
    assert.equal((await codeAt(port, { headers: ann }))[0], 200)
    assert.equal((await codeAt(port, { headers: bob }))[0], 401)
    assert.equal((await codeAt(port, { headers: { ...cyd, ...bearer('cyd-2') } }))[0], 404)
    assert.equal((await codeAt(port, { headers: bearer('cyd-2') }))[0], 200)
  })

  test('rules of CORS and allowed hosts hold from now on', async (t) => {
    const page = { origin: 'https://page.example' }
    const { gateway, port } = await opened(t, config({ default: { a } }))
    assert.equal((await codeAt(port, { headers: page }))[0], 403)
    assert.equal((await codeAt(port, { headers: { host: 'proxy.example' } }))[0], 403)
    const rules = { cors: { origins: [page.origin] }, allowedHosts: ['proxy.example'] }
    await gateway.reload(config({ default: { a } }, rules))
    const answer = await send(port, { headers: page, body: message('ping', 1) })
    assert.equal(answer.headers['access-control-allow-origin'], page.origin)
    assert.equal((await codeAt(port, { headers: { host: 'proxy.example' } }))[0], 200)
  })

  for (const host of ['127.0.0.1', '0.0.0.0'])
    test(`the end of the last token opens nothing: ${host}`, async (t) => {
      const first = config({ default: { a } }, { host, ...tokens(['ann', 'ann-1']) })
      const { gateway, port, log } = await opened(t, first)
      const ann = { headers: bearer('ann-1') }
      for (const none of [tokens(), {}]) {
        await gateway.reload(config({ default: { a } }, { host, ...none }))
        for (const head of [{}, ann]) assert.equal((await codeAt(port, head))[0], 401)
      }
      const told = log.filter(({ message: text }) => text.includes('no token any more, so every client is'))
      assert.equal(told.length, 1)
      await gateway.reload(first)
      assert.equal((await codeAt(port, {}))[0], 401)
      assert.equal((await codeAt(port, ann))[0], 200)
    })

  test('an empty list of tokens refuses every client from the start', async (t) => {
    const { port } = await opened(t, config({ default: { a } }, tokens()))
    for (const head of [{}, { headers: bearer('') }]) assert.equal((await codeAt(port, head))[0], 401)
  })
})
