// Requests of programs to the proxy, and the host and port of each.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { EgressRefusal, proxyRequest } from '../../../src/sandbox/egress/allowed-hosts.js'

const lines = (...all: readonly string[]): string => all.join('\r\n')

function refusalOf(request: string): EgressRefusal {
  try {
    return assert.fail(JSON.stringify(proxyRequest(request)))
  } catch (error) {
    if (error instanceof EgressRefusal) return error
    throw error
  }
}

test('a tunnel is asked for by name and port', () => {
  for (const more of [[], ['Host: good.example:443'], ['Host: proxy', 'Proxy-Connection: keep-alive']])
    assert.deepEqual(proxyRequest(lines('CONNECT Good.Example:443 HTTP/1.1', ...more)), {
      host: 'good.example',
      port: 443,
    })
})

const others = `good.example: good.example:443:443 good.example:0443x user@good.example:443 user:secret@good.example:443
    127.0.0.1:443 2130706433:443 0x7f000001:443 0177.0.0.01:443 [::1]:443 localhost:443 /good.example:443
    https://good.example:443 good.example%00.other.example:443`
const noTunnels: readonly (readonly [request: string, status: number])[] = [
  ...others.split(/\s+/).map((to) => [`CONNECT ${to} HTTP/1.1`, 403] as const),
  ['CONNECT good.example HTTP/1.1', 400],
  ['CONNECT good.example:0 HTTP/1.1', 400],
  ['CONNECT good.example:65536 HTTP/1.1', 400],
  ['CONNECT good.example:443 HTTP/1.1 HTTP/1.1', 400],
  ['CONNECT  good.example:443 HTTP/1.1', 400],
  ['CONNECT good.example:443 HTTP/2.0', 400],
  ['CONNECT good.example:443', 400],
]
for (const [request, status] of noTunnels)
  test(`a tunnel is not what ${JSON.stringify(request.slice(0, 90))} asks for`, () => {
    const said = refusalOf(request)
    assert.equal(said.status, status, said.message)
    assert.match(said.message, /^[\x20-\x7e]+$/)
  })

const cases: readonly (readonly [authority: string, shown: string])[] = [
  ['169.254.169.254:443', '169.254.169.254:443'],
  ['[::1]:443', '[::1]:443'],
  ['localhost:443', 'localhost:443'],
  [`${'a'.repeat(200)}:443`, 'a'.repeat(100)],
]
for (const [authority, shown] of cases)
  test(`an authority that is no name is refused as ${shown.slice(0, 20)}`, () => {
    const said = refusalOf(`CONNECT ${authority} HTTP/1.1`)
    assert.equal(said.message.slice(0, shown.length + 17), `'${shown}' is not allowed`)
  })

test('a user in the name of a tunnel is not shown', () => {
  const said = refusalOf('CONNECT user:secret@good.example:443 HTTP/1.1')
  assert.match(said.message, /^'good\.example:443' is not allowed/)
})

const refusals: readonly (readonly [request: string, status: number, why: RegExp])[] = [
  [lines('GET http://good.example/ HTTP/1.1', 'Host: good.example'), 403, /use https:/],
  [lines('GET / HTTP/1.1', 'Host: good.example'), 403, /use https:/],
  [lines('PRI * HTTP/2.0'), 400, /this is a proxy/],
  ['\x05\x01\x00', 400, /this is a proxy/],
  ['GET http://good.example/\u00e4 HTTP/1.1', 400, /this is a proxy/],
]
for (const [request, status, why] of refusals)
  test(`a request for no tunnel is refused: ${JSON.stringify(request.slice(0, 110))}`, () => {
    const said = refusalOf(request)
    assert.equal(said.status, status, said.message)
    assert.match(said.message, why)
  })
