// The file with the key of a gateway: who makes it, and when it is not used.

import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { chmodSync, readdirSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { keyIn } from '../../src/store/key-file.js'
import { scratch } from '../integration/support/spawned.js'

test('the key is made once, for its user alone', (t) => {
  const folder = scratch(t)
  const path = join(folder, 'state-key')
  const key = keyIn(path, randomBytes)
  assert.match(key, /^[\w-]{43}$/)
  assert.equal(keyIn(path, randomBytes), key)
  assert.deepEqual(readdirSync(folder), ['state-key'])
  if (process.platform !== 'win32') assert.equal(statSync(path).mode & 0o777, 0o600)
})

test('a process that comes second takes the key of the first', (t) => {
  const path = join(scratch(t), 'state-key')
  // The first one is as far as this when the second one has found no file.
  let first = ''
  const second = keyIn(path, (bytes) => {
    first = keyIn(path, randomBytes)
    return randomBytes(bytes)
  })
  assert.equal(second, first)
})

const unusable: [string, RegExp, (path: string) => void][] = [
  ['that others can read', /chmod 600/, (path) => chmodSync(path, 0o640)],
  ['that is empty', /has no key/, (path) => writeFileSync(path, '')],
  ['that is cut', /has no key/, (path) => writeFileSync(path, 'abc\n')],
  ['that is something else', /more than 1024 bytes/, (path) => writeFileSync(path, 'x'.repeat(2000))],
]

for (const [title, why, spoil] of unusable)
  test(`a file ${title} is not used, and not replaced`, { skip: process.platform === 'win32' }, (t) => {
    const path = join(scratch(t), 'state-key')
    keyIn(path, randomBytes)
    spoil(path)
    const { size } = statSync(path)
    assert.throws(() => keyIn(path, randomBytes), why)
    assert.equal(statSync(path).size, size)
  })
