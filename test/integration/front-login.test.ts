// Clients that others wrote log in at the front: with the login of their library, and an authorization server.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { OAuthClientProvider } from '@modelcontextprotocol/sdk/client/auth.js'
import { UnauthorizedError } from '@modelcontextprotocol/sdk/client/auth.js'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import type { OAuthClientInformationMixed, OAuthTokens } from '@modelcontextprotocol/sdk/shared/auth.js'
import { Clock } from '../front-auth/clock.js'
import { Issuer } from '../front-auth/issuer.js'
import { AuthorizationServer } from '../login/authorization-server.js'
import { itServer } from './support/programs.js'
import { type LibraryClient, clientLibrary, missing } from './support/sdk-v2.js'
import { freePort } from './support/free-port.js'
import { gatewayOf } from './support/gateway.js'

/** A person who allows everything, and the store of a client. */
class Person implements OAuthClientProvider {
  readonly redirectUrl = 'http://127.0.0.1:1/callback'
  readonly clientMetadata = {
    redirect_uris: [this.redirectUrl],
    application_type: 'native',
    token_endpoint_auth_method: 'none',
  }
  code = ''
  #known: OAuthClientInformationMixed | undefined
  #tokens: OAuthTokens | undefined
  #verifier = ''

  state(): string {
    return 'state'
  }

  clientInformation(): OAuthClientInformationMixed | undefined {
    return this.#known
  }

  saveClientInformation(known: OAuthClientInformationMixed): void {
    this.#known = known
  }

  tokens(): OAuthTokens | undefined {
    return this.#tokens
  }

  saveTokens(tokens: OAuthTokens): void {
    this.#tokens = tokens
  }

  codeVerifier(): string {
    return this.#verifier
  }

  saveCodeVerifier(verifier: string): void {
    this.#verifier = verifier
  }

  async redirectToAuthorization(url: URL): Promise<void> {
    const { headers } = await fetch(url, { redirect: 'manual' })
    this.code = new URL(headers.get('location') ?? '').searchParams.get('code') ?? ''
  }
}

async function front(scope: Parameters<Issuer['listen']>[0] & { after(run: () => Promise<void>): void }) {
  const keys = await new Issuer().listen(scope)
  const server = await AuthorizationServer.open(scope)
  const clock = new Clock()
  const port = await freePort()
  const publicUrl = `http://127.0.0.1:${port}`
  const resource = `${publicUrl}/p/ops/mcp`
  const newAccessToken = (): string => {
    const exp = Math.floor(clock.runtime.wallNow() / 1000) + 3600
    return keys.token({
      iss: server.issuer,
      sub: 'ann',
      aud: resource,
      exp,
      scope: server.scopesAsked.at(-1),
    })
  }
  const metadata = {
    response_types_supported: ['code'],
    authorization_response_iss_parameter_supported: undefined,
  }
  server.options = { resource, newAccessToken, metadata, iss: null }
  const issuer = {
    issuer: server.issuer,
    algorithms: ['ES256'],
    jwksUri: keys.issuer.replace('team', 'keys'),
  }
  const value = {
    mcpServers: { a: itServer({ IT_NAME: 'a' }) },
    profiles: { ops: {} },
    server: {
      port,
      publicUrl,
      auth: { issuers: [issuer], rules: [{ scope: 'mcp:ops', profiles: ['ops'] }] },
    },
  }
  await gatewayOf(scope, value, { runtime: clock.runtime })
  return { url: new URL(resource), server, clock }
}

test('a client library logs in, renews its token, and asks for the scope of the profile', async (t) => {
  const { url, server, clock } = await front(t)
  const person = new Person()
  const first = new StreamableHTTPClientTransport(url, { authProvider: person })
  await assert.rejects(new Client({ name: 'c', version: '1' }).connect(first), UnauthorizedError)
  await first.finishAuth(person.code)
  const client = new Client({ name: 'c', version: '1' })
  const transport = new StreamableHTTPClientTransport(url, { authProvider: person })
  await client.connect(transport)
  t.after(() => client.close())
  const { sessionId } = transport
  assert.deepEqual(server.scopesAsked, ['mcp:ops'])
  const call = (): Promise<unknown> => client.callTool({ name: 'a__nonce', arguments: { n: '1' } })
  const before = JSON.stringify(await call())
  clock.pass(3_700_000)
  assert.equal(JSON.stringify(await call()), before, 'the same process')
  assert.equal(server.refreshes, 1)
  assert.equal(transport.sessionId, sessionId)
})

test('a client library of version 2 logs in too', { skip: missing }, async (t) => {
  const { url, server } = await front(t)
  const library = await clientLibrary()
  const person = new Person()
  const connect = async (): Promise<LibraryClient> => {
    const client = new library.Client({ name: 'c', version: '2' }, {})
    const transport = new library.StreamableHTTPClientTransport(url, { authProvider: person })
    try {
      await client.connect(transport)
    } catch (error) {
      if (person.code === '') throw error
      await transport.finishAuth(person.code)
    }
    return client
  }
  await connect()
  const client = await connect()
  t.after(() => client.close())
  assert.match(JSON.stringify(await client.listTools()), /a__nonce/)
  assert.deepEqual(server.scopesAsked, ['mcp:ops'])
})
