// The kept facts of a server, parsed once for all lanes that show them.

import type { ServerFacts } from '../../mcp/eras/leg.js'
import { type ListItem, readListItem } from '../../mcp/lists.js'
import type { ListKind } from '../../mcp/methods/method-row.js'
import type { SelfDescription } from '../contracts/kept.js'

/** A server and its lists, as a lane shows them. */
export interface Described {
  /** Whether a process that this proxy has started said it, and not one of an earlier run. */
  readonly isCurrent: boolean
  readonly facts: ServerFacts
  /** Without those of which nothing is known. */
  readonly lists: ReadonlyMap<ListKind, readonly ListItem[]>
}

/** Reads descriptions, and knows those that were written here. */
export class Descriptions {
  readonly #known = new WeakMap<SelfDescription, Described>()
  readonly #recall: (handshake: Uint8Array) => ServerFacts | undefined

  /** `recall` reads the result of a handshake. */
  constructor(recall: (handshake: Uint8Array) => ServerFacts | undefined) {
    this.#recall = recall
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

  /** The words themselves, to be kept. */
  write(facts: ServerFacts, lists: Described['lists']): SelfDescription {
    const lines = new Map([...lists].map(([kind, each]) => [kind, each.map(({ line }) => line)]))
    const description = { handshake: facts.handshake, lists: lines }
    this.#remember(description, { isCurrent: true, facts, lists })
    return description
  }

  #remember(description: SelfDescription, described: Described): Described {
    this.#known.set(description, described)
    return described
  }
}
