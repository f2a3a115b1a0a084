// Discovery of a login: the metadata of the resource (RFC 9728) and of its authorization server (RFC 8414).
//
// MCP, Authorization: authorization server discovery. Identifiers are compared character by character.

import type { AuthorizationServer } from 'oauth4webapi'
import { latestSession } from '../mcp/revisions.js'
import type { BearerChallenge } from './challenges.js'
import { LoginError } from './login-error.js'
import type { LoginHttp } from './login-http.js'
import { type JsonObject, objectIn, textsIn } from '../text/json-object.js'

export interface LoginPlace {
  /** The `resource` of requests for tokens (RFC 8707). */
  readonly resource: string
  readonly server: AuthorizationServer
  /** The scopes that the resource offers. Undefined if its metadata names none. */
  readonly scopes: readonly string[] | undefined
}

/** Settings of the configuration for the discovery, and facts about the server. */
export interface LoginWish {
  /** The only authorization server that is accepted. Its metadata has the same `issuer`. */
  readonly issuer?: string | undefined
  /** Treats metadata without PKCE methods as support of S256. */
  readonly assumesPkce?: boolean | undefined
  /** The address of the metadata of the authorization server. */
  readonly metadataUrl?: string | undefined
  /** The server answered a request without a login, so it needs a login only if it has metadata. */
  readonly isOpen?: boolean
  /** Absent: the endpoints of a login in a browser. */
  readonly endpoints?: readonly Endpoint[] | undefined
  /** The authorization server that the metadata of the resource names. */
  readonly named?: string | undefined
  /** The authorization server is guessed from the address of the server, so it may have no metadata. */
  readonly isGuess?: boolean
  /** The issuer comes from the configuration of the front, and not from `auth` of a server. */
  readonly isOfFront?: boolean
}

/** An endpoint of an authorization server that a grant needs (RFC 8414, section 2; RFC 8628, section 4). */
export type Endpoint = 'authorization_endpoint' | 'token_endpoint' | 'device_authorization_endpoint'

const ofBrowser: readonly Endpoint[] = ['authorization_endpoint', 'token_endpoint']

/** @throws LoginError */
export async function findLogin(
  url: URL,
  challenge: BearerChallenge | undefined,
  http: LoginHttp,
  wish: LoginWish,
): Promise<LoginPlace> {
  const found = await resourceMetadata(url, challenge, http)
  if (wish.isOpen === true && found === undefined) throw new LoginError('the server answers without a login')
  const resource = found === undefined ? url.origin : resourceOf(found, url)
  const [named] = textsIn(found?.['authorization_servers'])
  const isGuess = named === undefined && wish.issuer === undefined
  const server = await serverMetadata(wish.issuer ?? named ?? url.origin, http, { ...wish, named, isGuess })
  const scopes = found?.['scopes_supported']
  return { resource, server, scopes: Array.isArray(scopes) ? textsIn(scopes) : undefined }
}

async function resourceMetadata(
  url: URL,
  challenge: BearerChallenge | undefined,
  http: LoginHttp,
): Promise<JsonObject | undefined> {
  const named = challenge?.get('resource_metadata')
  if (named !== undefined) {
    if (!URL.canParse(named)) throw new LoginError('the server names an invalid address for its metadata')
    const found = await membersAt(new URL(named), http)
    if (found === undefined) throw new LoginError(`there is no metadata of the server at ${named}`)
    return found
  }
  const root = `${url.origin}/.well-known/oauth-protected-resource`
  const path = url.pathname === '/' ? '' : url.pathname
  for (const each of new Set([`${root}${path}`, root])) {
    const found = await membersAt(new URL(each), http)
    if (found !== undefined) return found
  }
  return undefined
}

/** A resource is the address of the server, its origin, or a path above it. Other metadata belongs to another server. */
function resourceOf(metadata: JsonObject, url: URL): string {
  const resource = metadata['resource']
  if (typeof resource !== 'string' || !URL.canParse(resource))
    throw new LoginError('the metadata of the server names no resource')
  const { origin, pathname } = new URL(resource)
  const folder = pathname.endsWith('/') ? pathname : `${pathname}/`
  if (origin !== url.origin || !`${url.pathname}/`.startsWith(folder))
    throw new LoginError(`the metadata of the server is that of '${resource}'`)
  return resource
}

/** The addresses of the metadata of an issuer, in the order in which the proxy tries them (MCP, Authorization). */
function placesOf(issuer: URL): string[] {
  const path = issuer.pathname.replace(/\/$/, '')
  const [oauth, openid] = ['oauth-authorization-server', 'openid-configuration']
  const first = [oauth, openid].map((name) => `${issuer.origin}/.well-known/${name}${path}`)
  return path === '' ? first : [...first, `${issuer.origin}${path}/.well-known/${openid}`]
}

/** @throws LoginError */
export async function serverMetadata(
  issuer: string,
  http: LoginHttp,
  wish: LoginWish,
): Promise<AuthorizationServer> {
  const { metadataUrl, isGuess = false } = wish
  if (!URL.canParse(issuer)) throw new LoginError(`the authorization server '${issuer}' has no address`)
  const places = metadataUrl === undefined ? placesOf(new URL(issuer)) : [metadataUrl]
  const found = await firstOf([...places, ...placesAsNamed(issuer, wish)], http, isGuess)
  if (found !== undefined) return checked(found, issuer, wish)
  if (isGuess) return withoutMetadata(issuer)
  throw new LoginError(`there is no metadata of ${issuer}`)
}

/**
 * Further places for the metadata of a configured issuer: at the address that the server names. A login
 * without a person does not look there, because the client secret could go to an endpoint that the server chose.
 */
function placesAsNamed(issuer: string, { metadataUrl, named, endpoints = ofBrowser }: LoginWish): string[] {
  const hasPerson = endpoints.some((endpoint) => endpoint !== 'token_endpoint')
  if (named === undefined || named === issuer || metadataUrl !== undefined || !hasPerson) return []
  return URL.canParse(named) ? placesOf(new URL(named)) : []
}

/**
 * Tries all places, because some servers answer with an error where others have their metadata.
 *
 * @throws LoginError, the first one, if no place has metadata
 */
async function firstOf(
  places: readonly string[],
  http: LoginHttp,
  mayBeNone: boolean,
): Promise<JsonObject | undefined> {
  let problem: unknown
  for (const place of places)
    try {
      const found = await membersAt(new URL(place), http, mayBeNone)
      if (found !== undefined) return found
    } catch (error) {
      problem ??= error
    }
  if (problem !== undefined) throw problem
  return undefined
}

/** A server of 2025-03-26 without metadata has these endpoints (MCP 2025-03-26, Authorization: fallbacks). */
function withoutMetadata(issuer: string): AuthorizationServer {
  const at = (path: string): string => new URL(path, issuer).href
  return {
    issuer,
    authorization_endpoint: at('/authorize'),
    token_endpoint: at('/token'),
    registration_endpoint: at('/register'),
    code_challenge_methods_supported: ['S256'],
  }
}

function checked(metadata: JsonObject, issuer: string, wish: LoginWish): AuthorizationServer {
  const { endpoints = ofBrowser, issuer: configured } = wish
  const own = metadata['issuer']
  if (own !== issuer) {
    const names = `the metadata of ${issuer} names the issuer '${String(own)}'`
    if (typeof own !== 'string' || wish.isOfFront === true) throw new LoginError(names)
    const [whose, key] = configured === undefined ? ['the server', 'set'] : ['auth.issuer', 'change']
    throw new LoginError(
      `${names}, and ${whose} names '${issuer}'; if the first is right, ${key} auth.issuer to '${own}'`,
    )
  }
  if (endpoints.includes('authorization_endpoint')) checkPkce(metadata, issuer, wish)
  if (endpoints.includes('device_authorization_endpoint') && !('device_authorization_endpoint' in metadata))
    throw new LoginError(`${issuer} has no logins by a code on another device: log in without --device`)
  for (const name of endpoints) {
    const endpoint = metadata[name]
    if (typeof endpoint !== 'string' || !/^https?:\/\//.test(endpoint) || !URL.canParse(endpoint))
      throw new LoginError(`the metadata of ${issuer} has no usable ${name}`)
  }
  return { ...metadata, issuer }
}

/** Refuses an authorization server without PKCE (MCP, Authorization: authorization code protection). */
function checkPkce(metadata: JsonObject, issuer: string, { assumesPkce = false }: LoginWish): void {
  const methods = metadata['code_challenge_methods_supported']
  if (methods === undefined && assumesPkce) return
  if (methods === undefined)
    throw new LoginError(
      `the metadata of ${issuer} has no code_challenge_methods_supported, so that it may not support PKCE; if it does, set auth.pkce to "assume"`,
    )
  if (!textsIn(methods).includes('S256'))
    throw new LoginError(`${issuer} supports the PKCE methods '${textsIn(methods).join(' ')}', and not S256`)
}

/** Returns the object at an address, or undefined. @throws LoginError */
async function membersAt(url: URL, http: LoginHttp, mayBeNone = true): Promise<JsonObject | undefined> {
  const { status, text } = await http(url, { headers: { 'MCP-Protocol-Version': latestSession.version } })
  if (!mayBeNone && (status === 429 || status >= 500))
    throw new LoginError(`${url.host} answered with HTTP ${status}`)
  return status === 200 ? objectIn(text) : undefined
}
