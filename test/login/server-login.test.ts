// A browser that opens by itself: where, how often, and what others do meanwhile.

import assert from 'node:assert/strict'
import { join } from 'node:path'
import { type TestContext, describe, test } from 'node:test'
import { hasPerson } from '../../src/login/browser.js'
import { LoginStore } from '../../src/login/login-store.js'
import { ServerLogin } from '../../src/login/server-login.js'
import { textAt } from '../integration/support/json.js'
import { libraryProxy } from '../integration/support/library.js'
import { scratch } from '../integration/support/spawned.js'
import { until } from '../integration/support/waiting.js'
import { type AuthorizationOptions, AuthorizationServer } from './authorization-server.js'
import { openRuntime } from '../support/open-runtime.js'
import { TestBrowser } from './place.js'

/** `follows` is what the browser does. */
async function place(t: TestContext, options?: AuthorizationOptions, follows?: string) {
  const server = await AuthorizationServer.open(t, options)
  const folder = scratch(t)
  const browser = new TestBrowser(folder, follows)
  const clock = { laterMs: 0 }
  const wallNow = (): number => Date.now() + clock.laterMs
  const runtime = { ...openRuntime(t, { ...process.env, BROWSER: browser.path }), wallNow }
  const store = new LoginStore(join(folder, 'auth'), runtime)
  const log: string[] = []
  const tell = (_: string, message: string): void => void log.push(message)
  const automatic = (): ServerLogin => {
    const made = new ServerLogin({ target: { url: server.url }, store, runtime, tell })
    t.after(() => made.close())
    return made
  }
  return { server, store, log, tabs: () => browser.tabs, automatic, runtime, clock }
}

const desktop = { DISPLAY: ':0' }
const cases: readonly [string, Readonly<Record<string, string>>, boolean][] = [
  ['with $BROWSER, also over SSH', { BROWSER: 'w3m', SSH_CONNECTION: 'x' }, true],
  ['not with an empty $BROWSER, over SSH', { ...desktop, BROWSER: '', SSH_CONNECTION: 'x' }, false],
  ['not in a terminal of SSH', { ...desktop, SSH_TTY: '/dev/pts/1' }, false],
  ['not in CI', { ...desktop, CI: 'true' }, false],
  ['not in a container', { ...desktop, container: 'podman' }, false],
  ['not in a pod', { ...desktop, KUBERNETES_SERVICE_HOST: '10.0.0.1' }, false],
]
const linux: typeof cases = [
  ['not without a display', {}, false],
  ['not with an empty display', { DISPLAY: '', WAYLAND_DISPLAY: '' }, false],
]
for (const [title, env, wanted] of [...cases, ...(process.platform === 'linux' ? linux : [])])
  test(`a browser opens unasked: ${title}`, () => assert.equal(hasPerson(env), wanted))

describe('an automatic login', () => {
  test('is one tab for all who want it, and its address has no state', async (t) => {
    const at = await place(t)
    const all = Array.from({ length: 20 }, () => at.automatic())
    for (const each of all) void each.ask('start')
    await until(() => at.store.read(at.server.url) !== undefined)
    for (const each of all) void each.ask('start')
    await until(() => at.log.some((line) => line.startsWith('logged in at 127.0.0.1:')))
    assert.equal(at.tabs().length, 1)
    assert.match(at.tabs()[0] ?? '', /^http:\/\/127\.0\.0\.1:\d+\/login\/[0-9a-f]{32}$/)
    assert.doesNotMatch(at.log.join('\n'), /state|access-|refresh-|code/)
  })

  test('opens no tab for a server that refused before another process had logged in', async (t) => {
    const at = await place(t)
    const [first, second] = [at.automatic(), at.automatic()]
    const version = at.store.versionOf(at.server.url)
    await first.ask('start', [], version)
    await second.ask('call', [], version)
    assert.equal(at.tabs().length, 1)
  })

  test('waits until the tab of another server or process is closed', async (t) => {
    const at = await place(t)
    const other = at.store.browserTurn()
    assert(other.tryAcquire())
    void at.automatic().ask('call')
    await new Promise((resolve) => setImmediate(resolve))
    assert.deepEqual([at.tabs(), at.server.asked], [[], []])
    other.release()
    await until(() => at.store.read(at.server.url) !== undefined)
    assert.equal(at.tabs().length, 1)
  })

  test('that is refused opens no second tab for more rights that a call has wanted meanwhile', async (t) => {
    const at = await place(t, { refusesLogin: true })
    const own = at.automatic()
    void own.ask('call')
    await own.ask('call', ['tools:write'])
    assert.equal(at.tabs().length, 1)
  })

  test('that is refused is asked for again by a call after a minute, and by a start after ten', async (t) => {
    const at = await place(t, { refusesLogin: true })
    const own = at.automatic()
    const rows = [
      ['start', 0, 1],
      ['call', 30_000, 1],
      ['call', 60_001, 2],
      ['start', 300_000, 2],
      ['start', 600_001, 3],
      ['person', 0, 4],
    ] as const
    for (const [need, laterMs, tabs] of rows) {
      at.clock.laterMs = laterMs
      await own.ask(need)
      assert.equal(at.tabs().length, tabs, `${need} after ${laterMs} ms`)
    }
    at.server.options = {}
    await own.ask('person')
    assert.notEqual(at.store.read(at.server.url), undefined)
    assert.equal(at.store.refusal(at.server.url), undefined)
  })

  test('is asked for again by a call of a tool that no list has, and the tools follow', async (t) => {
    const at = await place(t, { refusesLogin: true })
    const guarded = { url: at.server.url }
    const { attach, log, proxy } = await libraryProxy(t, { guarded }, { runtime: at.runtime, person: 'here' })
    const { client } = await attach()
    await client.open()
    await client.request('tools/list')
    await until(() => log.some(({ message }) => message.includes('login failed')))
    assert.deepEqual([proxy.status()[0]?.state, at.tabs().length], ['login-required', 1])
    at.server.options = {}
    assert.match(textAt((await client.call('guarded__hello')).value, 'error', 'message'), /needs a login/)
    assert.equal(at.tabs().length, 1)
    at.clock.laterMs = 61_000
    assert.match(textAt((await client.call('guarded__hello')).value, 'error', 'message'), /needs a login/)
    await until(() => at.tabs().length === 2)
    await until(() => proxy.status()[0]?.state === 'connected')
    assert.equal(textAt((await client.call('guarded__hello')).value, 'result', 'content', 0, 'text'), 'hi')
  })

  test('is waited for by the calls of a session whose login has ended', async (t) => {
    const at = await place(t)
    const guarded = { url: at.server.url }
    const { attach, proxy } = await libraryProxy(t, { guarded }, { runtime: at.runtime, person: 'here' })
    const [{ client }, { client: other }] = [await attach(), await attach()]
    for (const each of [client, other]) await each.open()
    await until(() => proxy.status()[0]?.state === 'connected')
    at.server.revokeAll()
    const answers = await Promise.all([client, other].map((each) => each.call('guarded__hello')))
    for (const { value } of answers) assert.equal(textAt(value, 'result', 'content', 0, 'text'), 'hi')
    assert.equal(at.tabs().length, 2)
    at.server.options = { refusesLogin: true }
    at.server.revokeAll()
    const refused = await client.call('guarded__hello')
    assert.match(textAt(refused.value, 'error', 'message'), /needs a login; run: mcps-proxy login guarded$/)
  })

  test('ends with its proxy, and the next one may begin', async (t) => {
    const at = await place(t, {}, '')
    const own = at.automatic()
    void own.ask('start')
    await until(() => at.tabs().length === 1)
    assert.match(own.startPage ?? '', /\/login\//)
    own.close()
    await until(() => own.startPage === undefined)
    const turn = at.store.browserTurn()
    await until(() => turn.tryAcquire())
    turn.release()
    assert.equal(at.store.refusal(at.server.url), undefined)
  })
})
