// One ID token for all calls to a server: fetched once however many wait for it, renewed before it expires, and again when
// the server refuses it. This file loads no package.

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

/** Monotonic time for waits, and the wall clock, by which tokens count. */
type TokenClocks = Pick<Runtime, 'now' | 'wallNow' | 'setTimer'>

/** A token is renewed by the first call in the last minute of its life, or in the last tenth where that is shorter. */
const MARGIN_MS = 60_000

/** A fetch that takes longer has failed: the calls that wait get an error, and the next one fetches anew. */
const FETCH_MS = 20_000

/** Of a token that does not say, or has ended by our clock when it comes, so that our clock must be wrong. */
const LIFE_MS = 5 * 60_000

export class IdTokenCredentials implements HttpCredentials {
  readonly #name: string
  readonly #fetch: () => Promise<string>
  readonly #clocks: TokenClocks
  readonly #log: (message: string) => void
  #held: { readonly credential: Credential; readonly endsAt: number } | undefined
  #fetching: Promise<Credential> | undefined

  /** `name` is the header's; `fetch` rejects with TransportError; `log` gets fetches, and never a token. */
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

  /** Another token is always worth one try: clocks differ, and keys are rotated. A 403 is about who asks, and not about the token. */
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

/** When a JWT expires, in milliseconds since 1970; 0 where it does not say. */
function expiryOf(token: string): number {
  const { exp } = objectIn(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString('utf8')) ?? {}
  return typeof exp === 'number' ? exp * 1000 : 0
}

// The meaning of a refusal of our credentials, in words that name the setting to change.

/** The words of a server that refuses for want of credentials, and not for another reason. */
const namesCredentials =
  /authenticat|authori[sz]|credential|api[ _-]?key|access[ _-]?key|token|password|log ?in\b|sign ?in\b/i

/** The variables of an address are seldom credentials. */
const namesAddress = /(?:^|_)(?:HOST|HOSTNAME|PORT|URL|ORIGIN|REGION|ZONE|DIR|PATH)$/i

/**
 * The meaning of a refusal for this server, with the variable that holds the credentials; `words` are the server's.
 * Undefined for a 403 without credentials, whose words name none: it is about something else.
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

function remedyFor({ name, login, headers, url, secrets }: HttpServerConfig): string {
  const names = Object.keys(headers).map((each) => each.toLowerCase())
  if (secrets.length > 0 || names.includes('authorization') || new URL(url).username !== '')
    return 'check the headers that its configuration sends'
  const field = 'add Authorization to its headers, with a token that this server takes'
  // The token of a login may be the one that is refused.
  return login === undefined ? field : `${field}, or run: mcps-proxy login ${inShell(name)}`
}
