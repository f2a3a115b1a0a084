// The front's own tokens beside access tokens of authorization servers.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { FrontAccess, hashOf } from '../../src/gateway/front-access.js'
import { FrontAuth } from '../../src/front-auth/front-auth.js'
import { realRuntime } from '../../src/real-runtime.js'
import { Issuer } from '../front-auth/issuer.js'

test('an authorization server is asked about no token of the front', async (t) => {
  const issuer = await new Issuer().listen(t)
  const sha256 = hashOf('ann').toString('hex')
  const ann = { name: 'ann', sha256, profiles: undefined, expiresAtMs: undefined }
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
  const access = new FrontAccess({ token: 'all', tokens: [ann] }, Date.now, auth)
  const outcomes = ['all', 'ann', 'mcps_unknown'].map((token) => {
    const verdict = access.senderOf(token, '/mcp', '')
    assert(!(verdict instanceof Promise))
    return 'principal' in verdict ? verdict.principal.slice(0, 6) : verdict.why
  })
  assert.deepEqual(outcomes, ['bearer', 'ann', 'its bearer token is not accepted'])
  assert.deepEqual(issuer.asked, [])
  await access.senderOf('other', '/mcp', '')
  assert.deepEqual(issuer.asked, ['/introspect'])
})
