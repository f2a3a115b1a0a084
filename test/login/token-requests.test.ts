// Requests to an authorization server, byte by byte, and answers as large providers give them.

import assert from 'node:assert/strict'
import { type KeyObject, generateKeyPairSync, verify } from 'node:crypto'
import { describe, test } from 'node:test'
import type { AuthorizationServer } from 'oauth4webapi'
import { LoginError } from '../../src/login/login-error.js'
import type { LoginHttp, LoginRequest } from '../../src/login/login-http.js'
import { TokenRequests } from '../../src/login/token-requests.js'

const issuer = 'https://as.example'
const metadata = { issuer, token_endpoint: `${issuer}/token`, registration_endpoint: `${issuer}/register` }

interface Answered {
  readonly status?: number
  readonly text: string
}

async function place(answer: Answered, more: Partial<AuthorizationServer> = {}) {
  const sent: LoginRequest[] = []
  const http: LoginHttp = async (_, request = {}) => {
    sent.push(request)
    return { status: answer.status ?? 200, text: answer.text, all: () => ['application/json'] }
  }
  return { requests: await TokenRequests.of({ ...metadata, ...more }, http), sent }
}

const decoded = (part: string): unknown => JSON.parse(Buffer.from(part, 'base64url').toString())

const tokens = '{"access_token":"a","token_type":"Bearer"}'

describe('a client', () => {
  test('with a secret shows it in the encoding of forms, and no more of it', async () => {
    const { requests, sent } = await place({ text: tokens })
    const client = requests.configured({ clientId: 'a-b_c.d:é', clientSecret: 's p+/~' })
    assert(client !== undefined)
    await requests.grant(client, 'refresh_token', { refresh_token: 'r' })
    const [, shown = ''] = /^Basic (.*)$/.exec(sent[0]?.headers?.['authorization'] ?? '') ?? []
    assert.equal(Buffer.from(shown, 'base64').toString(), 'a-b_c.d%3A%C3%A9:s+p%2B%2F%7E')
  })

  const ec = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const keys: readonly [string, { privateKey: KeyObject; publicKey: KeyObject }][] = [
    ['ES256', ec],
    ['RS256', rsa],
  ]
  for (const [alg, { privateKey, publicKey }] of keys)
    test(`with a key signs for the issuer by ${alg}`, async () => {
      const { requests, sent } = await place({ text: tokens })
      const clientKey = String(privateKey.export({ type: 'pkcs8', format: 'pem' }))
      const client = requests.configured({ clientId: 'c', clientKey })
      assert(client !== undefined)
      await requests.grant(client, 'client_credentials', {})
      const asked = new URLSearchParams(sent[0]?.body)
      const [head = '', body = '', signature = ''] = (asked.get('client_assertion') ?? '').split('.')
      assert.deepEqual(decoded(head), { alg })
      const claims = Object(decoded(body))
      assert.deepEqual([claims.iss, claims.sub, claims.aud], ['c', 'c', issuer])
      const key = alg === 'ES256' ? ({ key: publicKey, dsaEncoding: 'ieee-p1363' } as const) : publicKey
      const signed = Buffer.from(`${head}.${body}`)
      assert(verify('sha256', signed, key, Buffer.from(signature, 'base64url')))
    })

  test('with a text that is no key says so, and nothing of it', async () => {
    const { requests } = await place({ text: tokens })
    const client = requests.configured({ clientId: 'c', clientKey: 'hush' })
    assert(client !== undefined)
    await assert.rejects(requests.grant(client, 'x', {}), /^Error: auth\.clientKey is no private key in PEM/)
  })

  const url = 'https://me.example/client.json'
  const choices: readonly [string, object, Partial<AuthorizationServer>, string][] = [
    [
      'its own id',
      { clientId: 'c', clientMetadataUrl: url },
      { client_id_metadata_document_supported: true },
      'c',
    ],
    ['a document', { clientMetadataUrl: url }, { client_id_metadata_document_supported: true }, url],
    ['a document that the server does not read', { clientMetadataUrl: url }, {}, 'registered'],
    ['nothing', {}, {}, 'registered'],
  ]
  for (const [title, configured, more, wanted] of choices)
    test(`with ${title} is ${wanted}`, async () => {
      const { requests } = await place({ text: '{"client_id":"registered"}' }, more)
      assert.equal((await requests.clientFor(configured, 'http://h/', undefined)).id, wanted)
    })

  test('of one authorization server is not shown to another', async () => {
    const { requests } = await place({ text: '{}' })
    const client = { id: 'c', secret: undefined, method: 'none' } as const
    const last = { issuer: 'https://old', client, isRegistered: false, redirectUri: 'http://h/' }
    await assert.rejects(requests.clientFor({ clientId: 'c' }, 'http://h/', last), {
      constructor: LoginError,
      message: /names https:\/\/as\.example .* a client of https:\/\/old: set auth\.issuer/,
    })
    assert.equal((await requests.clientFor({ clientId: 'c', issuer }, 'http://h/', last)).id, 'c')
    const registered = { ...last, isRegistered: true }
    await assert.rejects(requests.clientFor({}, 'http://h/', registered), /registration/)
  })
})

const aad = 'AADSTS9010010: The resource parameter does not match with the requested scopes.'

describe('an answer of a token endpoint', () => {
  const slack = {
    scope: 'chat:write,users:read',
    access_token: 'xoxp',
    refresh_token: 'xoxe',
    expires_in: 43_200,
  }
  const user = { ok: true, access_token: null, authed_user: { id: 'U1', token_type: 'user', ...slack } }
  const bot = { ok: true, access_token: 'xoxb', token_type: 'bot', scope: 'commands', refresh_token: null }
  const keycloak = { access_token: 'a', expires_in: 60, refresh_expires_in: 0, token_type: 'Bearer' }
  const more = { 'not-before-policy': 0, scope: 'openid email', id_token: 'odd' }
  const given: readonly [string, object, object, status?: number][] = [
    [
      'GitHub',
      { access_token: 'gho_1', scope: 'repo,user', token_type: 'bearer' },
      { accessToken: 'gho_1', scope: 'repo user' },
    ],
    [
      'Slack, of a user',
      user,
      { accessToken: 'xoxp', scope: 'chat:write users:read', refreshToken: 'xoxe', expiresIn: 43_200 },
    ],
    ['Slack, of a bot', bot, { accessToken: 'xoxb', scope: 'commands' }],
    ['Keycloak', { ...keycloak, ...more }, { accessToken: 'a', scope: 'openid email', expiresIn: 60 }, 201],
    ['a server without a type', { access_token: 'a', expires_in: '60' }, { accessToken: 'a', expiresIn: 60 }],
  ]
  const nothing = { refreshToken: undefined, expiresIn: undefined, scope: undefined }
  const client = { id: 'c', secret: undefined, method: 'none' } as const
  for (const [title, answer, wanted, status = 200] of given)
    test(`of ${title}, is understood`, async () => {
      const { requests } = await place({ status, text: JSON.stringify(answer) })
      const found = await requests.grant(client, 'refresh_token', { refresh_token: 'r' })
      assert.deepEqual(found, { ...nothing, ...wanted })
    })

  const github = {
    error: 'bad_refresh_token',
    error_description: 'The refresh token is incorrect or expired.',
  }
  const entra = { error: 'invalid_request', error_description: aad }
  const refusals: readonly [
    title: string,
    status: number,
    answer: object | string,
    RegExp,
    isOver: boolean,
  ][] = [
    ['GitHub, with status 200', 200, github, /^bad_refresh_token: The .* expired\. \(as\.example\)$/, true],
    ['Slack', 200, { ok: false, error: 'invalid_refresh_token' }, /^invalid_refresh_token/, true],
    ['Entra', 400, entra, /^invalid_request: AADSTS9010010.*\(as\.example\)$/, false],
    ['Cognito', 401, { error: 'invalid_client' }, /^invalid_client \(as\.example\)$/, false],
    ['a proxy before it', 502, '<html>', /^HTTP 502 of the token endpoint \(as\.example\)$/, false],
    ['a busy server', 429, { error: 'invalid_grant' }, /^HTTP 429 of the token endpoint \(/, false],
    ['no token endpoint', 200, '<html>Hello', /^HTTP 200 of the token endpoint \(/, false],
  ]
  for (const [title, status, answer, message, isOver] of refusals)
    test(`of ${title}, ${isOver ? 'ends' : 'does not end'} the login`, async () => {
      const text = typeof answer === 'string' ? answer : JSON.stringify(answer)
      const { requests } = await place({ status, text })
      await assert.rejects(requests.grant(client, 'refresh_token', { refresh_token: 'r' }), (error) => {
        assert(error instanceof LoginError)
        assert.match(error.message, message)
        return error.isOver === isOver
      })
    })

  test('to a revocation may be empty', async () => {
    for (const status of [200, 204, 503]) {
      const { requests } = await place({ status, text: '' }, { revocation_endpoint: `${issuer}/revoke` })
      const revoked = requests.revoke(client, 't')
      await (status < 300 ? revoked : assert.rejects(revoked, /answered HTTP 503/))
    }
  })

  test('to a registration may have status 200, and not say when the secret ends', async () => {
    const { requests } = await place({ text: '{"client_id":"c","client_secret":"s"}' })
    const registered = await requests.register('http://h/')
    assert.deepEqual(registered, { id: 'c', secret: 's', method: 'client_secret_basic' })
  })

  for (const [redirectUri, type] of [
    ['http://127.0.0.1:1/callback', 'native'],
    ['https://mcp.example.com/login/return', 'web'],
  ] as const)
    test(`of ${redirectUri} registers a client that is ${type}`, async () => {
      const { requests, sent } = await place({ text: '{"client_id":"c"}' })
      await requests.register(redirectUri)
      assert.match(JSON.stringify(sent), new RegExp(`application_type[\\\\":]+${type}`))
    })
})
