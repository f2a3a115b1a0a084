// The front's own tokens beside access tokens of authorization servers.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { FrontAccess, FrontTokens, hashOf } from '../../src/gateway/front-access.js'
import { FrontAuth } from '../../src/front-auth/front-auth.js'
import { realRuntime } from '../../src/real-runtime.js'
import { Issuer } from '../front-auth/issuer.js'

test('an authorization server is asked about no token that is, or was, one of the front', async (t) => {
  const issuer = await new Issuer().listen(t)
  const named = ['ann', 'bob'].map((name) => ({
    name,
    sha256: hashOf(name).toString('hex'),
    profiles: undefined,
    expiresAtMs: undefined,
  }))
  const rules = { token: 'all', tokens: named }
  const before = new FrontTokens(rules, Date.now)
  const tokens = new FrontTokens({ ...rules, tokens: rules.tokens.slice(0, 1) }, Date.now, before)
  const introspection = { url: issuer.issuer.replace('team', 'introspect'), clientId: 'a', clientSecret: 'b' }
  const one = {
    issuer: issuer.issuer,
    audience: [],
    algorithms: ['ES256'],
    jwksUri: undefined,
    introspection,
  }
  const auth = new FrontAuth({
    auth: { issuers: [one], rules: [], scopes: [], login: undefined },
    publicUrl: 'https://mcp.example.com',
    runtime: { ...realRuntime(), env: {} },
  })
  const access = new FrontAccess(tokens, auth)
  const outcomes = ['all', 'ann', 'bob', 'mcps_unknown'].map((token) => {
    const verdict = access.senderOf({ text: token }, '/mcp', '')
    assert(!(verdict instanceof Promise))
    return 'principal' in verdict ? verdict.principal.slice(0, 6) : verdict.why
  })
  assert.deepEqual(outcomes, [
    'bearer',
    'ann',
    "the token 'bob' was revoked",
    'its bearer token is not accepted',
  ])
  assert.deepEqual(issuer.asked, [])
  await access.senderOf({ text: 'other' }, '/mcp', '')
  assert.deepEqual(issuer.asked, ['/introspect'])
})
