// The login of a browser's user at the authorization server of the front (OpenID Connect Core, section 3.1).

import { randomBytes } from 'node:crypto'
import { type LoginRuntime, loginHttp } from '../login/login-http.js'
import { serverMetadata } from '../login/metadata.js'
import { type BegunLogin, type LoginClient, TokenRequests } from '../login/token-requests.js'
import type { FrontLogin } from '../config/configuration.js'
import { errorText } from '../text/error-text.js'
import { LazyValue } from '../runtime/deferred.js'
import { principalOf } from './claims.js'

export class Identity {
  readonly #login: FrontLogin
  readonly #redirectUri: string
  /** The requests, and the client that makes them. */
  readonly #front: LazyValue<readonly [TokenRequests, LoginClient]>

  constructor(login: FrontLogin, redirectUri: string, runtime: LoginRuntime) {
    this.#login = login
    this.#redirectUri = redirectUri
    const http = loginHttp(runtime, new URL(login.issuer))
    this.#front = new LazyValue(async () => {
      const metadata = await serverMetadata(login.issuer, http, { assumesPkce: true, isOfFront: true })
      const requests = await TokenRequests.of(metadata, http)
      return [requests, requests.ownClient(login.clientId, login.clientSecret)]
    })
  }

  /** @throws LoginError */
  async begin(): Promise<BegunLogin> {
    const [requests, client] = await this.#front.get()
    return requests.begin(client, { redirectUri: this.#redirectUri, scope: 'openid', nonce: randomText() })
  }

  /** Returns the principal, from the parameters of the callback. @throws LoginError */
  async principal(begun: BegunLogin, callback: URLSearchParams): Promise<string> {
    const [requests, client] = await this.#front.get()
    return principalOf(this.#login.issuer, await requests.subject(client, callback, begun))
  }
}

/** Why no user can log in at the front; undefined if its authorization server is usable. */
export function loginTrouble(login: FrontLogin, runtime: LoginRuntime): Promise<string | undefined> {
  return new Identity(login, '', runtime).begin().then(() => undefined, errorText)
}

/** 256 random bits, in 43 characters. */
export function randomText(): string {
  return randomBytes(32).toString('base64url')
}
