// The HTTP front with what it gets from its caller: randomness, secrets and texts.
//
// Loaded only when something is served over HTTP.

import { randomBytes } from 'node:crypto'
import { needsToken } from '../config/front.js'
import { ConfigError } from '../config/problems.js'
import type { CorsConfig, FrontAuthConfig } from '../config/configuration.js'
import type { FrontAuth } from '../front-auth/front-auth.js'
import { write } from '../jsonrpc/text.js'
import type { HttpServerLimits } from '../transports/http-server/front-limits.js'
import type { HttpEnvironment, HttpRoutes, SessionWatch } from '../transports/http-server/endpoint.js'
import type { GuardRemedies, HttpRules, Sender } from '../transports/http-server/access.js'
import type { Refusal } from '../transports/http-server/refusal.js'
import { FrontAccess, FrontTokens, type TokenRules } from './front-access.js'
import type { MetricsPage } from './routes.js'
import { isLoopback } from '../text/loopback.js'
import { type HttpAddress, HttpServer } from '../transports/http-server/http-server.js'
import { descriptorRoom } from '../upstream/process/descriptors.js'
import type { LogSink, Runtime } from '../runtime/runtime.js'

/** The access rules of the front; they may change while it runs. */
export interface FrontRules extends TokenRules {
  readonly allowedHosts: readonly string[]
  readonly clientAddressField?: string | undefined
  readonly cors: CorsConfig
  /** Access tokens of authorization servers, for this address; absent accepts none. */
  readonly auth?: FrontAuthConfig | undefined
  readonly publicUrl?: string | undefined
}

export interface FrontOptions extends FrontRules {
  readonly host: string
  readonly port: number
  readonly allowUnauthenticated: boolean
  readonly limits: HttpServerLimits
  readonly log: LogSink
  readonly runtime: Runtime
  /** Without it the front serves no metrics. */
  readonly metrics?: MetricsPage | undefined
  /** The name of the configuration in messages, and the remedy that they propose. */
  readonly source: string
  readonly remedies: FrontRemedies
}

/** Remedies for the operator, in the words of how the front was started. */
export interface FrontRemedies extends GuardRemedies {
  readonly token: string
  readonly port: string
  readonly host: string
}

/** A front and its rules. */
export class Front {
  readonly server: HttpServer
  readonly #options: FrontOptions
  #accessRules = ''
  #tokens: FrontTokens | undefined
  #access: FrontAccess | undefined
  #auth: FrontAuth | undefined
  #authRules = ''
  /** Loaded where a configuration needs it. */
  #FrontAuth: typeof FrontAuth | undefined

  /**
   * It does not listen yet.
   *
   * @throws ConfigError when it would be open to the network without a token
   */
  static async make(options: FrontOptions, routes: HttpRoutes, watch: SessionWatch): Promise<Front> {
    const auth = await authFor(options)
    return new Front(options, routes, watch, auth)
  }

  private constructor(
    options: FrontOptions,
    routes: HttpRoutes,
    watch: SessionWatch,
    auth: typeof FrontAuth | undefined,
  ) {
    this.#options = options
    this.#FrontAuth = auth
    this.#refuseOpen()
    const { host, port, remedies } = options
    const own = { host, port, remedies, environment: environmentOf(options, watch) }
    this.server = new HttpServer({ ...this.#rulesOf(options), ...own }, routes)
  }

  /** The metadata of a resource at this path; undefined where there is none. */
  metadata(path: string): string | undefined {
    return this.#access?.metadata(path)
  }

  /** Why this sender may not use this path, where another scope would let it. */
  needsScope(path: string, sender: Sender): Refusal | undefined {
    return this.#access?.needsScope(path, sender)
  }

  /** @throws the system's error with its `code`, and a message for the person who started the front */
  async listen(): Promise<HttpAddress> {
    try {
      return await this.server.listen()
    } catch (error) {
      throw listenFailure(error, this.#options)
    }
  }

  /** Loads what these rules need; to be awaited before a change to them. */
  async prepare(rules: FrontRules): Promise<void> {
    this.#FrontAuth ??= await authFor(rules)
  }

  /**
   * The rules must have been prepared. A front that asked for a token goes on asking, so that the end of the last token
   * opens nothing.
   */
  change(rules: FrontRules): void {
    const before = this.#accessRules
    this.server.change(this.#rulesOf(rules))
    if (before === this.#accessRules || this.#tokens === undefined || needsToken(rules)) return
    this.#options.log({
      level: 'warn',
      message:
        'the configuration has no token any more, so every client is refused; make one with mcps-proxy token create, or restart to serve without one',
    })
  }

  /** @throws ConfigError when the front would be open to the network without a token */
  #refuseOpen(): void {
    const { host, log } = this.#options
    refuseOpenFront(this.#options)
    if (needsToken(this.#options) || isLoopback(host)) return
    log({ level: 'warn', message: `no token: everybody who can reach ${host} can call every tool` })
  }

  /** The same tokens are compared by the same function, by which the server sees that they have not changed. */
  #rulesOf(rules: FrontRules): HttpRules {
    const { token, tokens, auth, publicUrl, allowedHosts, clientAddressField, cors } = rules
    const written = write({ token, tokens, auth, publicUrl })
    if (written !== this.#accessRules) {
      const { runtime } = this.#options
      this.#accessRules = written
      this.#auth = this.#authOf(rules)
      if (needsToken(rules) || this.#tokens !== undefined)
        this.#tokens = new FrontTokens({ token, tokens }, () => runtime.wallNow(), this.#tokens)
      this.#access = this.#tokens && new FrontAccess(this.#tokens, this.#auth)
    }
    const { senderOf, challenge, credentialOf } = this.#access ?? {}
    const own = publicUrl === undefined ? [] : [new URL(publicUrl).host]
    const hosts = [...own, ...allowedHosts]
    return { allowedHosts: hosts, clientAddressField, cors, senderOf, challenge, credentialOf }
  }

  /** Tokens that were found valid stay so while nothing about them changes. */
  #authOf({ auth, publicUrl }: FrontRules): FrontAuth | undefined {
    const Auth = this.#FrontAuth
    const written = write({ auth, publicUrl })
    if (written === this.#authRules) return this.#auth
    this.#authRules = written
    if (auth === undefined || publicUrl === undefined || Auth === undefined) return undefined
    return new Auth({ auth, publicUrl, runtime: this.#options.runtime }, this.#auth)
  }
}

/** @throws ConfigError when a front with these options would be open to the network without a token */
export function refuseOpenFront(
  options: Pick<
    FrontOptions,
    'token' | 'tokens' | 'auth' | 'host' | 'allowUnauthenticated' | 'source' | 'remedies'
  >,
): void {
  const { host, allowUnauthenticated, source, remedies } = options
  if (needsToken(options) || isLoopback(host) || allowUnauthenticated) return
  const problem = `the HTTP front has no token, and ${host} can be reached from other machines`
  throw new ConfigError('CONFIG_INVALID', source, [{ path: '', problem, hint: remedies.token }])
}

async function authFor({ auth }: FrontRules): Promise<typeof FrontAuth | undefined> {
  return auth === undefined ? undefined : (await import('../front-auth/front-auth.js')).FrontAuth
}

function environmentOf({ limits, log, runtime }: FrontOptions, watch: SessionWatch): HttpEnvironment {
  const secret = runtime.secret ?? randomBytes
  return {
    limits,
    newId: () => secret(ID_BYTES).toString('base64url'),
    now: () => runtime.now(),
    wallNow: () => runtime.wallNow(),
    setTimer: (delayMs, fire) => runtime.setTimer(delayMs, fire),
    room: descriptorRoom(),
    ...(runtime.listen && { listen: runtime.listen }),
    watch,
    warn: (message) => log({ level: 'warn', message }),
    failed: (error) =>
      log({ level: 'error', message: 'an HTTP request failed inside the proxy', details: { error } }),
  }
}

/** The system's error with its `code`, and why the front cannot listen, with a remedy. */
function listenFailure(error: unknown, { host, port, remedies }: FrontOptions): unknown {
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  const found = listenProblems.get(code)
  if (found === undefined) return error
  const [problem, remedy] = found
  const message = `cannot listen on ${host}, port ${port}: ${problem} (${code}); ${remedies[remedy]}`
  return Object.assign(new Error(message, { cause: error }), { code })
}

/** The remedy of each error. */
const listenProblems: ReadonlyMap<string, readonly [string, 'port' | 'host']> = new Map([
  ['EADDRINUSE', ['the port is taken', 'port']],
  ['EACCES', ['this user may not listen there', 'port']],
  ['EADDRNOTAVAIL', ['this machine has no such address', 'host']],
  ['ENOTFOUND', ['the name is not known', 'host']],
  ['EAI_AGAIN', ['the name could not be looked up', 'host']],
])

/** Of 192 random bits; written in visible ASCII. */
const ID_BYTES = 24
