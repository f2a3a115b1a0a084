// Clients that log in: what the front says to them, and what a token of one opens to another.

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { describe, test } from 'node:test'
import { resolveConfig } from '../../src/config/config.js'
import type { Configuration } from '../../src/config/configuration.js'
import { type Gateway, openGateway } from '../../src/gateway/gateway.js'
import { type LogRecord, limits } from '../../src/index.js'
import { Clock } from '../front-auth/clock.js'
import { Issuer } from '../front-auth/issuer.js'
import { claim } from '../integration/support/claim.js'
import { requestFields } from '../integration/support/gateway.js'
import { itServer, root } from '../integration/support/programs.js'
import { numberAt, parsed, textAt } from '../integration/support/json.js'
import { type Fields, opened } from '../integration/support/raw-sessions.js'
import type { Scope } from '../support/scope.js'
import { gone, until } from '../integration/support/waiting.js'
import { EventReader, type Sent, message, messageIn, open, send } from '../transports/support/http.js'

const publicUrl = 'https://mcp.example.com/gate'

const rules = [
  { scope: 'mcp:read', profiles: ['read'] },
  { scope: 'mcp:ops', profiles: ['ops'] },
  { scope: 'mcp:all' },
]

class Served {
  readonly issuer: Issuer
  readonly gateway: Gateway
  readonly clock: Clock
  readonly log: readonly LogRecord[]

  constructor(issuer: Issuer, gateway: Gateway, clock: Clock, log: readonly LogRecord[]) {
    this.issuer = issuer
    this.gateway = gateway
    this.clock = clock
    this.log = log
  }

  static async open(
    scope: Scope,
    auth: object = { rules },
    more: (issuer: string) => object = () => ({}),
  ): Promise<Served> {
    const issuer = await new Issuer().listen(scope)
    const clock = new Clock()
    const log: LogRecord[] = []
    const options = {
      runtime: clock.runtime,
      log: (record: LogRecord) => void log.push(record),
      limits: { ...limits, upstream: { ...limits.upstream, clientProcessIdleMs: 500 } },
    }
    const gateway = await openGateway(configOf(issuer, auth, more(issuer.issuer)), options)
    scope.after(() => gateway.close(0))
    return new Served(issuer, gateway, clock, log)
  }

  bearer(sub: string, scope: string, more: object = {}): Fields {
    const exp = Math.floor(this.clock.runtime.wallNow() / 1000) + 3600
    return { authorization: `Bearer ${this.issuer.token({ sub, scope, exp, aud: publicUrl, ...more })}` }
  }

  async status(sent: Sent): Promise<number> {
    return (await send(this.gateway.port, { body: message('ping', 1), ...sent })).status
  }

  /** The fields of a session with this token. */
  session(token: Fields, path = '/mcp'): Promise<Fields> {
    return opened(this.gateway, { path, headers: token })
  }

  async stream(sent: Sent): Promise<EventReader> {
    return new EventReader(await open(this.gateway.port, sent))
  }
}

function configOf({ issuer }: Issuer, auth: object, more: object = {}): Configuration {
  const value = {
    mcpServers: {
      a: itServer({ IT_NAME: 'a' }, { lazy: true }),
      b: itServer({ IT_NAME: 'b' }, { lazy: true, isolation: 'shared' }),
    },
    profiles: { read: { tools: { allow: ['a__echo'] } }, ops: {} },
    server: { port: 0, publicUrl, auth: { issuers: [{ issuer, ...more }], ...auth } },
  }
  return resolveConfig(value, { source: 'test', folder: root, env: process.env })
}

const introspected = (origin: string): object => ({
  introspection: { clientId: 'front', clientSecret: 's%cret', url: origin.replace('team', 'introspect') },
})

const known = (path: string): string =>
  `https://mcp.example.com/.well-known/oauth-protected-resource/gate${path}`

const challenge = (path: string, scope: string, error = ''): string =>
  `Bearer ${error}resource_metadata="${known(path)}", scope="${scope}"`
const invalid = (why: string): string => `error="invalid_token", error_description="${why}", `

describe('a client that logs in', () => {
  const [expired, elsewhere] = [
    invalid('the token has expired'),
    invalid('the token is for another audience'),
  ]
  const insufficient = challenge('/p/ops/mcp', 'mcp:read mcp:ops', 'error="insufficient_scope", ')
  const cases: [string, sent: Sent, scope: string | undefined, number, asked?: string, claims?: object][] = [
    ['without a token', {}, undefined, 401, challenge('/mcp', 'mcp:all')],
    ['at a profile', { path: '/p/read/mcp' }, undefined, 401, challenge('/p/read/mcp', 'mcp:read')],
    ['whose scope is for another profile', { path: '/p/ops/mcp' }, 'openid mcp:read', 403, insufficient],
    ['with the scope of the profile', { path: '/p/ops/mcp' }, 'mcp:ops', 200],
    ['with the scope for everything', {}, 'mcp:all', 200],
    ['with a token in the address', { path: '/mcp?a=b&access_token=x' }, undefined, 400],
    ['at a page of everything', { path: '/api/status', method: 'GET' }, 'mcp:all', 200],
    ['whose token has expired', {}, 'mcp:all', 401, challenge('/mcp', 'mcp:all', expired), { exp: 1 }],
    [
      'whose token is for another resource',
      {},
      'mcp:all',
      401,
      challenge('/mcp', 'mcp:all', elsewhere),
      { aud: 'https://other.example' },
    ],
  ]
  for (const [title, sent, scope, status, asked, claims] of cases)
    test(`${title} gets ${status}`, async (t) => {
      const served = await Served.open(t)
      const headers = scope === undefined ? {} : served.bearer('ann', scope, claims)
      const answer = await send(served.gateway.port, { body: message('ping', 1), headers, ...sent })
      assert.equal(answer.status, status, answer.body)
      assert.equal(answer.headers['www-authenticate'], asked)
    })

  test('is not looked at where the page is for everybody', async (t) => {
    const served = await Served.open(t)
    const { gateway, issuer } = served
    const metadata = '/.well-known/oauth-protected-resource/gate/mcp'
    for (const path of ['/health', metadata, '/register'])
      assert.notEqual(
        (await send(gateway.port, { path, method: 'GET', headers: served.bearer('ann', '') })).status,
        401,
      )
    assert.deepEqual(issuer.asked, [])
  })

  test('is named in the log with the reason, once it has a token', async (t) => {
    const served = await Served.open(t)
    await served.status({})
    await served.status({ headers: served.bearer('ann', 'mcp:all', { aud: 'https://other.example' }) })
    const refusals = served.log.filter(({ message: text }) => text.includes('is refused'))
    assert.equal(refusals.length, 1)
    const found = refusals[0]?.message ?? ''
    assert.match(found, /\(HTTP 401\): .*its audience \('https:\/\/other\.example'\) is neither/)
  })

  test('gets 503 while the keys of its issuer cannot be had', async (t) => {
    const served = await Served.open(t)
    served.issuer.isDown = true
    const { status, headers } = await send(served.gateway.port, {
      body: message('ping', 1),
      headers: served.bearer('ann', 'mcp:all'),
    })
    assert.deepEqual([status, headers['retry-after'], headers['www-authenticate']], [503, '5', undefined])
  })

  test('finds the authorization server without a token, from any page', async (t) => {
    const { gateway, issuer } = await Served.open(t)
    for (const path of ['', '/mcp', '/gate/mcp', '/p/read/mcp', '/gate/p/read/mcp']) {
      const { status, headers, body } = await send(gateway.port, {
        path: `/.well-known/oauth-protected-resource${path}`,
        method: 'GET',
        headers: { origin: 'https://page.example' },
      })
      assert.equal(status, 200)
      assert.equal(headers['access-control-allow-origin'], 'https://page.example')
      const { resource, authorization_servers: servers } = Object(JSON.parse(body))
      assert.deepEqual([resource, servers], [publicUrl + path.replace('/gate', ''), [issuer.issuer]])
    }
  })
})

describe('a session', () => {
  test('is found with the tokens of its principal only, at its endpoint only', async (t) => {
    const served = await Served.open(t)
    const all = 'mcp:read mcp:ops mcp:all'
    const ann = await served.session(served.bearer('ann', all))
    const renewed = { ...ann, ...served.bearer('ann', all, { jti: '2' }) }
    const bob = { ...ann, ...served.bearer('bob', all) }
    const methods = [{ method: 'POST' }, { method: 'GET' }, { method: 'DELETE' }]
    for (const method of methods) {
      for (const path of ['/mcp', '/api/default/mcp', '/servers/a/mcp'])
        assert.equal(await served.status({ ...method, path, headers: bob }), 404, `${method.method} ${path}`)
      const elsewhere = {
        ...method,
        path: '/p/ops/mcp',
        headers: { ...renewed, ...served.bearer('ann', 'mcp:ops') },
      }
      assert.equal(await served.status(elsewhere), 404)
    }
    assert.equal(await served.status({ headers: renewed }), 200)
  })

  test('of the older pair too, whose stream carries nothing of another principal', async (t) => {
    const served = await Served.open(t)
    const [ann, bob] = [served.bearer('ann', 'mcp:all'), served.bearer('bob', 'mcp:all')]
    const streams = await Promise.all(
      [ann, bob].map((headers) => served.stream({ path: '/sse', method: 'GET', headers })),
    )
    const [path = '', own = ''] = await Promise.all(
      streams.map(async (stream) => (await stream.next())?.data ?? ''),
    )
    assert.equal(await served.status({ path, headers: bob }), 404)
    assert.equal(await served.status({ path: own, headers: bob, body: message('ping', 'of bob') }), 202)
    assert.equal(await served.status({ path, headers: ann, body: message('ping', 'of ann') }), 202)
    assert.match((await streams[0]?.next())?.data ?? '', /of ann/)
    assert.match((await streams[1]?.next())?.data ?? '', /of bob/)
    for (const stream of streams) stream.cut()
  })

  test('outlives its token, and its streams do not', async (t) => {
    const served = await Served.open(t)
    const token = served.bearer('ann', 'mcp:all')
    const session = await served.session(token)
    const method = 'subscriptions/listen'
    const body = message(method, 'l', { notifications: { toolsListChanged: true }, _meta: claim({}) })
    const streams = await Promise.all([
      served.stream({ method: 'GET', headers: session }),
      served.stream({ path: '/sse', method: 'GET', headers: token }),
      served.stream({ headers: { ...token, ...requestFields(method) }, body }),
    ])
    for (const { response } of streams) assert.equal(response.statusCode, 200)
    await until(() => streams.every(({ all }) => all.length > 0))
    const ends = streams.map(({ response }) => once(response, 'end'))
    served.clock.pass(3_631_000)
    await Promise.all(ends)
    assert.equal(await served.status({ headers: session }), 401)
    assert.equal(await served.status({ headers: { ...session, ...served.bearer('ann', 'mcp:all') } }), 200)
  })

  test('of an opaque token: its streams end within a minute after its issuer revokes it', async (t) => {
    const served = await Served.open(t, {}, introspected)
    const { issuer, clock } = served
    issuer.active.set('opaque', { sub: 'ann', aud: publicUrl })
    const session = await served.session({ authorization: 'Bearer opaque' })
    const stream = await served.stream({ method: 'GET', headers: session })
    clock.pass(61_000)
    await until(() => issuer.asked.length === 2)
    assert.equal(await served.status({ headers: session }), 200)
    const ended = once(stream.response, 'end')
    issuer.active.clear()
    clock.pass(61_000)
    await ended
    assert.equal(await served.status({ headers: session }), 401)
  })

  test('ends when a reload takes away what its principal may use; others stay', async (t) => {
    const served = await Served.open(t)
    const ann = await served.session(served.bearer('ann', 'mcp:ops'), '/p/ops/mcp')
    const bob = await served.session(served.bearer('bob', 'mcp:all'))
    const [annStream, bobStream] = await Promise.all([
      served.stream({ method: 'GET', path: '/p/ops/mcp', headers: ann }),
      served.stream({ method: 'GET', headers: bob }),
    ])
    const ended = once(annStream.response, 'end')
    await served.gateway.reload(configOf(served.issuer, { rules: [{ scope: 'mcp:all' }] }))
    await ended
    assert.equal(await served.status({ path: '/p/ops/mcp', headers: ann }), 403)
    assert.equal(await served.status({ headers: bob }), 200)
    const bobEnded = once(bobStream.response, 'end')
    const other = await new Issuer().listen(t)
    await served.gateway.reload(configOf(other, { rules }))
    await bobEnded
    assert.equal(await served.status({ headers: bob }), 401)
  })

  test('keeps its streams while a reload cannot examine its token, until that expires', async (t) => {
    const served = await Served.open(t, { rules }, introspected)
    const exp = Math.floor(served.clock.runtime.wallNow() / 1000) + 3600
    served.issuer.active.set('opaque', { sub: 'ann', aud: publicUrl, exp, scope: 'mcp:all' })
    const session = await served.session({ authorization: 'Bearer opaque' })
    const { response } = await served.stream({ method: 'GET', headers: session })
    const ended = once(response, 'end')
    served.issuer.isDown = true
    const reload = (auth: object): Promise<unknown> =>
      served.gateway.reload(configOf(served.issuer, auth, introspected(served.issuer.issuer)))
    await reload({ rules })
    assert.equal(await served.status({ headers: session }), 200, 'a reload without a change keeps the token')
    await reload({ rules: [{ scope: 'mcp:all' }] })
    assert.equal(await served.status({ headers: session }), 503)
    assert.equal(response.readableEnded, false)
    served.clock.pass(3_631_000)
    await ended
  })

  test('opens no stream that a reload forbids while the token is examined', async (t) => {
    const served = await Served.open(t)
    const answer = served.issuer.hold()
    const sent = { method: 'GET', path: '/p/ops/sse', headers: served.bearer('ann', 'mcp:ops') }
    const opened = open(served.gateway.port, sent)
    await until(() => served.issuer.asked.length > 0)
    await served.gateway.reload(configOf(served.issuer, { rules: [{ scope: 'mcp:all' }] }))
    answer()
    const { statusCode } = await opened
    assert.equal(statusCode, 403)
  })
})

for (const isModern of [false, true])
  test(`a process is for one principal ${isModern ? 'without' : 'with'} sessions`, async (t) => {
    const served = await Served.open(t)
    const [ann, bob] = [served.bearer('ann', 'mcp:all'), served.bearer('bob', 'mcp:all')]
    const tokens = [ann, ann, bob]
    const clients = isModern ? tokens : await Promise.all(tokens.map((token) => served.session(token)))
    const pidsOf = (tool: string): Promise<number[]> =>
      Promise.all(clients.map((client) => pidOf(served, client, tool, isModern)))
    const [pids, shared] = [await pidsOf('a__nonce'), await pidsOf('b__nonce')]
    assert.deepEqual([new Set(pids).size, pids[0] === pids[1], new Set(shared).size], [2, true, 1])
    if (!isModern) for (const headers of clients) await served.status({ method: 'DELETE', headers })
    await until(() => pids.every(gone))
    assert(!gone(shared[0] ?? 0))
  })

/** The process that answers. All requests have one id, as those of several clients may. */
async function pidOf(served: Served, headers: Fields, tool: string, isModern: boolean): Promise<number> {
  const params = { name: tool, arguments: { n: '' }, ...(isModern && { _meta: claim({}) }) }
  const answer = await send(served.gateway.port, {
    headers: { ...headers, ...(isModern && requestFields('tools/call', params)) },
    body: message('tools/call', 1, params),
  })
  return numberAt(parsed(textAt(messageIn(answer.body), 'result', 'content', 0, 'text')), 'pid')
}
