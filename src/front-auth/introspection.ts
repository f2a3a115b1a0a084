// Asks an authorization server what a token is (RFC 7662).

import { errorText } from '../text/error-text.js'
import type { JsonObject } from '../text/json-object.js'
import { type LoginHttp, basicField } from '../login/login-http.js'
import { membersIn } from '../login/metadata.js'
import type { FrontAuthIssuer } from '../config/configuration.js'
import { TokenProblem } from './claims.js'

/** The claims of a token that is active; undefined for one that is not, or is not of this issuer. @throws TokenProblem */
export async function introspect(
  token: string,
  { issuer, introspection }: FrontAuthIssuer,
  http: LoginHttp,
): Promise<JsonObject | undefined> {
  if (introspection === undefined) return undefined
  const { url, clientId, clientSecret } = introspection
  const answer = await ask(url, token, basicField(clientId, clientSecret), http).catch((error: unknown) => {
    const why = errorText(error)
    throw new TokenProblem('unavailable', `${issuer} cannot be asked about tokens: ${why}`)
  })
  if (answer['active'] !== true) return undefined
  return answer['iss'] === undefined || answer['iss'] === issuer ? answer : undefined
}

async function ask(url: string, token: string, user: string, http: LoginHttp): Promise<JsonObject> {
  const { status, text } = await http(new URL(url), {
    method: 'POST',
    headers: {
      Authorization: user,
      'Content-Type': 'application/x-www-form-urlencoded',
    },
    body: new URLSearchParams({ token, token_type_hint: 'access_token' }).toString(),
  })
  if (status === 401 || status === 403)
    throw new Error(`it refuses the client id of the front (HTTP ${status})`)
  const answer = status === 200 ? membersIn(text) : undefined
  if (answer === undefined) throw new Error(`it answered with HTTP ${status} and no JSON object`)
  return answer
}
