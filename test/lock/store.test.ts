import assert from 'node:assert/strict'
import { existsSync, readFileSync, readdirSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { assert as check, dictionary, jsonValue, property, record, string } from 'fast-check'
import { changesOf } from '../../src/lock/changes.js'
import { decodeLock, encodeLock, LockError } from '../../src/lock/lock-file.js'
import { LockStore } from '../../src/lock/store.js'
import type { LogRecord } from '../../src/runtime/runtime.js'
import { type Scope, scratch } from '../integration/support/spawned.js'
import { openRuntime } from '../support/open-runtime.js'
import { listed, locked } from './support/locked.js'

function stored(t: Scope, path: string) {
  const log: LogRecord[] = []
  return { store: new LockStore(path, openRuntime(t), (record) => void log.push(record)), log }
}

test('what is written is read again, in one order', () => {
  const items = dictionary(string(), record({ description: string(), n: jsonValue() }))
  check(
    property(items, items, string(), (tools, prompts, name) => {
      const schemas = new Map([['default', new Map([[name, locked(tools, prompts, name)]])]])
      const text = encodeLock(schemas)
      assert.equal(encodeLock(decodeLock(Buffer.from(text))), text)
    }),
  )
})

test('first lists of several processes all stand in the file, and a later one changes nothing', async (t) => {
  const path = join(scratch(t), 'mcps.lock')
  const stores = [1, 2, 3, 4].map(() => stored(t, path).store)
  for (const [at, store] of stores.entries()) {
    store.baseline('default', `s${at}`, listed({ [`t${at}`]: {} }))
    store.baseline('default', 'both', listed({ x: {} }))
  }
  await Promise.all(stores.map((store) => store.close()))
  const text = readFileSync(path, 'utf8')
  assert.deepEqual(
    [...(decodeLock(Buffer.from(text)).get('default')?.keys() ?? [])],
    ['both', 's0', 's1', 's2', 's3'],
  )
  assert.equal(statSync(path).mode & 0o777, 0o644)
  assert.deepEqual(readdirSync(join(path, '..')), ['mcps.lock'])
  const { store } = stored(t, path)
  store.baseline('default', 'both', listed({ y: {} }))
  await store.close()
  assert.equal(readFileSync(path, 'utf8'), text)
})

for (const [title, damage, want] of [
  ['is no JSON', (text: string) => text.replace('"hash"', '<<<<<<< HEAD'), /is not JSON/],
  [
    'was edited by hand',
    (text: string) => text.replace('right', 'wrong'),
    /does not fit its hash: "x" in "tools" of server "s"/,
  ],
  [
    'is of another version',
    (text: string) => text.replace('"lockVersion": 2', '"lockVersion": 3'),
    /has no "lockVersion": 2/,
  ],
  [
    'has lost its schemas',
    (text: string) => text.replace('"schemas"', '"scheme"'),
    /has no object for "schemas"/,
  ],
  [
    'has lost a list',
    (text: string) => text.replace('"tools"', '"tool"'),
    /has no object for "tools" of server "s"/,
  ],
] as const)
  test(`a file that ${title} is refused, and what was read before stays`, async (t) => {
    const path = join(scratch(t), 'mcps.lock')
    const text = encodeLock(new Map([['default', new Map([['s', locked({ x: { description: 'right' } })]])]]))
    writeFileSync(path, text)
    const { store, log } = stored(t, path)
    writeFileSync(path, damage(text))
    store.read()
    assert.match(log.map(({ message }) => message).join(), want)
    assert.deepEqual([store.problem, store.schemas.get('default')?.size], [undefined, 1])
    assert.match(stored(t, path).store.problem ?? '', want)
    await assert.rejects(
      store.update((schemas) => schemas),
      LockError,
    )
    rmSync(path)
    store.read()
    assert.equal(store.schemas.size, 0)
  })

test('a file of more than 64 MiB is not read', async (t) => {
  const path = join(scratch(t), 'mcps.lock')
  writeFileSync(path, '')
  truncateSync(path, 64 * 1024 * 1024 + 1)
  assert.match(
    stored(t, path).store.problem ?? '',
    /mcps\.lock cannot be used: it has more than 67108864 bytes/,
  )
})

test('1024 first lists wait to be written, and 1024 changes are remembered as logged', async (t) => {
  const { store, log } = stored(t, join(scratch(t), 'mcps.lock'))
  for (let at = 0; at < 1025; at++) store.baseline('default', `s${at}`, listed({ x: {} }))
  assert.equal(store.schemas.get('default')?.size, 1024)
  await store.close()
  log.length = 0
  const [change] = changesOf(locked({}), listed({ x: {} }), true)
  assert(change !== undefined)
  for (let at = 0; at < 1025; at++) store.changed(`s${at}`, change, () => 'changed')
  store.changed('s0', change, () => 'changed')
  assert.equal(log.length, 1024)
})

test('a folder that cannot be written costs the file and nothing else', async (t) => {
  const path = join(scratch(t), 'gone', 'mcps.lock')
  const { store, log } = stored(t, join(path, 'x', 'y'))
  writeFileSync(join(path, '..', '..', 'gone'), '')
  store.baseline('default', 's', listed({ x: {} }))
  await store.close()
  const logged = log.map(({ message }) => message).join()
  assert.match(logged, /cannot be written, so first lists are locked until the end/)
  assert.equal(store.schemas.get('default')?.size, 1)
  assert(!existsSync(path))
})
