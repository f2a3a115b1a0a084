// The configuration of Google credentials; this file loads no package.

import type { HttpServerConfig } from '../contracts/server-config.js'
import { isLoopback } from '../../text/loopback.js'

export interface GoogleAuth {
  /** The service that the tokens are for; no other service accepts them. */
  readonly audience: string
  /** The service account to ask as; undefined uses the account of the credentials. */
  readonly impersonate: string | undefined
}

/** How the proxy authenticates at a server: undefined where its headers are all there is. */
export function googleAuthOf({ auth, url }: HttpServerConfig): GoogleAuth | undefined {
  if (auth?.type !== 'google') return undefined
  return { audience: auth.audience ?? new URL(url).origin, impersonate: auth.impersonateServiceAccount }
}

/** Why tokens cannot be sent there; undefined when they can. */
export function whyNoTokens({ protocol, hostname }: URL): string | undefined {
  return protocol === 'https:' || isLoopback(hostname) ? undefined : 'tokens are only sent over https'
}
