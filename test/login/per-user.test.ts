// A server at which each user of the front has a login: whose login serves whom, and what the users and the operator see.

import assert from 'node:assert/strict'
import { type TestContext, describe, test } from 'node:test'
import { logIn } from '../../src/login/login-flow.js'
import type { LoginStore } from '../../src/login/login-store.js'
import { limits } from '../../src/index.js'
import { bearer, gatewayOf, tokenOf } from '../integration/support/gateway.js'
import { type Attached, libraryProxy } from '../integration/support/library.js'
import { untilAnswered } from '../integration/support/waiting.js'
import { at } from '../integration/support/json.js'
import { message, send } from '../transports/support/http.js'
import { FakeRuntime } from '../upstream/support/fake-runtime.js'
import { AuthorizationServer } from './authorization-server.js'
import { openRuntime } from '../support/open-runtime.js'
import { noBrowserEnv, quickPerson, storeAtHome } from './place.js'

async function place(t: TestContext, users: readonly string[] = ['ann', 'bob']) {
  const guard = await AuthorizationServer.open(t)
  const runtime = openRuntime(t, noBrowserEnv)
  const value = {
    ...(users.length > 0 && {
      server: { tokens: users.map((name) => tokenOf(name, `of-${name}`)), token: 'of-all' },
    }),
    mcpServers: { guarded: { url: guard.url, auth: { type: 'oauth', perUser: true } } },
  }
  const gateway = await gatewayOf(t, value, { runtime, person: 'here' })
  const storeOf = (user?: string): LoginStore => storeAtHome(runtime, user)
  t.after(() => {
    for (const { user } of storeOf().all()) storeOf(user).remove(guard.url)
  })
  return {
    guard,
    gateway,
    storeOf,
    logIn: (user?: string) => logIn({ url: guard.url }, storeOf(user), runtime, quickPerson),
    ask: async (user: string, method: string, params = {}) => {
      const sent = { body: message(method, 1, params), headers: bearer(`of-${user}`) }
      return (await send(gateway.port, sent)).body
    },
  }
}

async function listing(
  { ask }: Pick<Awaited<ReturnType<typeof place>>, 'ask'>,
  user: string,
  tool: string,
): Promise<void> {
  await untilAnswered(async () => (await ask(user, 'tools/list')).includes(`guarded__${tool}"`))
}

describe('a login for each user', () => {
  test('serves its user alone, and its end is the end of that one', async (t) => {
    const here = await place(t)
    const { ask, gateway, storeOf, guard } = here
    const [proxy] = gateway.proxies.values()
    const state = (): unknown => {
      const { state: shown, users, error } = Object(proxy?.status()[0])
      return { state: shown, users, error }
    }
    assert.deepEqual(state(), {
      state: 'disconnected',
      users: { count: 0, withoutLogin: 0 },
      error: undefined,
    })
    for (const user of ['ann', 'bob']) {
      await listing(here, user, 'login')
      const answer = await ask(user, 'tools/call', { name: 'guarded__login', arguments: {} })
      assert.match(answer, new RegExp(`mcps-proxy login guarded --user ${user} --no-browser`))
    }
    assert.deepEqual(state(), {
      state: 'login-required',
      users: { count: 2, withoutLogin: 2 },
      error: '2 of 2 users need a login; run: mcps-proxy login guarded --user NAME',
    })
    await here.logIn('ann')
    await listing(here, 'ann', 'hello')
    const hello = { name: 'guarded__hello', arguments: {} }
    assert.match(await ask('ann', 'tools/call', hello), /"hi"/)
    const why = await ask('bob', 'tools/call', hello)
    assert.match(why, /needs a login; run: mcps-proxy login guarded --user bob"/)
    assert.doesNotMatch(await ask('bob', 'tools/list'), /hello/)
    assert.deepEqual(state(), { state: 'connected', users: { count: 2, withoutLogin: 1 }, error: undefined })
    assert.deepEqual([storeOf('bob').read(guard.url), storeOf().read(guard.url)], [undefined, undefined])
    // The token for everything names no user: its login is the one without a name.
    await listing(here, 'all', 'login')
    assert.match(await ask('all', 'tools/call', hello), /run: mcps-proxy login guarded"/)
    storeOf('ann').remove(guard.url)
    guard.revokeAll()
    await untilAnswered(async () => /--user ann"/.test(await ask('ann', 'tools/call', hello)))
  })

  test('is one for all clients without a name', async (t) => {
    const here = await place(t, [])
    await here.logIn()
    await listing(here, 'ann', 'hello')
    const status = [...here.gateway.proxies.values()][0]?.status()[0]
    assert.deepEqual([status?.state, status?.users], ['connected', undefined])
  })

  test('is not read by another user, also from a file in the place of theirs', async (t) => {
    const { logIn: enter, storeOf, guard } = await place(t)
    await enter('ann')
    const login = storeOf('ann').read(guard.url)
    assert(login !== undefined)
    // `write` names the user of the store.
    storeOf('bob').write(login)
    assert.equal(storeOf('bob').read(guard.url)?.user, 'bob')
    const users = new Set(
      storeOf()
        .all()
        .filter(({ url }) => url === guard.url)
        .map(({ user }) => user),
    )
    assert.deepEqual(users, new Set(['ann', 'bob']))
  })

  test('refuses one user more than it serves, until another one has left', async (t) => {
    const own = { ...limits, upstream: { ...limits.upstream, remoteUsersMax: 2 } }
    const entry = {
      url: 'http://127.0.0.1:1/mcp',
      retries: 0,
      lazy: true,
      auth: { type: 'oauth', perUser: true },
    }
    const { attach } = await libraryProxy(t, { guarded: entry }, { limits: own })
    const reasonFor = async (principal: string): Promise<[unknown, Attached]> => {
      const attached = await attach({ principal })
      await attached.client.open()
      return [at((await attached.client.call('guarded__x')).value, 'error', 'data', 'reason'), attached]
    }
    const [, ann] = await reasonFor('ann')
    for (const [user, wanted] of [
      ['bob', 'unavailable'],
      ['cleo', 'overloaded'],
      ['bob', 'unavailable'],
    ] as const)
      assert.equal((await reasonFor(user))[0], wanted)
    await ann.connection.close()
    await ann.session.ended
    assert.equal((await reasonFor('cleo'))[0], 'unavailable')
  })

  test('ends the sessions of users who are away, every ten minutes', async (t) => {
    const runtime = new FakeRuntime()
    const entry = { url: 'http://127.0.0.1:1/mcp', lazy: true, auth: { type: 'oauth', perUser: true } }
    const server = { tokens: [tokenOf('ann', 'x')] }
    const { attach, proxy } = await libraryProxy(t, { guarded: entry }, { runtime }, { server })
    const usersAfter = async (minutes: number): Promise<unknown> => {
      await runtime.pass(minutes * 60_000, 600_000)
      return proxy.status()[0]?.users?.count
    }
    const come = async (): Promise<() => Promise<unknown>> => {
      const { client, connection, session } = await attach({ principal: 'ann' })
      await client.open()
      return async () => (await connection.close(), session.ended)
    }
    const leave = await come()
    assert.equal(await usersAfter(60), 1)
    await leave()
    assert.equal(await usersAfter(10), 0)
    const leaveAgain = await come()
    await leaveAgain()
    assert.equal(await usersAfter(5), 1)
    assert.equal(await usersAfter(5), 0)
  })
})
