// The gateway with real servers behind it and clients that others wrote.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { SSEClientTransport } from '@modelcontextprotocol/sdk/client/sse.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import {
  CreateMessageRequestSchema,
  ElicitRequestSchema,
  ListRootsRequestSchema,
} from '@modelcontextprotocol/sdk/types.js'
import type { Configuration } from '../../src/config/configuration.js'
import { ConfigError } from '../../src/config/problems.js'
import { resolveConfig } from '../../src/config/config.js'
import { type Gateway, type GatewayOptions, openGateway, refuseGateway } from '../../src/gateway/gateway.js'
import { createProxy, httpServer, limits } from '../../src/index.js'
import { clockTime } from '../../src/gateway/status.js'
import { Deferred } from '../../src/runtime/deferred.js'
import { everything, itEcho, itServer, root, time } from '../integration/support/programs.js'
import { handshake, message, send } from '../transports/support/http.js'
import { gatewayOf } from '../integration/support/gateway.js'
import type { Scope } from '../support/scope.js'
import { openRuntime } from '../support/open-runtime.js'
import { Relay } from '../support/relay.js'

const gateway = (
  scope: Scope,
  schemas: Readonly<Record<string, unknown>>,
  server: Readonly<Record<string, unknown>> = {},
  options: GatewayOptions = {},
): Promise<Gateway> => gatewayOf(scope, { server, schemas }, options)

const at = (url: string): object => ({ self: { url } })

function alone(mcpServers: object): Configuration {
  const value = { mcpServers }
  return resolveConfig(value, { source: 'test', folder: root, env: process.env })
}

const port = 39_518
const here = `http://127.0.0.1:${port}`
const cases: [string, Record<string, object>, RegExp | undefined][] = [
  ['its own schema', { default: at(`${here}/mcp`) }, /server "self" of group "default" is this program/],
  ['the older transport, by name', { default: at(`http://localhost:${port}/sse`) }, /"default" is this/],
  ['a named schema', { a: at(`${here}/api/a/mcp/`) }, /server "self" of group "a" is this/],
  ['one with another escape', { 'a-b': at(`${here}/api/a%2Db/mcp`) }, /of group "a-b" is this/],
  ['a circle of two', { a: at(`${here}/api/b/mcp`), b: at(`${here}/api/a/mcp`) }, /"a" is .*\n.*"b" is/],
  ['a circle that is cut', { a: at(`${here}/api/off/mcp`), off: at(`${here}/api/a/mcp`) }, undefined],
  ['another schema, which leads nowhere', { a: at(`${here}/api/b/mcp`), b: {} }, undefined],
  ['another port', { default: at(`http://127.0.0.1:${port + 1}/mcp`) }, undefined],
  ['another path', { default: at(`${here}/other`) }, undefined],
]
for (const [title, schemas, wanted] of cases)
  test(`the front as a server, ${title}: ${wanted === undefined ? 'served' : 'refused at once'}`, () => {
    const value = {
      server: { port },
      schemas: Object.fromEntries(
        Object.entries(schemas).map(([name, mcpServers]) => [name, { mcpServers, enabled: name !== 'off' }]),
      ),
    }
    const config = resolveConfig(value, { source: 'test', folder: root, env: process.env })
    const check = (): void => refuseGateway(config, {})
    if (wanted === undefined) check()
    else assert.throws(check, (error) => error instanceof ConfigError && wanted.test(error.message))
  })

test('a start and a reload refuse a server that is the front itself; what is served goes on', async (t) => {
  await assert.rejects(openGateway(alone(at(`${here}/mcp`)), { port }), /own address/)
  const opened = await gateway(t, { default: schema({}) })
  await assert.rejects(opened.reload(alone(at(`http://localhost:${opened.port}/mcp`))), /own address/)
  assert.equal((await send(opened.port, { body: message('ping', 1) })).status, 200)
})

const schema = (servers: Readonly<Record<string, unknown>>, more: object = {}): object => ({
  mcpServers: servers,
  ...more,
})

/** A client that answers every question with its own name, and keeps the questions. */
function asked(name: string): { client: Client; told: string[] } {
  const told: string[] = []
  const capabilities = { sampling: {}, elicitation: {}, roots: { listChanged: true } }
  const client = new Client({ name, version: '1' }, { capabilities })
  client.setRequestHandler(CreateMessageRequestSchema, ({ params }) => {
    told.push('sampling', JSON.stringify(params.messages))
    return { model: name, role: 'assistant', content: { type: 'text', text: `sampled by ${name}` } }
  })
  client.setRequestHandler(ElicitRequestSchema, () => {
    told.push('elicitation')
    return { action: 'accept', content: { name: `elicited by ${name}` } }
  })
  client.setRequestHandler(ListRootsRequestSchema, () => {
    told.push('roots')
    return { roots: [{ uri: `file:///${name}`, name: `root of ${name}` }] }
  })
  return { client, told }
}

async function call(client: Client, name: string, args: Record<string, unknown> = {}): Promise<string> {
  return JSON.stringify(await client.callTool({ name, arguments: args }))
}

test('two clients that others wrote are each asked what their own calls ask, over HTTP+SSE', async (t) => {
  const { origin: url } = await gateway(t, { default: schema({ every: { ...everything, prefix: false } }) })
  const clients = ['ann', 'bob'].map((name) => ({ name, ...asked(name) }))
  await Promise.all(
    clients.map(async ({ client }) => {
      await client.connect(new SSEClientTransport(new URL(`${url}/sse`)))
      t.after(() => client.close())
    }),
  )
  await Promise.all(
    clients.map(async ({ client, name, told }) => {
      assert.match(await call(client, 'echo', { message: `from ${name}` }), new RegExp(`from ${name}`))
      // The client's own process has started with that call, and offers more to a client that can be asked.
      while (!(await client.listTools()).tools.some((tool) => tool.name === 'get-roots-list')) await delay(50)
      const sampled = await call(client, 'trigger-sampling-request', { prompt: `prompt of ${name}` })
      assert.match(sampled, new RegExp(`sampled by ${name}`))
      assert.match(await call(client, 'trigger-elicitation-request'), new RegExp(`elicited by ${name}`))
      assert.match(await call(client, 'get-roots-list'), new RegExp(`root of ${name}`))
      const progress: number[] = []
      // The client library drops what comes in one piece with the answer, and on a busy machine much does, or all.
      while (progress.length === 0)
        await client.callTool(
          { name: 'trigger-long-running-operation', arguments: { duration: 0.2, steps: 4 } },
          undefined,
          { onprogress: (each) => progress.push(each.progress) },
        )
      assert.deepEqual(progress, [1, 2, 3, 4].slice(0, progress.length))
      assert.ok(['sampling', 'elicitation', 'roots'].every((what) => told.includes(what)))
      // No client was asked a question of another client.
      const prompts = told.filter((what) => what.includes('prompt of'))
      assert.equal(prompts.length, 1)
      assert.ok(prompts[0]?.includes(`prompt of ${name}`))
    }),
  )
})

test('a client whose connections are cut in the middle of a call gets its answer', async (t) => {
  const servers = schema({ every: { ...everything, prefix: false } })
  // Through the relay the port is another one.
  const opened = await gateway(t, { default: servers }, { allowedHosts: ['127.0.0.1'] })
  const relay = await Relay.open(t, opened.port)
  const transport = new StreamableHTTPClientTransport(new URL(`http://127.0.0.1:${relay.port}/mcp`))
  const client = new Client({ name: 'eve', version: '1' })
  await client.connect(transport)
  t.after(() => client.close())
  const begun = new Deferred<void>()
  const named = { name: 'trigger-long-running-operation', arguments: { duration: 1.5, steps: 3 } }
  const calling = client.callTool(named, undefined, { onprogress: () => begun.resolve() })
  // The client library drops progress that comes in one piece with the answer.
  await Promise.race([begun.promise, calling])
  relay.cut()
  assert.match(JSON.stringify(await calling), /operation completed/)
})

test('the limit of processes holds for all schemas together: a first call waits for a place until its time is over', async (t) => {
  const schemas = {
    default: schema({ s: itServer() }),
    other: schema({ o: { ...itServer(), timeout: 500 } }),
  }
  const upstream = { ...limits.upstream, processesMax: 1 }
  const { port } = await gateway(t, schemas, {}, { limits: { ...limits, upstream } })
  const call = async (path: string, name: string): Promise<string> =>
    (await send(port, { path, body: message('tools/call', 1, { name, arguments: { n: 'x' } }) })).body
  assert.match(await call('/mcp', 's__nonce'), /"result"/)
  void call('/mcp', 's__never').catch(() => {})
  assert.match(await call('/mcp', 's__nonce'), /"result"/)
  const refused = await call('/api/other/mcp', 'o__nonce')
  assert.match(refused, /"reason":"overloaded"/)
  assert.match(refused, /'o' cannot be started: 1 processes run already, which is processesMax/)
})

const ofSchema = (
  status: string,
  mcpServers: object[],
  totalTools: number,
  connectedServers: number,
): object => ({ status, mcpServers, totalTools, connectedServers, totalSessions: 0, sessions: [] })

describe('the pages of a gateway', () => {
  const schemas = {
    default: schema({ Time: time, gone: { command: '/nonexistent/program' } }),
    'my.work': schema({ echo: itEcho() }),
    off: schema({ Time: time }, { enabled: false }),
  }
  test('name every server and its state', async (t) => {
    const { port, origin: url } = await gateway(t, schemas)
    await send(port, { body: message('tools/list', 1) })
    const get = async (path: string): Promise<unknown> =>
      JSON.parse((await send(port, { path, method: 'GET', headers: { accept: '*/*' } })).body)
    const settled = async (): Promise<string> => {
      for (;;) {
        const text = JSON.stringify(await get('/api/status'))
        // A server is connected a moment before its list is read.
        if (!text.includes('"starting"') && text.includes('"totalTools":4')) return text
        await delay(20)
      }
    }
    const text = await settled()
    const status: unknown = JSON.parse(
      text
        .replaceAll(/"pid":\d+/g, '"pid":1')
        .replaceAll(/"lastConnected":"[^"]+"/g, '"lastConnected":"L"')
        .replace(/"uptime":"\d\d:\d\d:\d\d"/, '"uptime":"U"'),
    )
    const [connected] = /"lastConnected":"20\d\d-\d\d-\d\dT[\d:.]+Z"/.exec(text) ?? []
    assert.ok(connected !== undefined && Date.parse(connected.slice(17, -1)) <= Date.now(), text)
    const { error: gone, restarts } = JSON.parse(text).schemas.default.mcpServers[1]
    assert.match(String(gone), /nonexistent/)
    const idle = { type: 'stdio', inFlight: 0, queued: 0 }
    const up = {
      ...idle,
      status: 'connected',
      toolCount: 2,
      lastConnected: 'L',
      pid: 1,
      slots: 64,
      restarts: 0,
    }
    const found = (evidence: string, evidenceText: string): object => ({
      ...up,
      revision: '2025-11-25',
      evidence,
      evidenceText,
    })
    const Time = { id: 'Time', name: 'Time', ...found('refused', 'it refused server/discover') }
    const unlisted = found('unlisted', 'its answer to server/discover lists no later one')
    const echo = { id: 'echo', name: 'echo', ...unlisted }
    const down = { ...idle, status: 'error', toolCount: 0, error: gone, slots: 0, restarts }
    assert.deepEqual(status, {
      server: { status: 'running', port, url, uptime: 'U' },
      schemas: {
        default: ofSchema('active', [Time, { ...down, id: 'gone', name: 'gone' }], 2, 1),
        'my.work': ofSchema('active', [echo], 2, 1),
        off: ofSchema('disabled', [], 0, 0),
      },
      summary: {
        totalSchemas: 3,
        activeSchemas: 2,
        totalServers: 3,
        connectedServers: 2,
        failedServers: 1,
        totalTools: 4,
      },
    })
    const health = JSON.stringify(await get('/health'))
    assert.match(health, /^\{"status":"ok","timestamp":"\d{4}-[^"]+Z","uptime":[\d.]+\}$/)
    assert.match(JSON.stringify(await get('/api/my.work/mcp')), /^\{"schema":"my.work","status":"active"/)
    const endpoints = JSON.stringify(await get('/'))
    for (const path of ['POST /mcp', 'POST /api/my.work/mcp', 'GET /api/status'])
      assert.ok(endpoints.includes(path))
  })

  test('are found, or say what there is', async (t) => {
    const { port } = await gateway(t, schemas)
    const body = message('ping', 1)
    const rows: [string, number, RegExp][] = [
      ['/mcp', 200, /"result":\{\}/],
      ['/api/default/mcp', 200, /"result":\{\}/],
      ['/api/my%2Ework/mcp', 200, /"result":\{\}/],
      ['/mcp?x=1', 200, /"result":\{\}/],
      ['/api/off/mcp', 404, /"code":404,"message":"Schema 'off' not found or disabled"/],
      ['/api/none/mcp', 404, /"data":\{"schemas":\["default","my.work"\]\}/],
      ['/api/%ff/mcp', 404, /not found or disabled/],
      ['/api/__proto__/mcp', 404, /not found or disabled/],
      ['/mcp/', 200, /"result":\{\}/],
      ['/mcp/?x=1', 200, /"result":\{\}/],
      ['/api/my%2Ework/mcp/', 200, /"result":\{\}/],
      ['/mcp//', 404, /"error":"Not Found".*"availableEndpoints":\["POST \/mcp"/],
      ['//mcp', 404, /availableEndpoints/],
      ['/api/default/mcp/x', 404, /availableEndpoints/],
      ['/api//mcp', 404, /availableEndpoints/],
      ['/../mcp', 404, /availableEndpoints/],
      ['/health', 405, /Method/],
    ]
    for (const [path, status, wanted] of rows) {
      const answer = await send(port, { path, body })
      assert.equal(answer.status, status, path)
      assert.match(answer.body, wanted, path)
    }
  })

  test('tell the time that has gone by', () => {
    assert.equal(clockTime(0), '00:00:00')
    assert.equal(clockTime(3_725_999), '01:02:05')
    assert.equal(clockTime(360_000_000), '100:00:00')
  })
})

test('a web page of this machine that is named speaks a whole session', async (t) => {
  const origin = 'http://localhost:5173'
  const { port } = await gateway(t, { default: schema({}) }, { cors: { origins: [origin] } })
  const body = message('initialize', 0, { protocolVersion: '2025-11-25' })
  const opened = await send(port, { body, headers: { origin } })
  assert.equal(opened.headers['access-control-allow-origin'], origin)
  assert.match(String(opened.headers['access-control-expose-headers']), /Mcp-Session-Id/)
  const session = { origin, 'mcp-session-id': String(opened.headers['mcp-session-id']) }
  assert.equal((await send(port, { method: 'DELETE', headers: session })).status, 200)
  assert.equal((await send(port, { body: message('ping', 1), headers: session })).status, 404)
})

describe('a gateway that may be reached from elsewhere', () => {
  test('does not start without a token', async (t) => {
    const config = { default: schema({}) }
    const message = /MCPS_PROXY_TOKEN.*--allow-unauthenticated/
    await assert.rejects(gateway(t, config, { host: '0.0.0.0' }), { constructor: ConfigError, message })
    await assert.rejects(
      createProxy({ mcpServers: {} }).then((proxy) => proxy.serve(httpServer({ host: '::', port: 0 }))),
      (error: unknown) => {
        assert.ok(error instanceof ConfigError)
        // A library user has neither a configuration file nor a command line.
        const { message } = error
        assert.match(message, /httpServer:\n.*no token.*give it a `token`, or `allowUnauthenticated: true`/)
        assert.doesNotMatch(error.message, /MCPS_PROXY_TOKEN|--allow|server\./)
        return true
      },
    )
  })

  test('is told the line for a name by which it is not known', async (t) => {
    const { port } = await gateway(t, { default: schema({}) })
    const body = message('ping', 1)
    const refused = await send(port, { body, headers: { host: 'mcp_backend:8080' } })
    assert.equal(refused.status, 403)
    const found = refused.body
    assert.match(found, /add it to server\.allowedHosts, \\"allowedHosts\\": \[\\"mcp_backend:8080\\"\]/)
    const known = await gateway(t, { default: schema({}) }, { allowedHosts: ['mcp_backend'] })
    assert.equal((await send(known.port, { body, headers: { host: 'mcp_backend:8080' } })).status, 200)
  })

  test('says that there is no login, and nothing more, to those without a token', async (t) => {
    const { port } = await gateway(t, { default: schema({}) }, { token: 'a-token' })
    for (const path of [
      '/.well-known/oauth-protected-resource',
      '/.well-known/oauth-protected-resource/mcp',
      '/.well-known/oauth-authorization-server/api/default/mcp',
      '/mcp/.well-known/openid-configuration',
      '/register',
      '/authorize?response_type=code',
      '/token/',
    ])
      for (const method of ['GET', 'POST']) {
        const answer = await send(port, { path, method })
        assert.equal(answer.status, 404, path)
        assert.match(answer.body, /There is no login here/)
        assert.doesNotMatch(answer.body, /default/)
        assert.equal(answer.headers['www-authenticate'], undefined)
      }
    for (const path of ['/mcp', '/well-known', '/registered', '/api/default/sse', '/'])
      assert.equal((await send(port, { path, method: 'GET' })).status, 401, path)
  })

  test('leaves nothing behind when the port is taken', async (t) => {
    const { port } = await gateway(t, { default: schema({}) })
    await assert.rejects(gateway(t, { default: schema({}) }, { port }), {
      code: 'EADDRINUSE',
      message: /the port is taken .*--port/,
    })
    const proxy = await createProxy({ mcpServers: {} })
    t.after(() => proxy.close())
    await assert.rejects(proxy.serve(httpServer({ port })), {
      code: 'EADDRINUSE',
      message: /give it another `port`/,
    })
  })
})

test('a session that says exit is over, and nothing else is', async (t) => {
  const { port } = await gateway(t, { default: schema({}) })
  const headers = await handshake(port)
  assert.match((await send(port, { body: message('shutdown', 1), headers })).body, /"result":\{\}/)
  assert.equal((await send(port, { body: message('notifications/exit'), headers })).status, 202)
  assert.equal((await send(port, { body: message('ping', 2), headers })).status, 404)
  assert.equal((await send(port, { body: message('ping', 2) })).status, 200)
})

test('a library user serves a proxy on HTTP', async (t) => {
  const proxy = await createProxy({ mcpServers: { Time: time } })
  t.after(() => proxy.close())
  const { origin, url, port, host } = await proxy.serve(httpServer({ port: 0 }))
  assert.deepEqual(
    [origin, url, host],
    [`http://127.0.0.1:${port}`, `http://127.0.0.1:${port}/mcp`, '127.0.0.1'],
  )
  const client = new Client({ name: 'eve', version: '1' })
  await client.connect(new StreamableHTTPClientTransport(new URL(url)))
  assert.equal((await client.listTools()).tools.length, 2)
  await client.close()
  assert.match((await send(port, { body: message('tools/list', 1) })).body, /Time__convert_time/)
  await proxy.close(0)
  await assert.rejects(send(port, { body: message('ping', 1) }))
})

test('a gateway that cannot open a schema after it has begun to listen leaves nothing listening', async (t) => {
  const value = { mcpServers: {} }
  const config = resolveConfig(value, { source: 'test', folder: root, env: process.env })
  const first = await openGateway(config)
  const { port } = first
  await first.close(0)
  const real = openRuntime(t)
  // The environment is read when a schema is opened.
  const runtime = Object.create(real, {
    env: {
      get: () => {
        throw new Error('no schema')
      },
    },
  })
  await assert.rejects(openGateway(config, { port, runtime }), /no schema/)
  const next = await openGateway(config, { port })
  t.after(() => next.close(0))
})
