// Access tokens without a person.

import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, describe, test } from 'node:test'
import { TransportError } from '../../src/jsonrpc/jsonrpc-errors.js'
import { GrantCredentials } from '../../src/login/grant-credentials.js'
import type { CredentialVerdict } from '../../src/transports/http-client/options.js'
import type { LoginSettings, UnattendedGrant } from '../../src/upstream/contracts/server-config.js'
import { scratch } from '../integration/support/spawned.js'
import { type AuthorizationOptions, AuthorizationServer } from './authorization-server.js'
import { openRuntime } from '../support/open-runtime.js'

const settings: LoginSettings = {
  assumesPkce: false,
  folder: '/nowhere',
  clientId: 'worker',
  clientSecret: 'hush',
  clientKey: undefined,
  clientMetadataUrl: undefined,
  scope: undefined,
  issuer: undefined,
  metadataUrl: undefined,
  resource: undefined,
  callbackPort: undefined,
  isAutomatic: false,
  isByDevice: false,
  isPerUser: false,
  unattended: undefined,
}

const plain: UnattendedGrant = {
  kind: 'client_credentials',
  assertion: undefined,
  assertionFile: undefined,
  identityProvider: undefined,
}

type Answer = AuthorizationOptions['onGrant']

async function place(t: TestContext, answer?: Answer) {
  /** The parameters of every request for a token, with `proof`. */
  const asked: object[] = []
  const onGrant: Answer = (parameters, proof) => {
    asked.push({ ...Object.fromEntries(parameters), ...(proof !== undefined && { proof }) })
    return answer?.(parameters, proof) ?? { access_token: `access-${asked.length}`, token_type: 'bearer' }
  }
  const metadata = { code_challenge_methods_supported: undefined, authorization_endpoint: undefined }
  const server = await AuthorizationServer.open(t, { onGrant, metadata })
  const runtime = openRuntime(t)
  const credentials = (
    grant: Partial<UnattendedGrant> = {},
    more: Partial<LoginSettings> = {},
    url = server.url,
    now = () => runtime.now(),
  ) => {
    const login = { settings: { ...settings, ...more }, grant: { ...plain, ...grant } }
    const around = { runtime: { ...runtime, now }, tell: () => {} }
    return new GrantCredentials({ name: 'tracker', url, ...login, ...around })
  }
  return { server, asked, credentials }
}

const unauthorized = { status: 401, challenges: ['Bearer scope="read"'] }

const secretOf = async (credentials: GrantCredentials): Promise<string | undefined> =>
  (await credentials.credential())?.secret

const eachOf = (asked: readonly object[], name: string): unknown[] =>
  asked.map((each) => Reflect.get(each, name))

function messageOf(verdict: CredentialVerdict): string {
  assert(verdict instanceof TransportError, String(verdict))
  return `${verdict.code} ${verdict.message}`
}

const basic = `Basic ${Buffer.from('worker:hush').toString('base64')}`
const urn = 'urn:ietf:params:oauth:'

describe('the tokens of a grant without a person', () => {
  test('are not asked for where the server is reached over http on another machine', async (t) => {
    const { server, asked, credentials } = await place(t)
    const metadata = `${server.url}/.well-known/oauth-protected-resource`
    const challenges = [`Bearer resource_metadata="${metadata}"`]
    const verdict = await credentials({}, {}, 'http://192.0.2.2/mcp').refused(undefined, {
      status: 401,
      challenges,
    })
    assert.match(messageOf(verdict), /^TRANSPORT_AUTH .*tokens are only sent over https/)
    assert.deepEqual(asked, [])
  })

  const grants: readonly [Partial<UnattendedGrant>, object][] = [
    [{}, { grant_type: 'client_credentials' }],
    [
      { kind: 'jwt_bearer', assertion: 'me' },
      { grant_type: `${urn}grant-type:jwt-bearer`, assertion: 'me' },
    ],
    [
      { kind: 'token_exchange', assertion: 'mine' },
      {
        grant_type: `${urn}grant-type:token-exchange`,
        subject_token: 'mine',
        subject_token_type: `${urn}token-type:jwt`,
      },
    ],
  ]
  for (const [grant, wanted] of grants)
    test(`${grant.kind ?? plain.kind} are asked for once they are wanted`, async (t) => {
      const { server, asked, credentials } = await place(t)
      const own = credentials(grant)
      assert.equal(await secretOf(own), undefined)
      assert.equal(await own.refused(undefined, unauthorized), 'again')
      assert.equal(await secretOf(own), 'access-1')
      assert.deepEqual(asked, [{ ...wanted, resource: server.url, scope: 'read', proof: basic }])
    })

  test('id_jag are asked for at the identity provider first', async (t) => {
    const { asked, credentials, server } = await place(t)
    const identityProvider = { issuer: server.issuer, clientId: 'desk', clientSecret: undefined }
    const own = credentials({ kind: 'id_jag', assertion: 'me', identityProvider })
    assert.equal(await own.refused(undefined, unauthorized), 'again')
    const common = { resource: server.url, scope: 'read' }
    assert.deepEqual(asked, [
      {
        ...common,
        client_id: 'desk',
        grant_type: `${urn}grant-type:token-exchange`,
        requested_token_type: `${urn}token-type:id-jag`,
        audience: server.issuer,
        subject_token: 'me',
        subject_token_type: `${urn}token-type:id_token`,
      },
      { ...common, grant_type: `${urn}grant-type:jwt-bearer`, assertion: 'access-1', proof: basic },
    ])
  })

  test('have the scope and the resource of the configuration', async (t) => {
    const { asked, credentials } = await place(t)
    await credentials({}, { scope: 'all', resource: false }).refused(undefined, unauthorized)
    assert.deepEqual(asked, [{ grant_type: 'client_credentials', scope: 'all', proof: basic }])
  })

  test('of a file are asked for with what the file has then', async (t) => {
    const { asked, credentials } = await place(t, () => ({
      access_token: 'a',
      token_type: 'bearer',
      expires_in: 0,
    }))
    const assertionFile = join(scratch(t), 'token')
    const own = credentials({ kind: 'jwt_bearer', assertionFile })
    assert.match(messageOf(await own.refused(undefined, unauthorized)), /assertionFile .*token: .*ENOENT/)
    for (const text of ['one', 'two\n']) {
      writeFileSync(assertionFile, text)
      if (asked.length === 0) await own.refused(undefined, unauthorized)
      else await own.credential()
    }
    assert.deepEqual(eachOf(asked, 'assertion'), ['one', 'two'])
  })

  test('that are refused are not asked for again at once', async (t) => {
    const refusal = { error: 'invalid_client', error_description: 'it is wrong' }
    const { asked, credentials } = await place(t, () => refusal)
    const own = credentials()
    const wanted =
      /^TRANSPORT_AUTH .*'tracker': invalid_client: .* \(127\.0\.0\.1:\d+\), for the grant client_credentials; check its "auth"$/
    for (let round = 0; round < 2; round++)
      assert.match(messageOf(await own.refused(undefined, unauthorized)), wanted)
    assert.equal(asked.length, 1)
  })

  test('are asked for at one authorization server, whatever the server names later', async (t) => {
    const { asked, credentials, server } = await place(t)
    const other = await place(t)
    const own = credentials()
    await own.refused(undefined, unauthorized)
    server.options = { ...server.options, resourceMetadata: { authorization_servers: [other.server.issuer] } }
    const moved = messageOf(await own.refused(await own.credential(), unauthorized))
    assert.match(moved, /names http:\S+ for its login now.* set auth\.issuer/)
    assert.deepEqual([asked.length, other.asked.length], [1, 0])
  })

  test('are not asked for in the network of the proxy, where a server on the internet points', async (t) => {
    const { credentials } = await place(t)
    const own = credentials({}, {}, 'https://1.1.1.1/mcp')
    const challenges = ['Bearer resource_metadata="https://10.0.0.1/x"']
    const privately = messageOf(await own.refused(undefined, { status: 401, challenges }))
    assert.match(privately, /10\.0\.0\.1 is not asked/)
  })

  test('that a server cannot give now are asked for again', async (t) => {
    const { asked, credentials } = await place(t, () => ({ error: 'temporarily_unavailable' }))
    const own = credentials()
    for (let round = 0; round < 2; round++)
      assert.match(messageOf(await own.refused(undefined, unauthorized)), /^TRANSPORT_TOKEN no token: /)
    assert.equal(asked.length, 2)
  })

  test('go on without a scope that the client cannot have', async (t) => {
    const { asked, credentials } = await place(t, (parameters) =>
      parameters.get('scope')?.includes('admin') === true
        ? { error: 'invalid_scope' }
        : { access_token: 'a', token_type: 'bearer' },
    )
    let now = 0
    const own = credentials({}, {}, undefined, () => now)
    await own.refused(undefined, unauthorized)
    for (const scope of ['admin', 'write']) {
      const challenges = [`Bearer error="insufficient_scope", scope="${scope}"`]
      await own.refused(await own.credential(), { status: 403, challenges })
      now += 30_000
    }
    await own.refused(await own.credential(), unauthorized)
    assert.deepEqual(eachOf(asked, 'scope'), ['read', 'read admin', 'read write', 'read write'])
  })

  test('are not asked for again with scopes that did not help', async (t) => {
    const { asked, credentials } = await place(t)
    const own = credentials()
    await own.refused(undefined, unauthorized)
    const more = { status: 403, challenges: ['Bearer error="insufficient_scope", scope="write"'] }
    assert.equal(await own.refused(await own.credential(), more), 'again')
    const inVain = messageOf(await own.refused(await own.credential(), more))
    assert.match(inVain, /wants the scope write, and asking for it did not help/)
    assert.deepEqual(eachOf(asked, 'scope'), ['read', 'read write'])
  })
})
