// The pool of one configured server: which processes there are, and who uses them.
//
// On stdio a server's own request carries no link to the call that it belongs to.
// So a process belongs either to clients that cannot be asked anything, or to one
// client; `isolation` chooses otherwise.

import type { Connection } from '../../jsonrpc/connection.js'
import type { ClientPort } from '../../mcp/call.js'
import { everyCapability, noCapabilities } from '../../mcp/capabilities.js'
import { Adopted } from './adopted.js'
import type { Timer } from '../../runtime/runtime.js'
import type { Dialed } from '../contracts/dial.js'
import { thatServer } from '../contracts/errors.js'
import { Link, type LinkOwner } from './link.js'
import { Listing } from './listing.js'
import { ServerInstance } from './server-instance.js'
import type { LaneOpened, LaneUse } from './lane-parts.js'
import { PoolLane } from './lane.js'
import type { PoolSurroundings, Pooling } from './pool-parts.js'
import type { StopCause } from './news.js'
import { Recollection, Recollections } from './recollection.js'
import type { ServerConfig } from '../contracts/server-config.js'
import type { RunningProcess } from '../contracts/running-process.js'
import { ServerReports } from './server-reports.js'
import { type Sharing, sharingFor } from './sharing.js'
import { type OpeningLink, Supervisor } from './supervisor.js'
import type { Lane, Upstream, UpstreamStatus } from '../contracts/upstream.js'
import { within } from '../../runtime/within.js'

/** Of the time of a call, so much may go by for a process that ends; the rest is for the start and the call. */
const REST_WAIT_SHARE = 12

/** How long a server whose lists are kept waits for a client that speaks. */
const SILENCE_MS = 300

/** How often a pool that is being left looks whether its calls have ended. */
const IDLE_CHECK_MS = 20

/** The processes of one configured server. */
export class Pool implements Upstream {
  #config: ServerConfig
  readonly #pooling: Pooling
  readonly #around: PoolSurroundings
  readonly #lanes = new Set<PoolLane>()
  readonly #common = new Map<Sharing, PoolLane>()
  /** Started before its first client has come, who is to find one that is well. */
  #spare: Dialed | undefined
  #warming: Timer | undefined
  readonly #reports: ServerReports
  readonly #recollections: Recollections
  #connectedAtMs: number | undefined
  #closed = false
  #retired = false

  constructor(config: ServerConfig, pooling: Pooling, around: PoolSurroundings) {
    this.#config = config
    this.#pooling = pooling
    this.#around = around
    this.#recollections = new Recollections(around.kept.of(config), (said) => around.leg().recall(said))
    this.#reports = new ServerReports(() => this.#config, { ...around, lateMs: around.limits.lateMs })
  }

  get config(): ServerConfig {
    return this.#config
  }

  get isolated(): boolean {
    return this.#pooling.isolation === 'session'
  }

  adjust(config: ServerConfig): void {
    this.#config = config
  }

  warm(): void {
    if (this.config.lazy || this.#closed) return
    // Where something is kept, a client that speaks at once is answered before its lane starts the process.
    if (!this.#recollections.kept?.isDescribed) return this.#startSpare()
    this.#warming = this.#around.runtime.setTimer(SILENCE_MS, () => this.#startSpare())
  }

  #startSpare(): void {
    if (this.#spare !== undefined || this.#lanes.size > 0 || this.#closed) return
    try {
      this.#keep(this.#dial())
    } catch (error) {
      // Too many processes: the first client will be told.
      this.#around.log({ level: 'warn', service: this.config.name, message: String(error) })
    }
  }

  adopt(server: Connection | RunningProcess): boolean {
    if (this.#lanes.size > 0 || this.#closed) return false
    const adopted = 'stdin' in server ? this.#pooling.adopt?.(server) : new Adopted(this.config.name, server)
    if (adopted === undefined) return false
    void this.#spare?.stop()
    this.#reports.began(adopted, () => this.#stopping)
    this.#keep(adopted)
    return true
  }

  #keep(dialed: Dialed): void {
    this.#spare = dialed
    void dialed.ended.then(() => {
      if (this.#spare === dialed) this.#spare = undefined
    })
  }

  attach(client: ClientPort): Lane {
    const { isolation } = this.#pooling
    const sharing = sharingFor(isolation, client)
    if (sharing !== 'own') return this.#commonLane(sharing).join(client)
    const { profile, opening, serial } = client
    const yields = this.#around.ownStart === 'with-call'
    const use = { sharing, declared: profile.capabilities, opening, client: serial, yields }
    const own = this.#newLane(use).join(client)
    // What was kept for clients like this one says more than what others see.
    if (yields && !this.isolated && own.described === undefined) own.defer(this.#commonLane('plain'))
    return own
  }

  #commonLane(sharing: 'plain' | 'shared'): PoolLane {
    const known = this.#common.get(sharing)
    if (known !== undefined) return known
    const declared = sharing === 'plain' ? noCapabilities : everyCapability
    const lane = this.#newLane({ sharing, declared, opening: undefined, client: undefined, yields: false })
    if (!this.#closed) this.#common.set(sharing, lane)
    return lane
  }

  status(): UpstreamStatus {
    const lanes = [...this.#lanes]
    const best = lanes.find((lane) => lane.state === 'connected') ?? lanes[0]
    return {
      name: this.config.name,
      kind: this.config.kind,
      state: best?.state ?? (this.#closed || this.#startsWhenAsked ? 'disconnected' : 'starting'),
      error: best?.state === 'error' ? best.failure?.message : undefined,
      connectedAtMs: this.#connectedAtMs,
      pids: lanes.flatMap((lane) => lane.pids),
      revision: best?.revision,
      tools: best?.items('tools').length ?? 0,
    }
  }

  async retire(graceMs: number): Promise<void> {
    const { runtime } = this.#around
    const endsAt = runtime.now() + graceMs
    this.#retired = true
    for (const lane of this.#lanes) lane.retire()
    while (!this.#idle && runtime.now() < endsAt) {
      await within(new Promise(() => {}), IDLE_CHECK_MS, runtime)
    }
    await this.close()
  }

  async close(): Promise<void> {
    this.#closed = true
    this.#warming?.cancel()
    const lanes = [...this.#lanes]
    this.#lanes.clear()
    this.#common.clear()
    await Promise.all([...lanes.map((lane) => lane.close()), this.#spare?.stop()])
  }

  /** Whether nothing runs before a client wants something of it. */
  get #startsWhenAsked(): boolean {
    const isOfSessions = this.isolated && this.#around.ownStart === 'with-call'
    return this.config.lazy || isOfSessions
  }

  get #idle(): boolean {
    return [...this.#lanes].every((lane) => lane.idle)
  }

  #newLane(use: LaneUse): PoolLane {
    const { limits, log } = this.#around
    const { onTimeout, staysForClients, processes } = this.#pooling
    const listing = new Listing(this.config.name, this.#pooling.discretion, limits.lists, log)
    const lane: PoolLane = new PoolLane({
      ...this.#around,
      ...use,
      onTimeout,
      staysForClients,
      config: () => this.#config,
      listing,
      recollection: new Recollection(this.#recollections, listing, use.declared),
      membersMax: use.sharing === 'own' ? 1 : processes,
      isStarted: this.#spare !== undefined,
      member: (owner, opened) => this.#newMember(use, () => lane, owner, opened),
      ready: ({ dialed }, { revision }) =>
        this.#reports.ready(dialed, revision.version, listing.items('tools').length),
      announced: (changed) => this.#reports.lists(listing, use.client, changed),
      abandoned: () => this.#lanes.delete(lane),
    })
    if (this.#closed) void lane.close()
    else this.#lanes.add(lane)
    return lane
  }

  #newMember(use: LaneUse, lane: () => PoolLane, owner: LinkOwner, opened: LaneOpened): ServerInstance {
    const { limits, runtime } = this.#around
    const { concurrency, idleTimeoutMs, restart, restartDelayMs } = this.#pooling
    const policy = {
      ...limits.restart,
      restart,
      delayMs: restartDelayMs,
      restWaitMs: this.config.timeoutMs / REST_WAIT_SHARE,
    }
    let starts = 0
    const open = (): OpeningLink => {
      const { link, ready } = this.#open(use, owner, opened)
      const cause = (): StopCause => this.#causeFor(lane(), link)
      this.#reports.used(link, { client: use.client, restarts: starts++, cause }, ready)
      return { link, ready }
    }
    const room = (): Promise<void> | undefined =>
      this.#spare === undefined ? this.#around.room.free() : undefined
    const supervisor = new Supervisor(this.config.name, open, policy, { ...this.#around, room })
    const { yields } = use
    return new ServerInstance(supervisor, {
      runtime,
      concurrency,
      queueMax: limits.queueMax,
      outgoingBytesMax: limits.outgoingBytesMax,
      times: this.config,
      idleTimeoutMs: yields ? shortest(idleTimeoutMs, this.#around.sessionIdleMs) : idleTimeoutMs,
      mayRest: () => !owner.isNeeded,
      isAtWork: () => owner.isAtWork,
      rested: () => yields && this.#tellRested(),
      offer: (member) => (yields ? this.#around.room.offer(member) : undefined),
      oneAskable: use.sharing === 'shared',
    })
  }

  #tellRested(): void {
    const message = "a client's process is stopped while the client is idle; its next call starts it again"
    this.#around.log({ level: 'info', service: this.config.name, message })
  }

  #open(use: LaneUse, owner: LinkOwner, opened: LaneOpened): OpeningLink {
    const dialed = this.#spare ?? this.#dial()
    this.#spare = undefined
    const link = this.#newLink(dialed, owner)
    const ready = link.start(use.declared, use.opening).then((facts) => {
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
    const release = this.#around.room.take()
    if (release === undefined) {
      const what = `cannot be started: ${this.#around.limits.processesMax} processes run already, which is processesMax`
      throw thatServer(this.config.name, 'overloaded', what)
    }
    const dialed = this.#pooling.dial()
    void dialed.ended.then(release)
    this.#reports.began(dialed, () => this.#stopping)
    return dialed
  }

  /** Why everything is being stopped, if it is. */
  get #stopping(): StopCause | undefined {
    if (!this.#closed) return undefined
    return this.#retired ? 'retired' : 'closing'
  }

  #causeFor(lane: PoolLane, link: Link): StopCause {
    if (this.#stopping !== undefined) return this.#stopping
    if (link.failure.reason === 'closed') return 'restart'
    return this.#lanes.has(lane) ? 'idle' : 'client-gone'
  }
}

/** Of two times, either of which may be for ever. */
function shortest(one: number | undefined, other: number | undefined): number | undefined {
  return one === undefined || other === undefined ? (one ?? other) : Math.min(one, other)
}
