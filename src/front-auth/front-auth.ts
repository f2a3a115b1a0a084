// The front as an OAuth resource server: the owner of an access token, and the paths that the token opens.
//
// Loaded only when `server.auth` is configured.

import type { JsonObject } from '../text/json-object.js'
import { write } from '../jsonrpc/text.js'
import { within } from '../runtime/deadline.js'
import { putNewest } from '../runtime/limited-table.js'
import type { LoginRuntime } from '../login/login-http.js'
import type { FrontAuthConfig, FrontAuthIssuer } from '../config/configuration.js'
import type { Sender, TokenRefusal, SenderVerdict } from '../transports/http-server/access.js'
import { networkOf } from '../transports/http-server/front-listener.js'
import { TokenProblem, principalOf, textsOf } from './claims.js'
import { AccessRules, type Grants, Resources } from './resources.js'
import { Issuer, SKEW_S, readJwt } from './issuer.js'

/** The longest accepted token; most are below 2 KiB. */
const TOKEN_LENGTH_MAX = 8192

/** The limit of remembered valid tokens. One more drops the oldest, which is then verified again. */
const KNOWN_MAX = 10_000

/** The limit of principals whose rights are remembered for a reload. */
const PRINCIPALS_MAX = 10_000

/** The limit of unknown tokens in examination. All requests with one token share its examination. */
const EXAMINED_MAX = 256

/** How long a request waits for the examination of its token. */
const EXAMINATION_MS = 10_000

/** How long an answer of an introspection endpoint is valid. */
const INTROSPECTED_MS = 60_000

export interface FrontAuthOptions {
  readonly auth: FrontAuthConfig
  readonly publicUrl: string
  readonly runtime: LoginRuntime
}

interface KnownToken {
  readonly sender: Sender & { readonly untilMs: number }
  /** When the issuer is asked again, in monotonic time: a clock that is set back keeps no revoked token alive. */
  readonly askedAgainMs: number
  /** The resources for which the token is valid; undefined is the front as a whole. */
  readonly resources: ReadonlySet<string> | undefined
}

interface RefusedToken {
  readonly problem: TokenProblem
  /** When the issuers are asked again, in monotonic time. */
  readonly untilMs: number
}

export class FrontAuth {
  readonly #options: FrontAuthOptions
  readonly #rules: AccessRules
  /** The endpoints of the front, as clients of authorization servers see them. */
  readonly resources: Resources
  readonly #issuers: ReadonlyMap<string, Issuer>
  /** The keys of these three maps are hashes of tokens. */
  readonly #known: Map<string, KnownToken> = new Map()
  readonly #refused = new Map<string, RefusedToken>()
  readonly #examined = new Map<string, Promise<KnownToken | TokenRefusal>>()
  /** The rights of the latest token of each principal. */
  readonly #grants: Map<string, Grants> = new Map()
  readonly #unknownTokens: UnknownTokenLimit

  /** Replaces `before`, and takes its unchanged issuers, its rights and, if no option differs, its known tokens. */
  constructor(options: FrontAuthOptions, before?: FrontAuth) {
    const { auth, publicUrl } = options
    this.#options = options
    this.#unknownTokens = new UnknownTokenLimit(() => this.#now)
    this.#rules = new AccessRules(auth)
    this.#issuers = new Map(
      auth.issuers.map((config) => [
        config.issuer,
        before?.issuerAs(config) ?? new Issuer(config, options.runtime),
      ]),
    )
    this.resources = new Resources(publicUrl, [...this.#issuers.keys()], this.#rules)
    if (before === undefined) return
    this.#grants = before.#grants
    const { auth: authBefore, publicUrl: urlBefore } = before.#options
    if (write([auth, publicUrl]) === write([authBefore, urlBefore])) this.#known = before.#known
  }

  /** Returns the sender of a token; `hash` identifies the token, and `from` is the address of the client. */
  senderOf(token: string, hash: string, path: string, from: string): SenderVerdict | Promise<SenderVerdict> {
    const known = this.#known.get(hash)
    if (known !== undefined && this.#wallNow < known.sender.untilMs && this.#now < known.askedAgainMs)
      return this.#forPath(known, path)
    if (token.length > TOKEN_LENGTH_MAX)
      return refusalOf(new TokenProblem('invalid', `it has more than ${TOKEN_LENGTH_MAX} bytes`))
    const refused = this.#refused.get(hash)
    if (refused !== undefined && this.#now < refused.untilMs) return refusalOf(refused.problem)
    return this.#examine(token, hash, from).then((found) =>
      'sender' in found ? this.#forPath(found, path) : found,
    )
  }

  /** The rights of a principal as text; undefined if its issuer is not configured any more. */
  credentialOf(principal: string): string | undefined {
    const issuer = this.#issuers.get(principal.slice(0, principal.indexOf('#')))
    if (issuer === undefined) return undefined
    const grants = this.#grants.get(principal)
    const profiles = grants === undefined ? ['?'] : (this.#rules.profilesOf(grants) ?? ['*'])
    return `${issuer.config.audience.join(' ')}\n${profiles.join(' ')}`
  }

  /** The scopes with which the sender's token would open this path too; undefined if no scope would. */
  scopesToOpen(path: string, { scopes = [] }: Sender): readonly string[] | undefined {
    return this.#rules.scopesToGrant(this.resources.at(path).profile, scopes)
  }

  /** An issuer with its keys, for the object that replaces this one; undefined if its configuration differs. */
  issuerAs(config: FrontAuthIssuer): Issuer | undefined {
    const known = this.#issuers.get(config.issuer)
    return known !== undefined && write(known.config) === write(config) ? known : undefined
  }

  get #now(): number {
    return this.#options.runtime.now()
  }

  get #wallNow(): number {
    return this.#options.runtime.wallNow()
  }

  #forPath({ sender, resources }: KnownToken, path: string): SenderVerdict {
    return resources === undefined || resources.has(this.resources.at(path).id) ? sender : elsewhere
  }

  #examine(token: string, hash: string, from: string): Promise<KnownToken | TokenRefusal> {
    const running = this.#examined.get(hash)
    if (running !== undefined) return running
    // Anyone can send any number of tokens. The limit does not apply to a token that was found valid.
    if (this.#examined.size >= EXAMINED_MAX && !this.#known.has(hash)) return Promise.resolve(crowded)
    const examined = within(this.#find(token, hash, from), EXAMINATION_MS, this.#options.runtime)
      .then((found) => found ?? late)
      .catch((error: unknown) => {
        if (error instanceof TokenProblem) return refusalOf(error)
        throw error
      })
      .finally(() => this.#examined.delete(hash))
    this.#examined.set(hash, examined)
    return examined
  }

  /** @throws TokenProblem */
  async #find(token: string, hash: string, from: string): Promise<KnownToken> {
    const jwt = readJwt(token)
    if (jwt === undefined) return this.#askFor(token, hash, from, [...this.#issuers.values()])
    const issuer = this.#issuers.get(String(jwt.claims['iss']))
    if (issuer === undefined) throw new TokenProblem('invalid', 'its issuer is not one of server.auth')
    if (issuer.config.introspection !== undefined) return this.#askFor(token, hash, from, [issuer])
    const claims = await issuer.verify(token, jwt)
    return this.#accept(hash, issuer, claims, Infinity)
  }

  /**
   * Remembers refusals, also that of an active token that is of no use here. The limit of unknown tokens does
   * not apply to a token that was accepted before. @throws TokenProblem
   */
  async #askFor(token: string, hash: string, from: string, issuers: readonly Issuer[]): Promise<KnownToken> {
    const network = this.#known.has(hash) ? undefined : networkOf(from)
    if (network !== undefined && !this.#unknownTokens.admit(network))
      throw new TokenProblem(
        'unavailable',
        'too many tokens from its network were refused in the last minute',
      )
    try {
      const known = await this.#ask(token, hash, issuers)
      if (network !== undefined) this.#unknownTokens.accepted(network)
      return known
    } catch (problem) {
      if (problem instanceof TokenProblem && problem.kind !== 'unavailable')
        putNewest(this.#refused, hash, { problem, untilMs: this.#now + INTROSPECTED_MS }, KNOWN_MAX)
      throw problem
    }
  }

  async #ask(token: string, hash: string, issuers: readonly Issuer[]): Promise<KnownToken> {
    let problem = new TokenProblem('invalid', 'no issuer has an active token like it')
    for (const issuer of issuers) {
      const claims = await issuer.introspect(token).catch((error: unknown) => {
        if (!(error instanceof TokenProblem)) throw error
        problem = error
        return undefined
      })
      if (claims !== undefined) return this.#accept(hash, issuer, claims, INTROSPECTED_MS)
    }
    throw problem
  }

  /** Remembers a token that its issuer accepts, until it expires or for `forMs`. @throws TokenProblem */
  #accept(hash: string, { config }: Issuer, claims: JsonObject, forMs: number): KnownToken {
    const { sub, exp, aud } = claims
    if (typeof sub !== 'string' || sub === '') throw new TokenProblem('invalid', 'it has no subject')
    const expiresMs = typeof exp === 'number' ? (exp + SKEW_S) * 1000 : Infinity
    if (this.#wallNow >= expiresMs) throw new TokenProblem('expired', 'it has expired')
    const principal = principalOf(config.issuer, sub)
    const grants = this.#rules.grantsIn(claims)
    const sender = {
      principal,
      profiles: this.#rules.profilesOf(grants),
      scopes: grants.scopes,
      untilMs: Math.min(expiresMs, this.#wallNow + forMs),
    }
    const resources = this.#resourcesIn(textsOf(aud), config)
    const known = { sender, resources, askedAgainMs: this.#now + forMs }
    putNewest(this.#known, hash, known, KNOWN_MAX)
    putNewest(this.#grants, principal, grants, PRINCIPALS_MAX)
    return known
  }

  /** @throws TokenProblem */
  #resourcesIn(audiences: readonly string[], { audience }: FrontAuthIssuer): ReadonlySet<string> | undefined {
    if (audiences.some((each) => audience.includes(each)) || this.resources.nameFront(audiences))
      return undefined
    const own = audiences.filter((each) => each.startsWith(`${this.#options.publicUrl}/`))
    if (audiences.length === 0) throw new TokenProblem('audience', 'it has no audience')
    if (own.length === 0)
      throw new TokenProblem(
        'audience',
        `its audience (${audiences
          .map((each) => `'${each}'`)
          .join(', ')
          .slice(0, SHOWN_LENGTH_MAX)}) is neither below server.publicUrl nor in server.auth`,
      )
    return new Set(own)
  }
}

const SHOWN_LENGTH_MAX = 200

const descriptions = {
  expired: 'the token has expired',
  audience: 'the token is for another audience',
  invalid: 'the token is not valid',
} as const

function refusalOf({ kind, message }: TokenProblem): TokenRefusal {
  if (kind === 'unavailable') return { status: 503, why: message }
  return { status: 401, why: `its access token is refused: ${message}`, description: descriptions[kind] }
}

const elsewhere = refusalOf(new TokenProblem('audience', 'it is for another address of the front'))
const crowded = refusalOf(
  new TokenProblem('unavailable', `${EXAMINED_MAX} tokens are being examined already`),
)
const late = refusalOf(
  new TokenProblem('unavailable', `its token could not be examined within ${EXAMINATION_MS / 1000} s`),
)

// Limits how often unknown tokens make the front ask an authorization server. Each token is one request.

/** Tokens of one network that no issuer accepts, within a minute. Clients renew theirs a few times an hour. */
export const REFUSED_MAX = 300

const WINDOW_MS = 60_000

/** Beyond this number, the front forgets the network that it counted first. */
const NETWORKS_MAX = 1000

interface Count {
  readonly sinceMs: number
  refused: number
}

export class UnknownTokenLimit {
  readonly #now: () => number
  /** Keyed by network, the oldest count first. */
  readonly #counts = new Map<string, Count>()

  /** `now` is monotonic. */
  constructor(now: () => number) {
    this.#now = now
  }

  /** Counts one more token, until `accepted`; false if the network has sent too many. */
  admit(network: string): boolean {
    const known = this.#counts.get(network)
    const nowMs = this.#now()
    if (known !== undefined && nowMs - known.sinceMs < WINDOW_MS) return ++known.refused <= REFUSED_MAX
    putNewest(this.#counts, network, { sinceMs: nowMs, refused: 1 }, NETWORKS_MAX)
    return true
  }

  /** Called when an issuer has accepted a counted token. */
  accepted(network: string): void {
    const count = this.#counts.get(network)
    if (count !== undefined) count.refused--
  }
}
