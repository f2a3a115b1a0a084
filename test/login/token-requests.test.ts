// Requests to an authorization server, byte by byte, and answers as large providers give them.

import assert from 'node:assert/strict'
import { type KeyObject, constants, generateKeyPairSync, verify } from 'node:crypto'
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

interface Place {
  readonly requests: TokenRequests
  readonly sent: LoginRequest[]
}

async function place(answer: Answered, more: Partial<AuthorizationServer> = {}): Promise<Place> {
  const sent: LoginRequest[] = []
  const http: LoginHttp = async (_, request = {}) => {
    sent.push(request)
    return { status: answer.status ?? 200, text: answer.text, all: () => [] }
  }
  return { requests: await TokenRequests.of({ ...metadata, ...more }, http), sent }
}

function decoded(part: string): unknown {
  return JSON.parse(Buffer.from(part, 'base64url').toString())
}

const tokens = '{"access_token":"a","token_type":"Bearer"}'

describe('a client', () => {
  test('with a secret shows it in the encoding of forms, and no more of it', async () => {
    const { requests, sent } = await place({ text: tokens })
    const client = requests.configured({ clientId: 'a-b_c.d:é', clientSecret: 's p+/~' })
    assert(client !== undefined)
    await requests.refresh(client, 'r', undefined)
    const [, shown = ''] = /^Basic (.*)$/.exec(sent[0]?.headers?.['authorization'] ?? '') ?? []
    assert.equal(Buffer.from(shown, 'base64').toString(), 'a-b_c.d%3A%C3%A9:s+p%2B%2F%7E')
  })

  const ec = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const ed = generateKeyPairSync('ed25519')
  const keys: readonly [string, { privateKey: KeyObject; publicKey: KeyObject }, readonly string[]][] = [
    ['ES256', ec, []],
    ['RS256', rsa, ['RS256', 'PS256']],
    ['PS256', rsa, ['PS256']],
    ['EdDSA', ed, []],
    ['Ed25519', ed, ['Ed25519']],
  ]
  for (const [alg, { privateKey, publicKey }, accepted] of keys)
    test(`with a key signs for the issuer by ${alg}`, async () => {
      const { requests, sent } = await place(
        { text: tokens },
        { token_endpoint_auth_signing_alg_values_supported: [...accepted] },
      )
      const clientKey = String(privateKey.export({ type: 'pkcs8', format: 'pem' }))
      const client = requests.configured({ clientId: 'c', clientKey, clientKeyId: 'k1' })
      assert(client !== undefined)
      await requests.grant(client, 'client_credentials', {})
      const asked = new URLSearchParams(sent[0]?.body)
      const [head = '', body = '', signature = ''] = (asked.get('client_assertion') ?? '').split('.')
      assert.deepEqual(decoded(head), { alg, kid: 'k1' })
      const claims = Object(decoded(body))
      assert.deepEqual([claims.iss, claims.sub, claims.aud], ['c', 'c', issuer])
      const key = alg === 'ES256' ? ({ key: publicKey, dsaEncoding: 'ieee-p1363' } as const) : publicKey
      const padded = { key: publicKey, padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: 32 }
      const hash = alg.startsWith('Ed') ? null : 'sha256'
      const signed = Buffer.from(`${head}.${body}`)
      assert(verify(hash, signed, alg === 'PS256' ? padded : key, Buffer.from(signature, 'base64url')))
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
    const last = {
      issuer: 'https://old',
      client,
      isRegistered: false,
      redirectUri: 'http://h/',
    }
    await assert.rejects(requests.clientFor({ clientId: 'c' }, 'http://h/', last), (error) => {
      assert(error instanceof LoginError)
      assert.match(
        error.message,
        /names https:\/\/as\.example .* a client of https:\/\/old: set auth\.issuer/,
      )
      return true
    })
    assert.equal((await requests.clientFor({ clientId: 'c', issuer }, 'http://h/', last)).id, 'c')
    const registered = { ...last, isRegistered: true }
    await assert.rejects(requests.clientFor({}, 'http://h/', registered), /registration/)
  })
})
