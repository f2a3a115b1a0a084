// One ID token for all calls to a server. It is fetched once for all waiting calls, and again before it
// expires and when the server refuses it. This file loads no package.

import { TransportError } from '../../jsonrpc/jsonrpc-errors.js'
import type {
  Credential,
  CredentialRefusal,
  CredentialVerdict,
  CredentialsRefusal,
  HttpCredentials,
} from '../../transports/http-client/options.js'
import type { Runtime } from '../../runtime/runtime.js'
import { within } from '../../runtime/deadline.js'
import { inShell } from '../../text/escape.js'
import { objectIn } from '../../text/json-object.js'
import { type HttpServerConfig, loginNameOf } from '../contracts/server-config.js'

export interface GoogleAuth {
  /** The service that the tokens are for; no other service accepts them. */
  readonly audience: string
  /** The service account to impersonate; undefined for the account of the credentials. */
  readonly impersonate: string | undefined
}

/** The Google credentials of a server; undefined if it has only its headers. */
export function googleAuthOf({ auth, url }: HttpServerConfig): GoogleAuth | undefined {
  if (auth?.type !== 'google') return undefined
  return { audience: auth.audience ?? new URL(url).origin, impersonate: auth.impersonateServiceAccount }
}

/** The monotonic clock for waits, and the wall clock for the expiry of tokens. */
type TokenClocks = Pick<Runtime, 'now' | 'wallNow' | 'setTimer'>

/** A call renews a token in the last minute of its life, or in the last tenth of a shorter life. */
const MARGIN_MS = 60_000

/** A fetch that takes longer fails: the waiting calls get an error, and the next call fetches again. */
const FETCH_MS = 20_000

/** The assumed life of a token without an expiry, or with a past one, which shows that our clock is wrong. */
const LIFE_MS = 5 * 60_000

export class IdTokenCredentials implements HttpCredentials {
  readonly #name: string
  readonly #fetch: () => Promise<string>
  readonly #clocks: TokenClocks
  readonly #log: (message: string) => void
  #held: { readonly credential: Credential; readonly endsAt: number } | undefined
  #fetching: Promise<Credential> | undefined

  /** `name` is the name of the header; `fetch` rejects with TransportError; `log` never gets a token. */
  constructor(
    name: string,
    fetch: () => Promise<string>,
    clocks: TokenClocks,
    log: (message: string) => void = () => {},
  ) {
    this.#name = name
    this.#fetch = fetch
    this.#clocks = clocks
    this.#log = log
  }

  credential(): Credential | Promise<Credential> {
    if (this.#held !== undefined && this.#clocks.now() < this.#held.endsAt) return this.#held.credential
    this.#fetching ??= this.#inTime().finally(() => {
      this.#fetching = undefined
    })
    return this.#fetching
  }

  /** After a 401, a new token is worth a try: clocks differ, and keys rotate. A 403 is about the account. */
  async refused(sent: Credential | undefined, { status }: CredentialRefusal): Promise<CredentialVerdict> {
    if (status !== 401) return undefined
    if (this.#held?.credential.secret === sent?.secret) this.#held = undefined
    return 'again'
  }

  async #inTime(): Promise<Credential> {
    const startedAt = this.#clocks.now()
    const token = await within(this.#fetch(), FETCH_MS, this.#clocks)
    if (token === undefined)
      throw new TransportError('TRANSPORT_TOKEN', `no ID token within ${FETCH_MS / 1000} s`)
    const credential = { fields: [this.#name, `Bearer ${token}`], secret: token }
    const now = this.#clocks.now()
    const left = expiryOf(token) - this.#clocks.wallNow()
    const lifeMs = left > 0 ? left : LIFE_MS
    this.#held = { credential, endsAt: now + lifeMs - Math.min(MARGIN_MS, lifeMs / 10) }
    const seconds = Math.round(lifeMs / 1000)
    this.#log(`an ID token for ${seconds} s was fetched in ${Math.round(now - startedAt)} ms`)
    return credential
  }
}

/** When a JWT expires, in milliseconds since 1970; 0 without an expiry. */
function expiryOf(token: string): number {
  const { exp } = objectIn(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString('utf8')) ?? {}
  return typeof exp === 'number' ? exp * 1000 : 0
}

// The meaning of a refusal of our credentials, with the setting to change.

/** Words in the text of a server that refuses because of credentials. */
const namesCredentials =
  /authenticat|authori[sz]|credential|api[ _-]?key|access[ _-]?key|token|password|log ?in\b|sign ?in\b/i

/** Variables in addresses are seldom credentials. */
const namesAddress = /(?:^|_)(?:HOST|HOSTNAME|PORT|URL|ORIGIN|REGION|ZONE|DIR|PATH)$/i

/**
 * The meaning of a refusal, with the variable that holds the credentials; `words` is the server's text.
 * Undefined for a 403 to a request without credentials whose text does not mention credentials.
 */
export function credentialsRefusal(
  config: HttpServerConfig,
  status?: number,
  words = '',
): CredentialsRefusal | undefined {
  const { name, variables } = config
  const auth = googleAuthOf(config)
  const how = status === undefined ? '' : ` (HTTP ${status})`
  if (auth !== undefined) {
    const who = auth.impersonate ?? 'the account of the credentials'
    const remedy = `check that ${auth.audience} is the audience of the service, and that ${who} has the role roles/run.invoker on it`
    return { message: `Authentication failed: '${name}' refused the ID token${how}`, remedy }
  }
  const variable =
    variables.find((each) => /KEY|TOKEN|SECRET|PASS|AUTH/i.test(each)) ??
    variables.find((each) => status === undefined || !namesAddress.test(each))
  if (variable !== undefined)
    return { message: `Authentication failed: Invalid or missing ${variable}`, remedy: undefined }
  if (status === 403 && !namesCredentials.test(words)) return undefined
  const said = words === '' ? '' : `: ${words}`
  const message = `Authentication failed: '${name}' refused the request${how}${said}`
  return { message, remedy: remedyFor(config) }
}

function remedyFor(config: HttpServerConfig): string {
  const { login, headers, url, secrets } = config
  const names = Object.keys(headers).map((each) => each.toLowerCase())
  if (secrets.length > 0 || names.includes('authorization') || new URL(url).username !== '')
    return 'check the headers that its configuration sends'
  const field = 'add Authorization to its headers, with a token that this server takes'
  // The refused token may be that of a login.
  return login === undefined ? field : `${field}, or run: mcps-proxy login ${inShell(loginNameOf(config))}`
}
