// Tokens of the front: whose each is, until when, and why one is refused.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { FrontTokens, hashOf } from '../../src/gateway/front-access.js'

const named = (name: string, token: string, expiresAtMs?: number) => ({
  name,
  sha256: hashOf(token).toString('hex'),
  profiles: undefined,
  expiresAtMs,
})

const principalOf = (tokens: FrontTokens, token: string): string | undefined => {
  const verdict = tokens.senderOf(hashOf(token))
  return 'principal' in verdict ? verdict.principal : undefined
}

const whyRefused = (tokens: FrontTokens, token: string): string | undefined => {
  const verdict = tokens.senderOf(hashOf(token))
  return 'why' in verdict ? verdict.why : undefined
}

const credentialWith = (profiles: string[] | undefined): string | undefined =>
  new FrontTokens({ token: undefined, tokens: [{ ...named('ann', 'a'), profiles }] }, () => 0).credentialOf(
    'ann',
  )

describe('tokens', () => {
  let nowMs = 0
  const tokens = new FrontTokens(
    { token: 'for-all', tokens: [named('ann', 'a'), named('bob', 'b', 1000)] },
    () => nowMs,
  )

  test('are principals: by their names, and the one for everything without showing it', () => {
    assert.deepEqual(
      ['a', 'b', 'c', 'ann', ''].map((token) => principalOf(tokens, token)),
      ['ann', 'bob', undefined, undefined, undefined],
    )
    assert.match(principalOf(tokens, 'for-all') ?? '', /^bearer [\w-]{43}$/)
  })

  test('end at their time, and the refusal says so', () => {
    nowMs = 999
    assert.equal(principalOf(tokens, 'b'), 'bob')
    nowMs = 1000
    assert.deepEqual(
      ['a', 'b'].map((token) => principalOf(tokens, token)),
      ['ann', undefined],
    )
    assert.deepEqual(
      ['ann', 'bob'].map((name) => tokens.credentialOf(name) !== undefined),
      [true, false],
    )
    assert.equal(whyRefused(tokens, 'b'), "the token 'bob' has expired")
    assert.equal(whyRefused(tokens, 'x'), 'its bearer token is not accepted')
  })

  test('that get other profiles are other credentials, so that no stream of before goes on', () => {
    const credentials = [undefined, ['read'], [], ['read', 'ops']].map(credentialWith)
    assert.equal(new Set(credentials).size, 4)
    assert.equal(credentialWith(['read']), credentials[1])
  })

  test('that are revoked are named, until they are back', () => {
    const fewer = new FrontTokens({ token: undefined, tokens: [named('ann', 'a')] }, () => 0, tokens)
    const back = new FrontTokens({ token: undefined, tokens: [named('bob', 'b')] }, () => 0, fewer)
    assert.equal(whyRefused(fewer, 'b'), "the token 'bob' was revoked")
    assert.equal(principalOf(back, 'b'), 'bob')
    assert.equal(whyRefused(back, 'a'), "the token 'ann' was revoked")
  })
})
