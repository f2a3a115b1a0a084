// The pool of one configured server: which processes there are, and who uses them.
//
// On stdio a server's own request carries no link to the call that it belongs to.
// So a process belongs either to clients that cannot be asked anything, or to one
// client; `isolation` chooses otherwise.

import type { Connection } from '../jsonrpc/connection.js'
import type { PeerOptions } from '../jsonrpc/peer.js'
import type { ClientPort } from '../mcp/call.js'
import { type ClientCapabilities, isAskable } from '../mcp/capabilities.js'
import type { ServerFacts, ServerLeg } from '../mcp/eras/leg.js'
import type { Discretion } from '../transports/discretion.js'
import { Adopted } from './adopted.js'
import { declaredFor } from './declared-for.js'
import type { Dial, Dialed } from './dial.js'
import { UpstreamError } from './errors.js'
import type { LogSink, Runtime } from './host.js'
import type { UpstreamLimits } from './limits.js'
import { Link } from './link.js'
import type { LinkOwner } from './link-parts.js'
import { Listing } from './listing.js'
import { Member } from './member.js'
import type { Sharing } from './lane-parts.js'
import { PoolLane } from './pool-lane.js'
import type { ServerConfig } from './server-config.js'
import { Spare } from './spare.js'
import { type Opening, Supervisor } from './supervisor.js'
import type { Lane, Upstream, UpstreamStatus } from './upstream.js'
import { within } from './within.js'

/** Of the time of a call, so much may go by for a process that ends; the rest is for the start and the call. */
const REST_WAIT_SHARE = 12

/** How often a pool that is being left looks whether its calls have ended. */
const IDLE_CHECK_MS = 20

/** What a pool gets from the proxy. */
export interface PoolSurroundings {
  readonly runtime: Runtime
  readonly log: LogSink
  /** Whether somebody wants to hear of every request over the network. */
  readonly verbose: boolean
  readonly limits: UpstreamLimits
  readonly leg: () => ServerLeg
  /** The taps of a new connection to this server. */
  readonly watch: (service: string) => Pick<PeerOptions, 'wire' | 'forwarded'>
  /** Takes one of the processes that may run in all; undefined when there are too many. */
  readonly admit: () => (() => void) | undefined
}

/** How a server of one kind is pooled. */
export interface Pooling {
  /** For what the server says that people are shown. */
  readonly discretion: Discretion
  readonly dial: Dial
  readonly isolation: 'auto' | 'shared' | 'session'
  readonly concurrency: number
  readonly processes: number
  readonly idleTimeoutMs: number | undefined
  readonly restart: boolean
  readonly restartDelayMs: number
}

/** The processes of one configured server. */
export class Pool implements Upstream {
  #config: ServerConfig
  readonly #pooling: Pooling
  readonly #around: PoolSurroundings
  readonly #lanes = new Set<PoolLane>()
  readonly #common = new Map<Sharing, PoolLane>()
  readonly #spare = new Spare()
  #connectedAtMs: number | undefined
  #closed = false

  constructor(config: ServerConfig, pooling: Pooling, around: PoolSurroundings) {
    this.#config = config
    this.#pooling = pooling
    this.#around = around
  }

  get config(): ServerConfig {
    return this.#config
  }

  adjust(config: ServerConfig): void {
    this.#config = config
  }

  warm(): void {
    if (this.config.lazy || this.#spare.there !== undefined || this.#lanes.size > 0 || this.#closed) return
    try {
      this.#spare.keep(this.#dial())
    } catch (error) {
      // Too many processes: the first client will be told.
      this.#around.log({ level: 'warn', service: this.config.name, message: String(error) })
    }
  }

  adopt(connection: Connection): boolean {
    if (this.#lanes.size > 0 || this.#closed) return false
    void this.#spare.there?.stop()
    this.#spare.keep(new Adopted(this.config.name, connection))
    return true
  }

  attach(client: ClientPort): Lane {
    const sharing = this.#sharingFor(client)
    const common = sharing === 'own' ? undefined : this.#common.get(sharing)
    if (common !== undefined) return common.join(client)
    const lane = this.#newLane(sharing, declaredFor(sharing, client))
    if (sharing !== 'own' && !this.#closed) this.#common.set(sharing, lane)
    return lane.join(client)
  }

  status(): UpstreamStatus {
    const lanes = [...this.#lanes]
    const best = lanes.find((lane) => lane.state === 'connected') ?? lanes[0]
    return {
      name: this.config.name,
      kind: this.config.kind,
      state: best?.state ?? (this.#closed || this.config.lazy ? 'disconnected' : 'starting'),
      error: best?.state === 'error' ? best.failure : undefined,
      connectedAtMs: this.#connectedAtMs,
      pids: lanes.flatMap((lane) => lane.pids),
      revision: best?.revision,
      tools: best?.items('tools').length ?? 0,
    }
  }

  async retire(graceMs: number): Promise<void> {
    const { runtime } = this.#around
    const endsAt = runtime.now() + graceMs
    for (const lane of this.#lanes) lane.retire()
    while (!this.#idle && runtime.now() < endsAt) {
      await within(new Promise(() => {}), IDLE_CHECK_MS, runtime)
    }
    await this.close()
  }

  async close(): Promise<void> {
    this.#closed = true
    const lanes = [...this.#lanes]
    this.#lanes.clear()
    this.#common.clear()
    await Promise.all([...lanes.map((lane) => lane.close()), this.#spare.there?.stop()])
  }

  get #idle(): boolean {
    return [...this.#lanes].every((lane) => lane.idle)
  }

  #sharingFor(client: ClientPort): Sharing {
    switch (this.#pooling.isolation) {
      case 'session':
        return 'own'
      case 'shared':
        return 'shared'
      case 'auto':
        return isAskable(client.profile.capabilities) ? 'own' : 'plain'
    }
  }

  #newLane(sharing: Sharing, declared: ClientCapabilities): PoolLane {
    const { limits, log, runtime } = this.#around
    const lane: PoolLane = new PoolLane({
      config: () => this.#config,
      sharing,
      declared,
      listing: new Listing(this.config.name, this.#pooling.discretion, limits.lists, log),
      log,
      runtime,
      lazy: this.config.lazy,
      subscriptionsMax: limits.subscriptionsMax,
      membersMax: sharing === 'own' ? 1 : this.#pooling.processes,
      member: (owner, opened) => this.#newMember(sharing, declared, owner, opened),
      abandoned: () => this.#lanes.delete(lane),
    })
    if (this.#closed) void lane.close()
    else this.#lanes.add(lane)
    return lane
  }

  #newMember(
    sharing: Sharing,
    declared: ClientCapabilities,
    owner: LinkOwner,
    opened: (link: Link, facts: ServerFacts) => void,
  ): Member {
    const { limits, runtime } = this.#around
    const { concurrency, idleTimeoutMs, restart, restartDelayMs } = this.#pooling
    const policy = {
      ...limits.restart,
      restart,
      delayMs: restartDelayMs,
      restWaitMs: this.config.timeoutMs / REST_WAIT_SHARE,
    }
    const open = (): Opening => this.#open(declared, owner, opened)
    const supervisor = new Supervisor(this.config.name, open, policy, this.#around)
    return new Member(supervisor, {
      runtime,
      concurrency,
      queueMax: limits.queueMax,
      outgoingBytesMax: limits.outgoingBytesMax,
      times: this.config,
      idleTimeoutMs,
      mayRest: () => !owner.isNeeded,
      oneAskable: sharing === 'shared',
    })
  }

  #open(
    declared: ClientCapabilities,
    owner: LinkOwner,
    opened: (link: Link, facts: ServerFacts) => void,
  ): Opening {
    const dialed = this.#spare.take() ?? this.#dial()
    const link = this.#newLink(dialed, owner)
    const ready = link.start(declared).then((facts) => {
      this.#connectedAtMs = this.#around.runtime.wallNow()
      opened(link, facts)
    })
    return { link, ready }
  }

  #newLink(dialed: Dialed, owner: LinkOwner): Link {
    const { limits, leg, watch } = this.#around
    return new Link(dialed, leg(), owner, {
      service: this.config.name,
      discretion: this.#pooling.discretion,
      ...this.#around,
      peer: { inflightMax: limits.inflightMax, frame: limits.frame, ...watch(this.config.name) },
      times: this.config,
      noise: limits.noise,
      abandoned: limits.abandoned,
      lastAnswers: { silentMs: limits.ndjson.closeWaitMs, ownMs: limits.ladder.stdinWaitMs },
      exitWaitMs: limits.exitWaitMs,
    })
  }

  #dial(): Dialed {
    const release = this.#around.admit()
    if (release === undefined) {
      const message = `'${this.config.name}' cannot be started: ${this.#around.limits.processesMax} processes run already`
      throw new UpstreamError(this.config.name, 'overloaded', message)
    }
    const dialed = this.#pooling.dial()
    void dialed.ended.then(release)
    return dialed
  }
}
