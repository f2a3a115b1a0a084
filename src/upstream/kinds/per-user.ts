// A remote server at which each user of the front has a login. `login/login-credentials.ts` has the error of
// a user without a login.
//
// Each user gets a complete server with its own credentials, sockets, sessions, lists and crashes. Users
// cannot reach each other's server: only `attach` chooses a server, by the user of the client.

import type { ClientPort } from '../../calls/call.js'
import { loginCommand } from '../../login/login-error.js'
import type { Timer } from '../../runtime/runtime.js'
import { type HttpServerConfig, type ServerConfig, isRemote } from '../contracts/server-config.js'
import type { Lane, ShownState, Upstream, UpstreamStatus } from '../contracts/upstream.js'
import type { ProxyContext } from '../server/context.js'
import type { Server } from '../server/configured-server.js'
import { sumOf } from '../server/worker.js'
import { openHttp } from './http.js'
import { fullUpstream, unopenedStatus } from './unavailable.js'

/** How often the servers of users without clients are closed. */
const LOOK_MS = 600_000

/** The user of a principal; undefined for clients whose token or connection names no user. */
function userOf(principal: string | undefined): string | undefined {
  return principal === undefined || nameless.test(principal) ? undefined : principal
}

/**
 * The principals that the proxy invents: for a front without tokens, for `server.token`, and for a
 * connection. No token and no subject of an issuer has such a name.
 */
const nameless = /^(?:anybody|bearer [\w-]{43}|connection \d+(?: of [\w-]+)?)$/

export class PerUserServer implements Upstream {
  config: HttpServerConfig
  readonly #context: ProxyContext
  /** The servers by user. Clients without a user share one. */
  readonly #servers = new Map<string | undefined, Server>()
  #look: Timer | undefined
  #isClosed = false

  constructor(config: HttpServerConfig, context: ProxyContext) {
    this.config = config
    // The server of a user has only one principal.
    this.#context = { ...context, separatesPrincipals: () => false }
  }

  /** True if clients have users: a server cannot be opened before a client names its user. */
  get isIsolated(): boolean {
    return this.#context.hasUsers()
  }

  /** Hides the lists of users, even from other users without a session. */
  get view(): Upstream['view'] {
    const only = this.isIsolated ? undefined : this.#servers.get(undefined)
    return only?.view ?? UNKNOWN
  }

  attach(client: ClientPort): Lane {
    const user = userOf(client.profile.principal)
    const server = this.#servers.get(user) ?? this.#open(user)
    return server.attach(client)
  }

  adjust(config: ServerConfig): void {
    if (!isRemote(config)) return
    this.config = config
    for (const [user, server] of this.#servers) server.adjust(configOf(config, user))
  }

  /** False, because a connection that was made elsewhere belongs to no user. */
  adopt(): boolean {
    return false
  }

  status(): UpstreamStatus {
    const all = [...this.#servers.values()].map((server) => server.status())
    const [best = unopenedStatus(this.config)] = shownFirst.flatMap((state) =>
      all.filter((each) => each.state === state),
    )
    const withoutLogin = all.filter(({ state }) => state === 'login-required').length
    const gauges = sumOf(all.map((each) => each.gauges))
    const { name } = this.config
    const needsLogin = `${withoutLogin} of ${all.length} users need a login; run: ${loginCommand(name)} --user NAME`
    const error = best.state === 'login-required' && this.isIsolated ? needsLogin : best.error
    const users = { count: all.length, withoutLogin }
    return { ...best, error, gauges, ...(this.isIsolated && { users }) }
  }

  renew(why: string): void {
    for (const server of this.#servers.values()) server.renew(why)
  }

  retire(graceMs: number, why: string): Promise<void> {
    return this.#end((server) => server.retire(graceMs, why))
  }

  close(): Promise<void> {
    return this.#end((server) => server.close())
  }

  async #end(end: (server: Server) => Promise<void>): Promise<void> {
    this.#isClosed = true
    this.#look?.cancel()
    await Promise.all([...this.#servers.values()].map(end))
  }

  #open(user: string | undefined): Upstream {
    const { limits, runtime } = this.#context
    const usersMax = limits.remoteUsersMax
    if (this.#servers.size >= usersMax) this.#closeUnused(1)
    if (this.#servers.size >= usersMax) return fullUpstream(this.config, usersMax)
    const server = openHttp(configOf(this.config, user), this.#context)
    if (this.#isClosed) {
      void server.close()
      return server
    }
    this.#servers.set(user, server)
    this.#look ??= runtime.setTimer(LOOK_MS, () => this.#lookAgain())
    return server
  }

  #lookAgain(): void {
    this.#closeUnused(Infinity)
    const isOver = this.#isClosed || this.#servers.size === 0
    this.#look = isOver ? undefined : this.#context.runtime.setTimer(LOOK_MS, () => this.#lookAgain())
  }

  #closeUnused(most: number): void {
    let left = most
    for (const [user, server] of this.#servers) {
      if (server.isUsed || left-- <= 0) continue
      this.#servers.delete(user)
      void server.close()
    }
  }
}

/** Turns off `keep` for the server of a user, because another user may have other tools. */
function configOf(config: HttpServerConfig, user: string | undefined): HttpServerConfig {
  if (user === undefined || config.login === undefined) return config
  return { ...config, keep: false, login: { ...config.login, user } }
}

const UNKNOWN = {
  facts: undefined,
  failure: undefined,
  before: { kind: 'nothing' },
  state: 'disconnected',
} as const

/** The order in which states are shown. A user without a login does not hide that others are connected. */
const shownFirst: readonly ShownState[] = ['connected', 'starting', 'error', 'login-required', 'disconnected']
