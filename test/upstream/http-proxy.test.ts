// Remote servers behind a proxy that makes tunnels, and servers that want certificates.

import assert from 'node:assert/strict'
import { Buffer } from 'node:buffer'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import type { TlsOptions } from 'node:tls'
import { at, textAt } from '../integration/support/json.js'
import { libraryProxy } from '../integration/support/library.js'
import { cli } from '../integration/support/programs.js'
import { scratch, spawnProgram } from '../integration/support/spawned.js'
import { Authority, type Certificate, certificate } from '../transports/support/certificates.js'
import { connectProxy } from '../transports/support/connect-proxy.js'
import { oneTool } from '../transports/support/one-tool.js'
import { rawServer } from '../transports/support/raw-server.js'
import { type Scope, json, scripted } from '../transports/support/scripted.js'

const authority = new Authority('An authority of these tests')
const NAME = 'service.example'

const work = oneTool(`{"content":[],"x":"${'y'.repeat(200_000)}"}`)

async function secure(scope: Scope, options: TlsOptions = {}): Promise<number> {
  const tls = { ...certificate({ names: [NAME], by: authority }), ...options }
  const { url } = await scripted(scope, work, { tls })
  return Number(url.port)
}

async function plain(scope: Scope): Promise<number> {
  const { url } = await scripted(scope, work)
  return Number(url.port)
}

/** A file with this text. */
function file(scope: Scope, text: string): string {
  const path = join(scratch(scope), 'file.pem')
  writeFileSync(path, text)
  return path
}

/** What a call comes to, and everything that was logged. */
async function called(
  scope: Scope,
  entry: object,
): Promise<{ readonly value: unknown; readonly log: string }> {
  const { attach, log } = await libraryProxy(scope, { s: { retries: 0, ...entry } })
  const clients = [await attach(), await attach()]
  for (const { client } of clients) await client.open()
  const answers = await Promise.all(clients.map(({ client }) => client.call('s__work')))
  const [one, other] = answers.map(({ value }) => at(value, 'result', 'x') ?? at(value, 'error', 'message'))
  assert.equal(one, other)
  return { value: answers[0]?.value, log: JSON.stringify([log, answers]) }
}

describe('a server that is reached through a proxy', () => {
  for (const pieces of [1, 7])
    test(`over http, its answer in ${pieces} pieces`, async (t) => {
      const proxy = await connectProxy(t, { to: await plain(t), pieces })
      const { value } = await called(t, {
        url: `http://${NAME}:8080/mcp`,
        proxy: `http://127.0.0.1:${proxy.port}`,
      })
      assert.equal(textAt(value, 'result', 'x').length, 200_000)
      assert.match(
        proxy.heads[0] ?? '',
        /^CONNECT service\.example:8080 HTTP\/1\.1\r\nHost: service\.example:8080\r\n\r\n$/,
      )
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
    // Who signs for the server is not who signs for the proxy.
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
    // Nothing of it keeps the program.
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

describe('a server whose certificate is', () => {
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
    test(`${title} is sent nothing`, async (t) => {
      const { url, heads } = await scripted(t, work, { tls: { ...given } })
      const address = `https://localhost:${url.port}/mcp?key=CANARY-in-the-query`
      const { value, log } = await called(t, { url: address, tls: { ca: file(t, authority.cert) } })
      assert.match(textAt(value, 'error', 'message'), wanted)
      assert.equal(at(value, 'error', 'data', 'reason'), 'unavailable')
      assert.ok(textAt(value, 'error', 'data', 'remedy').length > 0)
      assert.deepEqual(heads, [])
      assert.ok(!log.includes('CANARY'))
    })

  test('not asked for, or not there, says which of the two', async (t) => {
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
