// Requests to an authorization server: registration, codes, tokens. Only this file uses `oauth4webapi`.
//
// Large providers break rules that the library enforces: they send null for an absent member, no `token_type`,
// or an error with status 200. So `corrected` corrects their answers before the library reads them.

import { createPrivateKey, webcrypto, type KeyObject } from 'node:crypto'
import type { AuthorizationServer, Client, ClientAuth } from 'oauth4webapi'
import { parse, write } from '../jsonrpc/text.js'
import { LoginError } from './login-error.js'
import { type LoginHttp, type LoginResponse, basicField } from './login-http.js'
import { errorText } from '../text/error-text.js'
import { definedIn, isObject, memberAt, objectIn, textsIn } from '../text/json-object.js'
import type { Credential } from '../transports/http-client/options.js'
import type { LoginSettings } from '../upstream/contracts/server-config.js'

export interface Tokens {
  readonly accessToken: string
  readonly refreshToken: string | undefined
  /** Seconds from now. Undefined if the server does not say. */
  readonly expiresIn: number | undefined
  readonly scope: string | undefined
}

/** A code that a person enters on another device (RFC 8628, section 3.2). */
export interface DeviceCode {
  readonly deviceCode: string
  readonly userCode: string
  readonly address: string
  /** The address that already contains the code. Undefined if the server sends none. */
  readonly wholeAddress: string | undefined
  /** In seconds. */
  readonly expiresIn: number
  /** The pause between two requests for tokens, in seconds. */
  readonly interval: number
}

/** The settings of the client in the configuration, and its authorization server. */
export type ConfiguredClient = Partial<
  Pick<LoginSettings, 'clientId' | 'clientSecret' | 'clientKey' | 'clientMetadataUrl' | 'issuer'>
>

export interface LastLogin {
  readonly issuer: string
  readonly client: LoginClient
  /** Whether the proxy registered the client itself. */
  readonly isRegistered: boolean
  readonly redirectUri: string
}

interface LoginAddress {
  readonly redirectUri: string
  /** Undefined leaves it out. */
  readonly resource?: string | undefined
  readonly scope?: string | undefined
  readonly nonce?: string | undefined
}

/** A login that has begun: the values to check its callback with, and the address for the browser. */
export interface BegunLogin extends LoginAddress {
  readonly verifier: string
  readonly state: string
  readonly address: string
}

type Library = typeof import('oauth4webapi')

type GrantParameters = Readonly<Record<string, string | undefined>>

export class TokenRequests {
  readonly #server: AuthorizationServer
  readonly #http: LoginHttp
  readonly #library: Library

  private constructor(server: AuthorizationServer, http: LoginHttp, library: Library) {
    this.#server = server
    this.#http = http
    this.#library = library
  }

  static async of(server: AuthorizationServer, http: LoginHttp): Promise<TokenRequests> {
    return new TokenRequests(server, http, await import('oauth4webapi'))
  }

  get host(): string {
    return new URL(this.#server.issuer).host
  }

  /** Registers the proxy (RFC 7591); without a redirect URI, for logins by a code. @throws LoginError */
  async register(redirectUri: string | undefined): Promise<LoginClient> {
    const { registration_endpoint: endpoint } = this.#server
    if (endpoint === undefined)
      throw new LoginError(`${this.host} registers no clients: set auth.clientId to the id of a client there`)
    const supported = textsIn(this.#server.token_endpoint_auth_methods_supported)
    const method = methods.find((each) => supported.includes(each)) ?? 'none'
    const { status, text } = await this.#http(new URL(endpoint), {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: write({
        client_name: 'mcps-proxy',
        ...(redirectUri === undefined ? forDevice : { ...forBrowser, redirect_uris: [redirectUri] }),
        token_endpoint_auth_method: method,
        application_type: redirectUri?.startsWith('https:') === true ? 'web' : 'native',
      }),
    })
    const members = objectIn(text)
    const id = members?.['client_id']
    if (status >= 300 || typeof id !== 'string') {
      const code = members?.['error']
      const why = typeof code === 'string' ? code : `HTTP ${status}`
      throw new LoginError(`registration: ${why} (${this.host})${status < 500 ? NO_CLIENT : ''}`)
    }
    const secret = members?.['client_secret']
    const given = methods.find((each) => each === members?.['token_endpoint_auth_method']) ?? method
    return typeof secret === 'string' && secret !== ''
      ? { id, secret, method: given === 'none' ? 'client_secret_basic' : given }
      : { id, secret: undefined, method: 'none' }
  }

  /**
   * Returns the client for a login. `last` is the previous login. A client belongs to one authorization server,
   * so no data of it is sent to another one (MCP 2026-07-28, Authorization: authorization server binding).
   *
   * @throws LoginError
   */
  async clientFor(
    target: ConfiguredClient,
    redirectUri: string | undefined,
    last: LastLogin | undefined,
  ): Promise<LoginClient> {
    const { issuer } = this.#server
    const { clientId } = target
    const isElsewhere = last !== undefined && last.issuer !== issuer
    if (isElsewhere && clientId === last.client.id && target.issuer === undefined)
      throw clientElsewhere(issuer, last.issuer)
    const configured = this.configured(target)
    if (configured !== undefined) return configured
    const isSame = last?.issuer === issuer && last.redirectUri === (redirectUri ?? '') && last.isRegistered
    return isSame ? last.client : this.register(redirectUri)
  }

  /** Returns the configured client: `clientId`, or the address of its metadata if this server supports that. */
  configured(of: ConfiguredClient): LoginClient | undefined {
    const { clientId, clientSecret: secret, clientKey, clientMetadataUrl } = of
    if (clientId === undefined) {
      const isRead = this.#server['client_id_metadata_document_supported'] === true
      if (!isRead || clientMetadataUrl === undefined) return undefined
      return { id: clientMetadataUrl, secret: undefined, method: 'none' }
    }
    if (clientKey !== undefined) return { id: clientId, secret: clientKey, method: 'private_key_jwt' }
    return this.ownClient(clientId, secret)
  }

  /** A client that is registered at this server. */
  ownClient(id: string, secret: string | undefined): LoginClient {
    const supported = textsIn(this.#server.token_endpoint_auth_methods_supported)
    const isBasic = supported.includes('client_secret_basic') || !supported.includes('client_secret_post')
    const method = secret === undefined ? 'none' : isBasic ? 'client_secret_basic' : 'client_secret_post'
    return { id, secret, method }
  }

  /** Builds the address at which a person logs in. The verifier (RFC 7636) and the state stay in memory. */
  async begin(
    client: LoginClient,
    { redirectUri, resource, scope, nonce }: LoginAddress,
  ): Promise<BegunLogin> {
    const { generateRandomCodeVerifier, calculatePKCECodeChallenge, generateRandomState } = this.#library
    const [verifier, state] = [generateRandomCodeVerifier(), generateRandomState()]
    const address = new URL(this.#server.authorization_endpoint ?? '')
    const parameters = definedIn({
      response_type: 'code',
      client_id: client.id,
      redirect_uri: redirectUri,
      state,
      code_challenge: await calculatePKCECodeChallenge(verifier),
      code_challenge_method: 'S256',
      resource,
      scope,
      nonce,
    })
    for (const [name, value] of Object.entries(parameters)) address.searchParams.set(name, value)
    return { redirectUri, resource, nonce, verifier, state, address: address.href }
  }

  /** Exchanges the code in the parameters of the callback for tokens. @throws LoginError */
  async exchange(client: LoginClient, callback: URLSearchParams, begun: BegunLogin): Promise<Tokens> {
    const code = (await this.#validated(client, callback, begun)).get('code') ?? ''
    if (code === '') throw new LoginError(`${this.host} gave no code`)
    const { redirectUri: redirect_uri, verifier: code_verifier, resource } = begun
    return this.grant(client, 'authorization_code', { code, redirect_uri, code_verifier, resource })
  }

  /** The subject in the ID token for the code of a callback (OpenID Connect Core, section 3.1.3). @throws LoginError */
  async subject(client: LoginClient, callback: URLSearchParams, begun: BegunLogin): Promise<string> {
    const { authorizationCodeGrantRequest, processAuthorizationCodeResponse, getValidatedIdTokenClaims } =
      this.#library
    const parameters = await this.#validated(client, callback, begun)
    const [server, own, authentication] = await this.#sender(client)
    const { redirectUri, verifier, nonce: expectedNonce = '' } = begun
    const options = this.#options((response, host) => corrected(response, host, true))
    const claims = await this.#answered(async () => {
      const response = await authorizationCodeGrantRequest(
        server,
        own,
        authentication,
        parameters,
        redirectUri,
        verifier,
        options,
      )
      const wanted = { expectedNonce, requireIdToken: true }
      return getValidatedIdTokenClaims(await processAuthorizationCodeResponse(server, own, response, wanted))
    })
    if (claims === undefined || claims.sub === '') throw new LoginError(`${this.host} gave no ID token`)
    return claims.sub
  }

  async #validated(
    client: LoginClient,
    callback: URLSearchParams,
    { state }: BegunLogin,
  ): Promise<URLSearchParams> {
    // The library accepts an issuer with a slash at its end (RFC 9207, section 2.4: simple string comparison).
    const issuer = callback.get('iss')
    if (issuer !== null && issuer !== this.#server.issuer)
      throw new LoginError('the answer is that of another authorization server')
    const { validateAuthResponse } = this.#library
    return this.#answered(async () =>
      validateAuthResponse(this.#server, libraryClient(client), callback, state),
    )
  }

  /** Requests tokens with one grant, and leaves out undefined parameters. @throws LoginError */
  async grant(client: LoginClient, type: string, parameters: GrantParameters): Promise<Tokens> {
    const { genericTokenEndpointRequest, processGenericTokenEndpointResponse } = this.#library
    // The type of an assertion for another server, which is no access token (RFC 8693, section 2.2.1).
    const recognizedTokenTypes = { n_a: () => undefined }
    const sender = await this.#sender(client)
    const tokens = await this.#answered(async () => {
      const response = await genericTokenEndpointRequest(
        ...sender,
        type,
        definedIn(parameters),
        this.#options(),
      )
      return processGenericTokenEndpointResponse(sender[0], sender[1], response, { recognizedTokenTypes })
    })
    const { access_token: accessToken, refresh_token: refreshToken, expires_in: expiresIn, scope } = tokens
    return { accessToken, refreshToken, expiresIn, scope }
  }

  /** Requests a code that a person enters on another device (RFC 8628, section 3.1). @throws LoginError */
  async deviceCode(client: LoginClient, parameters: GrantParameters): Promise<DeviceCode> {
    const { deviceAuthorizationRequest, processDeviceAuthorizationResponse } = this.#library
    const sender = await this.#sender(client)
    const answer = await this.#answered(async () => {
      const response = await deviceAuthorizationRequest(...sender, definedIn(parameters), this.#options())
      return processDeviceAuthorizationResponse(sender[0], sender[1], response)
    })
    if (!/^https?:/.test(answer.verification_uri))
      throw new LoginError(`${this.host} names an address for the code that no browser opens`)
    return {
      deviceCode: answer.device_code,
      userCode: answer.user_code,
      address: answer.verification_uri,
      wholeAddress: answer.verification_uri_complete,
      expiresIn: answer.expires_in,
      interval: answer.interval ?? 5,
    }
  }

  /** Revokes a token (RFC 7009). @throws LoginError if the server cannot be reached, or fails */
  async revoke(client: LoginClient, token: string): Promise<void> {
    const response = await this.#library.revocationRequest(
      ...(await this.#sender(client)),
      token,
      this.#options(({ status }) => new Response(null, { status })),
    )
    if (!response.ok) throw new LoginError(`${this.host} answered HTTP ${response.status}`)
  }

  async #sender(client: LoginClient): Promise<[AuthorizationServer, Client, ClientAuth]> {
    return [this.#server, libraryClient(client), await authOf(client, this.#library)]
  }

  #options(read: (response: LoginResponse, host: string) => Response = corrected): TokenOptions {
    const { customFetch, allowInsecureRequests } = this.#library
    return {
      // `LoginHttp` checks addresses: it allows http on this machine alone.
      [allowInsecureRequests]: true,
      [customFetch]: async (url: string, { headers, body }: FetchTerms) => {
        const text = body instanceof URLSearchParams ? body.toString() : ''
        return read(await this.#http(new URL(url), { method: 'POST', headers, body: text }), this.host)
      },
    }
  }

  async #answered<T>(run: () => Promise<T>): Promise<T> {
    try {
      return await run()
    } catch (error) {
      throw this.#failure(error)
    }
  }

  /** Errors of the library contain requests and answers, so the message has only the code and the description. */
  #failure(error: unknown): LoginError {
    if (error instanceof LoginError) return error
    const code = memberAt(error, ['error'])
    const description = memberAt(error, ['error_description'])
    if (typeof code !== 'string') return new LoginError(`${this.host} gave no tokens: ${errorText(error)}`)
    const words =
      typeof description === 'string' ? `${code}: ${description.slice(0, SHOWN_LENGTH_MAX)}` : code
    return new LoginError(`${words} (${this.host})`, code)
  }
}

/** The remedy if an authorization server registers no clients, or if the MCP server wants a key and no login. */
const NO_CLIENT = '; set auth.clientId to a client that is registered there, or a key in "headers"'

/** The error of a server that names another authorization server than that of the configured client. */
export function clientElsewhere(issuer: string, own: string): LoginError {
  return new LoginError(
    `the server names ${issuer} for its login now, and auth.clientId is a client of ${own}: set auth.issuer to the one to which it belongs`,
  )
}

const SHOWN_LENGTH_MAX = 300

const forBrowser = { grant_types: ['authorization_code', 'refresh_token'], response_types: ['code'] }

export const DEVICE_GRANT = 'urn:ietf:params:oauth:grant-type:device_code'

const forDevice = {
  redirect_uris: [],
  grant_types: [DEVICE_GRANT, 'refresh_token'],
  response_types: [],
}

const methods = ['none', 'client_secret_basic', 'client_secret_post'] as const

interface FetchTerms {
  readonly headers: Record<string, string>
  readonly body?: unknown
}

type TokenOptions = NonNullable<Parameters<Library['genericTokenEndpointRequest']>[5]>

function libraryClient({ id }: LoginClient): Client {
  return { client_id: id }
}

/**
 * Corrects an answer for the library. A busy or failing server has refused nothing, even if its body contains an error.
 *
 * @throws LoginError for a failing server, and for an answer that is no JSON object
 */
function corrected(response: LoginResponse, host: string, hasIdToken = false): Response {
  const { status, text } = response
  const members = objectIn(text)
  if (members === undefined || status >= 500 || status === 429)
    throw new LoginError(`HTTP ${status} of the token endpoint (${host})`)
  // Slack sends the token of a user in a separate object.
  const user = members['authed_user']
  const hasToken = typeof members['access_token'] === 'string'
  const named = hasToken || !isObject(user) ? members : { ...members, ...user }
  const kept = Object.entries(named).filter(
    ([name, value]) => value !== null && (hasIdToken || name !== 'id_token'),
  )
  const clean: Record<string, unknown> = Object.fromEntries(kept)
  const { token_type: type, expires_in: life, scope } = clean
  if ('access_token' in clean && (typeof type !== 'string' || ofSlack.has(type)))
    clean['token_type'] = 'bearer'
  if (typeof life === 'string') clean['expires_in'] = parse(life)
  // GitHub and Slack separate scopes by commas.
  if (typeof scope === 'string' && !scope.includes(' ')) clean['scope'] = scope.replaceAll(',', ' ')
  const isError = 'error' in clean
  return new Response(write(clean), {
    status: isError && status < 400 ? 400 : status === 201 ? 200 : status,
    headers: { 'content-type': 'application/json' },
  })
}

const ofSlack: ReadonlySet<string> = new Set(['bot', 'user'])

// Authentication of a client at a token endpoint (RFC 6749, section 2.3; RFC 7523, section 2.2).

export interface LoginClient {
  readonly id: string
  /** The client secret, or a private key (PEM) for `private_key_jwt`. */
  readonly secret: string | undefined
  /** The authentication method at the token endpoint (RFC 8414, section 2). */
  readonly method: 'none' | 'client_secret_basic' | 'client_secret_post' | 'private_key_jwt'
}

/** @throws LoginError for a key that cannot sign */
async function authOf({ id, secret = '', method }: LoginClient, library: Library): Promise<ClientAuth> {
  switch (method) {
    case 'none':
      return library.None()
    case 'client_secret_basic':
      return basic(id, secret)
    case 'client_secret_post':
      return library.ClientSecretPost(secret)
    case 'private_key_jwt':
      return library.PrivateKeyJwt(await signingKey(secret))
  }
}

function basic(id: string, secret: string): ClientAuth {
  const field = basicField(id, secret)
  return (_server, _client, _body, headers) => headers.set('authorization', field)
}

async function signingKey(pem: string): Promise<webcrypto.CryptoKey> {
  const key = parsedKey(pem)
  const bytes = key.export({ type: 'pkcs8', format: 'der' })
  for (const algorithm of algorithms) {
    const imported = webcrypto.subtle.importKey('pkcs8', bytes, algorithm, false, ['sign'])
    const found = await imported.catch(() => undefined)
    if (found !== undefined) return found
  }
  throw new LoginError(
    `auth.clientKey is a key of the type ${key.asymmetricKeyType}; it must be EC (P-256, P-384, P-521) or RSA`,
  )
}

const algorithms = [
  { name: 'RSASSA-PKCS1-v1_5', hash: 'SHA-256' },
  ...['P-256', 'P-384', 'P-521'].map((namedCurve) => ({ name: 'ECDSA', namedCurve })),
]

function parsedKey(pem: string): KeyObject {
  try {
    return createPrivateKey(pem)
  } catch {
    // The message of the library may contain parts of the key.
    throw new LoginError('auth.clientKey is no private key in PEM without a password')
  }
}

// An access token as requests carry it, and the time until which they do.

/** Requests stop using a token this long before it expires, or in the last tenth of its life if that is shorter. */
const MARGIN_MS = 10_000

export interface AccessToken {
  readonly credential: Credential
  /** Milliseconds since 1970. Infinity if the token has no known end. */
  readonly endsAt: number
}

/** `lifeMs` is Infinity if the token has no known end. */
export function accessTokenOf(accessToken: string, obtainedAtMs: number, lifeMs: number): AccessToken {
  return {
    credential: { fields: ['Authorization', `Bearer ${accessToken}`], secret: accessToken },
    endsAt: obtainedAtMs + lifeMs - Math.min(MARGIN_MS, lifeMs / 10),
  }
}
