// What a program may ask the proxy for, and what the server is asked then.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { proxyRequest } from '../../../src/sandbox/egress/proxy-request.js'

const lines = (...all: readonly string[]): string => all.join('\r\n')

describe('a tunnel', () => {
  test('is asked for by name and port', () => {
    for (const more of [[], ['Host: good.example:443'], ['Host: proxy', 'Proxy-Connection: keep-alive']])
      assert.deepEqual(proxyRequest(lines('CONNECT Good.Example:443 HTTP/1.1', ...more)), {
        kind: 'tunnel',
        to: { host: 'good.example', port: 443 },
      })
  })

  const refusals: readonly (readonly [request: string, status: number])[] = [
    ['CONNECT good.example HTTP/1.1', 400],
    ['CONNECT good.example: HTTP/1.1', 403],
    ['CONNECT good.example:0 HTTP/1.1', 400],
    ['CONNECT good.example:65536 HTTP/1.1', 400],
    ['CONNECT good.example:443:443 HTTP/1.1', 403],
    ['CONNECT good.example:0443x HTTP/1.1', 403],
    ['CONNECT user@good.example:443 HTTP/1.1', 400],
    ['CONNECT user:secret@good.example:443 HTTP/1.1', 400],
    ['CONNECT 127.0.0.1:443 HTTP/1.1', 403],
    ['CONNECT 2130706433:443 HTTP/1.1', 403],
    ['CONNECT 0x7f000001:443 HTTP/1.1', 403],
    ['CONNECT 0177.0.0.1:443 HTTP/1.1', 403],
    ['CONNECT [::1]:443 HTTP/1.1', 403],
    ['CONNECT localhost:443 HTTP/1.1', 403],
    ['CONNECT /good.example:443 HTTP/1.1', 403],
    ['CONNECT https://good.example:443 HTTP/1.1', 403],
    ['CONNECT good.example%00.other.example:443 HTTP/1.1', 403],
    ['CONNECT good.example:443 HTTP/1.1 HTTP/1.1', 400],
    ['CONNECT  good.example:443 HTTP/1.1', 400],
    ['CONNECT good.example:443 HTTP/2.0', 400],
    ['CONNECT good.example:443', 400],
    [lines('CONNECT good.example:443 HTTP/1.1', 'Content-Length: 5'), 400],
    [lines('CONNECT good.example:443 HTTP/1.1', 'Transfer-Encoding: chunked'), 400],
    [lines('CONNECT good.example:443 HTTP/1.1', 'Host: a.example', 'Host: b.example'), 400],
    [lines('CONNECT good.example:443 HTTP/1.1', 'no field'), 400],
    [lines('CONNECT good.example:443 HTTP/1.1', 'A : b'), 400],
    [lines('CONNECT good.example:443 HTTP/1.1', 'A: b\nHost: c'), 400],
    [lines('CONNECT good.example:443 HTTP/1.1', 'A: b\rHost: c'), 400],
    [lines('CONNECT good.example:443 HTTP/1.1', ' A: b'), 400],
    [lines('CONNECT good.example:443 HTTP/1.1', ...Array.from({ length: 100 }, (_, at) => `F${at}: x`)), 431],
  ]
  for (const [request, status] of refusals)
    test(`is not what ${JSON.stringify(request.slice(0, 90))} asks for`, () => {
      const said = proxyRequest(request)
      assert(said.kind === 'refusal', JSON.stringify(said))
      assert.equal(said.status, status, said.reason)
      assert.match(said.reason, /^[\x20-\x7e]+$/)
    })
})

describe('what is no name', () => {
  const cases: readonly (readonly [authority: string, shown: string])[] = [
    ['169.254.169.254:443', '169.254.169.254:443'],
    ['[::1]:443', '[::1]:443'],
    ['localhost:443', 'localhost:443'],
    [`${'a'.repeat(200)}:443`, 'a'.repeat(100)],
  ]
  for (const [authority, shown] of cases)
    test(`is told, as ${shown.slice(0, 20)}`, () => {
      const said = proxyRequest(`CONNECT ${authority} HTTP/1.1`)
      assert(said.kind === 'refusal')
      assert.equal(said.reason.slice(0, shown.length + 17), `'${shown}' is not allowed`)
    })
})

test('a user in the name of a tunnel is told, and not shown', () => {
  const said = proxyRequest('CONNECT user:secret@good.example:443 HTTP/1.1')
  assert(said.kind === 'refusal')
  assert.equal(
    said.reason,
    "the request names a user: ask for 'good.example:443', without what is before the @",
  )
})

describe('a request that is passed on', () => {
  const host = 'Host: good.example'

  test('is written anew for its server', () => {
    const said = proxyRequest(
      lines(
        'POST http://Good.Example:80?q=1 HTTP/1.1',
        'User-Agent: x',
        'Host: GOOD.example',
        'Content-Length: 5',
        'Proxy-Connection: keep-alive',
        'Proxy-Authorization: Basic eA==',
        'Connection: X-Own, Content-Length, Host, Upgrade',
        'X-Own: y',
        'Upgrade: websocket',
        'TE: trailers',
        'Accept: */*',
      ),
    )
    assert.deepEqual(said, {
      kind: 'forward',
      to: { host: 'good.example', port: 80 },
      head: lines(
        'POST /?q=1 HTTP/1.1',
        'host: good.example',
        'user-agent: x',
        'accept: */*',
        'content-length: 5',
        'connection: close',
        '',
        '',
      ),
      framing: { kind: 'length', bytes: 5 },
    })
  })

  test('names a port that is not the usual one', () => {
    const said = proxyRequest(lines('GET HTTP://good.example:8080/a HTTP/1.1', 'Host: good.example.:8080'))
    assert(said.kind === 'forward')
    assert.equal(said.head, 'GET /a HTTP/1.1\r\nhost: good.example:8080\r\nconnection: close\r\n\r\n')
  })

  test('of HTTP/1.0 gets the host that it need not name', () => {
    const said = proxyRequest('GET http://good.example/ HTTP/1.0')
    assert(said.kind === 'forward')
    assert.equal(said.head, 'GET / HTTP/1.0\r\nhost: good.example\r\nconnection: close\r\n\r\n')
  })

  const refusals: readonly (readonly [request: string, status: number, why: RegExp])[] = [
    ['GET http://good.example/ HTTP/1.1', 400, /no field Host/],
    [lines('GET http://good.example/ HTTP/1.1', 'Host: other.example'), 400, /another host/],
    [lines('GET http://good.example/ HTTP/1.1', 'Host: good.example:81'), 400, /another host/],
    [lines('GET http://good.example/ HTTP/1.1', 'Host:'), 400, /another host/],
    [lines('GET http://good.example/ HTTP/1.1', 'Host: good.example, other.example'), 400, /another host/],
    [lines('GET http://good.example/ HTTP/1.1', host, host), 400, /more than one/],
    [lines('GET http://good.example/ HTTP/1.1', host, 'HOST: other.example'), 400, /more than one/],
    [lines('GET / HTTP/1.1', host), 400, /a proxy is asked/],
    [lines('GET * HTTP/1.1', host), 400, /a proxy is asked/],
    [lines('GET https://good.example/ HTTP/1.1', host), 400, /CONNECT/],
    [lines('GET ftp://good.example/ HTTP/1.1', host), 400, /a proxy is asked/],
    [lines('GET http://user@good.example/ HTTP/1.1', host), 400, /a proxy is asked/],
    [lines('GET http://good.example@other.example/ HTTP/1.1', host), 400, /a proxy is asked/],
    [lines('GET http://good.example#@other.example/ HTTP/1.1', host), 400, /a proxy is asked/],
    [lines('GET http://good.example\\@other.example/ HTTP/1.1', host), 400, /a proxy is asked/],
    [lines('GET http://good.example\\.other.example/ HTTP/1.1', host), 403, /by their names/],
    [lines('GET http:///good.example/ HTTP/1.1', host), 400, /a proxy is asked/],
    [lines('GET http://127.0.0.1/ HTTP/1.1', host), 403, /by their names/],
    [lines('GET http://[::ffff:127.0.0.1]/ HTTP/1.1', host), 403, /by their names/],
    [
      lines('GET http://good.example/ HTTP/1.1', host, 'Content-Length: 1', 'Content-Length: 2'),
      400,
      /no length/,
    ],
    [lines('GET http://good.example/ HTTP/1.1', host, 'Content-Length: +1'), 400, /no length/],
    [
      lines('POST http://good.example/ HTTP/1.1', host, 'Content-Length: 1', 'Transfer-Encoding: chunked'),
      400,
      /both/,
    ],
    [
      lines('POST http://good.example/ HTTP/1.1', host, 'Transfer-Encoding: x, chunked'),
      400,
      /not asked for/,
    ],
    [lines('POST http://good.example/ HTTP/1.1', host, 'Transfer-Encoding:\x0bchunked'), 400, /control/],
    [lines('PRI * HTTP/2.0'), 400, /this is a proxy/],
    ['\x05\x01\x00', 400, /this is a proxy/],
    ['GET http://good.example/\u00e4 HTTP/1.1', 400, /this is a proxy/],
  ]
  for (const [request, status, why] of refusals)
    test(`is not ${JSON.stringify(request.slice(0, 110))}`, () => {
      const said = proxyRequest(request)
      assert(said.kind === 'refusal', JSON.stringify(said))
      assert.equal(said.status, status, said.reason)
      assert.match(said.reason, why)
    })
})
