// The HTTP front with everything it must not make by itself: randomness, secrets, words.
//
// Loaded only when something is served over HTTP.

import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'
import { ConfigError } from '../config/config.js'
import type { CorsConfig } from '../config/config.js'
import type { HttpServerLimits } from '../transports/http-server/limits.js'
import {
  internalError,
  invalidRequest,
  malformed,
  sessionNotFound,
  transportRefused,
} from '../mcp/error-codes.js'
import type { HttpRoutes, HttpSurroundings, SessionWatch } from '../transports/http-server/endpoint.js'
import type { GuardRemedies, HttpRules, PrincipalOf } from '../transports/http-server/guard.js'
import { isLoopback } from '../transports/http-server/host.js'
import type { RefusalKind, Wording } from '../transports/http-server/refusal.js'
import { type HttpAddress, type HttpFrontParts, HttpServer } from '../transports/http-server/http-server.js'
import { descriptorRoom } from '../upstream/process/descriptors.js'
import type { LogSink, Runtime } from '../runtime/runtime.js'

/** The access rules of the front; they may change while it runs. */
export interface FrontRules {
  readonly allowedHosts: readonly string[]
  readonly cors: CorsConfig
  readonly token: string | undefined
}

export interface FrontOptions extends FrontRules {
  readonly host: string
  readonly port: number
  readonly allowUnauthenticated: boolean
  readonly limits: HttpServerLimits
  readonly log: LogSink
  readonly runtime: Runtime
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
  #token: string | undefined
  #principalOf: HttpRules['principalOf']

  /**
   * It does not listen yet.
   *
   * @throws ConfigError when it would be open to the network without a token
   */
  constructor(
    options: FrontOptions,
    routes: HttpRoutes,
    watch: SessionWatch,
    judge: HttpFrontParts['judge'],
  ) {
    this.#options = options
    this.check(options)
    const { host, port, limits, remedies } = options
    const own = { host, port, limits, wording, remedies, judge, around: surroundings(options, watch) }
    this.server = new HttpServer({ ...this.#rulesOf(options), ...own }, routes)
  }

  /** @throws the system's error with its `code`, and a message for the person who started the front */
  async listen(): Promise<HttpAddress> {
    try {
      return await this.server.listen()
    } catch (error) {
      throw listenFailure(error, this.#options)
    }
  }

  /** @throws ConfigError when the front would be open to the network without a token */
  check({ token }: FrontRules): void {
    const { host, log } = this.#options
    refuseOpenFront({ ...this.#options, token })
    if (token !== undefined || isLoopback(host)) return
    log({ level: 'warn', message: `no token: everybody who can reach ${host} can call every tool` })
  }

  /** The rules must have been checked. */
  change(rules: FrontRules): void {
    this.server.change(this.#rulesOf(rules))
  }

  /** The same token is compared by the same function, by which the server sees that it has not changed. */
  #rulesOf({ token, allowedHosts, cors }: FrontRules): HttpRules {
    if (token !== this.#token) this.#principalOf = token === undefined ? undefined : bearerOf(token)
    this.#token = token
    return { allowedHosts, cors, principalOf: this.#principalOf }
  }
}

/** @throws ConfigError when a front with these options would be open to the network without a token */
export function refuseOpenFront(
  options: Pick<FrontOptions, 'token' | 'host' | 'allowUnauthenticated' | 'source' | 'remedies'>,
): void {
  const { token, host, allowUnauthenticated, source, remedies } = options
  if (token !== undefined || isLoopback(host) || allowUnauthenticated) return
  const problem = `the HTTP front has no token, and ${host} can be reached from other machines`
  throw new ConfigError('CONFIG_INVALID', source, [{ path: '', problem, hint: remedies.token }])
}

function surroundings({ log, runtime }: FrontOptions, watch: SessionWatch): HttpSurroundings {
  const secret = runtime.secret ?? randomBytes
  return {
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

/** With the remedy of each. */
const listenProblems: ReadonlyMap<string, readonly [string, 'port' | 'host']> = new Map([
  ['EADDRINUSE', ['the port is taken', 'port']],
  ['EACCES', ['this user may not listen there', 'port']],
  ['EADDRNOTAVAIL', ['this machine has no such address', 'host']],
  ['ENOTFOUND', ['the name is not known', 'host']],
  ['EAI_AGAIN', ['the name could not be looked up', 'host']],
])

/**
 * Compares hashes, since those have one length and differ anywhere.
 *
 * Each token is a principal. The principal of this token is the same on every instance.
 */
function bearerOf(token: string): PrincipalOf {
  const wanted = hash(token)
  const bearer = `bearer ${hash(`principal of ${token}`).toString('base64url')}`
  return (given) => (timingSafeEqual(hash(given), wanted) ? bearer : undefined)
}

function hash(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}

/** Of 192 random bits; written in visible ASCII. */
const ID_BYTES = 24

const wording: Wording = {
  malformed,
  refused: (kind, why) => words[kind](why),
}

const words: Readonly<Record<RefusalKind, (why: string) => { code: number; message: string }>> = {
  invalid: invalidRequest,
  transport: transportRefused,
  session: sessionNotFound,
  internal: internalError,
}
