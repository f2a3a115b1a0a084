// The lists of a lane as far as they are known: from its server, or from an earlier start.
//
// A list that cannot be read stays as it was last known, so that a server which comes back half does not look as if it
// had nothing.

import type { ErrorBody } from '../../jsonrpc/build.js'
import type { ServerCapabilities } from '../../mcp/capabilities.js'
import { isSameItem, type ListItem, listKinds } from '../../mcp/lists.js'
import type { FailureReason } from '../../mcp/error-codes.js'
import type { ListKind } from '../../mcp/methods.js'

const NOTHING: readonly ListItem[] = []

/** Why a list could not be read. */
export interface ListFailure {
  readonly message: string
  readonly reason: FailureReason | undefined
  /** The error of a call, where a person has to log in. */
  readonly body: ErrorBody | undefined
}

/** Holds the lists of a lane. Items that did not change stay the same objects. */
export class Lists {
  readonly #announce: (kinds: readonly ListKind[]) => void
  readonly #lists = new Map<ListKind, readonly ListItem[]>()
  /** A tool of the proxy's own, which is listed behind those of the server until these have been read. */
  ownTool: ListItem | undefined
  /** Lists that were read at least once. */
  readonly #read = new Set<ListKind>()
  readonly #known = new Set<ListKind>()
  /** The lists that were read, and those that the server does not have. */
  readonly known: ReadonlySet<ListKind> = this.#known
  readonly #failures = new Map<ListKind, ListFailure>()
  /** Why a list could not be read the last time. */
  readonly failures: ReadonlyMap<ListKind, ListFailure> = this.#failures

  /** `announce` is called when the proxy's own tool is listed. */
  constructor(announce: (kinds: readonly ListKind[]) => void) {
    this.#announce = announce
  }

  /** Lists a tool of the proxy's own, unless the server has one of that name. */
  showOwnTool(tool: ListItem): void {
    if (this.ownTool === tool || this.items('tools').some(({ key }) => key === tool.key)) return
    this.ownTool = tool
    this.#announce(['tools'])
  }

  /** The items that the server has, or had. */
  items(kind: ListKind): readonly ListItem[] {
    return this.#lists.get(kind) ?? NOTHING
  }

  /** Whether the names of tools and prompts have been read at least once. */
  get hasNames(): boolean {
    return this.known.has('tools') && this.known.has('prompts')
  }

  /** A process is ready that has these. */
  opened(capabilities: ServerCapabilities): void {
    for (const kind of listKinds)
      if (this.#read.has(kind) || !offers(capabilities, kind)) this.#known.add(kind)
      else this.#known.delete(kind)
  }

  /** A list has been read; returns the items, or undefined where they are the same as before. */
  read(kind: ListKind, items: readonly ListItem[]): readonly ListItem[] | undefined {
    this.#read.add(kind)
    this.#known.add(kind)
    return this.accept(kind, items)
  }

  /** The same for a list that is empty because the server does not have it. */
  accept(kind: ListKind, items: readonly ListItem[]): readonly ListItem[] | undefined {
    this.#failures.delete(kind)
    if (kind === 'tools') this.ownTool = undefined
    const old = this.items(kind)
    const byKey = new Map(old.map((item) => [item.key, item]))
    const merged = items.map((item) => {
      const known = byKey.get(item.key)
      return known !== undefined && isSameItem(known, item) ? known : item
    })
    if (merged.length === old.length && merged.every((item, index) => item === old[index])) return undefined
    this.#lists.set(kind, merged)
    return merged
  }

  failed(kind: ListKind, why: ListFailure): void {
    this.#failures.set(kind, why)
  }

  /** Shows what the server listed in an earlier start, or to other clients, until it has been asked. */
  recall(kind: ListKind, items: readonly ListItem[]): void {
    const shown = this.items(kind)
    if (shown.length === items.length && shown.every((item, at) => isSameItem(item, items[at]))) return
    if (items.length > 0) this.#lists.set(kind, items)
    else this.#lists.delete(kind)
  }

  /** Shows nothing any more that the server has not said itself; gives the lists that had something. */
  forget(): ListKind[] {
    const forgotten = [...this.#lists.keys()].filter((kind) => !this.#read.has(kind))
    for (const kind of forgotten) this.#lists.delete(kind)
    return forgotten
  }
}

export function offers(capabilities: ServerCapabilities, kind: ListKind): boolean {
  return kind === 'templates' ? capabilities.resources : capabilities[kind]
}
