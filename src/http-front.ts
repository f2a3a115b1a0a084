// The HTTP front with everything it must not make by itself: randomness, secrets, words.
//
// Loaded only when something is served over HTTP.

import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'
import { ConfigError } from './config.js'
import type { CorsConfig } from './config.js'
import type { HttpLimits } from './transports/http-front/limits.js'
import {
  internalError,
  invalidRequest,
  malformed,
  sessionNotFound,
  transportRefused,
} from './mcp/error-codes.js'
import type { HttpRoutes, HttpSurroundings } from './transports/http-front/endpoint.js'
import { isLoopback } from './transports/http-front/host.js'
import type { RefusalKind, Wording } from './transports/http-front/refusal.js'
import { HttpServer } from './transports/http-server.js'
import type { LogSink, Runtime } from './upstream/host.js'

export interface FrontOptions {
  readonly host: string
  readonly port: number
  readonly allowedHosts: readonly string[]
  readonly cors: CorsConfig
  readonly token: string | undefined
  readonly allowUnauthenticated: boolean
  readonly limits: HttpLimits
  readonly log: LogSink
  readonly runtime: Runtime
  /** What a message calls the configuration, and what it tells a person to do. */
  readonly source: string
  readonly remedies: FrontRemedies
}

/** What whoever started the front can change, in the words of how it was started. */
export interface FrontRemedies {
  readonly token: string
  readonly port: string
  readonly host: string
}

/**
 * Makes a front; it does not listen yet.
 *
 * @throws ConfigError when it would be open to the network without a token
 */
export function createFront(options: FrontOptions, routes: HttpRoutes): HttpServer {
  const { host, port, allowedHosts, cors, token, limits, log, runtime } = options
  if (token === undefined && !isLoopback(host)) {
    if (!options.allowUnauthenticated) throw needsToken(options)
    log({ level: 'warn', message: `no token: everybody who can reach ${host} can call every tool` })
  }
  const principalOf = token === undefined ? undefined : bearerOf(token)
  const around: HttpSurroundings = {
    newId,
    now: () => runtime.now(),
    setTimer: (delayMs, fire) => runtime.setTimer(delayMs, fire),
    failed: (error) => complain(log, error),
  }
  return new HttpServer({ host, port, allowedHosts, cors, principalOf, limits, wording, around }, routes)
}

const BEARER = 'bearer'

/** Compares hashes, since those have one length and differ anywhere. */
function bearerOf(token: string): (given: string) => string | undefined {
  const wanted = hash(token)
  return (given) => (timingSafeEqual(hash(given), wanted) ? BEARER : undefined)
}

function hash(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}

/** 192 bits that nobody guesses, in visible ASCII. */
function newId(): string {
  return randomBytes(24).toString('base64url')
}

function complain(log: LogSink, error: unknown): void {
  log({ level: 'error', message: 'an HTTP request failed inside the proxy', details: { error } })
}

function needsToken({ host, source, remedies }: FrontOptions): ConfigError {
  const problem = `the HTTP front has no token, and ${host} can be reached from other machines`
  return new ConfigError('CONFIG_INVALID', source, [{ path: '', problem, hint: remedies.token }])
}

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
