// One ID token for all calls to a server: fetched once however many wait for it, renewed before it expires, and again when
// the server refuses it. This file loads no package.

import { TransportError } from '../../jsonrpc/jsonrpc-errors.js'
import { parse } from '../../jsonrpc/text.js'
import type {
  Credential,
  CredentialRefusal,
  CredentialVerdict,
  HttpCredentials,
  UnprovenRequest,
} from '../../transports/http-client/options.js'
import type { Runtime } from '../../runtime/runtime.js'
import { within } from '../../runtime/deadline.js'
import { errorText } from '../../text/error-text.js'
import { isLoopback } from '../../text/loopback.js'
import type { HttpServerConfig } from '../contracts/server-config.js'

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

/** Monotonic time for waits, and the wall clock, by which tokens count. */
type TokenClocks = Pick<Runtime, 'now' | 'wallNow' | 'setTimer'>

/** A token is renewed this long before its end, or in the last fifth of its life where that is shorter. */
const RENEW_MS = 5 * 60_000

/** A token is not used any more this long before its end, or in its last tenth. */
const MARGIN_MS = 30_000

/** A renewal that failed is not tried again for so long, while the token is good. */
const RENEW_AGAIN_MS = 5000

/** A fetch that takes longer has failed: the calls that wait get an error, and the next one fetches anew. */
const FETCH_MS = 20_000

/** Of a token that does not say, or has ended by our clock when it comes, so that our clock must be wrong. */
const LIFE_MS = 5 * 60_000

interface Held {
  readonly credential: Credential
  readonly renewAt: number
  readonly endsAt: number
}

/** Holds the current token. */
export class IdTokenCredentials implements HttpCredentials {
  readonly #name: string
  readonly #fetch: () => Promise<string>
  readonly #clocks: TokenClocks
  readonly #tell: (level: 'debug' | 'warn', message: string) => void
  #held: Held | undefined
  #fetching: Promise<Credential> | undefined
  #failedAt = Number.NEGATIVE_INFINITY

  /** `name` is the header's; `fetch` rejects with TransportError; `tell` logs renewals, and never a token. */
  constructor(
    name: string,
    fetch: () => Promise<string>,
    clocks: TokenClocks,
    tell: (level: 'debug' | 'warn', message: string) => void = () => {},
  ) {
    this.#name = name
    this.#fetch = fetch
    this.#clocks = clocks
    this.#tell = tell
  }

  credential({ url }: UnprovenRequest): Credential | Promise<Credential> {
    const why = whyNoTokens(url)
    if (why !== undefined)
      return Promise.reject(new TransportError('TRANSPORT_AUTH', `Authentication failed: ${why}`))
    const held = this.#held
    const now = this.#clocks.now()
    if (held === undefined || now >= held.endsAt) return this.#renew()
    // A renewal that fails now may succeed later; the token is still good.
    if (now >= held.renewAt && now >= this.#failedAt + RENEW_AGAIN_MS)
      this.#renew().catch((error: unknown) => this.#notRenewed(error, held))
    return held.credential
  }

  /** Another token is always worth one try: clocks differ, and keys are rotated. A 403 is about who asks, and not about the token. */
  async refused(sent: Credential | undefined, { status }: CredentialRefusal): Promise<CredentialVerdict> {
    if (status !== 401) return undefined
    if (this.#held?.credential.secret === sent?.secret) this.#held = undefined
    return 'again'
  }

  #renew(): Promise<Credential> {
    this.#fetching ??= this.#inTime().finally(() => {
      this.#fetching = undefined
    })
    return this.#fetching
  }

  async #inTime(): Promise<Credential> {
    const startedAt = this.#clocks.now()
    const token = await within(this.#fetch(), FETCH_MS, this.#clocks)
    if (token === undefined)
      throw new TransportError('TRANSPORT_TOKEN', `no ID token within ${FETCH_MS / 1000} s`)
    return this.#hold(token, startedAt)
  }

  #hold(token: string, startedAt: number): Credential {
    const isFirst = this.#held === undefined
    const credential = { fields: [this.#name, `Bearer ${token}`], secret: token }
    const now = this.#clocks.now()
    const expiry = expiryOf(token)
    const left = expiry === undefined ? 0 : expiry - this.#clocks.wallNow()
    const life = left > 0 ? left : LIFE_MS
    this.#held = {
      credential,
      renewAt: now + life - Math.min(RENEW_MS, life / 5),
      endsAt: now + life - Math.min(MARGIN_MS, life / 10),
    }
    const end = expiry === undefined ? 'it does not say when it ends' : `it ends at ${instant(expiry)}`
    const what = isFirst ? 'fetched' : 'renewed'
    this.#tell('debug', `the ID token was ${what} in ${Math.round(now - startedAt)} ms; ${end}`)
    return credential
  }

  #notRenewed(error: unknown, { endsAt }: Held): void {
    this.#failedAt = this.#clocks.now()
    const why = errorText(error)
    const seconds = Math.round((endsAt - this.#clocks.now()) / 1000)
    this.#tell('warn', `the ID token cannot be renewed and is used for another ${seconds} s: ${why}`)
  }
}

/** The end comes from a token, which may say anything. */
function instant(ms: number): string {
  const date = new Date(ms)
  return Number.isNaN(date.getTime()) ? 'no real time' : date.toISOString()
}

/** When a JWT expires, in milliseconds since 1970. */
function expiryOf(token: string): number | undefined {
  try {
    const claims = parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString('utf8'))
    const isClaims = typeof claims === 'object' && claims !== null && 'exp' in claims
    return isClaims && typeof claims.exp === 'number' ? claims.exp * 1000 : undefined
  } catch {
    return undefined
  }
}
