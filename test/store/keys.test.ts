// Sealed bytes open with the keys of the configuration, for their use and context, and unchanged.

import assert from 'node:assert/strict'
import { Buffer } from 'node:buffer'
import { describe, test } from 'node:test'
import { type KeyUse, SEAL_BYTES, Sealer } from '../../src/store/keys.js'

const secret = 'a secret of the instances'
const before = 'the secret before that one'

function sealer(secrets: readonly string[], use: KeyUse = 'store'): Sealer {
  return new Sealer(() => secrets, use, {})
}

const opened = Buffer.from('what is sealed')
const sealed = sealer([secret]).seal(opened, 'here')

describe('sealed bytes', () => {
  const cases: readonly (readonly [string, Sealer, string, boolean])[] = [
    ['open with their key', sealer([secret]), 'here', true],
    ['open with their key once it is the previous one', sealer([before, secret]), 'here', true],
    ['do not open with another key', sealer([before]), 'here', false],
    ['do not open for another use', sealer([secret], 'session id'), 'here', false],
    ['do not open in another context', sealer([secret]), 'there', false],
  ]
  for (const [title, by, context, isOpened] of cases)
    test(title, () => assert.deepEqual(by.open(sealed, context), isOpened ? opened : undefined))

  test('do not open once any byte has changed, or without their end', () => {
    for (let at = 0; at < sealed.length; at++) {
      const changed = Buffer.from(sealed)
      changed[at] = (changed[at] ?? 0) ^ 1
      assert.equal(sealer([secret]).open(changed, 'here'), undefined)
      assert.equal(sealer([secret]).open(sealed.subarray(0, at), 'here'), undefined)
    }
  })

  test('are never the same twice, and as much longer as is said', () => {
    const again = sealer([secret]).seal(opened, 'here')
    assert.notDeepEqual(again, sealed)
    assert.equal(again.length, opened.length + SEAL_BYTES)
  })
})

test('a sealer follows the secrets of the configuration in force', () => {
  let secrets: readonly string[] = [secret]
  const both = new Sealer(() => secrets, 'store', {})
  const early = both.seal(opened)
  secrets = [before]
  assert.equal(both.open(early), undefined)
  assert.deepEqual(both.open(both.seal(opened)), opened)
})
