// How the configuration says a remote server is reached.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { ConfigError } from '../../src/config/problems.js'
import { resolveConfig } from '../../src/config/config.js'
import type { HttpServerConfig } from '../../src/upstream/contracts/server-config.js'
import { hasDoubtfulAuthority, resolvedAddress } from '../../src/transports/address.js'

const env = { SECRET_PROXY: 'http://ann:CANARY-word@proxy.example:3128', CERTS: '/certs' }

function server(entry: object): HttpServerConfig {
  const config = resolveConfig(
    { mcpServers: { s: { url: 'https://h/mcp', ...entry } } },
    { source: 'test', folder: '/folder', home: '/home/ann', env },
  )
  const found = config.schemas.get('default')?.servers[0]
  assert.ok(found?.kind === 'http' || found?.kind === 'sse')
  return found
}

/** A server whose client gets its tokens by a grant. */
function grant(auth: object): object {
  return { auth: { type: 'oauth', clientId: 'c', ...auth } }
}

function unattended(kind: string): object {
  return {
    kind,
    assertion: undefined,
    assertionFile: undefined,
    identityProvider: undefined,
  }
}

function problemsOf(entry: object): string[] {
  try {
    server(entry)
    return []
  } catch (error) {
    assert.ok(error instanceof ConfigError)
    return error.problems.map(({ path, problem, hint }) => `${path} ${problem}; ${hint}`)
  }
}

describe('a remote server', () => {
  test('has neither a proxy nor certificates of its own unless told', () => {
    assert.deepEqual([server({}).proxy, server({}).tls], [undefined, undefined])
  })

  test('may have a proxy out of a variable, whose password is a secret', () => {
    const { proxy, secrets } = server({ proxy: '${SECRET_PROXY}' })
    assert.equal(proxy, env.SECRET_PROXY)
    for (const secret of ['CANARY-word', Buffer.from('ann:CANARY-word').toString('base64')])
      assert.ok(secrets.includes(secret), secret)
    assert.equal(server({ proxy: false }).proxy, false)
  })

  test('names files from the folder of the configuration', () => {
    const tls = { ca: 'ca.pem', cert: '${CERTS}/me.pem', key: '~/me.key', servername: 'svc.example' }
    assert.deepEqual(server({ tls }).tls, {
      ca: '/folder/ca.pem',
      cert: '/certs/me.pem',
      key: '/home/ann/me.key',
      servername: 'svc.example',
    })
  })

  const mistakes: readonly [title: string, entry: object, wanted: RegExp][] = [
    [
      'an unknown grant',
      grant({ grant: 'password' }),
      /^mcpServers\.s\.auth\.grant is "password"; must be one of/,
    ],
    [
      'a grant without a client',
      { auth: { type: 'oauth', grant: 'jwt_bearer', assertion: 'jwt' } },
      /^mcpServers\.s\.auth\.clientId is missing beside the grant jwt_bearer; must be the id/,
    ],
    [
      'a grant without credentials',
      grant({ grant: 'client_credentials' }),
      /auth\.clientSecret is missing beside .*"clientKey"$/,
    ],
    [
      'a login for each user without a login',
      { auth: { type: 'google', perUser: true } },
      /auth\.perUser has no login to which it belongs; needs "type": "oauth"/,
    ],
    [
      'a login for each user beside a token in the headers',
      { headers: { Authorization: 'Bearer t' }, auth: { type: 'oauth', perUser: true } },
      /auth\.perUser has no login/,
    ],
    [
      'a login for each user beside a grant without one',
      grant({ grant: 'client_credentials', clientSecret: 's', perUser: true }),
      /auth\.perUser stands beside the grant client_credentials, in which no user takes part/,
    ],
    [
      'a login for each user beside shared processes',
      { isolation: 'shared', auth: { type: 'oauth', perUser: true } },
      /s\.isolation is "shared" beside "auth\.perUser"/,
    ],
    ['a grant without its token', grant({ grant: 'token_exchange' }), /auth\.assertion is missing/],
    [
      'a grant with two tokens',
      grant({ grant: 'jwt_bearer', assertion: 'jwt', assertionFile: 'f' }),
      /auth\.assertion stands beside "assertionFile"; keep one/,
    ],
    [
      'a grant without its identity provider',
      grant({ grant: 'id_jag', assertion: 'jwt' }),
      /auth\.identityProvider is missing/,
    ],
    [
      'a proxy with a path',
      { proxy: 'http://p/path' },
      /^mcpServers\.s\.proxy has a value that cannot be used; must be the http:.* address of a proxy/,
    ],
    [
      'a proxy of another kind',
      { proxy: 'socks5://p' },
      /^mcpServers\.s\.proxy has a value that cannot be used; must be the http:\/\/ or https:\/\/ address/,
    ],
    ['a proxy that is true', { proxy: true }, /^mcpServers\.s\.proxy is a boolean; must be/],
    [
      'a certificate without a key',
      { tls: { cert: 'a' } },
      /^mcpServers\.s\.tls\.key is missing; must be a file beside "cert"$/,
    ],
    [
      'a key without a certificate',
      { tls: { key: 'a' } },
      /^mcpServers\.s\.tls\.cert is missing; must be a file beside "key"$/,
    ],
    [
      'a name that is none',
      { tls: { servername: 'a b' } },
      /^mcpServers\.s\.tls\.servername is "a b"; must be a host name$/,
    ],
    [
      'certificates that are no object',
      { tls: true },
      /^mcpServers\.s\.tls is true; must be an object like \{ "ca": … \}$/,
    ],
    [
      'a quote in the host',
      { url: 'http://a"b/mcp' },
      /^mcpServers\.s\.url has a value that cannot be used; must be an http:/,
    ],
    [
      'a backslash in the host',
      { url: 'https://a\\@b/' },
      /^mcpServers\.s\.url has a value that cannot be used; must be an http:/,
    ],
  ]
  for (const [title, entry, wanted] of mistakes)
    test(`is refused: ${title}`, () => {
      const problems = problemsOf(entry)
      assert.equal(problems.length, 1, problems.join('\n'))
      assert.match(problems[0] ?? '', wanted)
    })
})

const base = new URL('https://a.example/mcp')
const addresses: readonly [address: string, to: string | undefined][] = [
  ['/sse/', 'https://a.example/sse/'],
  ['//b.example/x', 'https://b.example/x'],
  ['https://b.example', 'https://b.example/'],
  ['/x\\y', 'https://a.example/x/y'],
  ['/?q=\\"', 'https://a.example/?q=\\%22'],
  ['https://a.example\\@b.example/', undefined],
  ['//a.example"b/', undefined],
  ['\\\\b.example/', undefined],
  ['/\\b.example/', undefined],
  ['https:\\\\b.example/', undefined],
  ['http://', undefined],
]

describe('an address that a server names', () => {
  for (const [address, to] of addresses)
    test(address, () => {
      assert.equal(resolvedAddress(address, base)?.href, to)
      if (to !== undefined) assert.equal(hasDoubtfulAuthority(address), false)
    })
})

describe('the login of a remote server', () => {
  const nothing = {
    folder: '/home/ann/.mcps-proxy/auth',
    clientId: undefined,
    clientSecret: undefined,
    clientKey: undefined,
    clientMetadataUrl: undefined,
    scope: undefined,
    issuer: undefined,
    metadataUrl: undefined,
    resource: undefined,
    callbackPort: undefined,
    isAutomatic: true,
    isByDevice: false,
    isPerUser: false,
    assumesPkce: false,
    unattended: undefined,
  }
  const own = {
    clientId: 'c',
    clientSecret: '${CERTS}',
    scope: 'a b',
    issuer: 'https://i',
    resource: false,
    callbackPort: 3118,
  }
  const others = {
    clientId: 'c',
    callbackPort: 3118,
    scopes: ['a', 'b'],
    authServerMetadataUrl: 'https://i/m',
  }
  const cases: readonly [string, object, object | undefined][] = [
    ['nothing', {}, nothing],
    ['a public field in the headers', { headers: { Accept: 'text/plain-and-more' } }, nothing],
    ['a key in the headers', { headers: { 'X-Key': 'long-key-1234' } }, undefined],
    ['a key in the address', { url: 'https://ann:word-1234@h/mcp' }, undefined],
    ['a key beside a login', { headers: { 'X-Key': 'long-key-1234' }, auth: { type: 'oauth' } }, nothing],
    ['a token in the headers', { headers: { authorization: 'Bearer t' } }, undefined],
    [
      'a token beside a login',
      { headers: { Authorization: 'Bearer t' }, auth: { type: 'oauth' } },
      undefined,
    ],
    ['no credentials', { auth: { type: 'none' } }, undefined],
    ['ID tokens', { auth: { type: 'google' } }, undefined],
    ['a login', { auth: { type: 'oauth' } }, nothing],
    ['a client', { auth: { type: 'oauth', ...own } }, { ...nothing, ...own, clientSecret: '/certs' }],
    [
      'the login of another client',
      { oauth: others },
      { ...nothing, clientId: 'c', callbackPort: 3118, scope: 'a b', metadataUrl: 'https://i/m' },
    ],
    [
      'a code that is shown',
      { auth: { type: 'oauth', grant: 'device' } },
      { ...nothing, isAutomatic: false, isByDevice: true },
    ],
    ['one for each user', { auth: { type: 'oauth', perUser: true } }, { ...nothing, isPerUser: true }],
    [
      'its own credentials',
      { auth: { type: 'oauth', grant: 'client_credentials', clientId: 'c', clientKey: '${CERTS}' } },
      { ...nothing, clientId: 'c', clientKey: '/certs', unattended: unattended('client_credentials') },
    ],
    [
      'the token of an identity provider',
      {
        auth: {
          type: 'oauth',
          grant: 'id_jag',
          clientId: 'c',
          assertionFile: 'token',
          identityProvider: { issuer: 'https://idp', clientSecret: '${CERTS}' },
        },
      },
      {
        ...nothing,
        clientId: 'c',
        unattended: {
          ...unattended('id_jag'),
          assertionFile: '/folder/token',
          identityProvider: { issuer: 'https://idp', clientId: undefined, clientSecret: '/certs' },
        },
      },
    ],
    ['scopes in one text', { oauth: { scopes: 'a b' } }, { ...nothing, scope: 'a b' }],
  ]
  for (const [title, entry, wanted] of cases)
    test(`with ${title}`, () => assert.deepEqual(server(entry).login, wanted))

  test('has a secret that is never shown', () => {
    assert.ok(
      server({ auth: { type: 'oauth', clientId: 'c', clientSecret: 'hush-hush' } }).secrets.includes(
        'hush-hush',
      ),
    )
  })
})
