// The facts about one server that outlive its processes: its era, and the description that clients see until
// the server has listed again.
//
// Each connection to a stateless server asks for the revisions again, so the proxy notices a wrong era. A
// server with sessions always accepts `initialize`, even if it now speaks a later revision. No message over
// the network reports a new version of a server, so the era of a remote server expires.
//
// After one failure the proxy keeps the lists of a server; after two in a row it keeps only the failure.

import { type EraMemory, recalledFacts, type ServerFacts } from '../../mcp/eras/server-opener.js'
import { type ListItem, readListItem } from '../../mcp/list-items.js'
import type { ListKind } from '../../mcp/methods.js'
import type { Runtime } from '../../runtime/runtime.js'
import type { KeptFacts, KeptServer, SelfDescription } from '../contracts/kept.js'
import type { Before } from '../contracts/upstream.js'

export interface Described {
  readonly facts: ServerFacts
  /** The lists that are known. */
  readonly lists: ReadonlyMap<ListKind, readonly ListItem[]>
}

export class ServerMemory implements EraMemory {
  readonly #runtime: Pick<Runtime, 'now'>
  readonly #kept: KeptServer
  readonly #eraMs: number
  #era: EraMemory['era']
  #learnedAt = 0
  evidence: EraMemory['evidence']
  /** When the last handshake of a process succeeded, in milliseconds since 1970. */
  connectedAtMs: number | undefined
  /** The result of an earlier run counts until this run has a result. */
  probeFailure: EraMemory['probeFailure']
  /** The description is parsed once for all lanes that show it. */
  #latest: { readonly of: SelfDescription; readonly described: Described | undefined } | undefined
  /** Whether the description is from a process of this run, not of an earlier one. */
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

  storeEra(era: EraMemory['era'], evidence: EraMemory['evidence']): void {
    this.#era = era
    this.evidence = evidence
    this.#learnedAt = this.#runtime.now()
  }

  forgetEra(): void {
    this.#era = undefined
  }

  get kept(): KeptFacts | undefined {
    return this.#kept.facts
  }

  /** The server's own description, from an earlier run or from this one. */
  get facts(): ServerFacts | undefined {
    return this.described?.facts
  }

  /** Undefined if nothing is kept, or the proxy does not speak the revision of the handshake. */
  get described(): Described | undefined {
    const of = this.kept?.description
    if (of !== undefined && this.#latest?.of !== of) this.#latest = { of, described: this.#read(of) }
    return of && this.#latest?.described
  }

  confirmed(described: Described): void {
    const { facts, lists } = described
    const { handshake } = facts
    const before = this.kept?.description?.handshake
    // A server with a new description is another version, which may answer the question.
    const isSame = before === undefined || Buffer.compare(before, handshake) === 0
    const lines = new Map([...lists].map(([kind, each]) => [kind, each.map(({ line }) => line)]))
    const of = { handshake, lists: lines, probeFailed: isSame && this.probeFailure !== undefined }
    this.isConfirmed = true
    this.#latest = { of, described }
    this.#kept.keep({ failure: undefined, description: of })
  }

  /** Records a failed start that the proxy did not end. */
  storeFailure(why: string): void {
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

/** The state of a kept server until its next start has ended; `isShown`: clients see its description. */
export function beforeOf(kept: KeptFacts | undefined, isShown: boolean): Before {
  if (kept?.failure !== undefined) return { kind: 'silent', failure: kept.failure }
  return { kind: isShown ? 'facts' : 'nothing' }
}
