// Merges the `list_changed` notifications for one client.
//
// Servers that come and go each announce their part. The client gets one notification of each kind when all
// of it has happened, and none for a list that is the same as before.

import type { Target } from './catalog.js'
import { isSameItem } from '../../mcp/lists.js'
import type { ListKind } from '../../mcp/methods/method-row.js'

/** Remembers what a client knows of its lists, and whether it is told of changes now. */
export class HeldChanges {
  readonly #shown: (kind: ListKind) => readonly Target[]
  /** Each list as it was when the client was given it, or was told last that it has changed. */
  readonly #known = new Map<ListKind, readonly Target[]>()
  #holds = 0

  /** `shown` gives a list as it is now, in an array that stays as it is. */
  constructor(shown: (kind: ListKind) => readonly Target[]) {
    this.#shown = shown
  }

  /** Whether changes are held back. */
  get on(): boolean {
    return this.#holds > 0
  }

  /** The lists that the client has been given. */
  get given(): readonly ListKind[] {
    return [...this.#known.keys()]
  }

  begin(): void {
    this.#holds++
  }

  /** The client has just been given this list. */
  gave(kind: ListKind): void {
    this.#known.set(kind, this.#shown(kind))
  }

  /** Ends one `begin`; the last one gives the lists that differ from what the client knows. */
  end(): ListKind[] {
    this.#holds--
    return this.on ? [] : this.given.filter((kind) => this.#differs(kind))
  }

  /** The client is told of changes now: of these lists, those that differ from what it knows. */
  tell(kinds: readonly ListKind[]): ListKind[] {
    if (this.on) return []
    const told = kinds.filter((kind) => this.#differs(kind))
    for (const kind of told) this.gave(kind)
    return told
  }

  #differs(kind: ListKind): boolean {
    const known = this.#known.get(kind)
    return known !== undefined && !looksSame(known, this.#shown(kind))
  }
}

function looksSame(before: readonly Target[], now: readonly Target[]): boolean {
  return before.length === now.length && before.every((target, at) => isSame(target, now[at]))
}

function isSame(target: Target, other: Target | undefined): boolean {
  if (target.publicName !== other?.publicName || target.mark !== other.mark) return false
  return isSameItem(target.item, other.item)
}
