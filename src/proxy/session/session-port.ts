// The messages that servers can send to one client.

import type { ErrorBody } from '../../jsonrpc/build.js'
import type { NotificationFrame } from '../../jsonrpc/frame.js'
import type { Peer } from '../../jsonrpc/peer.js'
import type { Edit } from '../../jsonrpc/splice.js'
import { rawAt } from '../../jsonrpc/text.js'
import type { Asker, Call, ClientPort, ClientProfile, ServerQuestion } from '../../mcp/call.js'
import type { ClientLeg } from '../../mcp/eras/leg.js'
import { clientGone, methodNotFound } from '../../mcp/error-codes.js'
import { listShapes } from '../../mcp/lists.js'
import type { ListKind } from '../../mcp/methods/method-row.js'
import { severity } from '../../mcp/methods/logging.js'
import type { SessionLimits } from '../../limits.js'
import { type Question, Questions } from './questions.js'
import type { Runtime } from '../../runtime/runtime.js'

export interface PortParts {
  readonly serial: number
  readonly leg: ClientLeg
  readonly runtime: Runtime
  readonly limits: Pick<SessionLimits, 'changeDelayMs' | 'earlyMax'>
}

/** The events of a port. */
export interface PortOwner {
  /** The lists of some server have changed; false when the client is to be told later. */
  changed(kinds: readonly ListKind[]): boolean
  /** The client is told of changes now: of these lists, those that look different to it. */
  tell(kinds: readonly ListKind[]): readonly ListKind[]
  /** Something was said to the client that is no answer. */
  said(): void
  /** Whether the client has a stream open, where its transport can tell. */
  listens(): boolean
}

/** One client, as the upstream layer sees it. */
export class SessionPort implements ClientPort {
  readonly questions: Questions
  readonly #peer: Peer<Question>
  readonly #parts: PortParts
  readonly #owner: PortOwner
  readonly #given: ListKind[] = []
  readonly #untold = new Set<ListKind>()
  readonly #early: ServerQuestion[] = []
  #opening: Call | undefined
  #announces = false
  #isTelling = false
  #leastSeverity = 0

  constructor(peer: Peer<Question>, parts: PortParts, owner: PortOwner) {
    this.#peer = peer
    this.#parts = parts
    this.#owner = owner
    this.questions = new Questions(peer)
  }

  get serial(): number {
    return this.#parts.serial
  }

  get profile(): ClientProfile {
    return this.#parts.leg.profile
  }

  get opening(): Call | undefined {
    return this.#opening
  }

  /** The client opens its session, and the server behind the proxy with it. */
  open(opening: Call): void {
    this.#opening = opening
  }

  get listens(): boolean {
    return this.#owner.listens()
  }

  /** The client has said that it is ready: from now on it hears of changes. */
  announce(): void {
    this.#announces = true
    for (const question of this.#early.splice(0))
      if (!this.ask(question)) refuse(question, methodNotFound(question.frame.method))
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
  ask(question: ServerQuestion): boolean {
    if (!this.#announces)
      return this.#early.length < this.#parts.limits.earlyMax && this.#early.push(question) > 0
    const isAsked = this.questions.ask(question, this.profile)
    if (isAsked) this.#owner.said()
    return isAsked
  }

  withdraw(frame: NotificationFrame, asker: Asker): void {
    const { members } = frame.params
    const span = members.span('requestId')
    const id = span === undefined ? undefined : rawAt(frame.line, span)
    this.#dropEarly((early) => early.asker === asker && early.frame.id === id)
    this.questions.withdraw(frame, asker)
  }

  owes(asker: Asker): boolean {
    return this.#early.some((early) => early.asker === asker) || this.questions.isOpen(asker)
  }

  forget(asker: Asker): void {
    this.#dropEarly((early) => early.asker === asker)
    this.questions.forget(asker)
  }

  /** The client is gone: servers that asked it something are told, since others may still need them. */
  gone(unanswered: readonly Question[]): void {
    for (const question of unanswered) this.questions.refused(question, clientGone())
    for (const question of this.#early.splice(0)) refuse(question, clientGone())
  }

  tell(frame: NotificationFrame, edits: readonly Edit[], during: Call | undefined): void {
    this.#peer.pass(frame, edits, { about: during?.frame.id })
    this.#owner.said()
  }

  /** How far a call is that the proxy answers itself; `params` is raw JSON. */
  progress(call: Call, params: string): void {
    this.#peer.notify('notifications/progress', params, { about: call.frame.id })
    this.#owner.said()
  }

  log(frame: NotificationFrame, during: Call | undefined): void {
    const level = severity(frame.params.members.string('level'))
    if (level < 0 || level >= this.#leastSeverity) this.tell(frame, [], during)
  }

  listsChanged(kinds: readonly ListKind[]): void {
    if (!this.#owner.changed(kinds)) return
    // Who never asked for a list has nothing to read again.
    for (const kind of kinds) if (this.#given.includes(kind)) this.#untold.add(kind)
    this.#tellChanges()
  }

  /** The client has been given this list. */
  gave(kind: ListKind): void {
    if (!this.#given.includes(kind)) this.#given.push(kind)
  }

  /** Questions that nobody wants answered any more, before they were asked. */
  #dropEarly(isOver: (early: ServerQuestion) => boolean): void {
    for (const early of this.#early.splice(0)) {
      if (isOver(early)) early.over()
      else this.#early.push(early)
    }
  }

  #tellChanges(): void {
    if (!this.#announces || this.#isTelling || this.#untold.size === 0) return
    this.#isTelling = true
    this.#parts.runtime.setTimer(this.#parts.limits.changeDelayMs, () => {
      this.#isTelling = false
      const told = this.#owner.tell([...this.#untold])
      this.#untold.clear()
      // Two lists have one notification.
      for (const method of new Set(told.map((kind) => listShapes[kind].changed))) this.#peer.notify(method)
    })
  }
}

function refuse({ asker, frame, over }: ServerQuestion, error: ErrorBody): void {
  over()
  asker.refused(frame.id, error)
}
