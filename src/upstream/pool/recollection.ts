// The kept facts of one lane's server, shown until the server has listed again.
//
// A server that fails once may be well the next time, so its lists are kept; after
// two failures in a row only the failure is.

import { type ClientCapabilities, capabilitySet, noCapabilities } from '../../mcp/capabilities.js'
import type { EraMemory, ServerFacts } from '../../mcp/eras/leg.js'
import { type ListItem, readListItem } from '../../mcp/lists.js'
import type { ListKind } from '../../mcp/methods/method-row.js'
import type { KeptFacts, KeptServer, SelfDescription } from '../contracts/kept.js'
import type { LaneLists } from './lane-lists.js'

/** A server and its lists, as a lane shows them. */
export interface Described {
  /** Whether a process that this proxy has started said it, and not one of an earlier run. */
  readonly isCurrent: boolean
  readonly facts: ServerFacts
  /** Without those of which nothing is known. */
  readonly lists: ReadonlyMap<ListKind, readonly ListItem[]>
}

/** What is kept of one server; what it means is read once for all lanes that show it. */
export class Recollections {
  /** Undefined where nothing is kept. */
  readonly kept: KeptServer | undefined
  readonly #era: Pick<EraMemory, 'shyness'>
  readonly #recall: (handshake: Uint8Array) => ServerFacts | undefined
  readonly #known = new WeakMap<SelfDescription, Described>()
  /** Those that still show what was kept, by their sets of capabilities. */
  readonly #showing = new Map<string, Set<Recollection>>()

  /** `recall` reads the words of a server. */
  constructor(
    kept: KeptServer | undefined,
    era: Pick<EraMemory, 'shyness'>,
    recall: (handshake: Uint8Array) => ServerFacts | undefined,
  ) {
    this.kept = kept
    this.#era = era
    this.#recall = recall
  }

  /** Of the lanes whose server is told the same of its clients. */
  showing(set: string): Set<Recollection> {
    const showing = this.#showing.get(set) ?? new Set()
    this.#showing.set(set, showing)
    return showing
  }

  /** What the server said to clients that can be asked nothing, in an earlier run or in this one. */
  get facts(): ServerFacts | undefined {
    const description = this.kept?.recall(capabilitySet(noCapabilities))?.description
    return description && this.read(description)?.facts
  }

  /** Undefined when the handshake is none that this proxy speaks. */
  read(description: SelfDescription): Described | undefined {
    const known = this.#known.get(description)
    if (known !== undefined) return known
    const facts = this.#recall(description.handshake)
    if (facts === undefined) return undefined
    const lists = new Map(
      [...description.lists].map(([kind, items]) => [
        kind,
        items.flatMap((item) => readListItem(item, kind) ?? []),
      ]),
    )
    return this.#remember(description, { isCurrent: false, facts, lists })
  }

  /** The words themselves, to be kept for this set. */
  write(set: string, facts: ServerFacts, lists: Described['lists']): SelfDescription {
    const lines = new Map([...lists].map(([kind, each]) => [kind, each.map(({ line }) => line)]))
    const before = this.kept?.recall(set)?.description?.handshake
    // One that says something else of itself is another version, and may have learned to answer.
    const isSame = before === undefined || Buffer.compare(before, facts.handshake) === 0
    const description = {
      handshake: facts.handshake,
      lists: lines,
      isShy: isSame && this.#era.shyness !== undefined,
    }
    this.#remember(description, { isCurrent: true, facts, lists })
    return description
  }

  #remember(description: SelfDescription, described: Described): Described {
    this.#known.set(description, described)
    return described
  }
}

/** The facts of one lane that were kept. */
export class Recollection {
  readonly #all: Recollections
  readonly #lists: LaneLists
  /** Of the clients of the lane (`capabilitySet`). */
  readonly #set: string
  /** What was kept when the lane was made; undefined once the server has answered or failed. */
  #before: KeptFacts | undefined
  #facts: ServerFacts | undefined
  /** The lists that are known. */
  #kinds: ReadonlySet<ListKind> = new Set()
  #isCurrent = false
  #isLate = false
  #isOver = false
  readonly #changed: (kinds: readonly ListKind[]) => void

  /**
   * `declared` is what the server of the lane is told that clients can do. `changed` hears which lists show something
   * else than before, though the lane's own server has said nothing.
   */
  constructor(
    all: Recollections,
    lists: LaneLists,
    declared: ClientCapabilities,
    changed: (kinds: readonly ListKind[]) => void,
  ) {
    this.#all = all
    this.#lists = lists
    this.#changed = changed
    this.#set = capabilitySet(declared)
    this.#before = all.kept?.recall(this.#set)
    const description = this.#before?.description
    const described = description === undefined ? undefined : all.read(description)
    if (described !== undefined) this.#show(described)
    all.showing(this.#set).add(this)
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
    this.over()
    const description = this.#all.kept && this.#all.write(this.#set, said.facts, said.lists)
    if (description === undefined) return
    this.#all.kept?.keep(this.#set, { answered: true, description })
    for (const other of this.#all.showing(this.#set)) other.#renew(said)
  }

  /** The server has not answered for so long that neither the next start nor the next client is to wait for it. */
  late(): void {
    if (this.#isOver || this.#isLate) return
    this.#isLate = true
    const description = this.#before?.answered === true ? this.#before.description : undefined
    this.#all.kept?.keep(this.#set, { answered: false, description })
  }

  /**
   * The start has failed: what an earlier run has kept is not shown any more; gives the lists that had something.
   *
   * What another process of this run has said stays, as after a crash.
   */
  forget(): ListKind[] {
    if (this.#isOver || this.#isCurrent) return []
    this.over()
    return this.#lists.forget()
  }

  /** From now on nothing is shown that was kept. */
  over(): void {
    this.#all.showing(this.#set).delete(this)
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
    if (changed.length > 0) this.#changed(changed)
  }

  /** Gives the lists that are others than before. */
  #show({ isCurrent, facts, lists }: Described): ListKind[] {
    this.#isCurrent = isCurrent
    this.#facts = facts
    this.#kinds = new Set([...this.#kinds, ...lists.keys()])
    return [...lists].flatMap(([kind, items]) => (this.#lists.recall(kind, items) ? [kind] : []))
  }
}
