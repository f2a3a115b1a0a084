// Merges the `list_changed` notifications for one client.
//
// Servers that come and go each announce their part. The client gets one notification of each kind when all
// of it has happened, and none for a list that is the same as before.

import type { Target } from './catalog.js'
import { isSameItem, listShapes } from '../../mcp/lists.js'
import type { ListKind } from '../../mcp/methods.js'

/** A list that a client sees, in an array that does not change. */
export type ShownList = readonly Target[]

/** A client, or a request of it that stays open. */
export interface ListsReader {
  /** Whether it gets notifications of changes. */
  readonly isReady: boolean
  /** Some lists look different now: these are the notifications, each once, though two lists have one notification. */
  tellChanges(methods: ReadonlySet<string>): void
}

/** Remembers what a client knows of its lists, and tells it of changes. */
export class ListChanges {
  readonly #client: ListsReader
  readonly #shown: (kind: ListKind) => readonly Target[]
  readonly #soon: (tell: () => void) => unknown
  /** Each list at the time when the client got it, or got the last notification of a change of it. */
  readonly #known = new Map<ListKind, readonly Target[]>()
  readonly #untold = new Set<ListKind>()
  #isTelling = false
  #holds = 0

  /** `shown` gives the current list, in an array that does not change; `soon` calls its argument a little later. */
  constructor(
    client: ListsReader,
    shown: (kind: ListKind) => readonly Target[],
    soon: (tell: () => void) => unknown,
  ) {
    this.#client = client
    this.#shown = shown
    this.#soon = soon
  }

  /** The lists that the client has been given. */
  get given(): readonly ListKind[] {
    return [...this.#known.keys()]
  }

  /** The client has just been given this list. */
  gave(kind: ListKind): void {
    this.#known.set(kind, this.#shown(kind))
  }

  /** From now on changes are held back. */
  begin(): void {
    this.#holds++
  }

  /** Ends one `begin`; the last one gives the lists that differ from what the client knows. */
  end(): ListKind[] {
    this.#holds--
    return this.#differing(this.given)
  }

  /** The lists of some server have changed. */
  changed(kinds: readonly ListKind[]): void {
    if (this.#holds > 0) return
    // A client that never asked for a list has nothing to read again.
    for (const kind of kinds) if (this.#known.has(kind)) this.#untold.add(kind)
    this.tell()
  }

  /** Tells the client what it has not been told, a little later and once it is ready. */
  tell(): void {
    if (!this.#client.isReady || this.#isTelling || this.#untold.size === 0) return
    this.#isTelling = true
    this.#soon(() => {
      this.#isTelling = false
      const told = this.#differing([...this.#untold])
      this.#untold.clear()
      for (const kind of told) this.gave(kind)
      this.#client.tellChanges(new Set(told.map((kind) => listShapes[kind].changed)))
    })
  }

  #differing(kinds: readonly ListKind[]): ListKind[] {
    if (this.#holds > 0) return []
    return kinds.filter((kind) => {
      const known = this.#known.get(kind)
      return known !== undefined && !looksSame(known, this.#shown(kind))
    })
  }
}

function looksSame(before: readonly Target[], now: readonly Target[]): boolean {
  const isSame = ({ publicName, mark, item }: Target, at: number): boolean => {
    const other = now[at]
    return publicName === other?.publicName && mark === other.mark && isSameItem(item, other.item)
  }
  return before.length === now.length && before.every(isSame)
}
