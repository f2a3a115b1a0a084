// One login, from the first refusal to the tokens (MCP, Authorization: authorization flow).

import { createHash } from 'node:crypto'
import { within } from '../runtime/deadline.js'
import type { Runtime } from '../runtime/runtime.js'
import { textsIn } from '../text/json-object.js'
import type { LoginSettings } from '../upstream/contracts/server-config.js'
import { CallbackServer, type LoginPages } from './callback-server.js'
import { type BearerChallenge, scopesIn, wantedLogin } from './challenges.js'
import { LoginError } from './login-error.js'
import { type LoginRuntime, loginHttp } from './login-http.js'
import type { Login, LoginStore } from './login-store.js'
import { type LoginPlace, type LoginWish, findLogin } from './metadata.js'
import {
  DEVICE_GRANT,
  type DeviceCode,
  type LoginClient,
  TokenRequests,
  type Tokens,
} from './token-requests.js'

export interface LoginTarget extends Partial<Omit<LoginSettings, 'folder' | 'isAutomatic'>> {
  readonly url: string
  readonly moreScopes?: string | undefined
}

export interface LoginPerson {
  /** Shows the person our start page, and the address to which it redirects. */
  show(startPage: string, address: string): Promise<void>
  /** Resolves with the callback address that the person pastes. Absent: only the browser delivers it. */
  readonly paste?: () => Promise<string>
  readonly pages?: LoginPages | undefined
  /** Resolves when the login is no longer wanted. */
  readonly left?: Promise<void>
}

const LOGIN_MS = 600_000

/** Ports for callbacks (RFC 6335: dynamic ports). The hash of the server address always selects the same one. */
const FIRST_PORT = 49_152
const PORTS = 16_000

/** Logs in, and stores the tokens. @throws LoginError */
export async function logIn(
  target: LoginTarget,
  store: LoginStore,
  runtime: LoginRuntime,
  person: LoginPerson,
): Promise<Login> {
  const place = await wantedPlace(target, runtime)
  const port =
    target.callbackPort ??
    FIRST_PORT + (createHash('sha256').update(target.url).digest().readUInt32BE() % PORTS)
  const callback = person.pages ?? (await openCallback(port, target))
  const { redirectUri } = callback
  try {
    const client = await place.requests.clientFor(target, redirectUri, store.read(target.url))
    const tokens = await authorize(place, client, callback, person, runtime)
    return await stored({ target, place, client, tokens, redirectUri }, store, runtime)
  } finally {
    callback.close()
  }
}

/** The authorization server, and the parameters of a request for tokens there. */
interface WantedPlace {
  readonly server: LoginPlace['server']
  readonly requests: TokenRequests
  /** Empty for no scope. */
  readonly scope: string
  /** The `resource` of requests for tokens. Undefined leaves it out. */
  readonly resource: string | undefined
}

/** @throws LoginError */
async function wantedPlace(
  target: LoginTarget,
  runtime: LoginRuntime,
  endpoints?: LoginWish['endpoints'],
): Promise<WantedPlace> {
  const url = new URL(target.url)
  const http = loginHttp(runtime, url)
  const { challenge, isOpen } = await wantedLogin(url, http)
  const place = await findLogin(url, challenge, http, { ...target, isOpen, endpoints })
  const { resource = place.resource } = target
  return {
    server: place.server,
    requests: await TokenRequests.of(place.server, http),
    scope: scopeOf(target, challenge, place),
    resource: resource === false ? undefined : resource,
  }
}

async function openCallback(port: number, { callbackPort }: LoginTarget): Promise<CallbackServer> {
  // A configured port belongs to a client whose registered redirect URI has this host name.
  if (callbackPort !== undefined) return CallbackServer.listen(callbackPort, 'localhost')
  for (let next = port; ; next++)
    try {
      return await CallbackServer.listen(next, '127.0.0.1')
    } catch (error) {
      if (next >= port + 10) throw error
    }
}

async function authorize(
  { requests, scope, resource }: WantedPlace,
  client: LoginClient,
  callback: LoginPages,
  person: LoginPerson,
  runtime: LoginRuntime,
): Promise<Tokens> {
  const { redirectUri } = callback
  const begun = await requests.begin(client, { redirectUri, resource, scope: scope || undefined })
  callback.expect(begun.state, begun.address)
  await person.show(callback.startPage, begun.address)
  const pasted = person.paste?.().then((text) => parametersIn(text))
  const left = person.left?.then(() => {
    throw new LoginError('it is no longer needed')
  })
  const answer = await within(
    Promise.race([callback.parameters, ...(pasted ? [pasted] : []), ...(left ? [left] : [])]),
    LOGIN_MS,
    runtime,
  )
  if (answer === undefined) throw new LoginError(`there was no login within ${LOGIN_MS / 60_000} minutes`)
  return requests.exchange(client, answer, begun)
}

/** The configured scopes, else those of the challenge, else those of the resource; `offline_access` for a refresh token. */
function scopeOf(target: LoginTarget, challenge: BearerChallenge | undefined, place: LoginPlace): string {
  const wanted = target.scope ?? challenge?.get('scope') ?? place.scopes?.join(' ')
  const offline = textsIn(place.server.scopes_supported).includes('offline_access')
    ? 'offline_access'
    : undefined
  const scopes = scopesIn(wanted, target.moreScopes)
  return scopes.length === 0 ? '' : scopesIn(scopes.join(' '), offline).join(' ')
}

function parametersIn(text: string): URLSearchParams {
  if (!URL.canParse(text.trim()))
    throw new LoginError('that is no address; paste the whole address to which the browser was sent')
  return new URL(text.trim()).searchParams
}

interface Made {
  readonly target: LoginTarget
  readonly place: WantedPlace
  readonly client: LoginClient
  readonly tokens: Tokens
  readonly redirectUri: string
}

async function stored(
  { target, place: { server, scope, resource }, client, tokens, redirectUri }: Made,
  store: LoginStore,
  runtime: LoginRuntime,
): Promise<Login> {
  const now = runtime.wallNow()
  const { accessToken, refreshToken, expiresIn } = tokens
  const login = {
    url: target.url,
    resource,
    issuer: server.issuer,
    tokenEndpoint: server.token_endpoint ?? '',
    revocationEndpoint: server.revocation_endpoint,
    client,
    isRegistered: client.id !== target.clientId && client.id !== target.clientMetadataUrl,
    redirectUri,
    accessToken,
    refreshToken,
    scope: tokens.scope ?? (scope || undefined),
    obtainedAtMs: now,
    expiresAtMs: expiresIn === undefined ? undefined : now + expiresIn * 1000,
  }
  await store.withLock(target.url, async () => store.write(login))
  return login
}

// A login on another device: the person opens an address there, and enters a code (RFC 8628).

/** The longest life of a code, even if the authorization server names a longer one. */
const CODE_MS_MAX = 30 * 60_000

/** `slow_down` adds this to the interval (RFC 8628, section 3.5). */
const SLOWER_MS = 5000

export type ShowCode = (code: Pick<DeviceCode, 'address' | 'userCode' | 'wholeAddress'>) => Promise<void>

/** Logs in, and stores the tokens. @throws LoginError */
export async function logInByDevice(
  target: LoginTarget,
  store: LoginStore,
  runtime: LoginRuntime,
  show: ShowCode,
): Promise<Login> {
  const place = await wantedPlace(target, runtime, ['device_authorization_endpoint', 'token_endpoint'])
  const { requests, scope, resource } = place
  const client = await requests.clientFor(target, undefined, store.read(target.url))
  const code = await requests.deviceCode(client, { scope: scope || undefined, resource })
  await show(code)
  const parameters = { device_code: code.deviceCode, resource }
  const tokens = await poll(code, runtime, () => requests.grant(client, DEVICE_GRANT, parameters))
  return stored({ target, place, client, tokens, redirectUri: '' }, store, runtime)
}

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
      // While the authorization server cannot be reached, the interval doubles (RFC 8628, section 3.5).
      else if (error.code === undefined) pauseMs *= 2
      else if (error.code !== 'authorization_pending') throw error
    }
  }
  throw new LoginError('the code was not entered in time')
}
