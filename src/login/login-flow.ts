// One login, from the first refusal to the tokens (MCP, Authorization: authorization flow).

import { createHash } from 'node:crypto'
import { within } from '../runtime/deadline.js'
import type { Runtime } from '../runtime/runtime.js'
import type { LoginPages } from '../upstream/contracts/login-pages.js'
import type { LoginSettings } from '../upstream/contracts/server-config.js'
import { CallbackServer } from './callback-server.js'
import { type BearerChallenge, scopesIn, wantedLogin } from './challenges.js'
import { LoginError } from './login-error.js'
import { type LoginRuntime, loginHttp } from './login-http.js'
import type { Login, LoginStore } from './login-store.js'
import { type LoginPlace, findLogin, textsIn } from './metadata.js'
import { type DeviceCode, type LoginClient, TokenRequests, type Tokens } from './token-requests.js'

/** The server that wants a login. */
export interface LoginTarget extends Partial<Omit<LoginSettings, 'folder' | 'isAutomatic'>> {
  readonly url: string
  /** Scopes to ask for in addition. */
  readonly moreScopes?: string | undefined
}

/** The person who logs in. */
export interface LoginPerson {
  /** Shows the person where the login takes place: our start page, and the address that it leads to. */
  show(startPage: string, address: string): Promise<void>
  /** Resolves with the address of the callback, where the person pastes it; undefined waits for the browser alone. */
  readonly pasted?: Promise<string>
  /** In place of pages of this machine. */
  readonly pages?: LoginPages | undefined
  /** Resolves when the login is not wanted any more. */
  readonly left?: Promise<void>
}

/** The time that a person has for a login. */
const LOGIN_MS = 600_000

/** Ports for callbacks (RFC 6335: dynamic ports). The hash of a server's address chooses one, so a server gets the same port each time. */
const FIRST_PORT = 49_152
const PORTS = 16_000

/** Logs in, and stores the tokens. @throws LoginError */
export async function logIn(
  target: LoginTarget,
  store: LoginStore,
  runtime: LoginRuntime,
  person: LoginPerson,
): Promise<Login> {
  const url = new URL(target.url)
  const http = loginHttp(runtime, url)
  const { challenge, isOpen } = await wantedLogin(url, http)
  const place = await findLogin(url, challenge, http, { ...target, isOpen })
  const requests = await TokenRequests.of(place.server, http)
  const port =
    target.callbackPort ??
    FIRST_PORT + (createHash('sha256').update(target.url).digest().readUInt32BE() % PORTS)
  const callback = person.pages ?? (await openCallback(port, target))
  try {
    const client = await requests.clientFor(target, callback.redirectUri, store.read(target.url))
    const tokens = await authorize({ target, challenge, place, client, requests, callback, person, runtime })
    const login = loginOf(target, place, client, tokens, runtime.wallNow())
    await store.alone(target.url, async () => store.write(login))
    return login
  } finally {
    callback.close()
  }
}

async function openCallback(port: number, { callbackPort }: LoginTarget): Promise<CallbackServer> {
  // A port that is configured belongs to a client that was registered with this name.
  if (callbackPort !== undefined) return CallbackServer.listen(callbackPort, 'localhost')
  for (let next = port; ; next++)
    try {
      return await CallbackServer.listen(next, '127.0.0.1')
    } catch (error) {
      if (next >= port + 10) throw error
    }
}

interface Authorization {
  readonly target: LoginTarget
  readonly challenge: BearerChallenge | undefined
  readonly place: LoginPlace
  readonly client: LoginClient
  readonly requests: TokenRequests
  readonly callback: LoginPages
  readonly person: LoginPerson
  readonly runtime: LoginRuntime
}

/** The tokens, and the values of the requests that brought them. */
type Given = Awaited<ReturnType<TokenRequests['exchange']>> & {
  readonly asked: string
  readonly redirectUri: string
}

async function authorize(of: Authorization): Promise<Given> {
  const { target, challenge, place, client, requests, callback, person, runtime } = of
  const { verifier, challenge: codeChallenge, state } = await requests.secrets()
  const { redirectUri } = callback
  const resource = resourceOf(target, place)
  const scope = scopeOf(target, challenge, place)
  const address = new URL(place.server.authorization_endpoint ?? '')
  const parameters = {
    response_type: 'code',
    client_id: client.id,
    redirect_uri: redirectUri,
    state,
    code_challenge: codeChallenge,
    code_challenge_method: 'S256',
    ...(resource !== undefined && { resource }),
    ...(scope !== '' && { scope }),
  }
  for (const [name, value] of Object.entries(parameters)) address.searchParams.set(name, value)
  callback.expect(state, address.href)
  await person.show(callback.startPage, address.href)
  const pasted = person.pasted?.then((text) => parametersIn(text))
  const left = person.left?.then(() => {
    throw new LoginError('it is not wanted any more')
  })
  const answer = await within(
    Promise.race([callback.parameters, ...(pasted ? [pasted] : []), ...(left ? [left] : [])]),
    LOGIN_MS,
    runtime,
  )
  if (answer === undefined) throw new LoginError(`there was no login within ${LOGIN_MS / 60_000} minutes`)
  const tokens = await requests.exchange(client, answer, { state, verifier, redirectUri, resource })
  return { ...tokens, asked: scope, redirectUri }
}

/** The configured scopes, else those of the challenge, else all that the resource offers; with `offline_access`, for a refresh token, where the server knows that scope. */
function scopeOf(target: LoginTarget, challenge: BearerChallenge | undefined, place: LoginPlace): string {
  const wanted = target.scope ?? challenge?.get('scope') ?? place.scopes?.join(' ')
  const offline = textsIn(place.server.scopes_supported).includes('offline_access')
    ? 'offline_access'
    : undefined
  const scopes = scopesIn(wanted, target.moreScopes)
  return scopes.length === 0 ? '' : scopesIn(scopes.join(' '), offline).join(' ')
}

/** The `resource` of requests for tokens; undefined leaves it out. */
function resourceOf({ resource }: LoginTarget, place: LoginPlace): string | undefined {
  return resource === false ? undefined : (resource ?? place.resource)
}

function parametersIn(text: string): URLSearchParams {
  if (!URL.canParse(text.trim()))
    throw new LoginError('that is no address; paste the whole address to which the browser was sent')
  return new URL(text.trim()).searchParams
}

/** The stored form of a login. */
function loginOf(
  target: LoginTarget,
  place: LoginPlace,
  client: LoginClient,
  given: Given,
  now: number,
): Login {
  const { server } = place
  return {
    url: target.url,
    resource: resourceOf(target, place),
    issuer: server.issuer,
    tokenEndpoint: server.token_endpoint ?? '',
    revocationEndpoint: server.revocation_endpoint,
    client,
    isRegistered: client.id !== target.clientId && client.id !== target.clientMetadataUrl,
    redirectUri: given.redirectUri,
    accessToken: given.accessToken,
    refreshToken: given.refreshToken,
    scope: given.scope ?? (given.asked === '' ? undefined : given.asked),
    obtainedAtMs: now,
    expiresAtMs: given.expiresIn === undefined ? undefined : now + given.expiresIn * 1000,
  }
}

// A login on another device: the person opens an address there, and enters a code (RFC 8628).

/** A code lasts no longer, also where the authorization server names a longer time. */
const CODE_MS_MAX = 30 * 60_000

/** Added to the interval when the server wants that (RFC 8628, section 3.5). */
const SLOWER_MS = 5000

/** Shows the person the address, the code, and the address that has the code already. */
export type ShowCode = (code: Pick<DeviceCode, 'address' | 'userCode' | 'wholeAddress'>) => Promise<void>

/** Logs in, and stores the tokens. @throws LoginError */
export async function logInByDevice(
  target: LoginTarget,
  store: LoginStore,
  runtime: LoginRuntime,
  show: ShowCode,
): Promise<Login> {
  const url = new URL(target.url)
  const http = loginHttp(runtime, url)
  const { challenge, isOpen } = await wantedLogin(url, http)
  const endpoints = ['device_authorization_endpoint', 'token_endpoint'] as const
  const place = await findLogin(url, challenge, http, { ...target, isOpen, endpoints })
  const requests = await TokenRequests.of(place.server, http)
  const client = await requests.clientFor(target, undefined, store.read(target.url))
  const [scope, resource] = [scopeOf(target, challenge, place), resourceOf(target, place)]
  const code = await requests.deviceCode(client, scope, resource)
  await show(code)
  const tokens = await poll(code, runtime, () => requests.deviceTokens(client, code.deviceCode, resource))
  const given = { ...tokens, asked: scope, redirectUri: '' }
  const login = loginOf(target, place, client, given, runtime.wallNow())
  await store.alone(target.url, async () => store.write(login))
  return login
}

/** Asks for the tokens until the person has entered the code, no faster than the server wants. */
async function poll(
  { expiresIn, interval }: DeviceCode,
  runtime: Pick<Runtime, 'now' | 'setTimer'>,
  ask: () => Promise<Tokens>,
): Promise<Tokens> {
  const endsAt = runtime.now() + Math.min(expiresIn * 1000, CODE_MS_MAX)
  for (let pauseMs = interval * 1000; runtime.now() + pauseMs < endsAt;) {
    await new Promise<void>((resolve) => void runtime.setTimer(pauseMs, resolve))
    try {
      return await ask()
    } catch (error) {
      if (!(error instanceof LoginError)) throw error
      if (error.code === 'slow_down') pauseMs += SLOWER_MS
      // A server that cannot be reached is asked less and less often (RFC 8628, section 3.5).
      else if (error.code === undefined) pauseMs *= 2
      else if (error.code !== 'authorization_pending') throw error
    }
  }
  throw new LoginError('the code was not entered in time')
}
