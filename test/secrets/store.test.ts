// Secrets that were set: where they are, who can read them, and what two processes make of one file.

import assert from 'node:assert/strict'
import { chmodSync, readFileSync, readdirSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { type Keyring, SecretStore } from '../../src/secrets/store.js'
import { realRuntime } from '../../src/real-runtime.js'
import { type Scope, scratch } from '../integration/support/spawned.js'
import { memoryKeyring } from './memory-keyring.js'

const none = async (): Promise<undefined> => undefined

function storeIn(folder: string, keyring: () => Promise<Keyring | undefined> = none): SecretStore {
  return new SecretStore(join(folder, 'own', 'secrets.json'), realRuntime(), keyring)
}

describe('without a keyring', () => {
  test('secrets are in a file that its owner alone can read', async (t: Scope) => {
    const folder = scratch(t)
    const store = storeIn(folder)
    assert.deepEqual([await store.get('a'), store.names()], [undefined, []])
    assert.equal(await store.set('a', 'one'), 'file')
    await store.set('__proto__', 'two')
    assert.deepEqual([await store.get('a'), await store.get('__proto__')], ['one', 'two'])
    assert.equal(statSync(store.path).mode & 0o777, 0o600)
    assert.equal(statSync(join(folder, 'own')).mode & 0o777, 0o700)
    const names = store.names().map(({ name }) => name)
    assert.deepEqual(names, ['a', '__proto__'])
    assert.deepEqual([await store.remove('a'), await store.remove('a')], [true, false])
    assert.deepEqual(readdirSync(join(folder, 'own')), ['secrets.json'])
  })

  test('changes at the same time are all kept', async (t: Scope) => {
    const folder = scratch(t)
    const names = Array.from({ length: 20 }, (_, at) => `s${at}`)
    await Promise.all(names.map((name) => storeIn(folder).set(name, name)))
    assert.deepEqual(
      storeIn(folder)
        .names()
        .map(({ name }) => name)
        .sort(),
      names.sort(),
    )
  })

  test('a lock that a killed process left is not waited for', async (t: Scope) => {
    const store = storeIn(scratch(t))
    await store.set('a', 'one')
    writeFileSync(`${store.path}.lock`, '')
    utimesSync(`${store.path}.lock`, new Date(0), new Date(0))
    await store.set('b', 'two')
    assert.equal(await store.get('b'), 'two')
  })

  for (const [title, spoil, why] of [
    ['others can read', (path: string) => chmodSync(path, 0o644), /can be read by others; run chmod 600/],
    [
      'has a newer format',
      (path: string) => writeFileSync(path, '{"format":2}'),
      /has format 2, and this version .* reads 1/,
    ],
    ['is no object', (path: string) => writeFileSync(path, '[]'), /is not an object of strings/],
  ] as const)
    test(`a file that ${title} is not used`, async (t: Scope) => {
      const store = storeIn(scratch(t))
      await store.set('a', 'one')
      spoil(store.path)
      await assert.rejects(store.get('a'), why)
      await assert.rejects(store.set('a', 'two'), why)
    })
})

test('a file without a format number is read, and written with one', async (t: Scope) => {
  const store = storeIn(scratch(t))
  await store.set('a', 'one')
  writeFileSync(store.path, '{"format":"a secret of that name"}')
  await store.set('b', 'two')
  assert.deepEqual(JSON.parse(readFileSync(store.path, 'utf8')), {
    format: 1,
    secrets: { format: 'a secret of that name', b: 'two' },
  })
})

describe('with a keyring', () => {
  test('it has the values, and the file the names', async (t: Scope) => {
    const { kept, open } = memoryKeyring()
    const store = storeIn(scratch(t), open)
    assert.equal(await store.set('a', 'canary'), 'keyring')
    assert.deepEqual([await store.get('a'), [...kept]], ['canary', [['a', 'canary']]])
    assert.equal(readFileSync(store.path, 'utf8').includes('canary'), false)
    assert.deepEqual(store.names(), [{ name: 'a', place: 'keyring' }])
    await store.remove('a')
    assert.deepEqual([[...kept], store.names()], [[], []])
  })

  test('one that refuses a value leaves it to the file', async (t: Scope) => {
    const store = storeIn(scratch(t), memoryKeyring(true).open)
    assert.equal(await store.set('a', 'one'), 'file')
    assert.equal(await store.get('a'), 'one')
  })

  test('one that is gone is named where its value is needed', async (t: Scope) => {
    const folder = scratch(t)
    await storeIn(folder, memoryKeyring().open).set('a', 'one')
    await assert.rejects(
      storeIn(folder).get('a'),
      /unlock it, install @napi-rs\/keyring beside mcps-proxy, or set it again/,
    )
  })
})
