// A login on another device: the person opens an address there, and enters a code (RFC 8628).

import type { Runtime } from '../runtime/runtime.js'
import { wantedLogin } from './challenges.js'
import { LoginError } from './login-error.js'
import { type LoginTarget, loginOf, resourceOf, scopeOf } from './login-flow.js'
import { type LoginRuntime, loginHttp } from './login-http.js'
import type { Login, LoginStore } from './login-store.js'
import { findLogin } from './metadata.js'
import { type DeviceCode, TokenRequests, type Tokens } from './token-requests.js'

/** A code lasts no longer, whatever the authorization server says. */
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
  await store.unlock()
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
  await store.alone(target.url, () => store.write(login))
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
