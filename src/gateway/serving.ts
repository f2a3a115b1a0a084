// Proxies behind one HTTP front: access rules, endpoints and pages, and the order in which the parts end.
//
// Loaded only when something is served over HTTP.

import { randomBytes } from 'node:crypto'
import type { Socket } from 'node:net'
import { needsToken } from '../config/front.js'
import { SESSION_MAX_AGE_MS } from '../config/keys.js'
import { ConfigError } from '../config/problems.js'
import type { FrontConfig } from '../config/configuration.js'
import { Emitter } from '../events/emitter.js'
import { type ServingEvents, sessionWatch } from '../events/serving-events.js'
import type { FrontAuth } from '../front-auth/front-auth.js'
import type { Serving } from '../proxy/listener.js'
import type { HttpServerLimits } from '../transports/http-server/front-limits.js'
import type { HttpEnvironment, HttpRoutes, SessionWatch } from '../transports/http-server/endpoint.js'
import type { Peers } from '../transports/http-server/peers.js'
import type { GuardRemedies, HttpRules } from '../transports/http-server/access.js'
import { FrontAccess } from './front-access.js'
import type { Revocations } from './revocations.js'
import { type MorePaths, Routes, type ServedGateway } from './routes.js'
import { errorCode, errorText } from '../text/error-text.js'
import { isLoopback } from '../text/loopback.js'
import { drawnFrom } from '../store/sealed-id.js'
import { SessionPersistence } from '../store/session-persistence.js'
import { type HttpAddress, HttpServer } from '../transports/http-server/http-server.js'
import { acceptOn } from './inherited-socket.js'
import { descriptorRoom } from '../upstream/process/descriptors.js'
import type { LogSink, Runtime } from '../runtime/runtime.js'

/** The access rules of the front; they may change while it runs. */
export type FrontRules = Pick<FrontConfig, 'token' | 'tokens' | 'allowedHosts' | 'cors'> &
  Partial<Pick<FrontConfig, 'auth' | 'publicUrl' | 'clientAddressField'>>

interface FrontOptions extends FrontRules {
  readonly host: string
  readonly port: number
  /** A socket that listens on that address already; another process accepts on it after this one. */
  readonly socket?: Socket | undefined
  readonly allowUnauthenticated: boolean
  readonly limits: HttpServerLimits
  /** Revocations of tokens by other instances. */
  readonly revocations?: Revocations | undefined
  /** If absent, sessions end with the front. */
  readonly sessions?: HttpEnvironment['sessions']
  /** If absent, this front is the only one. */
  readonly peers?: Peers | undefined
  readonly log: LogSink
  readonly runtime: Runtime
  /** The name of the configuration in messages, and the remedies that messages propose. */
  readonly source: string
  readonly remedies: FrontRemedies
}

/** Remedies for the operator, which depend on how the front was started. */
export interface FrontRemedies extends GuardRemedies {
  readonly token: string
  readonly port: string
  readonly host: string
}

/** Served proxies, which may change while clients use them. */
export interface ProxiesServing extends Serving {
  readonly server: Pick<HttpServer, 'isDraining' | 'revived' | 'drain' | 'answeredElsewhere'>
  /** Loads the code and the data that these rules need. Await it before `change`. */
  prepare(rules: FrontRules): Promise<void>
  /** Serves these proxies by these rules, which must have been prepared. A proxy that stays keeps its sessions. */
  change(served: ServedGateway, rules: FrontRules): void
}

/**
 * Listens, and serves each proxy at its own endpoint.
 *
 * @throws ConfigError if the front would be open to the network, or the system's error if it cannot listen
 */
export async function serveProxies(
  served: ServedGateway,
  options: FrontOptions & MorePaths,
): Promise<ProxiesServing> {
  const events = new Emitter<ServingEvents>(options.log)
  const routes = new Routes(served, () => options.runtime.now(), options)
  const front = new Front(options, routes, sessionWatch(events), await authFor(options))
  routes.front = front
  const address = await front.listen()
  routes.address = address
  return {
    ...address,
    url: `${address.origin}/mcp`,
    prepare: (rules) => front.prepare(rules),
    change: (next, rules) => {
      front.change(rules)
      routes.serve(next)
    },
    on: (name, listener) => events.on(name, listener),
    server: front.server,
    stop: () => front.server.stop(),
    close: () => front.server.close(),
  }
}

export class Front {
  readonly server: HttpServer
  readonly #options: FrontOptions
  #access: FrontAccess | undefined
  #Auth: typeof FrontAuth | undefined

  /**
   * `Auth` must be present if the rules have authorization servers.
   *
   * @throws ConfigError if the front would be open to the network without a token
   */
  constructor(options: FrontOptions, routes: HttpRoutes, watch: SessionWatch, Auth?: typeof FrontAuth) {
    refuseOpenFront(options)
    const { host, port, remedies, log, socket } = options
    if (!needsToken(options) && !isLoopback(host))
      log({ level: 'warn', message: `no token: everybody who can reach ${host} can call every tool` })
    this.#options = options
    this.#Auth = Auth
    const handsOver = socket !== undefined
    const own = { host, port, remedies, handsOver, environment: environmentOf(options, watch) }
    this.server = new HttpServer({ ...this.#rulesOf(options), ...own }, routes)
    if (options.revocations !== undefined) options.revocations.onRevoked = () => this.server.leave()
  }

  /** Undefined if no client has ever needed a token. */
  get access(): FrontAccess | undefined {
    return this.#access
  }

  get isDraining(): boolean {
    return this.server.isDraining
  }

  /** @throws the system's error with its `code`, and a message for the person who started the front */
  async listen(): Promise<HttpAddress> {
    try {
      return await this.server.listen()
    } catch (error) {
      throw listenFailure(error, this.#options)
    }
  }

  async prepare(rules: FrontRules): Promise<void> {
    this.#Auth ??= await authFor(rules)
    // Clients with a new token get 503 until the store answers.
    await this.#options.revocations?.read(rules.tokens).catch(() => {})
  }

  /**
   * The rules must have been prepared. A front that asked for a token continues to ask, so that the removal
   * of the last token opens nothing.
   */
  change(rules: FrontRules): void {
    this.server.change(this.#rulesOf(rules))
    if (this.#access === undefined || needsToken(rules)) return
    this.#options.log({
      level: 'warn',
      message:
        'the configuration has no token any more, so every client is refused; make one with mcps-proxy token create, or restart to serve without one',
    })
  }

  #rulesOf(rules: FrontRules): HttpRules {
    const { auth, publicUrl, allowedHosts, clientAddressField, cors } = rules
    const { runtime, revocations } = this.#options
    const Auth = this.#Auth
    if (this.#access !== undefined || needsToken(rules)) {
      const canLogIn = auth !== undefined && publicUrl !== undefined && Auth !== undefined
      const made = canLogIn ? new Auth({ auth, publicUrl, runtime }, this.#access?.auth) : undefined
      this.#access = new FrontAccess(rules, () => runtime.wallNow(), made, revocations)
    }
    const { senderOf, challenge, credentialOf } = this.#access ?? {}
    const own = publicUrl === undefined ? [] : [new URL(publicUrl).host]
    const hosts = [...own, ...allowedHosts]
    return { allowedHosts: hosts, clientAddressField, cors, senderOf, challenge, credentialOf }
  }
}

/** @throws ConfigError if a front with these options would be open to the network without a token */
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

function environmentOf(options: FrontOptions, watch: SessionWatch): HttpEnvironment {
  const { limits, log, runtime, socket } = options
  const listen = socket === undefined ? runtime.listen : acceptOn(socket)
  const draw = drawnFrom(runtime.secret ?? randomBytes)
  return {
    limits,
    newId: () => draw(ID_BYTES).toString('base64url'),
    now: () => runtime.now(),
    wallNow: () => runtime.wallNow(),
    setTimer: (delayMs, fire) => runtime.setTimer(delayMs, fire),
    sessions: options.sessions ?? ownSessions(options),
    ...(options.peers && { peers: options.peers }),
    room: descriptorRoom(),
    ...(listen && { listen }),
    watch,
    warn: (message) => log({ level: 'warn', message }),
    failed: (error) =>
      log({ level: 'error', message: 'an HTTP request failed inside the proxy', details: { error } }),
  }
}

/** Sessions in memory do not outlive the front, but a session that was idle for too long can continue. */
function ownSessions({ runtime, log }: FrontOptions): SessionPersistence {
  const keys = { stateKeys: [], sessionMaxAgeMs: SESSION_MAX_AGE_MS }
  return new SessionPersistence({ keys, instance: undefined, runtime, log, disk: undefined })
}

/** The system's error with its `code`, and a message with the reason and a remedy. */
function listenFailure(error: unknown, { host, port, remedies }: FrontOptions): Error {
  const code = errorCode(error)
  const remedy = code === 'EADDRINUSE' || code === 'EACCES' ? remedies.port : remedies.host
  const problem = code === 'EADDRINUSE' ? 'the port is taken (EADDRINUSE)' : errorText(error)
  const message = `cannot listen on ${host}, port ${port}: ${problem}; ${remedy}`
  return Object.assign(new Error(message, { cause: error }), { code })
}

/** 192 random bits, written in visible ASCII. */
const ID_BYTES = 24
