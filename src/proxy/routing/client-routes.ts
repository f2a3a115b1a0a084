// What one client can reach: its lanes, their public names, and the wait for both.

import type { ArgumentChecks } from './arguments.js'
import type { Catalog, SpliceItem } from './catalog.js'
import type { Catalogs } from './catalogs.js'
import { downLine } from './down-line.js'
import { FirstLists } from './first-lists.js'
import { HeldChanges } from './held-changes.js'
import type { NotificationFrame } from '../../jsonrpc/frame.js'
import type { Call, ClientPort } from '../../mcp/call.js'
import { mergeCapabilities, presumedCapabilities } from '../../mcp/capabilities.js'
import type { ServerDescription } from '../../mcp/eras/leg.js'
import type { ListKind } from '../../mcp/methods/method-row.js'
import { Router } from './router.js'
import type { SessionProcess } from './session-status.js'
import type { LogSink, Runtime } from '../../runtime/runtime.js'
import type { Lane, Upstream } from '../../upstream/contracts/upstream.js'
import { within } from '../../runtime/within.js'

/** What all clients share: the servers and their catalogs. */
export interface ReachSource {
  readonly upstreams: readonly Upstream[]
  readonly catalogs: Catalogs
  /** The client is gone. */
  left(client: ClientPort): void
}

export interface ReachParts {
  readonly checks: ArgumentChecks
  readonly splice: SpliceItem
  readonly runtime: Runtime
  readonly log: LogSink
  /** How long the first lists wait for servers that are still starting. */
  readonly startupGraceMs: number
  /** How long the answer to `initialize` does, at most. */
  readonly initializeGraceMs: number
  /** Whether the instructions name the servers that are known to be down. */
  readonly namesDown: boolean
  /** Tells the client how far a call of its own is. */
  progress(call: Call, params: string): void
  readonly listPageBytesMax: number
  /** Of calls that wait for servers to say what they have. */
  readonly waitingBytesMax: number
  /** Of all servers together. */
  readonly instructionsLengthMax: number
  /** The client has been given this list, and wants to hear when it changes. */
  gave(kind: ListKind): void
}

/** A client's lanes, one for each server in configuration order. */
export class ClientRoutes {
  readonly router: Router
  readonly #client: ClientPort
  readonly #parts: ReachParts
  readonly #source: ReachSource
  #catalog: Catalog
  readonly #held: HeldChanges
  readonly #lists: FirstLists
  /** Resolves when `initialize` can be answered; undefined when nobody has to be waited for, or something is known of an earlier start. */
  readonly settled: Promise<unknown> | undefined
  #lanes: ReadonlyMap<Upstream, Lane>
  /** Opened for the next exchange. */
  readonly #coming = new Map<Upstream, Lane>()
  /** What calls may still run on, though nothing new goes there. */
  readonly #going = new Map<Upstream, Lane>()
  #level: string | undefined
  #mayCall = false
  #left = false

  constructor(client: ClientPort, parts: ReachParts, source: ReachSource) {
    this.#client = client
    this.#parts = parts
    this.#source = source
    this.#lanes = new Map(source.upstreams.map((upstream) => [upstream, upstream.attach(client)]))
    const lanes = this.#current
    this.#catalog = source.catalogs.of(lanes)
    this.#held = new HeldChanges((kind) => this.#catalog.shown(kind))
    const { startupGraceMs, initializeGraceMs, runtime } = parts
    this.#lists = new FirstLists({ lanes: () => this.#current, startupGraceMs, runtime })
    const opening = lanes.some(({ view }) => view.remembered)
      ? []
      : lanes.flatMap(({ view }) => view.settled ?? [])
    this.settled =
      opening.length === 0
        ? undefined
        : within(Promise.all(opening), Math.min(startupGraceMs, initializeGraceMs), runtime)
    this.#tellOnce()
    this.router = new Router({
      lanes: () => this.#current,
      catalog: () => this.#catalog,
      checks: parts.checks,
      splice: parts.splice,
      runtime: parts.runtime,
      listPageBytesMax: parts.listPageBytesMax,
      waitingBytesMax: parts.waitingBytesMax,
      lists: this.#lists,
      progress: (call, params) => parts.progress(call, params),
      gave: (kind) => {
        this.#held.gave(kind)
        parts.gave(kind)
        if (kind === 'tools') this.ready()
      },
    })
  }

  /** Those that run for this client alone. */
  get processes(): SessionProcess[] {
    const own = this.#all.filter(({ shared }) => !shared)
    return own.flatMap(({ config, pids }) => pids.map((pid) => ({ server: config.name, pid })))
  }

  /** What all servers are together; one that has not said yet is presumed to offer everything. */
  describe(): ServerDescription {
    const reachable = this.#current.filter(({ view }) => view.state !== 'error')
    // Where there is none, a client that is told of nothing would not even ask what is wrong.
    const described = reachable.length > 0 ? reachable : this.#current
    const capabilities = described.map(({ view }) => view.facts?.capabilities ?? presumedCapabilities)
    return {
      capabilities: mergeCapabilities(capabilities, this.#client.profile.capabilities),
      instructions: this.#instructions(),
    }
  }

  /** What servers list has changed; false when the client is told of it later, with everything else. */
  changed(kinds: readonly ListKind[]): boolean {
    this.#catalog.invalidate(kinds)
    if (this.#mayCall) this.ready()
    return !this.#held.on
  }

  /** The client may call from now on: what every first call needs is made ready once there are tools. */
  ready(): void {
    this.#mayCall = true
    const checked = this.#current.filter(({ config }) => config.argumentErrors !== 'off')
    this.#parts.checks.prepare(
      checked.flatMap(({ view }) => view.items('tools').slice(0, 1)),
      this.#parts.runtime,
    )
  }

  /** The client is told of changes now: of these lists, those that it has to read again. */
  tell(kinds: readonly ListKind[]): ListKind[] {
    return this.#held.tell(kinds)
  }

  level(level: string): void {
    this.#level = level
    for (const lane of this.#all) lane.level(this.#client, level)
  }

  rootsChanged(frame: NotificationFrame): void {
    for (const lane of this.#all) lane.rootsChanged(this.#client, frame)
  }

  read(on: boolean): void {
    for (const lane of this.#all) lane.read(this.#client, on)
  }

  /** Resolves when what only this client used has ended; undefined when there was nothing. */
  leave(): Promise<unknown> | undefined {
    this.#left = true
    this.#source.left(this.#client)
    const leaving = this.#all.flatMap((lane) => lane.leave(this.#client) ?? [])
    return leaving.length === 0 ? undefined : Promise.all(leaving)
  }

  /** Opens what the client will reach, and resolves when it is listed; until `exchange` nothing else changes. */
  async prepare(upstreams: readonly Upstream[]): Promise<void> {
    this.#held.begin()
    if (this.#left) return
    for (const upstream of upstreams) {
      if (!this.#lanes.has(upstream)) this.#coming.set(upstream, this.#enter(upstream))
    }
    // Who has asked for lists has asked for those of a server that starts when it is asked.
    for (const lane of this.#coming.values()) lane.view.wake(this.#held.given)
    await Promise.all([...this.#coming.values()].flatMap(({ view }) => view.listed ?? []))
  }

  /** From now on the client reaches these, with the log level and the subscriptions that it has. */
  exchange(upstreams: readonly Upstream[]): void {
    if (this.#left) return
    const before = this.#lanes
    this.#lanes = new Map(upstreams.map((upstream) => [upstream, this.#laneOf(upstream)]))
    this.#coming.clear()
    this.#catalog = this.#source.catalogs.of(this.#current)
    const left = [...before].filter(([upstream]) => !this.#lanes.has(upstream))
    for (const [upstream, lane] of left) this.#let(upstream, lane)
    // What has not begun on a server that is gone is its successor's, or nobody's any more.
    for (const [, lane] of left) for (const call of lane.release(this.#client)) this.router.route(call)
    this.router.exchanged()
  }

  /** Ends one `prepare`: the client hears which lists differ from what it has. */
  tellChanges(): void {
    const changed = this.#held.end()
    if (changed.length > 0) this.#client.listsChanged(changed)
  }

  /** The server is gone, and no call runs there any more. */
  forget(upstream: Upstream): void {
    const lane = this.#going.get(upstream)
    this.#going.delete(upstream)
    void lane?.leave(this.#client)
  }

  /** What servers that are starting list is told at once, when all of it is there. */
  #tellOnce(): void {
    const coming = this.#lists.settled()
    if (coming === undefined) return
    this.#held.begin()
    void coming.then(() => this.tellChanges())
  }

  get #current(): readonly Lane[] {
    return [...this.#lanes.values()]
  }

  get #all(): readonly Lane[] {
    return [...this.#lanes.values(), ...this.#coming.values(), ...this.#going.values()]
  }

  #laneOf(upstream: Upstream): Lane {
    return this.#lanes.get(upstream) ?? this.#coming.get(upstream) ?? this.#enter(upstream)
  }

  #enter(upstream: Upstream): Lane {
    const lane = upstream.attach(this.#client)
    if (this.#level !== undefined) lane.level(this.#client, this.#level)
    return lane
  }

  /** Leaves a lane to the calls that run on it. */
  #let(upstream: Upstream, lane: Lane): void {
    this.#going.set(upstream, lane)
    for (const uri of lane.surrender(this.#client)) this.#follow(uri, lane.config.name)
  }

  /** A server that has taken the place of another has its resources too, as far as one can know before it has listed them. */
  #follow(uri: string, service: string): void {
    const heir = this.#current.find(({ config }) => config.name === service)
    const lane = heir?.knows('resources') === false ? heir : (this.#catalog.resource(uri) ?? heir)
    lane?.follow(this.#client, uri)
  }

  /** One server's words are passed as they are; those of several stand under their names. */
  #instructions(): string | undefined {
    const lanes = this.#current
    const down = this.#parts.namesDown ? downLine(lanes) : undefined
    const said = lanes.flatMap((lane) => {
      const text = lane.view.facts?.instructions?.trim()
      return text === undefined || text === '' ? [] : [{ name: lane.config.name, text }]
    })
    const [first] = said
    if (lanes.length === 1 && first !== undefined && down === undefined) return first.text
    const { instructionsLengthMax } = this.#parts
    const sections = said.map(({ name, text }) => `# ${name}\n\n${text}`).join('\n\n')
    if (down === undefined) return sections === '' ? undefined : sections.slice(0, instructionsLengthMax)
    const room = Math.max(0, instructionsLengthMax - down.length - 2)
    return [...(sections === '' ? [] : [sections.slice(0, room)]), down].join('\n\n')
  }
}
