// One configured server, with its lanes and processes.
//
// On stdio a request of a server does not name its call. So a process belongs to one
// client, or to clients that servers cannot ask for anything, unless `isolation` chooses
// otherwise.

import type { Connection } from '../../jsonrpc/connection.js'
import type { ClientPort } from '../../calls/call.js'
import { noCapabilities, sharedCapabilities } from '../../mcp/capabilities.js'
import type { Dialed, KnownServer } from '../contracts/dialed.js'
import { endOf } from './server-connection.js'
import { guardedFacts } from './server-lists.js'
import { ServerLane } from './lane.js'
import { MarkedTools } from './read-list.js'
import type { ProxyContext, ServerContext, ServerKind } from './context.js'
import { beforeOf, ServerMemory } from './server-memory.js'
import { sumOf } from './worker.js'
import { Restarts } from './restarts.js'
import { type ServerConfig, isRemote as isOverNetwork } from '../contracts/server-config.js'
import type {
  Lane,
  RunningProcess,
  ServerGauges,
  ShownState,
  Upstream,
  UpstreamStatus,
} from '../contracts/upstream.js'
import { type LaneScope, sharingFor } from './sharing.js'

/** How often a retiring server checks whether its calls have ended. */
const IDLE_CHECK_MS = 20

export class Server implements Upstream {
  readonly #context: ServerContext
  readonly #lanes = new Set<ServerLane>()
  /** The lanes of several clients, by their sharing, and by principal if principals share no process. */
  readonly #shared = new Map<string, ServerLane>()
  /** A server that was started elsewhere, until the first worker takes it. */
  #adopted: Dialed | undefined

  constructor(config: ServerConfig, behaviour: ServerKind, around: ProxyContext) {
    const isRemote = isOverNetwork(config)
    // The era of a program does not change while the proxy runs.
    const eraMs = isRemote ? around.limits.remoteEraMs : Infinity
    const memory = new ServerMemory(around.runtime, around.kept.of(config), eraMs)
    const marked = new MarkedTools()
    const isAsked = config.protocol === 'auto'
    const known: KnownServer = {
      marked: (tool) => marked.of(tool),
      onUnreachable: () => {
        for (const lane of this.#lanes) lane.unreachable()
      },
      era: () => (isAsked ? memory.era : undefined),
    }
    const { name: service } = config
    const { limits, runtime, log } = around
    const isListed = memory.kept?.description !== undefined
    this.#context = {
      ...around,
      ...behaviour,
      service,
      config,
      retiredBecause: undefined,
      isClosed: false,
      isRemote,
      times: config,
      memory,
      marked,
      restarts: new Restarts(limits.restart, behaviour.restartDelayMs, runtime, isListed),
      open: (opening) => around.open(config, memory, opening),
      tell: (level, message, details) => log({ level, service, message, ...(details && { details }) }),
      connect: () => {
        const adopted = this.#adopted
        this.#adopted = undefined
        return adopted ?? behaviour.dial(known)
      },
      hasAdopted: () => this.#adopted !== undefined,
    }
  }

  get config(): ServerConfig {
    return this.#context.config
  }

  /** Ends and reopens all connections, which an internal error has left in doubt. */
  renew(why: string): void {
    for (const lane of this.#lanes) lane.renew(why)
  }

  get isIsolated(): boolean {
    return this.#context.isolation === 'session'
  }

  get isUsed(): boolean {
    return !this.#isIdle || [...this.#lanes].some(({ isUsed }) => isUsed)
  }

  get view(): Upstream['view'] {
    const best = this.#best
    if (best !== undefined) return best
    const { facts: keptFacts, kept } = this.#context.memory
    const facts = guardedFacts(this.#context.guard(), this.config, keptFacts)
    const before = beforeOf(kept, facts !== undefined)
    return { facts, failure: undefined, before, state: 'disconnected' }
  }

  adjust(config: ServerConfig): void {
    this.#context.config = config
  }

  adopt(server: Connection | RunningProcess): boolean {
    if (this.#lanes.size > 0 || this.#context.isClosed) return false
    const isProcess = 'stdin' in server
    const adopted = isProcess ? this.#context.adopt?.(server) : { connection: server }
    if (adopted === undefined) return false
    if (this.#adopted !== undefined) void endOf(this.#adopted)
    this.#adopted = adopted
    void adopted.ended?.then(() => {
      if (this.#adopted === adopted) this.#adopted = undefined
    })
    return true
  }

  attach(client: ClientPort): Lane {
    const { isolation, memory } = this.#context
    const { profile, opening, serial } = client
    // A server without sessions keeps no state of a client. With `shared`, all clients have one lane, before
    // and after the proxy knows the era.
    const era = memory.era ?? memory.facts?.revision.era
    const isOpen = this.config.protocol === 'stateless' || (era === 'stateless' && isolation !== 'shared')
    const sharing = isOpen && opening === undefined ? 'plain' : sharingFor(isolation, client)
    if (sharing === 'shared') return this.#sharedLane(sharing).join(client)
    if (sharing === 'plain') {
      const isSeparate = isolation !== 'shared' && this.#context.separatesPrincipals()
      return this.#sharedLane(sharing, isSeparate ? profile.principal : undefined).join(client)
    }
    const startsOnCall = this.#startsOnCall
    const { capabilities: declared, principal } = profile
    const scope = { sharing, declared, opening, client: serial, principal, startsOnCall }
    const own = this.#newLane(scope).join(client)
    if (startsOnCall && !this.isIsolated) own.defer(this.#sharedLane('plain'))
    return own
  }

  get #startsOnCall(): boolean {
    return this.#context.ownStart === 'with-call'
  }

  #sharedLane(sharing: 'plain' | 'shared', principal?: string): ServerLane {
    const key = principal === undefined ? sharing : `${sharing} ${principal}`
    const known = this.#shared.get(key)
    if (known !== undefined) return known
    const declared = sharing === 'plain' ? noCapabilities : sharedCapabilities
    const startsOnCall = principal !== undefined && this.#startsOnCall
    const scope = { sharing, declared, opening: undefined, client: undefined, principal, startsOnCall }
    const lane = this.#newLane(scope, () => this.#shared.delete(key))
    if (startsOnCall) lane.defer(this.#sharedLane('plain'))
    if (!this.#context.isClosed) this.#shared.set(key, lane)
    return lane
  }

  status(): UpstreamStatus {
    const lanes = [...this.#lanes]
    const best = this.#best
    const about = this.#context.about?.()
    const { changes = [], leftOut = 0, server } = best?.lists ?? {}
    const state = this.#stateOf(best)
    return {
      name: this.config.name,
      kind: this.config.kind,
      state,
      error: state === 'error' || state === 'login-required' ? best?.failure?.message : undefined,
      connectedAtMs: this.#context.memory.connectedAtMs,
      pids: lanes.flatMap((lane) => lane.pids),
      revision: server?.facts.revision.version,
      evidence: server?.evidence,
      tools: best?.items('tools').filter(({ withheld }) => withheld === undefined).length ?? 0,
      gauges: this.#gauges,
      ...(changes.length > 0 && { changes }),
      ...(leftOut > 0 && { leftOut }),
      ...(about !== undefined && { about }),
    }
  }

  get #gauges(): ServerGauges {
    return { ...sumOf([...this.#lanes].map(({ load }) => load)), restarts: this.#context.restarts.count }
  }

  async retire(graceMs: number, why: string): Promise<void> {
    const { runtime } = this.#context
    const endsAt = runtime.now() + graceMs
    this.#context.retiredBecause = why
    while (!this.#isIdle && runtime.now() < endsAt) {
      await new Promise<void>((resolve) => runtime.setTimer(IDLE_CHECK_MS, resolve))
    }
    await this.close()
  }

  async close(): Promise<void> {
    this.#context.isClosed = true
    this.#context.logins?.()?.close()
    const lanes = [...this.#lanes]
    this.#lanes.clear()
    this.#shared.clear()
    await Promise.all([...lanes.map((lane) => lane.close()), this.#adopted && endOf(this.#adopted)])
  }

  /** The lane with the most facts about the server; a lane without a process has the fewest. */
  get #best(): ServerLane | undefined {
    const lanes = [...this.#lanes]
    const connected = lanes.find(({ state }) => state === 'connected')
    return connected ?? lanes.find(({ state }) => state !== 'disconnected') ?? lanes[0]
  }

  #stateOf(lane: ServerLane | undefined): ShownState {
    if (lane === undefined) return 'disconnected'
    const { state, failure } = lane
    return failure?.reason === 'login-required' && state !== 'starting' ? 'login-required' : state
  }

  get #isIdle(): boolean {
    const { inFlight, queued } = this.#gauges
    return inFlight + queued === 0
  }

  #newLane(scope: LaneScope, onLeft?: () => void): ServerLane {
    const left = (): void => {
      this.#lanes.delete(lane)
      onLeft?.()
    }
    const lane: ServerLane = new ServerLane(this.#context, scope, left)
    if (this.#context.isClosed) void lane.close()
    else this.#lanes.add(lane)
    return lane
  }
}
