// Asks an authorization server what a token is (RFC 7662).

import { errorText } from '../text/error-text.js'
import { type JsonObject, isObject } from '../text/json-object.js'
import { Buffer } from 'node:buffer'
import { parse } from '../jsonrpc/text.js'
import type { LoginHttp } from '../login/login-http.js'
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
  const answer = await ask(url, token, `${formOf(clientId)}:${formOf(clientSecret)}`, http).catch(
    (error: unknown) => {
      const why = errorText(error)
      throw new TokenProblem('unavailable', `${issuer} cannot be asked about tokens: ${why}`)
    },
  )
  if (answer['active'] !== true) return undefined
  return answer['iss'] === undefined || answer['iss'] === issuer ? answer : undefined
}

async function ask(url: string, token: string, user: string, http: LoginHttp): Promise<JsonObject> {
  const { status, text } = await http(new URL(url), {
    method: 'POST',
    headers: {
      Authorization: `Basic ${Buffer.from(user).toString('base64')}`,
      'Content-Type': 'application/x-www-form-urlencoded',
    },
    body: new URLSearchParams({ token, token_type_hint: 'access_token' }).toString(),
  })
  if (status === 401 || status === 403)
    throw new Error(`it refuses the client id of the front (HTTP ${status})`)
  const answer = status === 200 ? valueIn(text) : undefined
  if (!isObject(answer)) throw new Error(`it answered with HTTP ${status} and no JSON object`)
  return answer
}

/** RFC 6749, section 2.3.1: user and password are written as in a form. */
function formOf(text: string): string {
  return new URLSearchParams([['', text]]).toString().slice(1)
}

function valueIn(text: string): unknown {
  try {
    return parse(text)
  } catch {
    return undefined
  }
}
