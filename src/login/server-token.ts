// The access token of a login for a program, which gets it at its start and keeps it.

import type { LogLevel } from '../runtime/runtime.js'
import { TransportError } from '../jsonrpc/errors.js'
import type { Credential, HttpCredentials } from '../transports/http-client/options.js'
import type { LoginVariable } from '../upstream/contracts/server-config.js'
import { GrantCredentials } from './grant-credentials.js'
import { LoginCredentials } from './login-credentials.js'
import type { LoginRuntime } from './login-http.js'
import { LoginStore } from './login-store.js'
import { LoginWatch } from './login-watch.js'

type Tell = (level: LogLevel, message: string) => void

/** The values of variables that have tokens; a token is renewed that is near its end. Rejects with TransportError. */
export async function loginEnvironment(
  logins: readonly LoginVariable[],
  runtime: LoginRuntime,
  tell: Tell,
): Promise<ReadonlyMap<string, string>> {
  const values = logins.map(async (variable) => {
    const token = await tokenOf(variable, runtime, tell)
    return [variable.variable, `${variable.before}${token}${variable.after}`] as const
  })
  return new Map(await Promise.all(values))
}

/** Notices that one of these logins was made or has ended. */
export function watchLogins(logins: readonly LoginVariable[], runtime: LoginRuntime): LoginWatch {
  const versions = (): string =>
    logins
      .map(({ target }) => target && new LoginStore(target.settings.folder, runtime).versionOf(target.url))
      .join('\n')
  return new LoginWatch(versions, runtime)
}

async function tokenOf(
  { server, target }: LoginVariable,
  runtime: LoginRuntime,
  tell: Tell,
): Promise<string> {
  if (target === undefined) throw new TransportError('TRANSPORT_LOGIN', `there is no login of '${server}'`)
  const { url, settings } = target
  const request = { method: 'POST', url: new URL(url) } as const
  const get = (credentials: HttpCredentials): Credential | undefined | Promise<Credential | undefined> =>
    credentials instanceof LoginCredentials ? credentials.lasting(request) : credentials.credential(request)
  const credentials =
    settings.unattended === undefined
      ? new LoginCredentials(server, url, new LoginStore(settings.folder, runtime, settings), runtime, tell)
      : new GrantCredentials(server, url, { settings, grant: settings.unattended }, runtime, tell)
  const held = await get(credentials)
  if (held !== undefined) return held.secret
  // No request of the proxy has been refused, so this stands for the refusal that the program would get.
  const verdict = await credentials.refused(undefined, { status: 401, challenges: ['Bearer'] })
  if (verdict instanceof TransportError) throw verdict
  const got = await get(credentials)
  if (got === undefined) throw new TransportError('TRANSPORT_LOGIN', `there is no login of '${server}'`)
  return got.secret
}
