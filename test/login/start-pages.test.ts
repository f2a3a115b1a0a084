// Users log in to a server from their own machines: at pages of the front, where each one shows first who they are.

import assert from 'node:assert/strict'
import { type TestContext, describe, test } from 'node:test'
import { BROWSERS_MAX, LOGINS_MAX, StartPages } from '../../src/front-auth/start-pages.js'
import { freePort } from '../integration/support/free-port.js'
import type { LogRecord } from '../../src/index.js'
import type { LoginStore } from '../../src/login/login-store.js'
import { realRuntime } from '../../src/real-runtime.js'
import { Issuer } from '../front-auth/issuer.js'
import { claim } from '../integration/support/claim.js'
import { at, textAt } from '../integration/support/json.js'
import { bearer, gatewayOf, sendStateless } from '../integration/support/gateway.js'
import { messageIn, send } from '../transports/support/http.js'
import { untilAnswered } from '../integration/support/waiting.js'
import { AuthorizationServer } from './authorization-server.js'
import { openRuntime } from '../support/open-runtime.js'
import { storeAtHome } from './place.js'

type Place = Awaited<ReturnType<typeof place>>

async function place(t: TestContext) {
  const [issuer, guard] = [await new Issuer().listen(t), await AuthorizationServer.open(t)]
  const runtime = openRuntime(t)
  const log: LogRecord[] = []
  const port = await freePort()
  const publicUrl = `http://127.0.0.1:${port}`
  const value = {
    server: {
      port,
      publicUrl,
      auth: { issuers: [{ issuer: issuer.issuer }], login: { clientId: 'front', clientSecret: 's%cret' } },
    },
    mcpServers: { guarded: { url: guard.url, auth: { type: 'oauth', perUser: true } } },
  }
  await gatewayOf(t, value, { runtime, person: 'here', log: (record) => void log.push(record) })
  const storeOf = (user: string): LoginStore => storeAtHome(runtime, `${issuer.issuer}#${user}`)
  t.after(() => {
    for (const user of ['ann', 'bob']) storeOf(user).remove(guard.url)
  })
  const ask = async (user: string, method: string, params: object = {}): Promise<unknown> => {
    const exp = Math.floor(Date.now() / 1000) + 3600
    const headers = bearer(issuer.token({ sub: user, aud: publicUrl, exp }))
    const _meta = claim({ elicitation: { url: {} } })
    const { body } = await sendStateless(port, { method, params: { ...params, _meta }, headers })
    return messageIn(body)
  }
  return { guard, issuer, publicUrl, log, storeOf, ask }
}

/** The browser of one person, who is logged in at the issuer; it keeps the cookies of the front. */
class Browser {
  readonly #person: string
  readonly #front: string
  cookie = ''
  /** The last cookie that the front set, with its attributes. */
  setCookie = ''
  /** Every address that it was led to. */
  readonly seen: string[] = []

  constructor(person: string, { publicUrl }: Place) {
    this.#person = person
    this.#front = publicUrl
  }

  /** Follows every redirect, or only those until one leads to an address that begins so. */
  async open(address: string, until?: string): Promise<{ readonly status: number; readonly text: string }> {
    this.seen.push(address)
    const isFront = address.startsWith(this.#front)
    const headers = {
      'sec-fetch-site': 'cross-site',
      'sec-fetch-mode': 'navigate',
      ...(isFront && this.cookie !== '' && { cookie: `other=1; ${this.cookie}` }),
      ...(!isFront && { 'x-person': this.#person }),
    }
    const { port, pathname, search } = new URL(address)
    const {
      status,
      headers: got,
      body,
    } = await send(Number(port), { method: 'GET', path: pathname + search, headers })
    const [set] = got['set-cookie'] ?? []
    if (set !== undefined) [this.setCookie, this.cookie] = [set, set.split(';')[0] ?? '']
    const next = got.location === undefined ? undefined : new URL(got.location, address).href
    if (next === undefined) return { status, text: body }
    if (until !== undefined && next.startsWith(until)) return { status: 302, text: next }
    return this.open(next, until)
  }
}

/** A user calls the tool that begins the login; gives the page. */
async function begun({ ask }: Place, user: string): Promise<string> {
  await untilAnswered(async () => JSON.stringify(await ask(user, 'tools/list')).includes('guarded__login'))
  const asked = await ask(user, 'tools/call', { name: 'guarded__login', arguments: {} })
  assert.equal(textAt(asked, 'result', 'resultType'), 'input_required')
  return textAt(asked, 'result', 'inputRequests', 'login', 'params', 'url')
}

describe('the pages at which users log in', () => {
  test('lead the user of the login through, and nothing of it is in the log', async (t) => {
    const here = await place(t)
    const page = await begun(here, 'ann')
    assert.match(page, new RegExp(`^${here.publicUrl}/login/[0-9a-f]{32}$`))
    const browser = new Browser('ann', here)
    const { status, text } = await browser.open(page)
    assert.equal(browser.seen.at(-1), `${here.publicUrl}/login/done`)
    assert.deepEqual([status, text], [200, 'mcps-proxy has the answer. You can close this window.\n'])
    assert.match(
      browser.setCookie,
      /^__Host-mcps-login=[\w-]{43}; Path=\/; Secure; HttpOnly; SameSite=Lax; Max-Age=\d+$/,
    )
    await untilAnswered(async () =>
      JSON.stringify(await here.ask('ann', 'tools/list')).includes('guarded__hello'),
    )
    const hello = await here.ask('ann', 'tools/call', { name: 'guarded__hello', arguments: {} })
    assert.equal(textAt(hello, 'result', 'content', 0, 'text'), 'hi')
    const refused = await here.ask('bob', 'tools/call', { name: 'guarded__hello', arguments: {} })
    assert.notEqual(at(refused, 'error'), undefined)
    assert.equal(here.storeOf('bob').read(here.guard.url), undefined)
    const registered = here.guard.registered.at(-1)
    assert.deepEqual(registered, { type: 'native', uris: [`${here.publicUrl}/login/return`] })
    assert.doesNotMatch(JSON.stringify(here.log), /access-|refresh-|state=|code=|s%cret|__Host/)
    // The login is over.
    assert.equal((await new Browser('ann', here).open(page)).status, 404)
  })

  test('refuse everybody else, wherever they come in', async (t) => {
    const here = await place(t)
    const { publicUrl, guard, issuer } = here
    const page = await begun(here, 'ann')
    const [ann, bob] = [new Browser('ann', here), new Browser('bob', here)]
    // Bob opens the link of Ann.
    const opened = await bob.open(page)
    assert.deepEqual([opened.status, /not the user of this login/.test(opened.text)], [403, true])
    assert(!bob.seen.some((address) => address.startsWith(guard.origin)))
    // Ann shows who she is, and hands the address of the server's login to Bob.
    const { text: atServer } = await ann.open(page, guard.origin)
    assert.equal((await bob.open(atServer)).status, 404)
    // Each of them brings the answer of the issuer that was for the browser of the other.
    const { text: annAnswer } = await new Browser('ann', here).open(page, `${publicUrl}/login/identity`)
    assert.equal((await bob.open(annAnswer)).status, 404)
    const bobs = new Browser('bob', here)
    const { text: bobAnswer } = await bobs.open(page, `${publicUrl}/login/identity`)
    assert.equal((await ann.open(bobAnswer)).status, 404)
    assert.equal(here.storeOf('ann').read(guard.url), undefined)
    // An answer counts once, and only of the issuer that was asked.
    const again = new Browser('ann', here)
    const { text: answer } = await again.open(page, `${publicUrl}/login/identity`)
    assert.equal((await again.open(`${answer}&iss=https://other.example`)).status, 502)
    assert.equal((await again.open(answer)).status, 404)
    for (const claims of [
      { aud: 'other' },
      { nonce: 'other' },
      { exp: 1 },
      { iss: 'https://o.example' },
      { sub: '' },
    ]) {
      issuer.idClaims = claims
      assert.match(
        (await new Browser('ann', here).open(page)).text,
        /The login cannot go on: \S+ gave no (?:tokens: |ID token)/,
      )
    }
    issuer.idClaims = {}
    assert.equal((await new Browser('ann', here).open(page)).status, 200)
  })

  for (const [what, headers, method, status] of [
    ['a page of another origin', { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'cors' }, 'GET', 403],
    ['a script of another origin', { origin: 'https://evil.example' }, 'GET', 405],
    ['another host', { host: 'evil.example' }, 'GET', 403],
    ['a form', {}, 'POST', 405],
  ] as const)
    test(`answer ${what} with ${status}`, async (t) => {
      const { publicUrl } = await place(t)
      const answer = await send(Number(new URL(publicUrl).port), {
        path: '/login/return?state=x',
        method,
        headers,
      })
      assert.equal(answer.status, status)
    })
})

describe('the logins of these pages', () => {
  const login = { issuer: 'http://127.0.0.1:1', clientId: 'c', clientSecret: 's' }
  const pages = (): StartPages => new StartPages('https://mcp.example.com/gate', login, realRuntime())

  test('are of users of the issuer, and as many as there may be', () => {
    const all = pages()
    const isKnown = ['http://127.0.0.1:1#ann', 'http://127.0.0.1:12#ann', 'ann'].map((user) =>
      all.knows(user),
    )
    assert.deepEqual(isKnown, [true, false, false])
    const [first] = Array.from({ length: LOGINS_MAX }, () => all.open('u'))
    assert.equal(all.open('u'), undefined)
    first?.close()
    assert.notEqual(all.open('u'), undefined)
  })

  test('stand below the public address, with its path and without', () => {
    const all = pages()
    for (const [path, isFound] of [
      ['/gate/login/x', true],
      ['/login/x', true],
      ['/login', false],
      ['/logins/x', false],
      ['/mcp', false],
    ] as const)
      assert.equal(all.find(path) !== undefined, isFound, path)
  })

  test('are open in a few browsers: one more forgets the first', async (t) => {
    const here = await place(t)
    const page = await begun(here, 'ann')
    const first = new Browser('ann', here)
    const { text: answer } = await first.open(page, `${here.publicUrl}/login/identity`)
    for (let browser = 1; browser < BROWSERS_MAX; browser++)
      await new Browser('ann', here).open(page, `${here.publicUrl}/login/identity`)
    const last = new Browser('ann', here)
    await last.open(page, `${here.publicUrl}/login/identity`)
    assert.equal((await first.open(answer)).status, 404)
  })
})
