// One authorization server: how its tokens are examined.

import { type LoginRuntime, loginHttp } from '../login/login-http.js'
import type { FrontAuthIssuer } from '../config/configuration.js'
import { errorText } from '../text/error-text.js'
import type { JsonObject } from '../text/json-object.js'
import { introspect } from './introspection.js'
import { IssuerKeys, type IssuerHttp } from './issuer-keys.js'
import { Signatures, type UnverifiedJwt } from './jwt.js'

export class Issuer {
  readonly config: FrontAuthIssuer
  readonly #http: IssuerHttp
  readonly #keys: IssuerKeys
  readonly #signatures: Signatures

  constructor(config: FrontAuthIssuer, runtime: LoginRuntime) {
    this.config = config
    const discovered = loginHttp(runtime, new URL(config.issuer))
    this.#http = { configured: loginHttp(runtime, true), discovered }
    this.#keys = new IssuerKeys(config, this.#http, () => runtime.now())
    this.#signatures = new Signatures(config, this.#keys, () => runtime.wallNow())
  }

  /** The claims of a JWT that is valid now. @throws TokenProblem */
  verify(token: string, jwt: UnverifiedJwt): Promise<JsonObject> {
    return this.#signatures.verify(token, jwt)
  }

  /** The claims of an active token; undefined of any other, and where the issuer is not asked. @throws TokenProblem */
  introspect(token: string): Promise<JsonObject | undefined> {
    return introspect(token, this.config, this.#http.configured)
  }

  /** @throws TokenProblem when no token could be examined now */
  async try(): Promise<void> {
    if (this.config.introspection === undefined) await this.#keys.current()
    else await this.introspect('mcps-proxy check')
  }
}

/** Why no token of an issuer could be examined; undefined where it could. */
export function issuerTrouble(config: FrontAuthIssuer, runtime: LoginRuntime): Promise<string | undefined> {
  return new Issuer(config, runtime).try().then(() => undefined, errorText)
}
