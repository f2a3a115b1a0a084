import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import { describe, test } from 'node:test'
import { isJson } from '../../src/transports/http-server/body.js'
import {
  forwardedAddress,
  readAccept,
  readAuthority,
  ServedHosts,
} from '../../src/transports/http-server/access.js'
import { RareWarnings } from '../../src/transports/http-server/rare-warnings.js'
import { networkOf } from '../../src/transports/http-server/front-listener.js'
import { RequestHead } from '../../src/transports/http1/head.js'
import { type Front, type Scope, both, front, message, raw, send, statusOf } from './support/http.js'
import { isLoopback } from '../../src/text/loopback.js'

const body = message('echo', 1)

function post(fields: readonly string[], { target = '/mcp', version = '1.1', text = body } = {}): string {
  const lines = [`POST ${target} HTTP/${version}`, ...fields, `Content-Length: ${Buffer.byteLength(text)}`]
  return `${lines.join('\r\n')}\r\nConnection: close\r\n\r\n${text}`
}

const json = 'Content-Type: application/json'

describe('the Host of a request', () => {
  const cases: readonly (readonly [status: number, hosts: string])[] = [
    [200, 'localhost:PORT LOCALHOST:PORT 127.0.0.1:PORT [::1]:PORT'],
    [403, 'localhost localhost:1 localhost.:PORT local_host:PORT _localhost.:PORT localhost.evil.com:PORT'],
    [403, 'evil.localhost:PORT 127.0.0.1.nip.io:PORT 127.0.0.2:PORT 127.1:PORT 0.0.0.0:PORT 2130706433:PORT'],
    [403, '0x7f000001:PORT [::]:PORT [::ffff:127.0.0.1]:PORT evil.example:PORT evil.example'],
    [400, 'localhost:PORT0 .:PORT ::1:PORT [::1:PORT [::1]PORT localhost@evil.example:PORT'],
    [400, 'evil.example@localhost:PORT localhost:PORT@evil.example localhost/?x:PORT localhost:PORT/x'],
    [400, 'localhost#:PORT localhost\\evil:PORT localhost:PORT,localhost:PORT localhost: localhost:+PORT'],
    [400, 'localhost:99999 localhost..:PORT -localhost:PORT l%6fcalhost:PORT loc\u00e1lhost:PORT *'],
  ]
  test('is one of the few that a loopback server has', async (t) => {
    const { port } = await front(t)
    const spaced = ['localhost, evil.example:PORT', 'local host:PORT', ''].map((host) => [400, host] as const)
    const rows = cases.flatMap(([status, hosts]) => hosts.split(' ').map((host) => [status, host] as const))
    for (const [status, host] of [...rows, ...spaced]) {
      const answer = await raw(port, post([`Host: ${host.replaceAll('PORT', String(port))}`, json]))
      assert.equal(statusOf(answer), status, host)
      if (status !== 200) assert.match(answer, /"error":\{"code":-32000/, host)
    }
  })

  test('counts in an absolute request line first', async (t) => {
    const { port } = await front(t)
    const own = `localhost:${port}`
    const targets: [string, number][] = [
      [`http://${own}/mcp`, 200],
      [`http://LOCALHOST:${port}/mcp`, 200],
      [`http://evil.example/mcp`, 403],
      [`http://127.0.0.1:${port}/mcp`, 200],
      [`http://${own}@evil.example/mcp`, 400],
      ['ftp://localhost/mcp', 400],
      ['mcp', 400],
    ]
    for (const [target, status] of targets)
      assert.equal(statusOf(await raw(port, post([`Host: ${own}`, json], { target }))), status, target)
  })

  test('comes once', async (t) => {
    const { port } = await front(t)
    const own = `Host: localhost:${port}`
    assert.equal(statusOf(await raw(port, post([json]))), 400)
    assert.equal(statusOf(await raw(port, post([own, own, json]))), 400)
    assert.equal(statusOf(await raw(port, post([own, 'Host: evil.example', json]))), 400)
    const older = await raw(port, post([json], { version: '1.0' }))
    assert.equal(statusOf(older), 400)
    assert.match(older, /"code":-32000,.*without it only \/health is served/)
  })

  test('may be more where the server is bound to more', () => {
    const bound = { host: '0.0.0.0', port: 80 }
    const names = ['proxy', 'box:8080']
    const rows: [string, boolean][] = [
      ['192.168.1.5:9000', true],
      ['[fe80::1]', true],
      ['localhost:1', true],
      ['proxy:1234', true],
      ['box:8080', true],
      ['box:8081', false],
      ['rebound.example', false],
      ['mcp_backend', false],
      ['mcp.example.com.:80', false],
    ]
    for (const [text, wanted] of rows) {
      const authority = readAuthority(text)
      assert.ok(authority)
      assert.equal(new ServedHosts(bound, names, false).has(authority), wanted, text)
      assert.equal(new ServedHosts(bound, names, true).has(authority), true, text)
    }
    for (const host of ['localhost', '127.0.0.1', '127.1.2.3', '::1']) assert.ok(isLoopback(host))
    for (const host of ['0.0.0.0', '::', '127.evil.com', '10.0.0.1']) assert.ok(!isLoopback(host))
  })
})

describe('header fields that decide something', () => {
  const names = [
    'Authorization: Bearer x',
    'Content-Type: application/json',
    'Origin: http://localhost',
    'Mcp-Session-Id: a',
    'MCP-Protocol-Version: 2025-06-18',
    'Mcp-Anything: 1',
    'Last-Event-ID: 1-1',
    'Sec-Fetch-Site: none',
    'Content-Encoding: identity',
  ]
  test('come only once', async (t) => {
    const { port, sessions } = await front(t)
    for (const field of names) {
      const twice = [`Host: localhost:${port}`, json, field, field.replace(/^./, (c) => c.toLowerCase())]
      const answer = await raw(
        port,
        post(twice.filter((each, at) => each !== json || at === 1 || field === json)),
      )
      assert.equal(statusOf(answer), 400, field)
      assert.match(answer, /was sent more than once/, field)
    }
    assert.equal(sessions.length, 0)
  })

  test('are read from what was sent, whatever their case', () => {
    const head = new RequestHead('GET / HTTP/1.1\r\nACCEPT: a\r\naccept: b\r\n__proto__: x', 100)
    assert.equal(head.fields.all('accept').join(', '), 'a, b')
    assert.equal(head.fields.get('__proto__'), 'x')
    assert.equal(head.repeated, undefined)
    assert.equal(head.fields.get('constructor'), undefined)
  })

  test('name the kind of body', async (t) => {
    const { port } = await front(t)
    const ours =
      'application/json|Application/JSON|application/json; charset=utf-8|application/json;charset=utf-8'
    for (const type of ours.split('|')) assert.ok(isJson(type), type)
    const others = '|application/jsonx|application/json-rpc|text/plain|text/plain; x=application/json'
    for (const type of `${others}|application/x-www-form-urlencoded|multipart/form-data`.split('|'))
      assert.ok(!isJson(type), type)
    assert.equal((await send(port, { body, headers: { 'content-encoding': 'identity' } })).status, 200)
  })

  test('name what is accepted', () => {
    const rows: [string, boolean, boolean, boolean][] = [
      ['', true, false, false],
      ['*/*', true, false, false],
      ['application/json', true, false, false],
      ['application/*', true, false, false],
      [both, true, true, false],
      ['text/event-stream', false, true, true],
      ['TEXT/EVENT-STREAM, Application/JSON;charset=utf-8', true, true, true],
      ['application/json;q=0.1, text/event-stream', true, true, false],
      ['text/html', false, false, false],
    ]
    for (const [text, isJsonTaken, stream, prefersStream] of rows)
      assert.deepEqual(readAccept(text), { json: isJsonTaken, stream, prefersStream }, text)
  })
})

/** The header fields of a page of this origin. */
function page(origin: string, token?: string): Record<string, string> {
  return { origin, ...(token !== undefined && { authorization: `Bearer ${token}` }) }
}

describe('pages of the web', () => {
  const named = 'https://app.example'
  const cors = { enabled: true, methods: ['GET', 'POST'], credentials: true, allowedHeaders: ['X-Own'] }
  /** The origin, the status when only some origins are allowed, and whether CORS allows reading the answer. */
  const foreign = `http://localhost http://localhost:5173 http://127.0.0.1:1 http://[::1]:8080 http://localhost:PORT
    https://app.example.evil http://app.example https://app.example:8443 http://evil.example
    http://localhost.evil.example http://localhost@evil.example null file:// chrome-extension://abc`
  const rows: readonly (readonly [string, number, boolean])[] = [
    ['http://127.0.0.1:PORT', 200, false],
    [named, 200, true],
    ...['', ...foreign.split(/\s+/)].map((origin) => [origin, 403, false] as const),
  ]
  for (const method of ['POST', 'GET', 'DELETE', 'OPTIONS'])
    test(`are let in by their origin: ${method}`, async (t) => {
      const { port } = await front(t, { cors: { ...cors, origins: [named] } })
      for (const [text, status, isTold] of rows) {
        const origin = text.replace('PORT', String(port))
        const { status: got, headers } = await send(port, {
          method,
          headers: { origin },
          ...(method === 'POST' && { body }),
        })
        assert.equal(got === 403, status === 403, `${method} ${origin} ${got}`)
        assert.equal(headers['access-control-allow-origin'], isTold ? origin : undefined, origin)
        if (status !== 403) assert.equal(headers['vary'], 'Origin')
      }
    })

  test('get the answer to a preflight', async (t) => {
    const { port } = await front(t, { cors: { ...cors, origins: [named] } })
    const { status, headers } = await send(port, { method: 'OPTIONS', headers: { origin: named } })
    assert.equal(status, 204)
    assert.equal(headers['access-control-allow-methods'], 'GET, POST')
    assert.match(String(headers['access-control-allow-headers']), /Mcp-Session-Id.*X-Own/)
    assert.match(String(headers['access-control-expose-headers']), /Mcp-Session-Id/)
    assert.equal(headers['access-control-allow-credentials'], 'true')
  })

  test('of any origin come in only with a token, and never with credentials', async (t) => {
    const any = { ...cors, origins: ['*'] }
    const open = await front(t, { cors: any })
    const closed = await front(t, { cors: any, principalOf: (token) => (token === 's' ? 'me' : undefined) })
    const headers = { origin: 'http://evil.example' }
    assert.equal((await send(open.port, { body, headers })).status, 403)
    assert.equal((await send(closed.port, { body, headers })).status, 401)
    const answer = await send(closed.port, { body, headers: { ...headers, authorization: 'Bearer s' } })
    assert.equal(answer.status, 200)
    assert.equal(answer.headers['access-control-allow-origin'], 'http://evil.example')
    assert.equal(answer.headers['access-control-allow-credentials'], undefined)
    const star = { body, headers: { origin: '*', authorization: 'Bearer s' } }
    assert.equal((await send(closed.port, star)).status, 403, 'no page has "*" for its origin')
  })

  test('of this machine come in only when they are named, or with a token', async (t) => {
    const named = await front(t, { cors: { ...cors, origins: ['*', 'http://localhost:6274/'] } })
    const closed = await front(t, { cors: { ...cors, origins: ['*'] }, principalOf: ownerOfSecret })
    const disabled = await front(t, { cors: { ...cors, enabled: false, origins: ['http://localhost:6274'] } })
    const refused = await send(named.port, { body, headers: page('http://localhost:5173') })
    assert.equal(refused.status, 403)
    const text = refused.body
    assert.match(text, /"Pages of 'http:\/\/localhost:5173' are not allowed: name http:\/\/localhost:5173"/)
    assert.deepEqual(named.warnings, [
      "a request is refused: Pages of 'http://localhost:5173' are not allowed: name http://localhost:5173",
    ])
    const answer = await send(named.port, { body, headers: page('http://localhost:6274') })
    assert.equal(answer.status, 200)
    assert.equal(answer.headers['access-control-allow-origin'], 'http://localhost:6274')
    const own = `http://127.0.0.1:${disabled.port}`
    assert.equal((await send(disabled.port, { body, headers: page(own) })).status, 200)
    const off = await send(disabled.port, { body, headers: page('http://localhost:6274') })
    assert.deepEqual([off.status, /CORS is not enabled/.test(off.body)], [403, true])
    const local = 'http://localhost:5173'
    assert.equal((await send(closed.port, { body, headers: page(local) })).status, 401)
    assert.equal((await send(closed.port, { body, headers: page(local, 'secret') })).status, 200)
    const open = await front(t, { cors: { ...cors, origins: ['*'], localPages: true } })
    const admitted = await send(open.port, { body, headers: page(local) })
    assert.deepEqual([admitted.status, admitted.headers['access-control-allow-origin']], [200, local])
    assert.equal((await send(open.port, { body, headers: page('http://evil.example') })).status, 403)
  })

  test('without an origin are told by Sec-Fetch-Site', async (t) => {
    const { port } = await front(t)
    const sites: [string, number][] = [
      ['none', 200],
      ['same-origin', 200],
      ['same-site', 403],
      ['cross-site', 403],
    ]
    for (const [site, status] of sites)
      assert.equal((await send(port, { body, headers: { 'sec-fetch-site': site } })).status, status, site)
  })
})

const ownerOfSecret = (token: string): string | undefined => (token === 'secret' ? 'me' : undefined)

function withToken(scope: Scope): Promise<Front> {
  return front(scope, { principalOf: ownerOfSecret })
}

describe('a token', () => {
  const rows: [string | undefined, number][] = [
    ['Bearer secret', 200],
    ['bearer   secret', 200],
    ['Bearer secret ', 200],
    ['Bearer wrong', 401],
    ['Bearer', 401],
    ['Bearer secret more', 401],
    ['Basic secret', 401],
    ['secret', 401],
    [undefined, 401],
  ]
  test('is asked for before the body is read', async (t) => {
    const { port, sessions } = await withToken(t)
    for (const [authorization, status] of rows) {
      const answer = await send(port, { body, headers: authorization === undefined ? {} : { authorization } })
      assert.equal(answer.status, status, authorization)
      const hasToken = authorization === 'Bearer wrong'
      const challenge = hasToken
        ? /^Bearer realm="mcps-proxy", error="invalid_token", error_description="[^"]+"$/
        : /^Bearer realm="mcps-proxy"$/
      if (status === 401) assert.match(String(answer.headers['www-authenticate']), challenge)
    }
    assert.equal(sessions.length, 3)
  })

  test('is not asked for one network at a time', () => {
    const rows: [string, string][] = [
      ['127.0.0.1', '127.0.0.1'],
      ['::ffff:10.1.2.3', '10.1.2.3'],
      ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2'],
      ['2001:db8:1:2::9', '2001:db8:1:2'],
      ['2001:db8::1', '2001:db8:0:0'],
      ['::1', '0:0:0:0'],
      ['fe80::1%eth0', 'fe80:0:0:0'],
      ['', ''],
    ]
    for (const [address, network] of rows) assert.equal(networkOf(address), network, address)
  })

  test('is asked for everywhere but for the state of health and preflights', async (t) => {
    const { port } = await withToken(t)
    for (const [path, status] of [
      ['/page', 401],
      ['/health', 200],
      ['/nothing', 401],
      ['/register', 404],
    ] as const)
      assert.equal((await send(port, { path, method: 'GET' })).status, status, path)
    assert.equal((await send(port, { method: 'OPTIONS' })).status, 204)
  })

  const limits = { connectionsMax: 10 }

  test('is judged for each request, also on a kept connection whose head is the same', async (t) => {
    let isValid = true
    const { port } = await front(t, { limits, principalOf: () => (isValid ? 'me' : undefined) })
    const head = [`POST /mcp HTTP/1.1`, `Host: localhost:${port}`, json, 'Authorization: Bearer s']
    const whole = `${[...head, `Content-Length: ${Buffer.byteLength(body)}`].join('\r\n')}\r\n\r\n${body}`
    const socket = connect(port, '127.0.0.1')
    t.after(() => socket.destroy())
    const statuses: number[] = []
    for (const valid of [true, true, false, true]) {
      isValid = valid
      socket.write(whole)
      const [answer] = await once(socket, 'data')
      statuses.push(statusOf(String(answer)))
    }
    assert.deepEqual(statuses, [200, 200, 401, 200])
  })

  test('that is missing or wrong is logged, each of both once a minute for each sender', async (t) => {
    const { port, warnings } = await front(t, { limits, principalOf: () => undefined })
    for (const authorization of ['', 'Bearer secret-word', '', 'Bearer other'])
      assert.equal((await send(port, { body, headers: { authorization } })).status, 401)
    assert.deepEqual(warnings, [
      'a request from 127.0.0.1 is refused (HTTP 401): it has no bearer token',
      'a request from 127.0.0.1 is refused (HTTP 401): its bearer token is not accepted',
    ])
  })

  test('comes from the address that a reverse proxy has written, where its field is named', async (t) => {
    const { port, warnings } = await front(t, {
      limits,
      principalOf: () => undefined,
      clientAddressField: 'X-Forwarded-For',
    })
    const headers = { 'x-forwarded-for': '203.0.113.9, 192.0.2.7' }
    assert.equal((await send(port, { body, headers })).status, 401)
    assert.deepEqual(warnings, ['a request from 192.0.2.7 is refused (HTTP 401): it has no bearer token'])
  })

  const forwarded: [list: string, address: string | undefined][] = [
    ['192.0.2.1', '192.0.2.1'],
    ['198.51.100.1, 192.0.2.1:4711', '192.0.2.1'],
    ['[2001:db8::1]:443', '2001:db8::1'],
    ['192.0.2.1,2001:db8::1', '2001:db8::1'],
    ['192.0.2.1, unknown', undefined],
    ['', undefined],
  ]
  for (const [list, address] of forwarded)
    test(`of a client behind a reverse proxy: ${list}`, () => assert.equal(forwardedAddress(list), address))
})

test('warnings are limited for each origin, and of many origins together', () => {
  const said: string[] = []
  let nowMs = 0
  const warnings = new RareWarnings({ now: () => nowMs, warn: (message) => said.push(message) })
  for (let origin = 0; origin < 300; origin++)
    for (const kind of ['token', 'page'] as const) warnings.note(kind, `${kind} ${origin}`, String(origin))
  assert.equal(said.length, 102)
  nowMs = 60_000
  warnings.note('token', 'token 7', '7')
  warnings.note('token', 'token 299', '299')
  assert.deepEqual(said.slice(102), ['token 7', 'token 299'])
  warnings.note('token', 'token 7', '7')
  assert.equal(said.length, 104)
})
