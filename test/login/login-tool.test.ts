// A server that wants a login, in a proxy that runs: its state, and the tool that begins the login where no browser opens.

import assert from 'node:assert/strict'
import { type TestContext, describe, test } from 'node:test'
import { logIn } from '../../src/login/login-flow.js'
import { claim } from '../integration/support/claim.js'
import { gatewayOf } from '../integration/support/gateway.js'
import { message, send } from '../transports/support/http.js'
import type { RawClient } from '../integration/support/client.js'
import { at, listAt, textAt } from '../integration/support/json.js'
import { libraryProxy } from '../integration/support/library.js'
import { itEcho } from '../integration/support/programs.js'
import { until, untilAnswered } from '../integration/support/waiting.js'
import { type AuthorizationOptions, AuthorizationServer, browse } from './authorization-server.js'
import { openRuntime } from '../support/open-runtime.js'
import { noBrowserEnv, quickPerson, storeAtHome } from './place.js'

async function place(
  t: TestContext,
  person: 'here' | 'elsewhere' = 'here',
  options: AuthorizationOptions = {},
  more: object = {},
) {
  const server = await AuthorizationServer.open(t, options)
  const runtime = openRuntime(t, noBrowserEnv)
  const guarded = { url: server.url, ...more }
  const made = await libraryProxy(t, { guarded, open: itEcho() }, { runtime, person })
  return { ...made, server, runtime, store: storeAtHome(runtime) }
}

async function names(client: RawClient, meta?: object): Promise<string[]> {
  const params = meta === undefined ? {} : { _meta: meta }
  const { value } = await client.request('tools/list', params)
  return listAt(value, 'result', 'tools').map((tool) => textAt(tool, 'name'))
}

const textOf = (value: unknown): string => textAt(value, 'result', 'content', 0, 'text')

const pageIn = (text: string): string => /http:\S+\/login\/[0-9a-f]{32}/.exec(text)?.[0] ?? ''

/** The server has listed its own tool in the place of the one for the login. */
const isReplaced = (listed: string[]): boolean =>
  listed.includes('guarded__hello') && !listed.includes('guarded__login')

/** Posts to a gateway without a session. */
async function gateway(
  t: TestContext,
  options: AuthorizationOptions,
  server: object,
): Promise<(method: string, params: object) => Promise<string>> {
  const guard = await AuthorizationServer.open(t, options)
  const runtime = openRuntime(t, noBrowserEnv)
  const value = { server, mcpServers: { guarded: { url: guard.url }, open: itEcho() } }
  const served = await gatewayOf(t, value, { runtime, person: 'here' })
  return async (method, params) => {
    const headers = { 'mcp-protocol-version': '2025-11-25' }
    return (await send(served.port, { body: message(method, 1, params), headers })).body
  }
}

test('a server that wants a login is in a state of its own, and a login by another process is used at once by all clients', async (t) => {
  const here = await place(t, 'elsewhere')
  const clients = await Promise.all([here.attach(), here.attach()])
  for (const { client } of clients) await client.open()
  const shown = (): unknown => here.proxy.status().map(({ name, state }) => [name, state])
  await until(() => here.proxy.status().every(({ state }) => !['starting', 'disconnected'].includes(state)))
  assert.deepEqual(shown(), [
    ['guarded', 'login-required'],
    ['open', 'connected'],
  ])
  const wanted = /^Authentication failed: 'guarded' needs a login; run: mcps-proxy login guarded$/
  assert.match(here.proxy.status()[0]?.error ?? '', wanted)
  // More than would open the breaker of a server that crashes.
  const [first] = clients
  assert(first !== undefined)
  for (let time = 0; time < 8; time++) {
    const { value } = await first.client.call('guarded__hello')
    assert.match(textAt(value, 'error', 'message'), wanted)
    assert.deepEqual(at(value, 'error', 'data'), { service: 'guarded', reason: 'login-required' })
  }
  assert.equal(here.proxy.status()[0]?.gauges.restarts, 0)
  assert.equal(here.log.filter(({ message }) => wanted.test(message)).length, 1)
  for (const { client } of clients) await client.request('tools/list')
  const changed = clients.map(({ client }) => client.notification('notifications/tools/list_changed'))
  await logIn({ url: here.server.url }, here.store, here.runtime, quickPerson)
  await Promise.all(changed)
  for (const { client } of clients) {
    const { value } = await client.call('guarded__hello')
    assert.equal(textAt(value, 'result', 'content', 0, 'text'), 'hi')
  }
  here.store.remove(here.server.url)
  await untilAnswered(
    async () => at((await first.client.call('guarded__hello')).value, 'error') !== undefined,
  )
})

describe('the tool that begins a login', () => {
  test('says what to open, waits for it when it is called again, and makes room for the tools', async (t) => {
    const { attach, log } = await place(t)
    const [{ client }, { client: other }] = [await attach(), await attach()]
    for (const each of [client, other]) {
      await each.open()
      const listed = await names(each)
      assert(listed.includes('guarded__login') && !listed.includes('guarded__hello'))
    }
    const { value } = await client.call('guarded__login')
    assert.match(textOf(value), /^'guarded' needs a login\. The user has ten minutes to open this page/)
    assert.match(textOf(value), /Or run on that machine: mcps-proxy login guarded --no-browser/)
    assert.doesNotMatch(textOf(value), /state|code=/)
    const page = pageIn(textOf(value))
    const failed = await other.call('guarded__hello')
    const why = textAt(failed.value, 'error', 'message')
    assert.match(why, /needs a login; open http:\S+ or run: mcps-proxy login/)
    assert(textAt(failed.value, 'error', 'message').includes(page))
    const [again, waiting] = [other.call('guarded__login'), client.call('guarded__login')]
    await browse(page)
    for (const each of [again, waiting])
      assert.equal(textOf((await each).value), "Logged in. The tools of 'guarded' are listed now.")
    for (const each of [client, other]) {
      await each.toolNamesOnce(isReplaced)
      assert.equal(textOf((await each.call('guarded__hello')).value), 'hi')
    }
    assert.doesNotMatch(JSON.stringify(log), /access-|refresh-|state=|code=/)
  })

  const handshake = ['server/discover', 'initialize', 'notifications/initialized']
  for (const [what, opens] of [
    ['lists', handshake],
    ['calls', [...handshake, 'tools/list']],
  ] as const)
    test(`is listed when a server wants the login for its ${what} alone`, async (t) => {
      const { attach, proxy } = await place(t, 'here', { opens })
      const { client } = await attach()
      await client.open()
      await names(client)
      const refused = await client.call('guarded__hello')
      assert.equal(at(refused.value, 'error', 'data', 'reason'), 'login-required')
      assert.equal(proxy.status()[0]?.state, 'login-required')
      assert((await names(client)).includes('guarded__login'))
      const page = pageIn(textOf((await client.call('guarded__login')).value))
      const waiting = client.call('guarded__login')
      await browse(page)
      assert.match(textOf((await waiting).value), /^Logged in/)
      await client.toolNamesOnce(isReplaced)
      assert.equal(textOf((await client.call('guarded__hello')).value), 'hi')
      assert.equal(proxy.status()[0]?.state, 'connected')
    })

  const url = { elicitation: { url: {} } }
  for (const action of ['accept', 'decline'])
    test(`asks a client of 2025-11-25 to open the page: ${action}`, async (t) => {
      const { attach, store, server } = await place(t)
      const { client } = await attach()
      await client.open(url, '2025-11-25')
      await names(client)
      const called = client.call('guarded__login')
      const asked = await client.next(
        'a page',
        ({ value }) => textAt(value, 'method') === 'elicitation/create',
      )
      const params = at(asked.value, 'params')
      const described = [at(params, 'mode'), at(params, 'message'), typeof at(params, 'elicitationId')]
      assert.deepEqual(described, ['url', "Log in to 'guarded'", 'string'])
      client.respond(asked, { action })
      if (action === 'accept') void browse(textAt(params, 'url'))
      const { value } = await called
      const wanted =
        action === 'accept' ? "Logged in. The tools of 'guarded' are listed now." : 'The login was declined.'
      assert.equal(textOf(value), wanted)
      assert.equal(store.read(server.url) !== undefined, action === 'accept')
      if (action === 'accept') await client.toolNamesOnce(isReplaced)
    })

  test('asks a client of 2026-07-28 in its result', async (t) => {
    const { attach } = await place(t)
    const { client } = await attach()
    const meta = claim(url)
    assert((await names(client, meta)).includes('guarded__login'))
    const { value } = await client.call('guarded__login', {}, meta)
    assert.equal(textAt(value, 'result', 'resultType'), 'input_required')
    const { method, params } = Object(at(value, 'result', 'inputRequests', 'login'))
    assert.deepEqual(
      [method, params.mode, Object.keys(params)],
      ['elicitation/create', 'url', ['mode', 'message', 'url']],
    )
    const inputResponses = { login: { action: 'accept' } }
    const back = client.request('tools/call', {
      name: 'guarded__login',
      arguments: {},
      inputResponses,
      _meta: meta,
    })
    await browse(params.url)
    const done = (await back).value
    assert.equal(textAt(done, 'result', 'resultType'), 'complete')
    assert.equal(textOf(done), "Logged in. The tools of 'guarded' are listed now.")
    while (!(await names(client, meta)).includes('guarded__hello'));
  })

  test('says why there is no login', async (t) => {
    const { attach } = await place(t, 'here', { metadata: { code_challenge_methods_supported: ['plain'] } })
    const { client } = await attach()
    await client.open()
    await names(client)
    const { value } = await client.call('guarded__login')
    assert.match(
      textOf(value),
      /^The login cannot begin: \S+ supports the PKCE methods 'plain', and not S256$/,
    )
    assert.equal(at(value, 'result', 'isError'), true)
  })

  test('begins none for a person who is elsewhere', async (t) => {
    const { attach, server } = await place(t, 'elsewhere')
    const { client } = await attach()
    await client.open(url, '2025-11-25')
    await names(client)
    const { value } = await client.call('guarded__login')
    assert.match(
      textOf(value),
      /operator of mcps-proxy makes on its machine: mcps-proxy login guarded --no-browser/,
    )
    assert(!server.asked.includes('POST /register'))
  })

  for (const [title, server, wanted] of [
    ['of this machine', {}, /open this page in a browser of the machine/],
    ['that others reach', { publicUrl: 'https://mcp.example.com' }, /operator of mcps-proxy/],
  ] as const)
    test(`tells the clients of a gateway ${title} what to do`, async (t) => {
      const ask = await gateway(t, {}, server)
      await untilAnswered(async () => (await ask('tools/list', {})).includes('guarded__login'))
      assert.match(await ask('tools/call', { name: 'guarded__login', arguments: {} }), wanted)
    })

  test('is named in words to a client without a session, of which nothing is known', async (t) => {
    const ask = await gateway(t, { opens: [...handshake, 'tools/list'] }, {})
    await untilAnswered(async () => (await ask('tools/list', {})).includes('guarded__hello'))
    const refused = await ask('tools/call', { name: 'guarded__hello', arguments: {} })
    assert.match(refused, /"code":-32603,.*needs a login; .*"reason":"login-required"/)
  })

  test('is listed only where the configuration allows a tool of that name', async (t) => {
    const { attach } = await place(t, 'here', {}, { tools: { allow: ['hello'] } })
    const { client } = await attach()
    await client.open()
    const own = (await names(client)).filter((name) => name.startsWith('guarded'))
    assert.deepEqual(own, [])
  })
})
