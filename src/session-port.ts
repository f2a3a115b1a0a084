// What servers can say to one client.

import type { NotificationFrame, RequestFrame } from './jsonrpc/frame.js'
import type { Peer } from './jsonrpc/peer.js'
import type { Edit } from './jsonrpc/splice.js'
import type { Asker, ClientPort, ClientProfile } from './mcp/call.js'
import type { ClientLeg } from './mcp/eras/leg.js'
import { methodNotFound } from './mcp/error-codes.js'
import { listShapes } from './mcp/lists.js'
import type { ListKind } from './mcp/method-row.js'
import { severity } from './mcp/methods/logging.js'
import { type Question, Questions } from './questions.js'
import type { Runtime } from './upstream/host.js'

/** Questions that may wait for a client to be ready. */
const EARLY_MAX = 64

export interface PortParts {
  readonly leg: ClientLeg
  readonly runtime: Runtime
  /** Changes of lists within this time are told once. */
  readonly changeDelayMs: number
  /** The lists of some server have changed. */
  changed(kinds: readonly ListKind[]): void
  /** Whether every server takes what this client sends. */
  flows(yes: boolean): void
}

/** One client, as the upstream layer sees it. */
export class SessionPort implements ClientPort {
  readonly questions: Questions
  readonly #peer: Peer<Question>
  readonly #parts: PortParts
  readonly #untold = new Set<string>()
  readonly #early: (() => void)[] = []
  #announces = false
  #isTelling = false
  #leastSeverity = 0

  constructor(peer: Peer<Question>, parts: PortParts) {
    this.#peer = peer
    this.#parts = parts
    this.questions = new Questions(peer)
  }

  get profile(): ClientProfile {
    return this.#parts.leg.profile
  }

  /** The client has said that it is ready: from now on it hears of changes. */
  announce(): void {
    this.#announces = true
    for (const ask of this.#early.splice(0)) ask()
    this.#tellChanges()
  }

  /** The least severe log messages that the client wants. */
  setLevel(level: string): void {
    this.#leastSeverity = severity(level)
  }

  /**
   * A question that comes before the client is ready waits until it is.
   *
   * MCP, Lifecycle: a server sends no request before `initialized`.
   */
  ask(frame: RequestFrame, asker: Asker): boolean {
    if (this.#announces) return this.questions.ask(frame, asker, this.profile)
    if (this.#early.length >= EARLY_MAX) return false
    this.#early.push(() => {
      if (!this.questions.ask(frame, asker, this.profile))
        asker.refused(frame.id, methodNotFound(frame.method))
    })
    return true
  }

  withdraw(frame: NotificationFrame, asker: Asker): void {
    this.questions.withdraw(frame, asker)
  }

  forget(asker: Asker): void {
    this.questions.forget(asker)
  }

  tell(frame: NotificationFrame, edits: readonly Edit[]): void {
    this.#peer.pass(frame, edits)
  }

  log(frame: NotificationFrame): void {
    const level = severity(frame.params.members.string('level'))
    if (level < 0 || level >= this.#leastSeverity) this.#peer.pass(frame, [])
  }

  listsChanged(kinds: readonly ListKind[]): void {
    this.#parts.changed(kinds)
    for (const kind of kinds) this.#untold.add(listShapes[kind].changed)
    this.#tellChanges()
  }

  slower(): void {
    this.#parts.flows(false)
  }

  faster(): void {
    this.#parts.flows(true)
  }

  /** What the client was told by the answer to its first request is no news. */
  forgetChanges(): void {
    this.#untold.clear()
  }

  #tellChanges(): void {
    if (!this.#announces || this.#isTelling || this.#untold.size === 0) return
    this.#isTelling = true
    this.#parts.runtime.setTimer(this.#parts.changeDelayMs, () => {
      this.#isTelling = false
      for (const method of this.#untold) this.#peer.notify(method)
      this.#untold.clear()
    })
  }
}
