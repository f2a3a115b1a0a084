// Clients that come while a proxy is being closed, or after that.

import { strict as assert } from 'node:assert'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { type ClientRequest, request } from 'node:http'
import { join } from 'node:path'
import { type TestContext, describe, test } from 'node:test'
import type { Configuration } from '../../src/config/configuration.js'
import { resolveConfig } from '../../src/config/config.js'
import { type Gateway, openGateway } from '../../src/gateway/gateway.js'
import { asRead, itServer, root } from '../integration/support/programs.js'
import { libraryProxy } from '../integration/support/library.js'
import { scratch } from '../integration/support/spawned.js'
import { both, message, read } from '../transports/support/http.js'
import { FakeRuntime, settled } from '../upstream/support/fake-runtime.js'

test('whoever attaches to a proxy that is closed is gone at once, and starts nothing', async (t) => {
  const runtime = new FakeRuntime()
  const { attach, proxy } = await libraryProxy(t, { s: { command: 'x' } }, { runtime })
  const first = await attach()
  const opening = first.client.open()
  await runtime.pass(1000)
  await opening
  await proxy.close()
  const late = await attach()
  await assert.rejects(late.client.call('s__t'), /closed/)
  await settled()
  assert.equal(runtime.children.length, 1)
  assert.deepEqual(await late.session.ended, { exitCode: 0, cause: undefined })
})

test('a proxy that is closing ignores another configuration, and reads no lock of it', async (t) => {
  const { proxy, log } = await libraryProxy(t, {}, { runtime: new FakeRuntime() })
  const file = join(scratch(t), 'mcps.lock')
  writeFileSync(file, '<<<<<<< HEAD')
  const closed = proxy.close()
  assert.equal(await proxy.reload(asRead({ mcpServers: { s: { command: 'x' } }, lock: { file } })), undefined)
  await closed
  assert.deepEqual(
    log.map(({ message }) => message),
    ['a changed configuration is ignored: the proxy is closing'],
  )
})

const old = { s: itServer({ IT_NAME: 'old' }) }
const config = (schemas: object): Configuration =>
  resolveConfig({ server: { port: 0 }, schemas }, { source: 'test', folder: root, env: process.env })

async function opened(t: TestContext): Promise<Gateway> {
  const gateway = await openGateway(config({ default: { mcpServers: {} }, old: { mcpServers: old } }))
  t.after(() => gateway.close(0))
  return gateway
}

const body = message('tools/call', 1, { name: 's__nonce', arguments: { n: 'x'.repeat(100_000) } })

/** A POST of which half is on its way. */
async function halfPosted(port: number): Promise<ClientRequest> {
  const headers = {
    'content-type': 'application/json',
    accept: both,
    'content-length': String(body.length),
    expect: '100-continue',
  }
  const sent = request({ port, host: '127.0.0.1', method: 'POST', path: '/api/old/mcp', headers })
  sent.flushHeaders()
  // The server has seen the request.
  await once(sent, 'continue')
  sent.write(body.slice(0, 50_000))
  return sent
}

async function statusOf(sent: ClientRequest): Promise<number> {
  const answer = once(sent, 'response')
  sent.end(body.slice(50_000))
  const [response] = await answer
  return (await read(response)).status
}

describe('a request whose body is on its way', () => {
  test('while its schema leaves the configuration is refused', async (t) => {
    const gateway = await opened(t)
    const sent = await halfPosted(gateway.port)
    await gateway.reload(config({ default: { mcpServers: {} } }))
    assert.equal(await statusOf(sent), 503)
  })

  test('while the gateway begins to close is refused', async (t) => {
    const gateway = await opened(t)
    const sent = await halfPosted(gateway.port)
    const closed = gateway.close()
    assert.equal(await statusOf(sent), 503)
    await closed
  })
})
