// The user of a browser at an authorization server: a login of the front itself (OpenID Connect Core, section 3.1).

import { createHash, randomBytes } from 'node:crypto'
import { LoginError } from '../login/login-error.js'
import { type LoginHttp, type LoginRuntime, basicField, loginHttp } from '../login/login-http.js'
import { membersIn, serverMetadata, textsIn } from '../login/metadata.js'
import type { FrontLogin } from '../config/configuration.js'
import { errorText } from '../text/error-text.js'
import { LazyValue } from '../runtime/deferred.js'
import type { JsonObject } from '../text/json-object.js'
import { principalOf, textsOf } from './claims.js'
import { SKEW_S, readJwt } from './issuer.js'

/** A login that has begun: what its answer is compared with. */
export interface BegunIdentity {
  readonly state: string
  /** The address to which the browser is sent. */
  readonly address: string
  readonly nonce: string
  readonly verifier: string
}

type Metadata = Awaited<ReturnType<typeof serverMetadata>>

export class Identity {
  readonly #login: FrontLogin
  readonly #redirectUri: string
  readonly #http: LoginHttp
  readonly #wallNow: () => number
  readonly #metadata: LazyValue<Metadata>

  constructor(login: FrontLogin, redirectUri: string, runtime: LoginRuntime) {
    this.#login = login
    this.#redirectUri = redirectUri
    this.#http = loginHttp(runtime, new URL(login.issuer))
    this.#wallNow = () => runtime.wallNow()
    this.#metadata = new LazyValue(() =>
      serverMetadata(login.issuer, this.#http, { endpoints: ['token_endpoint'] }),
    )
  }

  /** @throws LoginError */
  async begin(): Promise<BegunIdentity> {
    const { authorization_endpoint: endpoint = '' } = await this.#metadata.get()
    if (!/^https?:\/\//.test(endpoint) || !URL.canParse(endpoint))
      throw new LoginError(`the metadata of ${this.#login.issuer} has no page`)
    const [state, nonce, verifier] = [randomText(), randomText(), randomText()]
    const address = new URL(endpoint)
    const parameters = {
      response_type: 'code',
      client_id: this.#login.clientId,
      redirect_uri: this.#redirectUri,
      scope: 'openid',
      state,
      nonce,
      code_challenge: createHash('sha256').update(verifier).digest('base64url'),
      code_challenge_method: 'S256',
    }
    for (const [name, value] of Object.entries(parameters)) address.searchParams.set(name, value)
    return { state, nonce, verifier, address: address.href }
  }

  /** The principal, from the parameters of the callback. @throws LoginError */
  async principal({ nonce, verifier }: BegunIdentity, callback: URLSearchParams): Promise<string> {
    const { issuer } = this.#login
    // RFC 9207: an answer of another server, which may have sent the browser here.
    if ((callback.get('iss') ?? issuer) !== issuer)
      throw new LoginError('the answer is that of another server')
    const code = callback.get('code')
    if (code === null) throw new LoginError('the login was refused')
    const token = await this.#idToken(code, verifier)
    const claims = readJwt(token)?.claims
    if (claims === undefined) throw new LoginError(`${issuer} gave no ID token`)
    return principalOf(issuer, this.#subjectIn(claims, nonce))
  }

  /** The token comes from the token endpoint over TLS, so its signature need not be checked (section 3.1.3.7, 6). @throws LoginError */
  #subjectIn({ iss, aud, azp, exp, nonce, sub }: JsonObject, wanted: string): string {
    const { issuer, clientId } = this.#login
    const audiences = textsOf(aud)
    const isForUs = audiences.includes(clientId) && (audiences.length === 1 || azp === clientId)
    const isGood = typeof exp === 'number' && (exp + SKEW_S) * 1000 > this.#wallNow()
    if (iss !== issuer || !isForUs || nonce !== wanted || !isGood || typeof sub !== 'string' || sub === '')
      throw new LoginError(`the ID token of ${issuer} is not for this login`)
    return sub
  }

  /** @throws LoginError */
  async #idToken(code: string, verifier: string): Promise<string> {
    const { clientId, clientSecret } = this.#login
    const metadata = await this.#metadata.get()
    const methods = textsIn(metadata.token_endpoint_auth_methods_supported)
    const isPost = methods.includes('client_secret_post') && !methods.includes('client_secret_basic')
    const { status, text } = await this.#http(new URL(metadata.token_endpoint ?? ''), {
      method: 'POST',
      headers: {
        'Content-Type': 'application/x-www-form-urlencoded',
        ...(!isPost && { Authorization: basicField(clientId, clientSecret) }),
      },
      body: new URLSearchParams({
        grant_type: 'authorization_code',
        code,
        redirect_uri: this.#redirectUri,
        code_verifier: verifier,
        ...(isPost && { client_id: clientId, client_secret: clientSecret }),
      }).toString(),
    })
    const members = membersIn(text)
    const token = members?.['id_token']
    if (status === 200 && typeof token === 'string') return token
    throw new LoginError(`${this.#login.issuer} gave no ID token (HTTP ${status})`)
  }
}

/** Why no user could log in at the front; undefined where its authorization server can be used for that. */
export function loginTrouble(login: FrontLogin, runtime: LoginRuntime): Promise<string | undefined> {
  return new Identity(login, '', runtime).begin().then(() => undefined, errorText)
}

/** 256 random bits, in 43 characters. */
export function randomText(): string {
  return randomBytes(32).toString('base64url')
}
