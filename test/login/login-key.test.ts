// Logins that a key in the keyring encrypts.

import assert from 'node:assert/strict'
import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, describe, test } from 'node:test'
import { LoginCredentials } from '../../src/login/login-credentials.js'
import { logIn } from '../../src/login/login-flow.js'
import { LoginKey, type OpenKeyring } from '../../src/login/login-key.js'
import { LoginStore, type LoginStoreOptions } from '../../src/login/login-store.js'
import { realRuntime } from '../../src/real-runtime.js'
import { SecretStore } from '../../src/secrets/store.js'
import { memoryKeyring } from '../secrets/memory-keyring.js'
import { scratch } from '../integration/support/spawned.js'
import { AuthorizationServer, browse } from './authorization-server.js'

async function place(t: TestContext) {
  const folder = scratch(t)
  const server = await new AuthorizationServer().listen()
  const real = realRuntime()
  let passedMs = 0
  const runtime = { ...real, wallNow: () => real.wallNow() + passedMs }
  t.after(async () => {
    server.close()
    await real.close()
  })
  const { kept, open } = memoryKeyring()
  const storeOf = (more: LoginStoreOptions = {}): LoginStore =>
    new LoginStore(join(folder, 'auth'), runtime, { keyring: open, ...more })
  const login = (store: LoginStore): Promise<unknown> =>
    logIn({ url: server.url }, store, runtime, { show: async (page) => void browse(page) })
  const credentials = (store: LoginStore): LoginCredentials =>
    new LoginCredentials('guarded', server.url, store, runtime, () => undefined)
  const secretOf = async (of: LoginCredentials): Promise<string | undefined> =>
    (await of.credential({ method: 'POST', url: new URL(server.url) }))?.secret
  const files = (): string[] =>
    readdirSync(join(folder, 'auth')).map((name) => readFileSync(join(folder, 'auth', name), 'utf8'))
  const pass = (ms: number): number => (passedMs += ms)
  return { folder, server, runtime, kept, storeOf, login, credentials, secretOf, files, pass }
}

const DAY_MS = 86_400_000

const none: OpenKeyring = async () => undefined

const locked: OpenKeyring = async () => ({
  get: () => Promise.reject(new Error('locked')),
  set: () => Promise.reject(new Error('locked')),
  remove: async () => undefined,
})

describe('encrypted logins', () => {
  test('have one key for all processes, which use and renew them, and encrypt new ones too', async (t) => {
    const { server, kept, storeOf, login, credentials, secretOf, files } = await place(t)
    await login(storeOf({ isEncrypted: true }))
    const all = [storeOf(), storeOf({ isEncrypted: true }), storeOf()].map(credentials)
    const [first] = await Promise.all(all.map(secretOf))
    assert.match(first ?? '', /^access-/)
    server.expireAccess()
    const sent = { fields: [], secret: first ?? '' }
    const verdicts = await Promise.all(all.map((each) => each.refused(sent, { status: 401, challenges: [] })))
    assert.deepEqual([new Set(verdicts), server.refreshes], [new Set(['again']), 1])
    assert.equal(new Set(await Promise.all(all.map(secretOf))).size, 1)
    await login(storeOf())
    for (const text of files())
      for (const secret of [...server.secrets, server.url, ...kept.values()])
        assert(secret === '' || !text.includes(secret), text)
    assert.deepEqual([...kept.keys()], ['mcps-proxy logins'])
  })

  test('get one key when many processes make the first login', async (t) => {
    const { server, kept, storeOf } = await place(t)
    const all = Array.from({ length: 10 }, () => storeOf({ isEncrypted: true }))
    const keys: string[] = []
    await Promise.all(all.map(async (each) => (await each.unlock(), keys.push([...kept.values()].join()))))
    assert.deepEqual([new Set(keys).size, kept.size], [1, 1])
    assert.equal(storeOf().read(server.url), undefined)
  })

  test('begin while a process runs that has read them in clear', async (t) => {
    const { storeOf, login, credentials, secretOf, server } = await place(t)
    await login(storeOf())
    const own = credentials(storeOf())
    const before = await secretOf(own)
    await login(storeOf({ isEncrypted: true }))
    const after = await own.refused({ fields: [], secret: before ?? '' }, { status: 401, challenges: [] })
    assert.equal(after, 'other')
    assert.notEqual(await secretOf(own), before)
    assert.equal(server.refreshes, 0)
  })

  test('say what helps where there is no keyring, before the person logs in', async (t) => {
    const { server, storeOf, login, credentials, secretOf } = await place(t)
    const words =
      /the key of the logins cannot be had: .*; unlock it, or install @napi-rs\/keyring beside mcps-proxy$/
    await assert.rejects(login(storeOf({ isEncrypted: true, keyring: none })), words)
    assert.deepEqual(server.asked, [])
    await login(storeOf({ isEncrypted: true }))
    await assert.rejects(secretOf(credentials(storeOf({ keyring: none }))), words)
    await assert.rejects(secretOf(credentials(storeOf({ keyring: locked }))), /refuses it: locked/)
  })

  test('are not renewed while their key cannot be had, so that no refresh token is used up', async (t) => {
    const { server, storeOf, login, credentials, secretOf, pass } = await place(t)
    await login(storeOf())
    const [own, later] = [locked, undefined].map((keyring) =>
      credentials(storeOf({ isEncrypted: true, ...(keyring && { keyring }) })),
    )
    assert(own && later)
    const before = await secretOf(own)
    pass(DAY_MS)
    await assert.rejects(secretOf(own), /no token: the key of the logins cannot be had: /)
    assert.equal(server.refreshes, 0)
    assert.match((await secretOf(later)) ?? '', /^access-/)
    assert.notEqual(await secretOf(later), before)
  })

  test('are renewed though another secret was set meanwhile', async (t) => {
    const { folder, server, storeOf, runtime, kept, login, credentials, secretOf, pass } = await place(t)
    await login(storeOf({ isEncrypted: true }))
    const own = credentials(storeOf())
    const before = await secretOf(own)
    await new SecretStore(join(folder, 'secrets.json'), runtime, memoryKeyring().open).set('OTHER', 'a value')
    assert.equal(kept.size, 1)
    pass(DAY_MS)
    assert.notEqual(await secretOf(own), before)
    assert.equal(server.refreshes, 1)
  })

  test('have the key that came while the keyring was slow', async (t) => {
    const { folder, server, storeOf, runtime, kept, login } = await place(t)
    await login(storeOf({ isEncrypted: true }))
    const fast = await memoryKeyring().open()
    let isChanged = false
    const get = async (name: string): Promise<string | undefined> => {
      const before = kept.get(name)
      if (isChanged) return before
      isChanged = true
      kept.set(name, 'another key')
      await new SecretStore(join(folder, 'secrets.json'), runtime, async () => fast).set('OTHER', 'a value')
      await login(storeOf())
      return before
    }
    const store = storeOf({ keyring: async () => ({ ...fast, get }) })
    await store.unlock()
    assert.notEqual(store.read(server.url), undefined)
  })

  test('are over when their key is gone', async (t) => {
    const { kept, server, storeOf, login, credentials, secretOf } = await place(t)
    await login(storeOf({ isEncrypted: true }))
    const own = credentials(storeOf())
    assert.match((await secretOf(own)) ?? '', /^access-/)
    kept.clear()
    const store = storeOf({ isEncrypted: true })
    await store.unlock()
    assert.equal(store.read(server.url), undefined)
    await login(store)
    assert.notEqual(store.read(server.url), undefined)
  })
})

test('an encrypted text is that of its file, as it was written', async (t) => {
  const { folder, runtime } = await place(t)
  const key = new LoginKey(join(folder, 'secrets.json'), runtime, true, memoryKeyring().open)
  await key.fetch()
  const members = Object(JSON.parse(key.encrypt('a text', '/auth/one.json')))
  assert.deepEqual(
    ['one', 'two'].map((name) => key.decrypt(members, `/auth/${name}.json`)),
    ['a text', undefined],
  )
  const name = 'aes-256-gcm'
  const bytes = Buffer.from(members[name], 'base64')
  for (const at of [0, 12, bytes.length - 1]) {
    const changed = Buffer.from(bytes)
    changed[at] = (changed[at] ?? 0) ^ 1
    assert.equal(key.decrypt({ [name]: changed.toString('base64') }, '/auth/one.json'), undefined)
  }
  for (const short of ['', 'AAAA']) assert.equal(key.decrypt({ [name]: short }, '/auth/one.json'), undefined)
})
