// A server that wants a login, in a proxy that runs: its state, the logins that other processes make and end meanwhile.

import assert from 'node:assert/strict'
import { type TestContext, describe, test } from 'node:test'
import { homeOf, ownPath } from '../../src/config/file.js'
import { logIn } from '../../src/login/login-flow.js'
import { LoginStore } from '../../src/login/login-store.js'
import { realRuntime } from '../../src/real-runtime.js'
import { at, textAt } from '../integration/support/json.js'
import { type TestProxy, libraryProxy } from '../integration/support/library.js'
import { itEcho } from '../integration/support/programs.js'
import { until, untilAnswered } from '../integration/support/waiting.js'
import { AuthorizationServer, browse } from './authorization-server.js'

interface Place extends TestProxy {
  readonly server: AuthorizationServer
  readonly store: LoginStore
  readonly logIn: () => Promise<unknown>
}

async function place(t: TestContext): Promise<Place> {
  const server = await new AuthorizationServer().listen()
  t.after(() => server.close())
  const runtime = realRuntime()
  t.after(() => runtime.close())
  const store = new LoginStore(ownPath(homeOf(process.env), 'auth'), runtime)
  const made = await libraryProxy(t, { guarded: { url: server.url }, open: itEcho() }, { runtime })
  const person = { show: async (page: string) => void browse(page) }
  return { ...made, server, store, logIn: () => logIn({ url: server.url }, store, runtime, person) }
}

describe('a server that wants a login', () => {
  test('is in a state of its own, and a login by another process is used at once by all clients', async (t) => {
    const here = await place(t)
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
    await here.logIn()
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
})
