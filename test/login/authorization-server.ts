// A remote MCP server that wants a login, and its authorization server, which is strict where others are lax: every parameter
// is checked and comes once, requests are forms, a code and a refresh token count once and for their client, and a refresh token
// that comes twice ends the login (RFC 9700, section 4.14).

import assert from 'node:assert/strict'
import { createHash, randomUUID } from 'node:crypto'
import { type IncomingMessage, type ServerResponse, createServer } from 'node:http'
import { text } from 'node:stream/consumers'
import { listening } from '../support/listening.js'
import type { Scope } from '../support/scope.js'

export interface AuthorizationOptions {
  /** Members that replace those of the metadata of the authorization server; undefined removes one. */
  readonly metadata?: Readonly<Record<string, unknown>>
  /** The same of the metadata of the resource; null has none. */
  readonly resourceMetadata?: Readonly<Record<string, unknown>> | null
  readonly challenge?: string
  /** Methods that need no token. */
  readonly opens?: readonly string[]
  readonly expiresIn?: number
  /** Members that replace those of an answer of the token endpoint. */
  readonly tokenAnswer?: Readonly<Record<string, unknown>>
  /** In place of the issuer in the callback; null leaves it out. */
  readonly iss?: string | null
  readonly refusesLogin?: boolean
  /** The status of every answer to a revocation. */
  readonly revocationStatus?: number
  /** A page of HTML that asks for the consent of the person; with `consent=yes` behind its address the answer follows. */
  readonly page?: (asked: URL) => string
  /** Parameters of the callback that replace those of the answer. */
  readonly callback?: Readonly<Record<string, string>>
  /** Runs before a code is exchanged. */
  readonly onCode?: () => Promise<void>
  /** Answers grants in which no person takes part, by their parameters and `Authorization`; undefined refuses them. */
  readonly onGrant?: (asked: URLSearchParams, proof: string | undefined) => object | undefined
  /** Members that replace those of an answer to a request for a device code. */
  readonly deviceAnswer?: Readonly<Record<string, unknown>>
  /** The resource of its tokens where that is another server, and how they are made. */
  readonly resource?: string
  readonly newAccessToken?: () => string
  /** A refusal repeats the token that it refuses. */
  readonly echoes?: boolean
  /** Whether a refresh may have had no reader; it was not, where the tokens of its answer were used. */
  readonly isLost?: () => boolean
  /** Runs while a refresh is asked for. */
  readonly onRefresh?: () => Promise<void>
}

interface Code {
  readonly redirectUri: string
  readonly challenge: string
  readonly clientId: string
  readonly resource: string
  readonly scope: string
}

/** Of a refresh token. */
interface Grant extends Pick<Code, 'clientId' | 'scope'> {
  /** It was not used. */
  readonly isFresh: boolean
}

/** Both servers on one port of this machine. */
export class AuthorizationServer {
  readonly asked: string[] = []
  /** Tokens, codes, states and verifiers, none of which may be shown anywhere. */
  readonly secrets: Set<string> = new Set()
  /** Requests of the MCP endpoint, without the token that belongs there. */
  readonly mcpRequests: string[] = []
  readonly scopesAsked: string[] = []
  /** The clients that were registered. */
  readonly registered: { readonly type: unknown; readonly uris: unknown }[] = []
  refreshes = 0
  reuses = 0
  /** Refresh tokens that came twice, and whose first answer was lost. */
  lost = 0
  options: AuthorizationOptions
  readonly #server = createServer((request, response) => void this.#answer(request, response))
  readonly #clients = new Map<string, readonly string[]>()
  readonly #codes = new Map<string, Code>()
  readonly #access = new Set<string>()
  readonly #refresh = new Map<string, Grant>()
  /** The last access token was used. */
  #isUsed = false
  #port = 0

  private constructor(options: AuthorizationOptions = {}) {
    this.options = options
  }

  /** Listens until the test is over. */
  static async open(scope: Scope, options?: AuthorizationOptions): Promise<AuthorizationServer> {
    const server = new AuthorizationServer(options)
    server.#port = await listening(scope, server.#server)
    return server
  }

  get origin(): string {
    return `http://127.0.0.1:${this.#port}`
  }

  get issuer(): string {
    return `${this.origin}/tenant`
  }

  get url(): string {
    return `${this.origin}/mcp`
  }

  /** No access token is good any more; refresh tokens are. */
  expireAccess(): void {
    this.#access.clear()
  }

  /** No token is good any more. */
  revokeAll(): void {
    this.#access.clear()
    this.#refresh.clear()
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '/', this.origin)
    const body = await text(request)
    this.asked.push(`${request.method} ${url.pathname}`)
    switch (url.pathname) {
      case '/mcp':
        return this.#mcp(request, response, body)
      case '/.well-known/oauth-protected-resource/mcp':
        if (this.options.resourceMetadata === null) return json(response, 404, {})
        return json(response, 200, {
          resource: this.url,
          authorization_servers: [this.issuer],
          scopes_supported: ['read', 'write'],
          ...this.options.resourceMetadata,
        })
      case '/.well-known/oauth-authorization-server/tenant':
        return json(response, 200, this.#metadata())
      case '/register':
        return this.#register(response, body)
      case '/authorize':
        return this.#authorize(response, url)
      case '/token':
        assert.match(request.headers['content-type'] ?? '', /^application\/x-www-form-urlencoded(;|$)/)
        return this.#token(response, new URLSearchParams(body), request.headers.authorization)
      case '/device':
        return json(response, 200, {
          device_code: 'device',
          user_code: 'ABCD-EFGH',
          verification_uri: `${this.origin}/enter`,
          expires_in: 600,
          interval: 1,
          ...this.options.deviceAnswer,
        })
      case '/revoke':
        return this.#revoke(response, new URLSearchParams(body))
      default:
        return json(response, 404, {})
    }
  }

  #metadata(): object {
    const at = (path: string): string => `${this.origin}${path}`
    return {
      issuer: this.issuer,
      authorization_endpoint: at('/authorize'),
      token_endpoint: at('/token'),
      registration_endpoint: at('/register'),
      revocation_endpoint: at('/revoke'),
      device_authorization_endpoint: at('/device'),
      code_challenge_methods_supported: ['S256'],
      token_endpoint_auth_methods_supported: ['none'],
      authorization_response_iss_parameter_supported: true,
      ...this.options.metadata,
    }
  }

  #mcp(request: IncomingMessage, response: ServerResponse, body: string): void {
    const [, token = ''] = /^Bearer (.+)$/.exec(request.headers.authorization ?? '') ?? []
    this.mcpRequests.push(
      `${request.url} ${JSON.stringify({ ...request.headers, authorization: '' })} ${body}`,
    )
    const { id, method } = body === '' ? { id: undefined, method: '' } : Object(JSON.parse(body))
    if (!this.#access.has(token) && this.options.opens?.includes(String(method)) !== true) {
      const challenge =
        this.options.challenge ??
        `Bearer resource_metadata="${this.origin}/.well-known/oauth-protected-resource/mcp", scope="read"`
      response
        .writeHead(401, challenge === '' ? {} : { 'www-authenticate': challenge })
        .end(`who are you? ${this.options.echoes === true ? token : ''}`)
      return
    }
    this.#isUsed = true
    if (request.method !== 'POST') return void response.writeHead(405).end()
    if (id === undefined) return void response.writeHead(202).end()
    const results: Readonly<Record<string, unknown>> = {
      initialize: {
        protocolVersion: '2025-06-18',
        capabilities: { tools: {} },
        serverInfo: { name: 'guarded', version: '1' },
      },
      'tools/list': { tools: [{ name: 'hello', inputSchema: { type: 'object' } }] },
      'tools/call': { content: [{ type: 'text', text: 'hi' }] },
      ping: {},
    }
    const result = results[String(method)]
    const error = { code: -32601, message: 'Method not found' }
    json(response, 200, { jsonrpc: '2.0', id, ...(result === undefined ? { error } : { result }) })
  }

  #register(response: ServerResponse, body: string): void {
    const {
      redirect_uris: uris,
      application_type: type,
      token_endpoint_auth_method: method,
    } = Object(JSON.parse(body))
    assert(Array.isArray(uris) && method === 'none')
    this.registered.push({ type, uris })
    const id = `client-${this.#clients.size + 1}`
    this.#clients.set(id, uris.map(String))
    json(response, 201, { client_id: id, redirect_uris: uris, token_endpoint_auth_method: 'none' })
  }

  /** Another client's token is no error, and stays (RFC 7009, section 2.2). */
  #revoke(response: ServerResponse, asked: URLSearchParams): void {
    const { revocationStatus } = this.options
    if (revocationStatus !== undefined) return json(response, revocationStatus, {})
    const { clientId } = this.#refresh.get(asked.get('token') ?? '') ?? {}
    if (clientId !== undefined && clientId === asked.get('client_id')) this.revokeAll()
    json(response, 200, {})
  }

  #authorize(response: ServerResponse, url: URL): void {
    const { searchParams: asked } = url
    if (this.options.page !== undefined && !asked.has('consent')) {
      response.writeHead(200, { 'content-type': 'text/html' }).end(this.options.page(url))
      return
    }
    assertOnce(asked)
    const wanted = ['response_type', 'client_id', 'redirect_uri', 'state', 'code_challenge', 'resource']
    const missing = wanted.filter((name) => asked.get(name) === null)
    assert.deepEqual([missing, asked.get('code_challenge_method')], [[], 'S256'])
    const [redirectUri, clientId] = [asked.get('redirect_uri') ?? '', asked.get('client_id') ?? '']
    assert(this.#clients.get(clientId)?.includes(redirectUri))
    for (const name of ['state', 'code_challenge']) this.secrets.add(asked.get(name) ?? '')
    const scope = asked.get('scope') ?? ''
    this.scopesAsked.push(scope)
    const back = new URL(redirectUri)
    back.searchParams.set('state', asked.get('state') ?? '')
    if (this.options.iss !== null) back.searchParams.set('iss', this.options.iss ?? this.issuer)
    if (this.options.refusesLogin === true) back.searchParams.set('error', 'access_denied')
    else {
      const code = randomUUID()
      this.secrets.add(code)
      const challenge = asked.get('code_challenge') ?? ''
      this.#codes.set(code, {
        redirectUri,
        challenge,
        clientId,
        scope,
        resource: asked.get('resource') ?? '',
      })
      back.searchParams.set('code', code)
    }
    for (const [name, value] of Object.entries(this.options.callback ?? {}))
      back.searchParams.set(name, value)
    response.writeHead(302, { location: back.href }).end()
  }

  async #token(response: ServerResponse, asked: URLSearchParams, proof: string | undefined): Promise<void> {
    const { onGrant } = this.options
    if (onGrant !== undefined) {
      const answer = onGrant(asked, proof) ?? { error: 'unsupported_grant_type' }
      if ('access_token' in answer) this.#access.add(String(answer.access_token))
      return json(response, 'error' in answer ? 400 : 200, answer)
    }
    assertOnce(asked)
    const { resource = this.url } = this.options
    if (asked.get('resource') !== resource) return json(response, 400, { error: 'invalid_target' })
    if (asked.get('grant_type') === 'refresh_token') {
      const token = asked.get('refresh_token') ?? ''
      this.refreshes++
      const grant = this.#refresh.get(token)
      if (grant !== undefined && grant.clientId !== asked.get('client_id'))
        return json(response, 400, { error: 'invalid_client' })
      const isFresh = grant?.isFresh
      const isLost = isFresh === false && !this.#isUsed && this.options.isLost?.() === true
      if (isLost) this.lost++
      else if (isFresh === false) {
        this.reuses++
        this.revokeAll()
      }
      if (grant === undefined || (isFresh !== true && !isLost))
        return json(response, 400, { error: 'invalid_grant' })
      this.#refresh.set(token, { ...grant, isFresh: false })
      this.#isUsed = false
      await this.options.onRefresh?.()
      return this.#grant(response, grant, {})
    }
    await this.options.onCode?.()
    this.secrets.add(asked.get('code_verifier') ?? '')
    const code = this.#codes.get(asked.get('code') ?? '')
    this.#codes.delete(asked.get('code') ?? '')
    const verifier = createHash('sha256')
      .update(asked.get('code_verifier') ?? '')
      .digest('base64url')
    const isRight =
      code !== undefined &&
      asked.get('grant_type') === 'authorization_code' &&
      code.redirectUri === asked.get('redirect_uri') &&
      code.clientId === asked.get('client_id') &&
      code.resource === asked.get('resource') &&
      code.challenge === verifier
    return isRight
      ? this.#grant(response, code, code.scope === '' ? {} : { scope: code.scope })
      : json(response, 400, { error: 'invalid_grant' })
  }

  /** An answer to a refresh does not repeat the scope (RFC 6749, section 5.1). */
  #grant(
    response: ServerResponse,
    { scope, clientId }: Pick<Code, 'scope' | 'clientId'>,
    more: object,
  ): void {
    const { newAccessToken = () => `access-${randomUUID()}` } = this.options
    const [access, refresh] = [newAccessToken(), `refresh-${randomUUID()}`]
    this.#access.add(access)
    this.#refresh.set(refresh, { isFresh: true, clientId, scope })
    this.secrets.add(access).add(refresh)
    json(response, 200, {
      access_token: access,
      token_type: 'Bearer',
      expires_in: this.options.expiresIn ?? 3600,
      refresh_token: refresh,
      ...more,
      ...this.options.tokenAnswer,
    })
  }
}

/** A parameter that comes twice is an error (RFC 6749, section 3.1). */
function assertOnce(asked: URLSearchParams): void {
  assert.equal(new Set(asked.keys()).size, asked.size)
}

function json(response: ServerResponse, status: number, value: object): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value))
}

/** A person whose browser follows every redirect. */
export async function browse(address: string): Promise<{ readonly status: number; readonly text: string }> {
  const response = await fetch(address)
  return { status: response.status, text: await response.text() }
}
