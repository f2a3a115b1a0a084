// Access tokens that the proxy gets without a person: with the credentials of the client, or in exchange for a
// token that the workload or its user already has.
//
// Tokens stay in memory. A new token costs one request, and needs no secret beyond the configuration.

import { readTextFile } from '../runtime/read-file.js'
import { TransportError } from '../jsonrpc/jsonrpc-errors.js'
import { errorText } from '../text/error-text.js'
import { mayCarryTokens } from '../text/loopback.js'
import type {
  Credential,
  CredentialRefusal,
  CredentialVerdict,
  HttpCredentials,
} from '../transports/http-client/options.js'
import type { LoginSettings, UnattendedGrant } from '../upstream/contracts/server-config.js'
import { type BearerChallenge, bearerChallenge, moreScopes, scopesIn } from './challenges.js'
import { LoginError } from './login-error.js'
import { type LoginHttp, type LoginRuntime, loginHttp } from './login-http.js'
import { type LoginPlace, findLogin, serverMetadata } from './metadata.js'
import type { LoginContext } from './server-login.js'
import {
  type AccessToken,
  TokenRequests,
  type Tokens,
  clientElsewhere,
  accessTokenOf,
} from './token-requests.js'

/** The time in milliseconds before a refused grant is requested again. An earlier request would be refused too. */
const REFUSED_MS = 30_000

const ASSERTION_LENGTH_MAX = 64 * 1024

const ofToken = ['token_endpoint'] as const

/** The server for which the tokens are. `name` is its name in the configuration. */
export interface GrantContext {
  readonly name: string
  readonly url: string
  readonly settings: LoginSettings
  readonly grant: UnattendedGrant
  readonly runtime: LoginRuntime
  readonly tell: LoginContext['tell']
}

export class GrantCredentials implements HttpCredentials {
  readonly #context: GrantContext
  readonly #url: URL
  /** The last challenge with which the server requested a token. */
  #challenge: BearerChallenge | undefined
  #scopes: readonly string[] = []
  /** Scopes that the server named when it refused single requests. */
  #more: readonly string[] = []
  #token: AccessToken | undefined
  #fetching: Promise<Credential> | undefined
  /** The authorization server that received the client secret. No other server may receive it. */
  #issuer: string | undefined
  #refusal: { readonly error: TransportError; readonly until: number } | undefined

  constructor(context: GrantContext) {
    this.#context = context
    this.#url = new URL(context.url)
  }

  credential(): Credential | undefined | Promise<Credential | undefined> {
    const token = this.#token
    if (token === undefined || this.#context.runtime.wallNow() < token.endsAt) return token?.credential
    return this.#fetch()
  }

  async refused(sent: Credential | undefined, refusal: CredentialRefusal): Promise<CredentialVerdict> {
    const challenge = bearerChallenge(refusal.challenges)
    if (refusal.status === 403 && challenge?.get('error') !== 'insufficient_scope') return undefined
    // Another request got a new token in the meantime.
    if (this.#token !== undefined && sent?.secret !== this.#token.credential.secret) return 'again'
    const [before, more] = [this.#scopes, this.#more]
    if (refusal.status === 401) this.#challenge = challenge
    else {
      const scopes = moreScopes(this.#scopes, challenge)
      if (scopes === undefined) return this.#tooLittle(challenge)
      this.#more = scopes
    }
    try {
      await this.#fetch()
      return 'again'
    } catch (error) {
      // Without this, later tokens would fail because of a scope that the client cannot have.
      this.#scopes = before
      this.#more = more
      return error instanceof TransportError ? error : this.#failed(errorText(error))
    }
  }

  #tooLittle(challenge: BearerChallenge | undefined): TransportError {
    return this.#failed(
      `wants the scope ${challenge?.get('scope') ?? 'that it does not name'}, and asking for it did not help; set auth.scope, or give the client more rights`,
    )
  }

  #failed(why: string): TransportError {
    return new TransportError('TRANSPORT_AUTH', `Authentication failed: '${this.#context.name}': ${why}`)
  }

  #fetch(): Promise<Credential> {
    const refusal = this.#refusal
    if (refusal !== undefined && this.#context.runtime.now() < refusal.until)
      return Promise.reject(refusal.error)
    this.#fetching ??= this.#fetchAlone().finally(() => {
      this.#fetching = undefined
    })
    return this.#fetching
  }

  async #fetchAlone(): Promise<Credential> {
    // Over http, a machine between the two could name a false issuer and so get the secret of the client.
    if (!mayCarryTokens(this.#url)) throw this.#failed('tokens are only sent over https')
    try {
      const { accessToken, expiresIn = Number.POSITIVE_INFINITY } = await this.#tokens()
      this.#token = accessTokenOf(accessToken, this.#context.runtime.wallNow(), expiresIn * 1000)
      this.#refusal = undefined
      this.#context.tell('debug', 'it has a new access token')
      return this.#token.credential
    } catch (error) {
      if (!(error instanceof LoginError) || !error.isRefusal)
        throw new TransportError('TRANSPORT_TOKEN', `no token: ${errorText(error)}`)
      const failure = this.#failed(
        `${error.message}, for the grant ${this.#context.grant.kind}; check its "auth"`,
      )
      this.#refusal = { error: failure, until: this.#context.runtime.now() + REFUSED_MS }
      throw failure
    }
  }

  async #tokens(): Promise<Tokens> {
    const http = loginHttp(this.#context.runtime, this.#url)
    const wish = { ...this.#context.settings, endpoints: ofToken }
    const place = await findLogin(this.#url, this.#challenge, http, wish)
    // A server that an attacker controls later must not get the secret by naming another issuer.
    this.#issuer ??= place.server.issuer
    if (place.server.issuer !== this.#issuer) throw clientElsewhere(place.server.issuer, this.#issuer)
    const requests = await TokenRequests.of(place.server, http)
    const client = requests.configured(this.#context.settings)
    if (client === undefined) throw new LoginError('auth.clientId is missing')
    const scope = this.#context.settings.scope ?? this.#challenge?.get('scope') ?? place.scopes?.join(' ')
    this.#scopes = scopesIn(scope, ...this.#more)
    const parameters = this.#common(place)
    switch (this.#context.grant.kind) {
      case 'client_credentials':
        return requests.grant(client, 'client_credentials', parameters)
      case 'jwt_bearer':
        return requests.grant(client, JWT_BEARER, { ...parameters, assertion: this.#assertion() })
      case 'token_exchange':
        return requests.grant(client, TOKEN_EXCHANGE, { ...parameters, ...this.#subject() })
      case 'id_jag': {
        const assertion = await this.#identityAssertion(place)
        return requests.grant(client, JWT_BEARER, { ...parameters, assertion })
      }
    }
  }

  #common({ resource: named }: LoginPlace): Readonly<Record<string, string | undefined>> {
    const { resource = named } = this.#context.settings
    const scope = this.#scopes.length === 0 ? undefined : this.#scopes.join(' ')
    return { resource: resource === false ? undefined : resource, scope }
  }

  /** The identity provider's token for the authorization server (Identity Assertion JWT Authorization Grant). */
  async #identityAssertion(place: LoginPlace): Promise<string> {
    const { identityProvider } = this.#context.grant
    if (identityProvider === undefined) throw new LoginError('auth.identityProvider is missing')
    const { issuer, clientId = '', clientSecret } = identityProvider
    // The configuration names the provider, so the provider may be on this machine.
    const http: LoginHttp = loginHttp(this.#context.runtime, true)
    const server = await serverMetadata(issuer, http, { endpoints: ofToken })
    const requests = await TokenRequests.of(server, http)
    const client = requests.ownClient(clientId, clientSecret)
    const { accessToken } = await requests.grant(client, TOKEN_EXCHANGE, {
      ...this.#common(place),
      ...this.#subject(),
      requested_token_type: `${TOKEN_TYPES}id-jag`,
      audience: place.server.issuer,
    })
    return accessToken
  }

  #subject(): Readonly<Record<string, string>> {
    const type = `${TOKEN_TYPES}${this.#context.grant.kind === 'id_jag' ? 'id_token' : 'jwt'}`
    return { subject_token: this.#assertion(), subject_token_type: type }
  }

  #assertion(): string {
    const { assertion = '', assertionFile } = this.#context.grant
    if (assertionFile === undefined) return assertion
    const file = readTextFile(assertionFile, ASSERTION_LENGTH_MAX)
    if (file.kind !== 'read') throw new LoginError(`auth.assertionFile ${assertionFile}: ${file.why}`)
    return file.text.trim()
  }
}

const JWT_BEARER = 'urn:ietf:params:oauth:grant-type:jwt-bearer'
const TOKEN_EXCHANGE = 'urn:ietf:params:oauth:grant-type:token-exchange'
const TOKEN_TYPES = 'urn:ietf:params:oauth:token-type:'
