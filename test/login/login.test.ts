// A login from the first refusal to the tokens, against a strict authorization server.

import assert from 'node:assert/strict'
import { chmodSync, readdirSync, readFileSync, statSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, describe, test } from 'node:test'
import { TransportError } from '../../src/jsonrpc/jsonrpc-errors.js'
import { LoginCredentials, type LoginHelp } from '../../src/login/login-credentials.js'
import { LoginError } from '../../src/login/login-error.js'
import { logIn } from '../../src/login/login-flow.js'
import { type Login, LoginStore } from '../../src/login/login-store.js'
import type { LoginSettings } from '../../src/upstream/contracts/server-config.js'
import { scratch } from '../integration/support/spawned.js'
import { type AuthorizationOptions, AuthorizationServer, browse } from './authorization-server.js'
import { openRuntime } from '../support/open-runtime.js'
import { quickPerson } from './place.js'

type Place = Awaited<ReturnType<typeof place>>

async function place(t: TestContext, options?: AuthorizationOptions) {
  const folder = join(scratch(t), 'auth')
  const server = await AuthorizationServer.open(t, options)
  const runtime = openRuntime(t)
  return { server, runtime, folder, store: new LoginStore(folder, runtime) }
}

const login = (
  { server, store, runtime }: Place,
  more: Partial<LoginSettings> & { readonly moreScopes?: string } = {},
): Promise<Login> => logIn({ url: server.url, ...more }, store, runtime, quickPerson)

function credentials(
  { server, store, runtime }: Place,
  log: string[] = [],
  help?: LoginHelp,
): LoginCredentials {
  const tell = (_: unknown, message: string): void => void log.push(message)
  return new LoginCredentials({ target: { url: server.url }, store, runtime, tell }, 'guarded', help)
}

const secretOf = async (of: LoginCredentials): Promise<string | undefined> => (await of.credential())?.secret

const unauthorized = { status: 401, challenges: ['Bearer'] }
const [other, file] = ['https://other.example', 'file:///etc/passwd']
const pkce = 'code_challenge_methods_supported'
const metadata = (changes: Readonly<Record<string, unknown>>): AuthorizationOptions => ({ metadata: changes })
const failing = (error: string): AuthorizationOptions => ({ tokenAnswer: { access_token: undefined, error } })

/** The outcome of a request for which the server wants this scope too. */
async function wantsMore(own: LoginCredentials, scope: string): Promise<string> {
  const secret = (await secretOf(own)) ?? ''
  const challenges = [`Bearer error="insufficient_scope", scope="${scope}"`]
  const verdict = await own.refused({ fields: [], secret }, { status: 403, challenges })
  return verdict instanceof TransportError ? verdict.message : String(verdict)
}

describe('a login', () => {
  test('gives tokens that the server takes, in a file for this user alone', async (t) => {
    const at = await place(t)
    const { issuer, scope, client } = await login(at)
    assert.deepEqual([issuer, scope, client.id], [at.server.issuer, 'read', 'client-1'])
    assert.deepEqual(at.server.scopesAsked, ['read'])
    const [name = ''] = readdirSync(at.folder)
    assert.equal(statSync(join(at.folder, name)).mode & 0o777, 0o600)
    assert.match(readFileSync(join(at.folder, name), 'utf8'), /"accessToken":"access-/)
    // The next login is that of the same client.
    assert.equal((await login(at, { moreScopes: 'write' })).client.id, 'client-1')
    assert.deepEqual(at.server.scopesAsked, ['read', 'read write'])
  })

  const odd: readonly [string, AuthorizationOptions][] = [
    ['no token_type, and nulls', { tokenAnswer: { token_type: undefined, scope: null, id_token: 'odd' } }],
    ['expires_in as a text', { tokenAnswer: { expires_in: '3600' } }],
    ['no challenge', { challenge: '' }],
    ['no refusal of its handshake', { opens: ['initialize'] }],
    ['no refusal of the first requests', { opens: ['initialize', 'tools/list'] }],
    ['a challenge behind another', { challenge: 'Basic realm="x, y", Bearer scope="read"' }],
  ]
  for (const [title, options] of odd)
    test(`takes an answer with ${title}`, async (t) => {
      const { expiresAtMs, obtainedAtMs } = await login(await place(t, options))
      assert.equal((expiresAtMs ?? 0) - obtainedAtMs, 3_600_000)
    })

  const unguarded = { opens: ['initialize', 'tools/list'], resourceMetadata: null }
  const refusals: readonly [string, AuthorizationOptions, RegExp][] = [
    ['a server that wants no login', unguarded, /answers without a login/],
    ['another resource', { resourceMetadata: { resource: other } }, /is that of 'https:\/\/other\.ex/],
    [
      'metadata of another issuer',
      metadata({ issuer: other }),
      /\/tenant names the issuer 'https:\/\/other\.example', and the server names '\S+\/tenant'; .*set auth\.issuer to 'https:\/\/other\.example'/,
    ],
    ['metadata without an issuer', metadata({ issuer: undefined }), /names the issuer 'undefined'/],
    ['no PKCE', metadata({ [pkce]: ['plain'] }), /supports the PKCE methods 'plain', and not S256/],
    ['metadata without PKCE', metadata({ [pkce]: undefined }), /if it does, set auth\.pkce to "assume"/],
    ...['javascript:alert(1)', '-a', '$(touch pwned)', file].map((endpoint): (typeof refusals)[number] => [
      `the endpoint ${endpoint}`,
      metadata({ authorization_endpoint: endpoint }),
      /no usable authorization_endpoint/,
    ]),
    ['a token endpoint that is a file', metadata({ token_endpoint: file }), /no usable token_endpoint/],
    ['a registration that is a file', metadata({ registration_endpoint: file }), /a login needs https/],
    ['no registration', metadata({ registration_endpoint: undefined }), /no clients: set auth\.clientId/],
    ['the answer of another server', { iss: 'https://evil.example' }, /that of another authorization server/],
    ['an answer without its issuer', { iss: null }, /iss/],
    ['a refusal of the person', { refusesLogin: true }, /access_denied/],
    ['a token endpoint that fails', failing('server_error'), /server_error/],
  ]
  for (const [title, options, wanted] of refusals)
    test(`refuses ${title}, and keeps nothing`, async (t) => {
      const at = await place(t, options)
      await assert.rejects(login(at), { constructor: LoginError, message: wanted })
      assert.equal(at.store.read(at.server.url), undefined)
    })

  /** The key `issuer` of `auth`, the issuer of the metadata that the server leads to, and that of the callback; paths of this machine. */
  const issuers: readonly [title: string, key: string, metadata: string, iss: string, wanted?: RegExp][] = [
    ['one that the server does not name', '/other', '/other', '/other'],
    ['one that differs by a slash', '/tenant/', '/tenant/', '/tenant/'],
    [
      'no other than the key',
      '/other',
      '/third',
      '/third',
      /the issuer '\S+\/third', and auth\.issuer names/,
    ],
    ['no other in the callback', '/other', '/other', '/tenant', /that of another authorization server/],
  ]
  for (const [title, key, named, iss, wanted] of issuers)
    test(`accepts with auth.issuer ${title}`, async (t) => {
      const at = await place(t)
      const whole = (path: string): string => `${at.server.origin}${path}`
      at.server.options = { ...metadata({ issuer: whole(named) }), iss: whole(iss) }
      const made = login(at, { issuer: whole(key) })
      if (wanted === undefined) assert.equal((await made).issuer, whole(key))
      else await assert.rejects(made, wanted)
    })

  test('goes on without PKCE in the metadata where the configuration assumes it, and sends it', async (t) => {
    const at = await place(t, metadata({ [pkce]: undefined }))
    assert.match((await login(at, { assumesPkce: true })).accessToken, /^access-/)
  })

  test('answers nobody but the page that it waits for', async (t) => {
    const at = await place(t)
    const target = { url: at.server.url }
    const seen: number[] = []
    await logIn(target, at.store, at.runtime, {
      show: async (page, address) => {
        const back = new URL(new URL(address).searchParams.get('redirect_uri') ?? '')
        for (const state of ['', '?state=wrong&code=x', '?code=x'])
          seen.push((await browse(`${back.href}${state}`)).status)
        seen.push((await browse(page.replace(/.$/, '!'))).status)
        void browse(page)
      },
    })
    assert.deepEqual(seen, [404, 404, 404, 404])
  })
})

describe('the credentials of a server with a login', () => {
  test('are none before the login, say what to run, and find the login of another process', async (t) => {
    const at = await place(t)
    const own = credentials(at)
    assert.equal(await secretOf(own), undefined)
    const verdict = await own.refused(undefined, unauthorized)
    assert(verdict instanceof TransportError)
    const wanted = "Authentication failed: 'guarded' needs a login; run: mcps-proxy login guarded"
    assert.equal(verdict.message, wanted)
    // The error of a server that wants something else than a login has the words of the server.
    assert.equal(await own.refused(undefined, { status: 401, challenges: ['Basic realm="x"'] }), undefined)
    assert.equal(verdict.code, 'TRANSPORT_LOGIN')
    const { accessToken } = await login(at)
    assert.equal(await secretOf(own), accessToken)
  })

  test('lead a call to the login that the server wants, and to none while a new one is tried', async (t) => {
    const at = await place(t)
    const versions: string[] = []
    const help: LoginHelp = {
      startPage: undefined,
      ask: async (_isCalled, _scopes, version) => void versions.push(version ?? ''),
    }
    const own = credentials(at, [], help)
    assert.equal(await secretOf(own), undefined)
    own.ask()
    assert.deepEqual(versions, [], 'the server has not asked for one')
    await own.refused(undefined, unauthorized)
    own.ask()
    assert.deepEqual(versions, ['', ''])
    const { accessToken } = await login(at)
    own.ask()
    assert.deepEqual(versions, ['', '', ''])
    assert.notEqual(at.store.versionOf(at.server.url), '', 'no browser opens for a login that was just made')
    assert.equal(await secretOf(own), accessToken)
    own.ask()
    assert.deepEqual(versions, ['', '', ''])
  })

  test('tell all who wait for a login of it, also where one of them has used it before', async (t) => {
    const at = await place(t)
    const looks: (() => void)[] = []
    const setTimer = (_delayMs: number, fire: () => void): { cancel(): void } => {
      looks.push(fire)
      return { cancel: () => undefined }
    }
    const own = credentials({ ...at, runtime: { ...at.runtime, setTimer } })
    await own.refused(undefined, unauthorized)
    let woken = 0
    own.onChange(() => woken++)
    looks.shift()?.()
    assert.equal(woken, 0)
    const { accessToken } = await login(at)
    assert.equal(await secretOf(own), accessToken)
    looks.shift()?.()
    assert.equal(woken, 1)
  })

  test('look at nothing while the server wants no login, and leave one that has ended elsewhere', async (t) => {
    const at = await place(t)
    let looks = 0
    const counting = new (class extends LoginStore {
      override versionOf(url: string): string {
        looks++
        return super.versionOf(url)
      }
    })(at.folder, at.runtime)
    let now = 0
    const runtime = { ...at.runtime, now: () => now }
    const own = credentials({ ...at, store: counting, runtime })
    for (let time = 0; time < 5; time++) assert.equal(await secretOf(own), undefined)
    assert.equal(looks, 1)
    await own.refused(undefined, unauthorized)
    const { accessToken } = await login(at)
    assert.equal(await secretOf(own), accessToken)
    looks = 0
    for (let time = 0; time < 5; time++) assert.equal(await secretOf(own), accessToken)
    assert.equal(looks, 0)
    at.store.remove(at.server.url)
    now = 1000
    assert.equal(await secretOf(own), undefined)
  })

  test('are renewed before they end', async (t) => {
    const at = await place(t, { expiresIn: 1 })
    const { accessToken } = await login(at)
    const stored = at.store.read(at.server.url)
    assert(stored !== undefined)
    at.store.write({ ...stored, expiresAtMs: at.runtime.wallNow() - 1 })
    const renewed = await secretOf(credentials(at))
    assert.match(renewed ?? '', /^access-/)
    assert.notEqual(renewed, accessToken)
  })

  test('end with the login, and with nothing else', async (t) => {
    const at = await place(t)
    const { accessToken } = await login(at)
    const log: string[] = []
    const own = credentials(at, log)
    at.server.options = failing('temporarily_unavailable')
    const sent = { fields: [], secret: accessToken }
    const failed = await own.refused(sent, unauthorized)
    assert(failed instanceof TransportError)
    assert.match(failed.message, /temporarily_unavailable/)
    assert.notEqual(at.store.read(at.server.url), undefined)
    at.server.revokeAll()
    at.server.options = {}
    const over = await own.refused(sent, unauthorized)
    assert(over instanceof TransportError)
    assert.match(over.message, /needs a login; run: mcps-proxy login guarded/)
    assert.equal(at.store.read(at.server.url), undefined)
    assert.doesNotMatch(log.join(), /access-|refresh-/)
  })

  const missing: readonly [string, string, RegExp][] = [
    ['missing scopes', 'write', /wants more rights; run: mcps-proxy login guarded --scope 'read write'$/],
    ['no scope that a shell would read as a command', "write ';reboot;' $(reboot)", /--scope 'read write'$/],
  ]
  for (const [title, scope, wanted] of missing)
    test(`name ${title}`, async (t) => {
      const at = await place(t)
      await login(at)
      assert.match(await wantsMore(credentials(at), scope), wanted)
    })

  test('ask a person for the scopes that are missing, once, and the request goes again', async (t) => {
    const at = await place(t)
    await login(at)
    const help = {
      startPage: undefined,
      ask: async (_: unknown, scopes: readonly string[] = []) =>
        void (await login(at, { moreScopes: scopes.join(' ') })),
    }
    const own = credentials(at, [], help)
    assert.equal(await wantsMore(own, 'write'), 'again')
    assert.deepEqual(at.server.scopesAsked, ['read', 'read write'])
    const why = await wantsMore(own, 'write')
    assert.match(why, /wants more rights, and asking for them did not help; run: .* --scope 'read write'$/)
    assert.equal(at.server.scopesAsked.length, 2)
  })

  const trials: readonly [string, boolean, number][] = [
    ['three times in ten minutes, whatever it names', true, 3],
    ['once in ten minutes where that comes to nothing', false, 1],
  ]
  for (const [title, isGiven, count] of trials)
    test(`ask a person for more rights ${title}`, async (t) => {
      const at = await place(t)
      await login(at)
      const asked: string[] = []
      const ask = async (_: unknown, scopes: readonly string[] = []): Promise<void> => {
        asked.push(scopes.join(' '))
        if (isGiven) await login(at, { moreScopes: scopes.join(' ') })
      }
      let now = 0
      const own = credentials({ ...at, runtime: { ...at.runtime, now: () => now } }, [], {
        startPage: undefined,
        ask,
      })
      for (let n = 0; n < 5; n++) await wantsMore(own, `s${n}`)
      assert.equal(asked.length, count)
      now = 600_000
      await wantsMore(own, 'write')
      assert.equal(asked.at(-1), isGiven ? 'read s0 s1 s2 write' : 'read write')
    })

  test('are refused where others may read their file', async (t) => {
    const at = await place(t)
    await login(at)
    const [name = ''] = readdirSync(at.folder)
    chmodSync(join(at.folder, name), 0o644)
    const message = /holds tokens, and others may read it: run chmod 600 on it/
    await assert.rejects(secretOf(credentials(at)), { constructor: TransportError, message })
  })

  test('name what keeps their file from being read, to who asks for them and not to who watches', async (t) => {
    const at = await place(t)
    symlinkSync(at.folder, at.folder)
    assert.match(at.store.versionOf(at.server.url), /ELOOP/)
    await assert.rejects(secretOf(credentials(at)), /ELOOP/)
  })
})
