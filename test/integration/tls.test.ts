// Remote servers over https, with an authority of our own: what is trusted, and what is said when it is not.

import assert from 'node:assert/strict'
import { createServer as createTcpServer } from 'node:net'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { at, textAt } from './support/json.js'
import { cli } from './support/programs.js'
import { type Scope, type Spawned, scratch, spawnProgram } from './support/spawned.js'
import { Authority, type Certificate, certificate } from '../transports/support/certificates.js'
import { oneTool } from '../transports/support/one-tool.js'
import { json, scripted } from '../transports/support/scripted.js'

const authority = new Authority('An authority of these tests')

/** An MCP server over TLS. */
async function secure(
  scope: Scope,
  { cert, key }: Certificate,
): Promise<{ readonly port: string; readonly heads: readonly string[] }> {
  const { url, heads } = await scripted(scope, oneTool('{"content":[]}'), { tls: { cert, key } })
  return { port: url.port, heads }
}

/** The proxy in front of an address, in an environment that trusts our authority, or does not. */
function proxyTo(scope: Scope, url: string, trusts = true, args: readonly string[] = []): Spawned {
  const file = join(scratch(scope), 'authority.pem')
  writeFileSync(file, authority.cert)
  const env = {
    PATH: process.env['PATH'],
    HOME: '/nonexistent',
    ...(trusts && { NODE_EXTRA_CA_CERTS: file }),
  }
  return spawnProgram(scope, process.execPath, [cli, '--url', url, '--verbose', ...args], { env })
}

describe('a remote server over https', () => {
  test('is reached by a name that it has, signed by who is trusted', async (t) => {
    const { port, heads } = await secure(t, certificate({ names: ['localhost'], by: authority }))
    const { client } = proxyTo(t, `https://localhost:${port}/mcp`)
    await client.open()
    assert.notEqual(at((await client.call('work')).value, 'result'), undefined)
    assert.ok(heads.length >= 4)
  })

  const refusals: [string, Certificate, boolean, RegExp][] = [
    [
      'signed by itself',
      certificate({ names: ['localhost'] }),
      true,
      /self-signed certificate.* \(DEPTH_ZERO_SELF_SIGNED_CERT\); .* NODE_EXTRA_CA_CERTS$/,
    ],
    [
      'of another host',
      certificate({ names: ['other.example'], by: authority }),
      true,
      /DNS:other\.example \(ERR_TLS_CERT_ALTNAME_INVALID\); .*the host name in the url/,
    ],
    [
      'that has expired',
      certificate({ names: ['localhost'], by: authority, from: -3, until: -2 }),
      true,
      /has expired \(CERT_HAS_EXPIRED\); .*the clock of this machine/,
    ],
  ]
  for (const [title, given, trusts, wanted] of refusals)
    test(`with a certificate ${title} is sent nothing`, async (t) => {
      const { port, heads } = await secure(t, given)
      const proxy = proxyTo(t, `https://localhost:${port}/mcp?key=CANARY-in-the-query`, trusts)
      const { client } = proxy
      await client.open()
      const { value, text } = await client.request('tools/list')
      assert.equal(at(value, 'error', 'code'), -32603, text)
      assert.match(textAt(value, 'error', 'message'), wanted)
      assert.equal(at(value, 'error', 'data', 'reason'), 'unavailable')
      assert.ok(textAt(value, 'error', 'data', 'remedy').length > 0)
      assert.deepEqual(heads, [])
      assert.equal(`${text}${proxy.stderr}`.includes('CANARY'), false)
    })

  test('that speaks no TLS, or is addressed without, says which of the two', async (t) => {
    const plain = await scripted(t, (_seen, response) => json(response, '{}'))
    const wrong = proxyTo(t, `https://127.0.0.1:${plain.url.port}/mcp`)
    await wrong.client.open()
    const asked = await wrong.client.request('tools/list')
    assert.match(
      textAt(asked.value, 'error', 'message'),
      /wrong version number \((?:EPROTO|ERR_SSL_[\w/]+)\); .*begins with http:\/\/$/,
    )
    // What a server that speaks only TLS says to anything else: an alert.
    const raw = createTcpServer((socket) => {
      socket.on('error', () => undefined)
      socket.once('data', () => socket.end(Buffer.from([0x15, 3, 1, 0, 2, 2, 0x46])))
    })
    await new Promise<void>((resolve) => {
      raw.listen(0, '127.0.0.1', resolve)
    })
    t.after(() => void raw.close())
    const other = proxyTo(t, `http://127.0.0.1:${String(at(raw.address(), 'port'))}/mcp`)
    await other.client.open()
    const told = await other.client.request('tools/list')
    assert.match(textAt(told.value, 'error', 'message'), /\(NOT_HTTP\).*; .*begins with https:\/\/$/)
  })
})
