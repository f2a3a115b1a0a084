// Tokens of the front: whose each is, until when, and why one is refused.

import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { describe, test } from 'node:test'
import { FrontTokens } from '../../src/gateway/front-tokens.js'

const named = (name: string, token: string, expiresAtMs?: number) => ({
  name,
  sha256: createHash('sha256').update(token).digest('hex'),
  profiles: undefined,
  expiresAtMs,
})

describe('tokens', () => {
  let nowMs = 0
  const tokens = new FrontTokens(
    { token: 'for-all', tokens: [named('ann', 'a'), named('bob', 'b', 1000)] },
    () => nowMs,
  )

  test('are principals: by their names, and the one for everything without showing it', () => {
    assert.deepEqual(['a', 'b', 'c', 'ann', ''].map(tokens.principalOf), [
      'ann',
      'bob',
      undefined,
      undefined,
      undefined,
    ])
    assert.match(tokens.principalOf('for-all') ?? '', /^bearer [\w-]{43}$/)
  })

  test('end at their time, and the refusal says so', () => {
    nowMs = 999
    assert.equal(tokens.principalOf('b'), 'bob')
    nowMs = 1000
    assert.deepEqual(['a', 'b'].map(tokens.principalOf), ['ann', undefined])
    assert.deepEqual(
      ['ann', 'bob'].map((name) => tokens.credentialOf(name) !== undefined),
      [true, false],
    )
    assert.equal(tokens.whyRefused('b'), "the token 'bob' has expired")
    assert.equal(tokens.whyRefused('x'), 'its bearer token is not accepted')
  })

  test('that are revoked are named, until they are back', () => {
    const fewer = new FrontTokens({ token: undefined, tokens: [named('ann', 'a')] }, () => 0, tokens)
    const back = new FrontTokens({ token: undefined, tokens: [named('bob', 'b')] }, () => 0, fewer)
    assert.equal(fewer.whyRefused('b'), "the token 'bob' was revoked")
    assert.equal(back.principalOf('b'), 'bob')
    assert.equal(back.whyRefused('a'), "the token 'ann' was revoked")
  })
})
