// What a client has still to be told of its lists while servers are exchanged.
//
// Servers that come and go would each announce their part. The client is told
// once, when all of it has happened, and of nothing that looks as it did before.

import type { Target } from './catalog.js'
import type { ListKind } from './mcp/method-row.js'

/** Remembers what a client was shown last, for as long as changes are held back. */
export class HeldChanges {
  readonly #shown: (kind: ListKind) => readonly Target[]
  readonly #given: ListKind[] = []
  /** Only while changes are held back. */
  #seen: Map<ListKind, readonly Target[]> | undefined
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
    return this.#given
  }

  begin(): void {
    this.#seen ??= new Map(this.#given.map((kind) => [kind, this.#shown(kind)]))
    this.#holds++
  }

  /** The client has just been given this list. */
  gave(kind: ListKind): void {
    if (!this.#given.includes(kind)) this.#given.push(kind)
    this.#seen?.set(kind, this.#shown(kind))
  }

  /** Ends one `begin`; the last one gives the lists that differ from what the client has. */
  end(): ListKind[] {
    this.#holds--
    if (this.on) return []
    const changed = [...(this.#seen ?? [])].filter(([kind, seen]) => !looksSame(seen, this.#shown(kind)))
    this.#seen = undefined
    return changed.map(([kind]) => kind)
  }
}

function looksSame(before: readonly Target[], now: readonly Target[]): boolean {
  return before.length === now.length && before.every((target, at) => isSame(target, now[at]))
}

function isSame(target: Target, other: Target | undefined): boolean {
  if (target.publicName !== other?.publicName || target.mark !== other.mark) return false
  return target.item === other.item || target.item.line.equals(other.item.line)
}
