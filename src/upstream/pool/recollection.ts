// The kept facts of one lane's server, shown until the server has listed again.
//
// A server that fails once may be well the next time, so its lists are kept; after
// two failures in a row only the failure is.

import type { ServerFacts } from '../../mcp/eras/leg.js'
import type { ListKind } from '../../mcp/methods/method-row.js'
import type { Described, Descriptions } from './described.js'
import type { KeptFacts, KeptServer } from '../contracts/kept.js'
import type { Listing } from './listing.js'

export interface RecollectionParts {
  readonly listing: Listing
  /** Undefined where nothing is kept of this server. */
  readonly kept: KeptServer | undefined
  /** Of the clients of the lane (`capabilitySet`). */
  readonly set: string
  readonly descriptions: Descriptions
  /** Those of the same set that still show what was kept. */
  readonly peers: Set<Recollection>
}

/** The facts of one lane that were kept. */
export class Recollection {
  readonly #parts: RecollectionParts
  /** What was kept when the lane was made; undefined once the server has answered or failed. */
  #before: KeptFacts | undefined
  #facts: ServerFacts | undefined
  /** The lists that are known. */
  #kinds: ReadonlySet<ListKind> = new Set()
  #isCurrent = false
  #isLate = false
  #isOver = false
  /** Some lists show something else than before, though the lane's own server has said nothing. */
  changed: (kinds: readonly ListKind[]) => void = () => {}

  constructor(parts: RecollectionParts) {
    this.#parts = parts
    this.#before = parts.kept?.recall(parts.set)
    const description = this.#before?.description
    const described = description === undefined ? undefined : parts.descriptions.read(description)
    if (described !== undefined) this.#show(described)
    parts.peers.add(this)
  }

  /** What the server said of itself before it was started, where that is shown. */
  get facts(): ServerFacts | undefined {
    return this.#facts
  }

  /** Whether what is shown was said in this run, by another process. */
  get isCurrent(): boolean {
    return this.#isCurrent
  }

  /** Whether the server did not answer the last time or takes long now, and has not answered since. */
  get isSilent(): boolean {
    return this.#isLate || this.#before?.answered === false
  }

  /** Whether this list was kept: one that could not be read then is not known. */
  has(kind: ListKind): boolean {
    return this.#kinds.has(kind)
  }

  /** Shows what another lane of the same server knows, where nothing was kept for this one. */
  borrow(described: Described): void {
    if (this.#facts === undefined && !this.#isOver) this.#show(described)
  }

  /** The server has said what it is and has; that is kept for the next start. */
  confirmed(said: Pick<Described, 'facts' | 'lists'>): void {
    const { kept, set, descriptions, peers } = this.#parts
    this.over()
    if (kept === undefined) return
    kept.keep(set, { answered: true, description: descriptions.write(said.facts, said.lists) })
    for (const peer of peers) peer.#renew(said)
  }

  /** The server has not answered for so long that neither the next start nor the next client is to wait for it. */
  late(): void {
    if (this.#isOver || this.#isLate) return
    this.#isLate = true
    const { kept, set } = this.#parts
    const description = this.#before?.answered === true ? this.#before.description : undefined
    kept?.keep(set, { answered: false, description })
  }

  /**
   * The start has failed: what an earlier run has kept is not shown any more; gives the lists that had something.
   *
   * What another process of this run has said stays, as after a crash.
   */
  forget(): ListKind[] {
    if (this.#isOver || this.#isCurrent) return []
    this.over()
    return this.#parts.listing.forget()
  }

  /** From now on nothing is shown that was kept. */
  over(): void {
    this.#parts.peers.delete(this)
    this.#isOver = true
    this.#isLate = false
    this.#before = undefined
    this.#facts = undefined
    this.#kinds = new Set()
  }

  /** The server has said something else to another client of this set. */
  #renew({ facts, lists }: Pick<Described, 'facts' | 'lists'>): void {
    if (this.#facts === undefined) return
    const changed = this.#show({ isCurrent: true, facts, lists })
    if (changed.length > 0) this.changed(changed)
  }

  /** Gives the lists that are others than before. */
  #show({ isCurrent, facts, lists }: Described): ListKind[] {
    this.#isCurrent = isCurrent
    this.#facts = facts
    this.#kinds = new Set([...this.#kinds, ...lists.keys()])
    return [...lists].flatMap(([kind, items]) => (this.#parts.listing.recall(kind, items) ? [kind] : []))
  }
}
