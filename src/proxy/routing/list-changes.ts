// Merges the `list_changed` notifications for one client.
//
// Each server that appears or disappears announces its changes. The client gets one notification of each kind
// after all of the changes, and none for a list that is the same as before.

import type { Target } from './catalog.js'
import { isSameApart } from '../../mcp/apart-uris.js'
import { isSameItem, listShapes } from '../../mcp/list-items.js'
import type { ListKind } from '../../mcp/methods.js'
import type { Router, RoutingContext } from './router.js'

export interface ListsReader {
  readonly isReady: boolean
  /** Sends the notifications for lists that have changed. Two lists may share one method. */
  notifyChanges(methods: ReadonlySet<string>): void
}

export class ListChanges {
  readonly #client: ListsReader
  readonly #lists: Pick<Router, 'shown'>
  readonly #context: RoutingContext
  /** Each list as it was when the client last got it, or was last notified of its change. */
  readonly #seen = new Map<ListKind, readonly Target[]>()
  readonly #pending = new Set<ListKind>()
  #isScheduled = false
  #pauses = 0

  constructor(client: ListsReader, lists: Pick<Router, 'shown'>, context: RoutingContext) {
    this.#client = client
    this.#lists = lists
    this.#context = context
  }

  get shownKinds(): readonly ListKind[] {
    return [...this.#seen.keys()]
  }

  markShown(kind: ListKind): void {
    this.#seen.set(kind, this.#lists.shown(kind))
  }

  pause(): void {
    this.#pauses++
  }

  /** Ends one `pause`. The caller must call `changed` next. */
  resume(): void {
    this.#pauses--
  }

  changed(kinds: readonly ListKind[]): void {
    if (this.#pauses > 0) return
    // A client that never asked for a list has nothing to read again.
    for (const kind of kinds) if (this.#seen.has(kind)) this.#pending.add(kind)
    if (kinds.includes('resources') && this.#seen.has('tools')) this.#pending.add('tools')
    this.notifySoon()
  }

  /** Notifies a client that is ready of the pending changes, after a short delay. */
  notifySoon(): void {
    if (!this.#client.isReady || this.#isScheduled || this.#pending.size === 0) return
    this.#isScheduled = true
    const { runtime, limits } = this.#context
    runtime.setTimer(limits.session.changeDelayMs, () => {
      this.#isScheduled = false
      const changed = [...this.#pending].filter((kind) => this.#differs(kind))
      this.#pending.clear()
      for (const kind of changed) this.markShown(kind)
      if (changed.length > 0)
        this.#client.notifyChanges(new Set(changed.map((kind) => listShapes[kind].changed)))
    })
  }

  #differs(kind: ListKind): boolean {
    const known = this.#seen.get(kind)
    return this.#pauses === 0 && known !== undefined && !looksSame(known, this.#lists.shown(kind))
  }
}

function looksSame(before: readonly Target[], now: readonly Target[]): boolean {
  const isSame = ({ publicName, mark, item, apart }: Target, at: number): boolean => {
    const other = now[at]
    if (publicName !== other?.publicName || mark !== other.mark) return false
    return isSameItem(item, other.item) && isSameApart(apart, other.apart)
  }
  return before === now || (before.length === now.length && before.every(isSame))
}
