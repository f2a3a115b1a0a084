// The principal of an access token, and the reasons for which a token is refused.

import assert from 'node:assert/strict'
import { createHash, generateKeyPairSync } from 'node:crypto'
import { describe, test } from 'node:test'
import { FrontAuth, REFUSED_MAX, UnknownTokenLimit } from '../../src/front-auth/front-auth.js'
import { loginTrouble } from '../../src/front-auth/identity.js'
import { introspect, issuerTrouble, readJwt } from '../../src/front-auth/issuer.js'
import { principalOf } from '../../src/front-auth/claims.js'
import { AccessRules, Resources } from '../../src/front-auth/resources.js'
import type { FrontAuthConfig, FrontAuthRule } from '../../src/config/configuration.js'
import type { LoginHttp } from '../../src/login/login-http.js'
import { realRuntime } from '../../src/real-runtime.js'
import type { Scope } from '../support/scope.js'
import type { SenderVerdict } from '../../src/transports/http-server/access.js'
import { Issuer, part } from './issuer.js'

const START_MS = 1_800_000_000_000
const publicUrl = 'https://mcp.example.com'
const nowS = START_MS / 1000

type Setup = Awaited<ReturnType<typeof setup>>

const rule = (scope: string, profiles?: readonly string[]): FrontAuthRule => ({
  scope,
  claim: undefined,
  value: undefined,
  profiles,
})

const introspectionAt = ({ issuer }: Issuer, clientId: string, clientSecret: string) => ({
  url: issuer.replace('team', 'introspect'),
  clientId,
  clientSecret,
})

async function setup(
  scope: Scope,
  { introspects = false, ...changes }: Partial<FrontAuthConfig> & { readonly introspects?: boolean } = {},
) {
  const issuer = await new Issuer().listen(scope)
  let [passedMs, setMs] = [0, 0]
  const wallNow = (): number => START_MS + passedMs + setMs
  const runtime = { ...realRuntime(), env: {}, now: () => passedMs, wallNow }
  const introspection = introspectionAt(issuer, 'front', 's%cret')
  const config = {
    issuer: issuer.issuer,
    audience: ['api://mcp'],
    algorithms: ['ES256', 'RS256'],
    jwksUri: undefined,
    introspection: introspects ? introspection : undefined,
  }
  const options = {
    auth: { issuers: [config], rules: [], scopes: [], login: undefined, ...changes },
    publicUrl,
    runtime,
  }
  const auth = new FrontAuth(options)
  const verdictOf = async (token: string, path = '/mcp'): Promise<SenderVerdict> =>
    auth.senderOf(token, createHash('sha256').update(token).digest('base64'), path, '192.0.2.1')
  return {
    issuer,
    auth,
    options,
    verdictOf,
    /** Claims that are right, with changes. */
    claims: (more = {}) => ({ sub: 'ann', exp: nowS + 3600, aud: `${publicUrl}/mcp`, ...more }),
    /** The principal, or why there is none. */
    outcomeOf: async (token: string, path?: string) => {
      const verdict = await verdictOf(token, path)
      return 'principal' in verdict ? verdict.principal : (verdict.description ?? verdict.why)
    },
    pass: (ms: number) => void (passedMs += ms),
    /** Sets the clock of the wall by so much. */
    setClock: (byMs: number) => void (setMs += byMs),
  }
}

const [expired, elsewhere, invalid] = [
  'the token has expired',
  'the token is for another audience',
  'the token is not valid',
]

describe('a token', () => {
  /** Changes of its claims and its header, and the reason of its refusal. */
  const cases: [title: string, claims: object, header?: object, why?: string][] = [
    ['that is right', {}],
    ['of type JWT', {}, { typ: 'JWT' }],
    ['without a type', {}, { typ: undefined }],
    ['without kid', {}, { kid: undefined }],
    ['for the front as a whole', { aud: [publicUrl] }],
    ['for an audience of the configuration', { aud: 'api://mcp' }],
    ['of Keycloak with a nonce', { nonce: 'n', typ: 'Bearer' }, { typ: 'JWT' }],
    ['that expired 29 s ago', { exp: nowS - 29 }],
    ['that begins in 29 s', { nbf: nowS + 29 }],
    ['that expired 31 s ago', { exp: nowS - 31 }, {}, expired],
    ['that begins in 31 s', { nbf: nowS + 31 }, {}, invalid],
    ['without an end', { exp: undefined }, {}, invalid],
    ['without a subject', { sub: undefined }, {}, invalid],
    ['for another resource', { aud: 'https://other.example.com/mcp' }, {}, elsewhere],
    ['for a name that begins like ours', { aud: `${publicUrl}.evil.example/mcp` }, {}, elsewhere],
    ['for another endpoint', { aud: `${publicUrl}/p/ops/mcp` }, {}, elsewhere],
    ['without an audience', { aud: undefined }, {}, elsewhere],
    ['with crit', {}, { crit: ['b64'], b64: true }, invalid],
    ['that is an ID token by its nonce', { nonce: 'n' }, { typ: 'JWT' }, invalid],
    ['that is an ID token of Cognito', { token_use: 'id' }, { typ: 'JWT' }, invalid],
    ['that is for a logout', {}, { typ: 'logout+jwt' }, invalid],
    ['of 9 KiB', { pad: 'x'.repeat(6900) }, {}, invalid],
  ]
  for (const [title, changes, header, why] of cases)
    test(`${title}: ${why ?? 'is accepted'}`, async (t) => {
      const { issuer, claims, outcomeOf } = await setup(t)
      const outcome = await outcomeOf(issuer.token(claims(changes), header))
      assert.equal(outcome, why ?? `${issuer.issuer}#ann`)
    })

  const forgeries: [title: string, make: (s: Setup) => string][] = [
    ['of another issuer', ({ issuer, claims }) => issuer.token(claims({ iss: `${issuer.issuer}/` }))],
    ['that is not signed', ({ issuer, claims }) => issuer.unsigned(claims())],
    ['that is signed by the public key', ({ issuer, claims }) => issuer.signedByPublicKey(claims())],
    [
      'whose signature is another one',
      ({ issuer, claims }) =>
        `${issuer.token(claims()).replace(/.{86}$/, '')}${issuer.token(claims({ sub: 'eve' })).slice(-86)}`,
    ],
    ['that is none', () => 'opaque'],
  ]
  for (const [title, make] of forgeries)
    test(`${title}: ${invalid}`, async (t) => {
      const all = await setup(t)
      assert.equal(await all.outcomeOf(make(all)), invalid)
    })

  test('is refused by its issuer, its algorithm and its length before anything is asked', async (t) => {
    const { issuer, outcomeOf, claims } = await setup(t)
    const tokens = [
      issuer.token(claims({ iss: 'https://evil.example' })),
      issuer.unsigned(claims()),
      issuer.token(claims({ pad: 'x'.repeat(9000) })),
      'opaque',
    ]
    for (const token of tokens) assert.equal(await outcomeOf(token), invalid)
    assert.deepEqual(issuer.asked, [])
  })

  test('is known until it expires, whatever becomes of its issuer', async (t) => {
    const { issuer, outcomeOf, claims, pass } = await setup(t)
    const token = issuer.token(claims())
    await outcomeOf(token)
    issuer.isDown = true
    issuer.rotate('two')
    pass(3_629_000)
    assert.match(await outcomeOf(token), /#ann$/)
    pass(1000)
    assert.match(await outcomeOf(token), /cannot be fetched/)
  })

  test('counts at the endpoint that it is for, under each of its paths', async (t) => {
    const { issuer, outcomeOf, claims } = await setup(t)
    const token = issuer.token(claims({ aud: `${publicUrl}/p/a-b/mcp` }))
    const paths = ['/p/a-b/mcp', '/p/a%2Db/sse', '/p/a-b/message/', '/p/a/mcp', '/mcp', '/api/status', '/']
    const outcomes = await Promise.all(paths.map((path) => outcomeOf(token, path)))
    const isElsewhere = outcomes.map((outcome) => outcome === elsewhere)
    assert.deepEqual(isElsewhere, [false, false, false, true, true, true, true])
  })
})

describe('the keys of an issuer', () => {
  test('can be tried before the first client comes', async (t) => {
    const { issuer, options } = await setup(t)
    const [config] = options.auth.issuers
    assert(config !== undefined)
    const trouble = async (changes: object): Promise<string> =>
      (await issuerTrouble({ ...config, ...changes }, options.runtime)) ?? ''
    const introspection = introspectionAt(issuer, 'x', 'y')
    assert.equal(await issuerTrouble(config, options.runtime), undefined)
    const { issuer: url } = issuer
    assert.match(await trouble({ issuer: `${url}/` }), /names the issuer 'http[^']*team'; "jwksUri"/)
    assert.match(
      await trouble({ issuer: `${url}/x` }),
      /there is no metadata of .*; "jwksUri" can name them$/,
    )
    assert.match(await trouble({ jwksUri: url }), /there is no key set at its address \(HTTP \d+\)$/)
    assert.match(await trouble({ introspection }), /refuses the client id of the front/)
    const login = { issuer: url, clientId: 'x', clientSecret: 'y' }
    assert.equal(await loginTrouble(login, options.runtime), undefined)
    issuer.metadataChanges = { authorization_endpoint: undefined }
    const why = (await loginTrouble(login, options.runtime)) ?? ''
    assert.match(why, /the metadata of http.*team has no usable authorization_endpoint$/)
  })

  test('are asked for once for many new tokens, and again after ten minutes', async (t) => {
    const { issuer, outcomeOf, claims, pass } = await setup(t)
    const token = (sub: string): string => issuer.token(claims({ sub }))
    await Promise.all(['a', 'b', 'c'].map((sub) => outcomeOf(token(sub))))
    pass(599_000)
    await outcomeOf(token('d'))
    assert.equal(issuer.keyRequests, 1)
    pass(1000)
    await outcomeOf(token('e'))
    assert.equal(issuer.keyRequests, 2)
  })

  test('are asked for again for an unknown one, once in 30 s for all of them', async (t) => {
    const { issuer, outcomeOf, claims, pass } = await setup(t)
    await outcomeOf(issuer.token(claims()))
    pass(30_000)
    const token = issuer.token(claims())
    const tokens = Array.from({ length: 10_000 }, (_, at) =>
      token.replace(/^[^.]+/, part({ alg: 'ES256', kid: `k${at}` })),
    )
    for (let at = 0; at < tokens.length; at += 200)
      await Promise.all(tokens.slice(at, at + 200).map((token) => outcomeOf(token)))
    assert.equal(issuer.keyRequests, 2)
  })

  test('that are new count at once, and tokens of removed ones no more', async (t) => {
    const { issuer, outcomeOf, claims, pass } = await setup(t)
    const [known, unseen] = [issuer.token(claims()), issuer.token(claims({ sub: 'late' }))]
    await outcomeOf(known)
    issuer.rotate('two')
    pass(30_000)
    assert.match(await outcomeOf(issuer.token(claims({ sub: 'new' }))), /#new$/)
    assert.equal(await outcomeOf(unseen), invalid)
    assert.match(await outcomeOf(known), /#ann$/)
  })

  test('that cannot be used make the tokens that name them invalid', async (t) => {
    const { issuer, outcomeOf, claims } = await setup(t)
    const { n, e } = generateKeyPairSync('rsa', { modulusLength: 1024 }).publicKey.export({ format: 'jwk' })
    issuer.otherKeys.push({ kid: 'malformed', kty: 'EC', crv: 'P-256', x: 'AA', y: 'AA' })
    issuer.otherKeys.push({ kid: 'short', kty: 'RSA', n, e })
    assert.equal(await outcomeOf(issuer.token(claims(), { kid: 'malformed' })), invalid)
    assert.equal(await outcomeOf(issuer.token(claims(), { kid: 'short', alg: 'RS256' })), invalid)
  })

  test('that cannot be had are no fault of a token, and are not asked for at every request', async (t) => {
    const { issuer, verdictOf, claims, pass } = await setup(t)
    issuer.isDown = true
    const token = issuer.token(claims())
    const verdicts = [await verdictOf(token), await verdictOf(issuer.token(claims({ sub: 'b' })))]
    const statuses = verdicts.map((verdict) => 'status' in verdict && verdict.status)
    assert.deepEqual(statuses, [503, 503])
    assert.equal(new Set(issuer.asked).size, issuer.asked.length)
    issuer.isDown = false
    pass(5000)
    assert('principal' in (await verdictOf(token)))
  })

  for (const failure of [503, 'reset', 'too large'] as const)
    test(`are found where the issuer has its metadata, though it fails at the places before: ${failure}`, async (t) => {
      const { issuer, outcomeOf, claims } = await setup(t)
      Object.assign(issuer, { failure, metadataPath: '/team/.well-known/openid-configuration' })
      assert.match(await outcomeOf(issuer.token(claims())), /#ann$/)
      assert.equal(issuer.asked.length, 4)
    })

  test('are not there where each place fails, and the first failure is told', async (t) => {
    const { issuer, outcomeOf, claims } = await setup(t)
    issuer.metadataPath = '/none'
    const outcome = await outcomeOf(issuer.token(claims()))
    assert.match(outcome, /cannot be fetched: 127\.0\.0\.1:\d+ answered with HTTP 503/)
  })

  test('are not asked for at an address of this network that the metadata of the issuer names', async (t) => {
    const { issuer, outcomeOf, claims } = await setup(t)
    issuer.keysAddress = 'http://169.254.169.254/keys'
    assert.match(await outcomeOf(issuer.token(claims())), /169\.254\.169\.254 is not asked/)
  })

  test('that come late hold no other token, and at most 256 wait', async (t) => {
    const { issuer, auth, outcomeOf, claims, pass } = await setup(t)
    const known = issuer.token(claims({ sub: 'known' }))
    await outcomeOf(known)
    pass(600_000)
    const answer = issuer.hold()
    const waiting = Array.from({ length: 256 }, async (_, sub) =>
      auth.senderOf(issuer.token(claims({ sub: String(sub) })), String(sub), '/mcp', ''),
    )
    const oneMore = await auth.senderOf(issuer.token(claims()), 'one more', '/mcp', '')
    assert(!('principal' in oneMore) && oneMore.status === 503)
    assert.match(await outcomeOf(known), /#known$/)
    answer()
    assert((await Promise.all(waiting)).every((verdict) => 'principal' in verdict))
  })
})

describe('introspection', () => {
  test('asks about 300 unknown tokens of a network in a minute, and about known ones in any case', async (t) => {
    const { issuer, auth, claims, pass } = await setup(t, { introspects: true })
    const ask = async (token: string, from: string): Promise<string> => {
      const verdict = await auth.senderOf(token, token, '/mcp', from)
      return 'principal' in verdict ? 'found' : `${verdict.status} ${verdict.why}`
    }
    for (const token of ['known', 'new']) issuer.active.set(token, claims())
    assert.equal(await ask('known', '2001:db8::1'), 'found')
    pass(60_000)
    for (let at = 0; at < REFUSED_MAX; at++) assert.match(await ask(`x${at}`, '2001:db8::2'), /^401/)
    const before = issuer.asked.length
    assert.match(await ask('one more', '2001:db8::3'), /^503 too many tokens from its network/)
    assert.equal(issuer.asked.length, before)
    assert.equal(await ask('known', '2001:db8::1'), 'found')
    assert.equal(await ask('new', '192.0.2.1'), 'found')
    pass(60_000)
    assert.match(await ask('one more', '2001:db8::3'), /^401/)
  })

  test('asks again about tokens that were found active, however many others wait', async (t) => {
    const { issuer, auth, claims, pass } = await setup(t, { introspects: true })
    issuer.active.set('opaque', claims())
    await auth.senderOf('opaque', 'opaque', '/mcp', '')
    pass(60_000)
    const answer = issuer.hold()
    const others = Array.from({ length: 256 }, async (_, at) => auth.senderOf(`x${at}`, `x${at}`, '/mcp', ''))
    const again = auth.senderOf('opaque', 'opaque', '/mcp', '')
    answer()
    assert('principal' in (await again))
    await Promise.all(others)
  })

  const introspection = { url: 'https://a.example/ask', clientId: 'a b', clientSecret: 'c' }
  const asked = {
    issuer: 'https://a.example',
    audience: [],
    algorithms: [],
    jwksUri: undefined,
    introspection,
  }
  const answers: [title: string, status: number, text: string, want: string][] = [
    ['an active token', 200, '{"active":true,"iss":"https://a.example"}', 'active'],
    ['a token of another issuer', 200, '{"active":true,"iss":"https://b.example"}', 'none'],
    ['a word that is not true', 200, '{"active":"true"}', 'none'],
    ['a client that it does not know', 401, '{}', 'it refuses the client id of the front (HTTP 401)'],
    ['no JSON', 200, '<html>', 'no JSON object'],
    ['an outage', 502, '{"active":true}', 'it answered with HTTP 502'],
  ]
  for (const [title, status, text, want] of answers)
    test(`of ${title}: ${want}`, async () => {
      const outcome = await introspect('t', asked, answering(status, text)).then(
        (claims) => (claims === undefined ? 'none' : 'active'),
        (error: unknown) => String(error),
      )
      assert(outcome.includes(want), outcome)
    })

  for (const [title, byMs] of [
    ['', 0],
    [', though the clock was set back', -3_600_000],
  ] as const)
    test(`says what an opaque token is, for a minute${title}`, async (t) => {
      const { issuer, outcomeOf, claims, pass, setClock } = await setup(t, { introspects: true })
      issuer.active.set('opaque', claims())
      assert.match(await outcomeOf('opaque'), /#ann$/)
      issuer.active.delete('opaque')
      setClock(byMs)
      pass(59_999)
      assert.match(await outcomeOf('opaque'), /#ann$/)
      pass(1)
      assert.equal(await outcomeOf('opaque'), invalid)
    })

  test('asks once a minute about a token that is not active', async (t) => {
    const { issuer, outcomeOf } = await setup(t, { introspects: true })
    for (const _ of [1, 2, 3]) assert.equal(await outcomeOf('stolen'), invalid)
    assert.deepEqual(issuer.asked, ['/introspect'])
  })

  test('checks audience, subject and end too, and 503 is the answer while nobody answers', async (t) => {
    const { issuer, outcomeOf, verdictOf, claims } = await setup(t, { introspects: true })
    issuer.active.set('other', claims({ aud: 'https://other.example.com' }))
    issuer.active.set('nobody', claims({ sub: undefined }))
    issuer.active.set('old', claims({ exp: nowS - 31 }))
    for (const _ of ['asked', 'remembered'])
      assert.deepEqual(await Promise.all(['other', 'nobody', 'old'].map((token) => outcomeOf(token))), [
        elsewhere,
        invalid,
        expired,
      ])
    assert.equal(issuer.asked.length, 3)
    issuer.isDown = true
    const verdict = await verdictOf('new')
    assert('status' in verdict && verdict.status === 503)
  })
})

function answering(status: number, text: string): LoginHttp {
  return (_url, { headers = {} } = {}) => {
    assert.equal(headers['Authorization'], `Basic ${Buffer.from('a+b:c').toString('base64')}`)
    return Promise.resolve({ status, text, all: () => [] })
  }
}

describe('rules', () => {
  const rules = [
    rule('mcp:read', ['read']),
    rule('mcp:ops', ['ops', 'read']),
    rule('mcp:all'),
    { scope: undefined, claim: 'groups', value: 'admins', profiles: ['ops'] },
  ]
  const cases: [string, object, readonly string[] | undefined][] = [
    ['none of them', {}, []],
    ['one scope', { scope: 'openid mcp:read' }, ['read']],
    ['two scopes', { scp: ['mcp:read', 'mcp:ops'] }, ['ops', 'read']],
    ['a scope for everything', { scope: 'mcp:read mcp:all' }, undefined],
    ['a group', { groups: ['users', 'admins'] }, ['ops']],
    ['another group', { groups: 'admins2' }, []],
  ]
  for (const [title, more, want] of cases)
    test(`lead a token with ${title} to ${want === undefined ? 'everything' : `[${want.join(', ')}]`}`, async (t) => {
      const { issuer, verdictOf, claims } = await setup(t, { rules })
      const verdict = await verdictOf(issuer.token(claims(more)))
      assert('principal' in verdict)
      assert.deepEqual(verdict.profiles, want)
    })

  test('say which scopes to ask for, as the issuer wants them written', async (t) => {
    const { auth } = await setup(t, { rules, scopes: ['api://mcp/mcp:read'] })
    const sender = { principal: 'x', scopes: ['mcp:read', 'openid'] }
    assert.deepEqual(auth.scopesToOpen('/p/ops/mcp', sender), ['api://mcp/mcp:read', 'mcp:ops'])
    assert.deepEqual(auth.scopesToOpen('/mcp', sender), ['api://mcp/mcp:read', 'mcp:all'])
    assert.match(auth.resources.challenge('/p/read/sse', {}), /scope="api:\/\/mcp\/mcp:read mcp:ops"$/)
  })

  test('that change change the credentials of those whom they concern', async (t) => {
    const { issuer, auth, options, verdictOf, claims } = await setup(t, { rules })
    for (const [sub, scope] of [
      ['ann', 'mcp:read'],
      ['bob', 'mcp:ops'],
    ])
      await verdictOf(issuer.token(claims({ sub, scope })))
    const fewer = new FrontAuth(
      { ...options, auth: { ...options.auth, rules: [rule('mcp:read', ['read'])] } },
      auth,
    )
    const isSame = ['ann', 'bob', 'eve'].map((sub) => {
      const principal = principalOf(issuer.issuer, sub)
      return auth.credentialOf(principal) === fewer.credentialOf(principal)
    })
    assert.deepEqual(isSame, [true, false, true])
    const without = new FrontAuth({ ...options, auth: { ...options.auth, issuers: [] } }, fewer)
    assert.equal(without.credentialOf(principalOf(issuer.issuer, 'ann')), undefined)
  })
})

const rules = new AccessRules({ rules: [rule('r', ['read']), rule('all')], scopes: [] })
const resources = new Resources(publicUrl, ['https://a.example'], rules)
const cases: [string, string | undefined, readonly string[]][] = [
  ['', publicUrl, ['r', 'all']],
  ['/mcp', `${publicUrl}/mcp`, ['all']],
  ['/p/read/mcp', `${publicUrl}/p/read/mcp`, ['r']],
  ['/p/unknown/mcp', `${publicUrl}/p/unknown/mcp`, ['all']],
  ['/api/x/mcp', `${publicUrl}/api/x/mcp`, ['all']],
  ['/servers/x/mcp', `${publicUrl}/servers/x/mcp`, ['all']],
  ['/other', undefined, []],
  ['x/mcp', undefined, []],
]
for (const [path, resource, scopes] of cases)
  test(`the metadata of the resource at ${path === '' ? 'the root' : path} is ${resource ?? 'none'}`, () => {
    const text = resources.metadata(`/.well-known/oauth-protected-resource${path}`)
    const servers = { authorization_servers: ['https://a.example'], bearer_methods_supported: ['header'] }
    assert.deepEqual(text && JSON.parse(text), resource && { resource, scopes_supported: scopes, ...servers })
  })

test('a JWT has three parts, of which two are objects', () => {
  const [object, list] = [part('{"a":1}'), part('[]')]
  for (const token of [
    `${object}.${object}`,
    `${list}.${object}.x`,
    `${object}.${list}.x`,
    `${object}.!.x`,
    `${object}.e30.x.y`,
  ])
    assert.equal(readJwt(token), undefined, token)
  assert.deepEqual(readJwt(`${object}.${object}.`), { header: { a: 1 }, claims: { a: 1 } })
})

const issuer = 'https://a.example'
const subjects: [string, string | RegExp][] = [
  ['auth0|123', 'https://a.example#auth0|123'],
  ['a b\n%c', 'https://a.example#a%20b%0A%25c'],
  ['ä', 'https://a.example#%C3%A4'],
  ['x'.repeat(160), `https://a.example#${'x'.repeat(160)}`],
  [`${'x'.repeat(79)}${'ä'.repeat(99)}`, /x%%%[\w-]{43}$/],
  ['x'.repeat(161), /^https:\/\/a\.example#x{80}%%[\w-]{43}$/],
]
for (const [subject, want] of subjects)
  test(`a principal of the subject ${JSON.stringify(subject).slice(0, 20)} is one word`, () => {
    const principal = principalOf(issuer, subject)
    if (typeof want === 'string') assert.equal(principal, want)
    else assert.match(principal, want)
  })

test('a principal is another one for each half of a surrogate pair', () => {
  const long = 'x'.repeat(200)
  const subjects = ['\ud800', '\ud801', '\ufffd', `${long}\ud800`, `${long}\ud801`]
  assert.equal(new Set(subjects.map((subject) => principalOf('https://a.example', subject))).size, 5)
})

test('unknown tokens: tokens that were accepted do not count', () => {
  const limit = new UnknownTokenLimit(() => 0)
  for (let token = 0; token <= REFUSED_MAX; token++) {
    assert(limit.admit('a'))
    limit.accepted('a')
  }
})

test('unknown tokens: a thousand networks are counted, and the oldest count makes room', () => {
  const limit = new UnknownTokenLimit(() => 0)
  for (let token = 0; token < REFUSED_MAX; token++) limit.admit('first')
  for (let network = 1; network < 1000; network++) limit.admit(String(network))
  assert.equal(limit.admit('first'), false)
  limit.admit('one more')
  assert.equal(limit.admit('first'), true)
})
