// The login that a server requests in `WWW-Authenticate` (RFC 9110, section 11.6.1; RFC 6750, section 3).

import { write } from '../jsonrpc/text.js'
import { requestMeta } from '../mcp/meta-keys.js'
import { latestSession, latestStateless } from '../mcp/revisions.js'
import { LoginError } from './login-error.js'
import type { LoginHttp, LoginResponse } from './login-http.js'

/** The parameters of a challenge of the scheme `Bearer`. Names are in lower case. */
export type BearerChallenge = ReadonlyMap<string, string>

const token = "[!#$%&'*+.^_`|~0-9A-Za-z-]+"

/** Matches a parameter, or the name of a scheme, which a space, a comma or the end follows. */
const piece = `(${token})\\s*=\\s*(?:"((?:[^"\\\\]|\\\\.)*)"|(${token}))|(${token})(?=\\s|,|$)`

/** Returns the first challenge of the scheme `Bearer`, or undefined. Skips other schemes and unreadable text. */
export function bearerChallenge(fields: readonly string[]): BearerChallenge | undefined {
  let found: Map<string, string> | undefined
  for (const field of fields)
    for (const [, name = '', quoted, plain, scheme] of field.matchAll(new RegExp(piece, 'g'))) {
      if (scheme === undefined)
        found?.set(name.toLowerCase(), quoted?.replaceAll(/\\(.)/g, '$1') ?? plain ?? '')
      else if (found !== undefined) return found
      else if (scheme.toLowerCase() === 'bearer') found = new Map()
    }
  return found
}

/** Returns the scopes of all texts in their order, without duplicates. */
export function scopesIn(...texts: readonly (string | undefined)[]): string[] {
  return [...new Set(texts.flatMap((text) => text?.split(' ') ?? []).filter((scope) => scope !== ''))]
}

export interface WantedLogin {
  readonly challenge: BearerChallenge | undefined
  /** The server answered all requests without a login. Only its metadata can say that other requests need one. */
  readonly isOpen: boolean
}

const clientInfo = { name: 'mcps-proxy', version: '1' }

/** One request of each era. */
const requests = [
  {
    revision: latestSession.version,
    method: 'initialize',
    params: { protocolVersion: latestSession.version, capabilities: {}, clientInfo },
  },
  {
    revision: latestStateless.version,
    method: 'tools/list',
    params: {
      _meta: {
        [requestMeta.version]: latestStateless.version,
        [requestMeta.capabilities]: {},
        [requestMeta.info]: clientInfo,
      },
    },
  },
] as const

/** @throws LoginError if the server cannot be reached, or fails */
export async function wantedLogin(url: URL, http: LoginHttp): Promise<WantedLogin> {
  for (const request of requests) {
    const answer = await ask(url, http, request)
    if (answer.status === 401 || answer.status === 403)
      return { challenge: bearerChallenge(answer.all('www-authenticate')), isOpen: false }
    if (answer.status >= 500 || answer.status === 404)
      throw new LoginError(`the server answered HTTP ${answer.status} to a request without a login`)
  }
  return { challenge: undefined, isOpen: true }
}

function ask(
  url: URL,
  http: LoginHttp,
  { revision, method, params }: (typeof requests)[number],
): Promise<LoginResponse> {
  return http(url, {
    method: 'POST',
    headers: {
      'Content-Type': 'application/json',
      Accept: 'application/json, text/event-stream',
      'MCP-Protocol-Version': revision,
      'Mcp-Method': method,
    },
    body: write({ jsonrpc: '2.0', id: 1, method, params }),
  })
}

/** The most new scopes of one challenge, and the most scopes of one server. A challenge may have any length. */
const NEW_SCOPES_MAX = 100
const SCOPES_MAX = 1000

/**
 * Returns the scopes to request after the server refused a token with the scopes `asked` (MCP, Authorization: step-up
 * authorization flow). Returns undefined if the challenge names no new scope, so that a server cannot refuse for ever.
 */
export function moreScopes(
  asked: readonly string[],
  challenge: BearerChallenge | undefined,
): readonly string[] | undefined {
  const all = scopesIn(...asked, challenge?.get('scope'))
  const added = all.length - asked.length
  return added > 0 && added <= NEW_SCOPES_MAX && all.length <= SCOPES_MAX ? all : undefined
}
