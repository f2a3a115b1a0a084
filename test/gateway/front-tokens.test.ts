// Tokens of the front: whose each is, until when, and why one is refused.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { FrontAuth } from '../../src/front-auth/front-auth.js'
import { FrontAccess, hashOf } from '../../src/gateway/front-access.js'
import { realRuntime } from '../../src/real-runtime.js'
import type { SenderVerdict } from '../../src/transports/http-server/access.js'
import { Issuer } from '../front-auth/issuer.js'

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
    const principals = ['a', 'b', 'c', 'ann', ''].map((token) => principalOf(tokens, token))
    assert.deepEqual(principals, ['ann', 'bob', undefined, undefined, undefined])
    assert.match(ofAll('for-all') ?? '', /^bearer [\w-]{43}$/)
    const isSame = [ofAll('for-all'), ofAll('another')].map(
      (found) => found === principalOf(tokens, 'for-all'),
    )
    assert.deepEqual(isSame, [true, false], 'the same on every instance')
  })

  test('end at their time, and the refusal says so', () => {
    nowMs = 999
    assert.equal(principalOf(tokens, 'b'), 'bob')
    nowMs = 1000
    const principals = ['a', 'b'].map((token) => principalOf(tokens, token))
    assert.deepEqual(principals, ['ann', undefined])
    const isKnown = ['ann', 'bob'].map((name) => tokens.credentialOf(name) !== undefined)
    assert.deepEqual(isKnown, [true, false])
    assert.equal(whyRefused(tokens, 'b'), "the token 'bob' has expired")
    assert.equal(whyRefused(tokens, 'x'), 'its bearer token is not accepted')
  })

  test('that get other profiles are other credentials, so that no stream of before goes on', () => {
    const credentials = [undefined, ['read'], [], ['read', 'ops']].map(credentialWith)
    assert.equal(new Set(credentials).size, 4)
    assert.equal(credentialWith(['read']), credentials[1])
  })
})

test('an authorization server is asked about no token of the front', async (t) => {
  const issuer = await new Issuer().listen(t)
  const introspection = { url: issuer.issuer.replace('team', 'introspect'), clientId: 'a', clientSecret: 'b' }
  const common = { audience: [], algorithms: ['ES256'], jwksUri: undefined }
  const one = { issuer: issuer.issuer, ...common, introspection }
  const auth = new FrontAuth({
    auth: { issuers: [one], rules: [], scopes: [], login: undefined },
    publicUrl: 'https://mcp.example.com',
    runtime: { ...realRuntime(), env: {} },
  })
  const access = new FrontAccess({ token: 'all', tokens: [named('ann', 'ann')] }, Date.now, auth)
  const outcomes = ['all', 'ann', 'mcps_unknown'].map((token) => {
    const verdict = verdictOf(access, token)
    return 'principal' in verdict ? verdict.principal.slice(0, 6) : verdict.why
  })
  assert.deepEqual(outcomes, ['bearer', 'ann', 'its bearer token is not accepted'])
  assert.deepEqual(issuer.asked, [])
  await access.senderOf('other', '/mcp', '')
  assert.deepEqual(issuer.asked, ['/introspect'])
})
