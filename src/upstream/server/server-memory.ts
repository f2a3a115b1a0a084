// What is known of one server beyond its processes: its era, and its facts that are kept, shown until it has listed again.
//
// A connection to a stateless server asks again which revisions the server speaks, so a wrong finding is noticed.
// A server with sessions always accepts `initialize`, also once it speaks a later revision. Over the network no message
// reports a new version of the server, so there the finding expires.
//
// A server that fails once may be well the next time, so its lists are kept; after two failures in a row only the failure
// is.

import { type EraMemory, recalledFacts, type ServerFacts } from '../../mcp/eras/server-opener.js'
import { type ListItem, readListItem } from '../../mcp/list-items.js'
import type { ListKind } from '../../mcp/methods.js'
import type { Runtime } from '../../runtime/runtime.js'
import type { KeptFacts, KeptServer, SelfDescription } from '../contracts/kept.js'
import type { Before } from '../contracts/upstream.js'

export interface Described {
  readonly facts: ServerFacts
  /** Without those of which nothing is known. */
  readonly lists: ReadonlyMap<ListKind, readonly ListItem[]>
}

export class ServerMemory implements EraMemory {
  readonly #runtime: Pick<Runtime, 'now'>
  readonly #kept: KeptServer
  readonly #eraMs: number
  #era: EraMemory['era']
  #learnedAt = 0
  evidence: EraMemory['evidence']
  /** When a process has last shaken hands, in milliseconds since 1970. */
  connectedAtMs: number | undefined
  /** The finding of an earlier run counts until this one has found it out. */
  probeFailure: EraMemory['probeFailure']
  /** The description is read once for all lanes that show it. */
  #latest: { readonly of: SelfDescription; readonly described: Described | undefined } | undefined
  /** Whether a process that this proxy has started gave the description, and not one of an earlier run. */
  isConfirmed = false

  constructor(runtime: Pick<Runtime, 'now'>, kept: KeptServer, eraMs: number) {
    this.#runtime = runtime
    this.#kept = kept
    this.#eraMs = eraMs
    this.probeFailure = kept.facts?.description?.probeFailed === true ? 'kept' : undefined
  }

  get era(): EraMemory['era'] {
    return this.#runtime.now() - this.#learnedAt < this.#eraMs ? this.#era : undefined
  }

  learned(era: EraMemory['era'], evidence: EraMemory['evidence']): void {
    this.#era = era
    this.evidence = evidence
    this.#learnedAt = this.#runtime.now()
  }

  forgot(): void {
    this.#era = undefined
  }

  get kept(): KeptFacts | undefined {
    return this.#kept.facts
  }

  /** The server's own description, of an earlier run or of this one. */
  get facts(): ServerFacts | undefined {
    return this.described?.facts
  }

  /** Undefined where nothing is kept, or the handshake is none that this proxy speaks. */
  get described(): Described | undefined {
    const of = this.kept?.description
    if (of !== undefined && this.#latest?.of !== of) this.#latest = { of, described: this.#read(of) }
    return of && this.#latest?.described
  }

  confirmed(described: Described): void {
    const { facts, lists } = described
    const { handshake } = facts
    const before = this.kept?.description?.handshake
    // A server that says something else of itself is another version, and may have learned to answer.
    const isSame = before === undefined || Buffer.compare(before, handshake) === 0
    const lines = new Map([...lists].map(([kind, each]) => [kind, each.map(({ line }) => line)]))
    const of = { handshake, lists: lines, probeFailed: isSame && this.probeFailure !== undefined }
    this.isConfirmed = true
    this.#latest = { of, described }
    this.#kept.keep({ failure: undefined, description: of })
  }

  /** Its start has failed, and the proxy did not end it. */
  failed(why: string): void {
    if (this.isConfirmed) return
    const { failure, description } = this.kept ?? {}
    this.#kept.keep({ failure: why, description: failure === undefined ? description : undefined })
  }

  #read({ handshake, lists }: SelfDescription): Described | undefined {
    const facts = recalledFacts(handshake)
    const read = [...lists].map(
      ([kind, items]) => [kind, items.flatMap((item) => readListItem(item, kind) ?? [])] as const,
    )
    return facts && { facts, lists: new Map(read) }
  }
}

/** The state of a kept server until its next start has ended; `isShown` says whether its description is shown. */
export function beforeOf(kept: KeptFacts | undefined, isShown: boolean): Before {
  if (kept?.failure !== undefined) return { kind: 'silent', failure: kept.failure }
  return { kind: isShown ? 'facts' : 'nothing' }
}
