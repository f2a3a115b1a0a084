// What a lane knows of its server from an earlier start, until the server has said it anew.
//
// A server that fails once may be well the next time, so its lists are kept; after
// two failures in a row only the failure is.

import type { ServerFacts } from '../mcp/eras/leg.js'
import type { ListItem } from '../mcp/lists.js'
import type { ListKind } from '../mcp/method-row.js'
import type { Described, Descriptions } from './described.js'
import type { KeptFacts, KeptServer } from './kept.js'
import type { Listing } from './listing.js'

export interface RecollectionParts {
  readonly listing: Listing
  /** Undefined where nothing is kept of this server. */
  readonly kept: KeptServer | undefined
  /** Of the clients of the lane (`capabilitySet`). */
  readonly set: string
  readonly descriptions: Descriptions
}

/** The facts of one lane that were kept. */
export class Recollection {
  readonly #parts: RecollectionParts
  /** What was kept when the lane was made; undefined once the server has answered or failed. */
  #before: KeptFacts | undefined
  #facts: ServerFacts | undefined
  #isOver = false

  constructor(parts: RecollectionParts) {
    this.#parts = parts
    this.#before = parts.kept?.recall(parts.set)
    const description = this.#before?.description
    const described = description === undefined ? undefined : parts.descriptions.read(description)
    if (described !== undefined) this.#show(described)
  }

  /** What the server said of itself before it was started, where that is shown. */
  get facts(): ServerFacts | undefined {
    return this.#facts
  }

  /** Whether the server did not answer the last time, and has not answered since. */
  get isSilent(): boolean {
    return this.#before?.answered === false
  }

  /** Shows what another lane of the same server knows, where nothing was kept for this one. */
  borrow(described: Described): void {
    if (this.#facts === undefined && !this.#isOver) this.#show(described)
  }

  /** The server has said what it is and has; that is kept for the next start. */
  confirmed(facts: ServerFacts): void {
    const { kept, set, listing, descriptions } = this.#parts
    this.#over()
    if (kept === undefined) return
    const items = (kind: ListKind): readonly ListItem[] => listing.items(kind)
    kept.keep(set, { answered: true, description: descriptions.write(facts, items) })
  }

  /** The server has not answered for so long that the next start is not to wait for it. */
  late(): void {
    if (this.#isOver) return
    const { kept, set } = this.#parts
    const description = this.#before?.answered === true ? this.#before.description : undefined
    kept?.keep(set, { answered: false, description })
  }

  /** The start has failed, and nothing is shown any more; gives the lists that had something. */
  forget(): ListKind[] {
    if (this.#isOver) return []
    this.#over()
    return this.#parts.listing.forget()
  }

  #over(): void {
    this.#isOver = true
    this.#before = undefined
    this.#facts = undefined
  }

  #show({ facts, lists }: Described): void {
    this.#facts = facts
    for (const [kind, items] of lists) this.#parts.listing.recall(kind, items)
  }
}
