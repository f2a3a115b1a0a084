// Tokens of the front: whose each is, until when, and why one is refused.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { FrontAccess, hashOf } from '../../src/gateway/front-access.js'
import type { SenderVerdict } from '../../src/transports/http-server/access.js'

const named = (name: string, token: string, expiresAtMs?: number) => ({
  name,
  sha256: hashOf(token).toString('hex'),
  profiles: undefined,
  expiresAtMs,
})

const verdictOf = (tokens: FrontAccess, token: string): SenderVerdict => {
  const verdict = tokens.senderOf(token, '/mcp', '')
  assert(!(verdict instanceof Promise))
  return verdict
}

const principalOf = (tokens: FrontAccess, token: string): string | undefined => {
  const verdict = verdictOf(tokens, token)
  return 'principal' in verdict ? verdict.principal : undefined
}

const whyRefused = (tokens: FrontAccess, token: string): string | undefined => {
  const verdict = verdictOf(tokens, token)
  return 'why' in verdict ? verdict.why : undefined
}

const credentialWith = (profiles: string[] | undefined): string | undefined =>
  new FrontAccess({ token: undefined, tokens: [{ ...named('ann', 'a'), profiles }] }, () => 0).credentialOf(
    'ann',
  )

/** Of the token for everything. */
const ofAll = (token: string): string | undefined =>
  principalOf(new FrontAccess({ token, tokens: [] }, () => 0), token)

describe('tokens', () => {
  let nowMs = 0
  const tokens = new FrontAccess(
    { token: 'for-all', tokens: [named('ann', 'a'), named('bob', 'b', 1000)] },
    () => nowMs,
  )

  test('are principals: by their names, and the one for everything without showing it', () => {
    assert.deepEqual(
      ['a', 'b', 'c', 'ann', ''].map((token) => principalOf(tokens, token)),
      ['ann', 'bob', undefined, undefined, undefined],
    )
    assert.match(ofAll('for-all') ?? '', /^bearer [\w-]{43}$/)
    assert.deepEqual(
      [ofAll('for-all'), ofAll('another')].map((found) => found === principalOf(tokens, 'for-all')),
      [true, false],
      'the same on every instance',
    )
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
})
