// What one client reaches: its lanes, their names, and the way there.

import type { ArgumentChecks } from './arguments.js'
import { Catalog, type SpliceItem } from './catalog.js'
import type { NotificationFrame } from './jsonrpc/frame.js'
import type { ClientPort } from './mcp/call.js'
import { mergeCapabilities, presumedCapabilities } from './mcp/capabilities.js'
import type { ServerDescription } from './mcp/eras/leg.js'
import type { ListKind } from './mcp/method-row.js'
import { Router } from './router.js'
import type { LogSink, Runtime } from './upstream/host.js'
import type { Lane, Upstream } from './upstream/upstream.js'
import { within } from './upstream/within.js'

export interface ReachParts {
  readonly upstreams: readonly Upstream[]
  readonly checks: ArgumentChecks
  readonly splice: SpliceItem
  readonly runtime: Runtime
  readonly log: LogSink
  /** How long the first answers wait for servers that are still starting. */
  readonly startupGraceMs: number
  readonly listPageBytesMax: number
  /** The client has been given this list, and wants to hear when it changes. */
  gave(kind: ListKind): void
}

/** Instructions of all servers together; clients put them into a model's context. */
const INSTRUCTIONS_LENGTH_MAX = 64 * 1024

/** A client's lanes, one for each server in configuration order. */
export class Reach {
  readonly router: Router
  readonly #client: ClientPort
  readonly #lanes: readonly Lane[]
  readonly #catalog: Catalog
  /** Resolves when every server has answered or failed, or the grace is over. */
  readonly settled: Promise<unknown>
  #listing: Promise<void> | undefined

  constructor(client: ClientPort, parts: ReachParts) {
    this.#client = client
    this.#lanes = parts.upstreams.map((upstream) => upstream.attach(client))
    this.#catalog = new Catalog(this.#lanes, parts.log)
    const { runtime, startupGraceMs } = parts
    this.settled = within(Promise.all(this.#lanes.map((lane) => lane.settled)), startupGraceMs, runtime)
    this.#listing = this.#listedWithin(parts)
    this.router = new Router({
      lanes: this.#lanes,
      catalog: this.#catalog,
      checks: parts.checks,
      splice: parts.splice,
      runtime: parts.runtime,
      listPageBytesMax: parts.listPageBytesMax,
      listed: () => this.#listing,
      gave: (kind) => parts.gave(kind),
    })
  }

  /** What all servers are together; one that has not said yet is presumed to offer everything. */
  describe(): ServerDescription {
    const reachable = this.#lanes.filter((lane) => lane.state !== 'error')
    const capabilities = reachable.map((lane) => lane.capabilities ?? presumedCapabilities)
    return {
      capabilities: mergeCapabilities(capabilities, this.#client.profile.capabilities),
      instructions: this.#instructions(),
    }
  }

  changed(kinds: readonly ListKind[]): void {
    this.#catalog.invalidate(kinds)
  }

  level(level: string): void {
    for (const lane of this.#lanes) lane.level(this.#client, level)
  }

  rootsChanged(frame: NotificationFrame): void {
    for (const lane of this.#lanes) lane.rootsChanged(this.#client, frame)
  }

  read(on: boolean): void {
    for (const lane of this.#lanes) lane.read(this.#client, on)
  }

  async leave(): Promise<void> {
    await Promise.all(this.#lanes.map((lane) => lane.leave(this.#client)))
  }

  /** One server's words are passed as they are; those of several stand under their names. */
  #instructions(): string | undefined {
    const said = this.#lanes.flatMap((lane) => {
      const text = lane.instructions?.trim()
      return text === undefined || text === '' ? [] : [{ name: lane.config.name, text }]
    })
    const [first] = said
    if (first === undefined) return undefined
    if (this.#lanes.length === 1) return first.text
    const sections = said.map(({ name, text }) => `# ${name}\n\n${text}`)
    return sections.join('\n\n').slice(0, INSTRUCTIONS_LENGTH_MAX)
  }

  async #listedWithin({ runtime, startupGraceMs }: ReachParts): Promise<void> {
    await within(Promise.all(this.#lanes.map((lane) => lane.listed)), startupGraceMs, runtime)
    this.#listing = undefined
  }
}
