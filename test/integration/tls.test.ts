// The certificate of every remote server is verified, and servers may want one too.

import assert from 'node:assert/strict'
import { Buffer } from 'node:buffer'
import { describe, test } from 'node:test'
import type { TlsOptions } from 'node:tls'
import { type Certificate, certificate } from '../transports/support/certificates.js'
import { connectProxy } from '../transports/support/connect-proxy.js'
import { rawServer } from '../transports/support/raw-server.js'
import { type Scope, json, scripted } from '../transports/support/scripted.js'
import { NAME, authority, called, file, secure, work } from '../upstream/support/secure.js'
import { at, textAt } from './support/json.js'

const cases: readonly (readonly [string, Certificate, RegExp])[] = [
  [
    'signed by itself',
    certificate({}),
    /self-signed certificate.* \(DEPTH_ZERO_SELF_SIGNED_CERT\); .* NODE_EXTRA_CA_CERTS$/,
  ],
  [
    'that of another host',
    certificate({ names: ['other.example'], by: authority }),
    /DNS:other\.example \(ERR_TLS_CERT_ALTNAME_INVALID\); .*the host name in the url/,
  ],
  [
    'over since yesterday',
    certificate({ by: authority, from: -3, until: -2 }),
    /has expired \(CERT_HAS_EXPIRED\); .*the clock of this machine/,
  ],
]
for (const [title, given, wanted] of cases)
  test(`a server whose certificate is ${title} is sent nothing`, async (t) => {
    const { url, heads } = await scripted(t, work, { tls: { ...given } })
    const address = `https://localhost:${url.port}/mcp?key=CANARY-in-the-query`
    const { value, log } = await called(t, { url: address, tls: { ca: file(t, authority.cert) } })
    assert.match(textAt(value, 'error', 'message'), wanted)
    assert.equal(at(value, 'error', 'data', 'reason'), 'unavailable')
    assert.ok(textAt(value, 'error', 'data', 'remedy').length > 0)
    assert.deepEqual(heads, [])
    assert.ok(!log.includes('CANARY'))
  })

test('a server whose certificate is not asked for, or not there, says which of the two', async (t) => {
  const plain = await scripted(t, (_seen, response) => json(response, '{}'))
  const asked = await called(t, { url: `https://127.0.0.1:${plain.url.port}/mcp` })
  const wrongVersion = /wrong version number \((?:EPROTO|ERR_SSL_[\w/]+)\); .*begins with http:\/\/$/
  assert.match(textAt(asked.value, 'error', 'message'), wrongVersion)
  // An alert is what a server that speaks only TLS says to anything else.
  const { port } = await rawServer(t, (socket) => {
    socket.once('data', () => socket.end(Buffer.from([0x15, 3, 1, 0, 2, 2, 0x46])))
  })
  const told = await called(t, { url: `http://127.0.0.1:${port}/mcp` })
  assert.match(textAt(told.value, 'error', 'message'), /\(NOT_HTTP\).*; .*begins with https:\/\/$/)
})

describe('a server with certificates of its own', () => {
  const mutual: TlsOptions = { requestCert: true, rejectUnauthorized: true, ca: [authority.cert] }
  const client = certificate({ names: ['client'], by: authority })

  test('is trusted by name, and knows who asks', async (t) => {
    const port = await secure(t, mutual)
    const tls = {
      ca: file(t, authority.cert),
      cert: file(t, client.cert),
      key: file(t, client.key),
      servername: NAME,
    }
    const { value } = await called(t, { url: `https://127.0.0.1:${port}/mcp`, tls })
    assert.equal(textAt(value, 'result', 'x').length, 200_000)
  })

  for (const [maxVersion, wanted] of [
    [
      'TLSv1.2',
      /handshake failure \((?:EPROTO|ERR_SSL_[\w/]+)\); check "tls": \{ "cert", "key", "servername" \}/,
    ],
    ['TLSv1.3', /certificate required \(ERR_SSL_[\w/]+\).*; check "tls": \{ "cert", "key", "servername" \}/],
  ] as const)
    test(`that wants one is said to, in ${maxVersion}`, async (t) => {
      const port = await secure(t, { ...mutual, maxVersion })
      const tls = { ca: file(t, authority.cert), servername: NAME }
      const { value } = await called(t, { url: `https://127.0.0.1:${port}/mcp`, tls })
      assert.match(textAt(value, 'error', 'message'), wanted)
    })

  const mistakes: readonly (readonly [string, (scope: Scope) => object, RegExp])[] = [
    [
      'a file that is not there',
      () => ({ ca: '/nonexistent/ca.pem' }),
      /tls\.ca cannot be read: \/nonexistent\/ca\.pem \(ENOENT\)/,
    ],
    [
      'an authority that is none',
      (t) => ({ ca: file(t, 'x') }),
      /tls\.ca \(.*file\.pem\) holds no certificate in PEM/,
    ],
    [
      'a certificate that is none',
      (t) => ({ cert: file(t, 'x'), key: file(t, client.key) }),
      /a file of "tls" cannot be used: .+; check the files/,
    ],
    [
      'a key that is none',
      (t) => ({ cert: file(t, client.cert), key: file(t, 'x') }),
      /a file of "tls" cannot be used: .+; check the files/,
    ],
    [
      "another's key",
      (t) => ({ cert: file(t, client.cert), key: file(t, certificate({ by: authority }).key) }),
      /a file of "tls" cannot be used: .+; check the files/,
    ],
  ]
  for (const [title, tls, wanted] of mistakes)
    test(`${title} is said to be so`, async (t) => {
      const port = await secure(t)
      const { value } = await called(t, { url: `https://127.0.0.1:${port}/mcp`, tls: tls(t) })
      assert.match(textAt(value, 'error', 'message'), wanted)
      // The proxy on the way has no part in it.
      const { port: by } = await connectProxy(t, { to: port })
      const entry = { url: `https://${NAME}/mcp`, proxy: `http://127.0.0.1:${by}`, tls: tls(t) }
      const message = textAt((await called(t, entry)).value, 'error', 'message')
      assert.match(message, wanted)
      assert.doesNotMatch(message, /the proxy answers/)
    })
})
