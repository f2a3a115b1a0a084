// The lists of a lane: read when its first process opens, when a process says
// that they have changed, and again where that failed.
//
// What cannot be read stays as it was last known, so that a server which comes
// back half does not look as if it had nothing. One that comes back and says that
// it has nothing is asked again, since many say so before they are done.

import type { ServerCapabilities } from '../../mcp/capabilities.js'
import { listKinds } from '../../mcp/lists.js'
import type { ListKind } from '../../mcp/methods/method-row.js'
import type { Timer } from '../../runtime/runtime.js'
import type { Link } from './link.js'
import type { LaneParts } from './lane-parts.js'

/** How often a server that had something before it was started anew is asked again whether it has nothing now. */
const DOUBTED_RETRIES = 3

/** How often a server that cannot list is asked while somebody waits for it. */
const HURRIED_TRIES = 3

/** Keeps the lists of a lane up to date. */
export class LaneLists {
  readonly #parts: Pick<LaneParts, 'listing' | 'runtime'>
  readonly #announce: (kinds: readonly ListKind[]) => void
  readonly #over: () => void
  /** Of the process whose lists these are. */
  #link: Link | undefined
  #capabilities: ServerCapabilities | undefined
  #readings = 0
  /** The last reading of each list. */
  readonly #lists = new Map<ListKind, Promise<void>>()
  #retries = 0
  #retry: Timer | undefined
  /** What those who have hurried wait for, and how many lists were missing then. */
  #hurried: { readonly over: Promise<void>; readonly missing: number } | undefined
  #endWait: () => void = () => {}

  /** `announce` hears which lists have changed, `over` that what was asked for has been read, or could not be. */
  constructor(
    parts: Pick<LaneParts, 'listing' | 'runtime'>,
    announce: (kinds: readonly ListKind[]) => void,
    over: () => void,
  ) {
    this.#parts = parts
    this.#announce = announce
    this.#over = over
  }

  /** Whether the names of tools and prompts have been read at least once. */
  get known(): boolean {
    return this.knows('tools') && this.knows('prompts')
  }

  knows(kind: ListKind): boolean {
    return this.#capabilities !== undefined && this.#parts.listing.hasRead(kind, this.#capabilities)
  }

  /** Resolves when this list has been read that is being read now. */
  reading(kind: ListKind): Promise<void> | undefined {
    return this.#lists.get(kind)
  }

  /** Why a list could not be read last, where that is so. */
  get failure(): string | undefined {
    return this.#parts.listing.failure
  }

  /** Whether something is being read, or about to be. */
  get busy(): boolean {
    return this.#readings > 0 || this.#retry !== undefined
  }

  /** A process is there; resolves when its lists have been read, or could not be. */
  opened(link: Link, capabilities: ServerCapabilities): Promise<void> {
    this.#link = link
    this.#capabilities = capabilities
    this.#retries = 0
    this.#parts.listing.doubt()
    return this.#read(link, listKinds)
  }

  /** What could not be read is asked for now, and a few times more; resolves when some of it is there, or not to be had. */
  hurry(): Promise<void> {
    const { failed } = this.#parts.listing
    if (this.#link === undefined || this.known || failed.length === 0) return Promise.resolve()
    if (this.#hurried !== undefined) return this.#hurried.over
    const over = new Promise<void>((resolve) => {
      this.#endWait = resolve
    })
    this.#hurried = { over, missing: failed.length }
    this.#cancelRetry()
    this.#retries = 0
    void this.#read(this.#link, failed)
    return over
  }

  /** A process says that these have changed. */
  changed(link: Link, kinds: readonly ListKind[]): void {
    void this.#read(link, kinds)
  }

  /** Whether any of them has changed may have been said to nobody. */
  missed(link: Link): void {
    const kinds = this.#capabilities?.changes ?? []
    if (link === this.#link && kinds.length > 0) void this.#read(link, kinds)
  }

  closed(link: Link): void {
    if (this.#link === link) this.close()
  }

  close(): void {
    this.#link = undefined
    this.#cancelRetry()
    this.#endHurry()
  }

  /** Each list is there as soon as it has been read: tools need not wait for resources. */
  async #read(link: Link, kinds: readonly ListKind[]): Promise<void> {
    const capabilities = this.#capabilities
    if (capabilities === undefined) return
    this.#readings++
    const { listing } = this.#parts
    const reads = kinds.map((kind) => this.#readOne(link, capabilities, kind))
    for (const [at, kind] of kinds.entries()) if (reads[at] !== undefined) this.#lists.set(kind, reads[at])
    await Promise.all(reads)
    this.#readings--
    this.#over()
    if (listing.failed.length === 0) this.#retries = 0
    else if (link === this.#link) this.#again()
    if (this.#hurried !== undefined) {
      const isLess = listing.failed.length < this.#hurried.missing
      if (isLess || this.#retries >= HURRIED_TRIES) this.#endHurry()
    }
  }

  #endHurry(): void {
    this.#endWait()
    this.#hurried = undefined
  }

  async #readOne(link: Link, capabilities: ServerCapabilities, kind: ListKind): Promise<void> {
    if (await this.#parts.listing.refresh(link, capabilities, kind)) this.#announce([kind])
  }

  #cancelRetry(): void {
    this.#retry?.cancel()
    this.#retry = undefined
  }

  /** A server that cannot list now may be able to in a moment. */
  #again(): void {
    const { listing, runtime } = this.#parts
    const { retriesMax, retryMs, retryMsMax } = listing.limits
    if (this.#retry !== undefined || this.#retries >= retriesMax) return
    const delayMs = Math.min(retryMs * 2 ** this.#retries++, retryMsMax)
    this.#retry = runtime.setTimer(delayMs, () => {
      this.#retry = undefined
      if (this.#retries >= DOUBTED_RETRIES) listing.trust()
      // Of the process that is there by then.
      if (this.#link !== undefined) void this.#read(this.#link, listing.failed)
    })
  }
}
