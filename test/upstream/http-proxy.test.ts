import assert from 'node:assert/strict'
import { Buffer } from 'node:buffer'
import { describe, test } from 'node:test'
import { at, textAt } from '../integration/support/json.js'
import { cli } from '../integration/support/programs.js'
import { spawnProgram } from '../integration/support/spawned.js'
import { certificate } from '../transports/support/certificates.js'
import { connectProxy } from '../transports/support/connect-proxy.js'
import { NAME, authority, called, file, plain, secure } from './support/secure.js'

describe('a server that is reached through a proxy', () => {
  for (const pieces of [1, 7])
    test(`over http, its answer in ${pieces} pieces`, async (t) => {
      const proxy = await connectProxy(t, { to: await plain(t), pieces })
      const { value } = await called(t, {
        url: `http://${NAME}:8080/mcp`,
        proxy: `http://127.0.0.1:${proxy.port}`,
      })
      assert.equal(textAt(value, 'result', 'x').length, 200_000)
      const found = proxy.heads[0] ?? ''
      assert.match(found, /^CONNECT service\.example:8080 HTTP\/1\.1\r\nHost: service\.example:8080\r\n\r\n$/)
    })

  test('over https, by a proxy that speaks TLS itself and wants a login', async (t) => {
    const to = await secure(t)
    const own = certificate({ names: ['127.0.0.1'], by: authority })
    const proxy = await connectProxy(t, { to, tls: own })
    const { log } = await called(t, {
      url: `https://${NAME}/mcp`,
      proxy: `https://ann:CANARY%3Aword@127.0.0.1:${proxy.port}`,
      tls: { ca: file(t, authority.cert) },
    })
    // The certificate authority of the server is not that of the proxy.
    assert.match(log, /UNABLE_TO_VERIFY_LEAF_SIGNATURE.*NODE_EXTRA_CA_CERTS/)
    assert.deepEqual(proxy.heads, [])
    assert.ok(!log.includes('CANARY'))
  })

  test('over https, with a login', async (t) => {
    const to = await secure(t)
    const proxy = await connectProxy(t, { to })
    const { value, log } = await called(t, {
      url: `https://${NAME}/mcp`,
      proxy: `http://ann:CANARY%3Aword@127.0.0.1:${proxy.port}`,
      tls: { ca: file(t, authority.cert) },
    })
    assert.equal(textAt(value, 'result', 'x').length, 200_000)
    const login = Buffer.from('ann:CANARY:word').toString('base64')
    assert.equal(
      proxy.heads[0],
      `CONNECT ${NAME}:443 HTTP/1.1\r\nHost: ${NAME}:443\r\nProxy-Authorization: Basic ${login}\r\n\r\n`,
    )
    assert.ok(!log.includes('CANARY') && !log.includes(login))
  })

  const refusals: readonly (readonly [string, string, RegExp])[] = [
    [
      'wants a login',
      'HTTP/1.1 407 Proxy Authentication Required\r\nProxy-Authenticate: Basic\r\nContent-Length: 2\r\n\r\nno',
      /^'s': it cannot be reached at http:\/\/service\.example through the proxy http:\/\/127\.0\.0\.1:\d+: the proxy makes no connection to it \(HTTP 407\); check the address and the login of the proxy/,
    ],
    ['cannot', 'HTTP/1.1 502 Bad Gateway\r\n\r\n', /: the proxy makes no connection to it \(HTTP 502\)$/],
    ['says nothing', ' ', /: the proxy (?:answers something that is no HTTP|closed the connection)/],
    ['is none', 'SSH-2.0-OpenSSH_9.6\r\n', /: the proxy answers something that is no HTTP: .*; check/],
    [
      'says more than that',
      'HTTP/1.1 200 OK\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n',
      /: the proxy sends more than its answer; check/,
    ],
  ]
  for (const [title, says, wanted] of refusals)
    test(`that ${title}`, async (t) => {
      const proxy = await connectProxy(t, { says })
      const { value } = await called(t, {
        url: `http://${NAME}/mcp`,
        proxy: `http://127.0.0.1:${proxy.port}`,
      })
      assert.match(textAt(value, 'error', 'message'), wanted)
      assert.equal(at(value, 'error', 'data', 'reason'), 'unavailable')
    })

  test('that the environment names, also by --url', async (t) => {
    const to = await secure(t)
    const proxy = await connectProxy(t, { to })
    const env = {
      PATH: process.env['PATH'],
      HOME: '/nonexistent',
      NODE_EXTRA_CA_CERTS: file(t, authority.cert),
      https_proxy: `ann:CANARY-word@127.0.0.1:${proxy.port}`,
      NO_PROXY: 'other.example',
    }
    const args = [cli, '--url', `https://${NAME}/mcp`, '--verbose']
    const spawned = spawnProgram(t, process.execPath, args, { env })
    await spawned.client.open()
    const { value } = await spawned.client.call('work')
    assert.equal(textAt(value, 'result', 'x').length, 200_000)
    assert.match(proxy.heads[0] ?? '', /^CONNECT service\.example:443 HTTP\/1\.1\r\n/)
    // The tunnel does not keep the process alive.
    assert.equal(await spawned.finish(), 0)
    assert.ok(!spawned.stderr.includes('CANARY'))
  })

  test('is reached without one where it is on this machine', async (t) => {
    const port = await plain(t)
    const proxy = await connectProxy(t, { to: port })
    const { value } = await called(t, {
      url: `http://127.0.0.1:${port}/mcp`,
      proxy: `http://127.0.0.1:${proxy.port}`,
    })
    assert.equal(textAt(value, 'result', 'x').length, 200_000)
    assert.deepEqual(proxy.heads, [])
  })
})
