// A client whose requests say by themselves what it is: all of one principal that can be asked the same.
//
// It has lanes and names as a session has, and outlives the connections on which its requests come. What is said
// during a call goes to the connection of that call; all else is for nobody.

import type { NotificationFrame } from '../../jsonrpc/frame.js'
import type { Line } from '../../jsonrpc/line.js'
import { type Edit, splice } from '../../jsonrpc/splice.js'
import type { Asker, Call, ClientProfile, InputNeeded, ServerQuestion } from '../../mcp/call.js'
import { isAskable } from '../../mcp/capabilities.js'
import type { ListKind } from '../../mcp/methods/method-row.js'
import { severity } from '../../mcp/methods/logging.js'
import type { StatelessCalls } from '../input/stateless-calls.js'
import type { ClientRoutes } from '../routing/client-routes.js'
import type { StatelessClient } from '../routing/guest-list.js'
import type { RoutedClient } from '../routing/routed-client.js'

export interface GuestParts {
  readonly serial: number
  readonly profile: ClientProfile
  /** What begins its calls, and finds what a retry is about. */
  readonly stateless: StatelessCalls
  reach(client: RoutedClient): ClientRoutes
  now(): number
}

/** One such client. */
export class Guest implements RoutedClient, StatelessClient {
  readonly serial: number
  readonly profile: ClientProfile
  readonly isReady = false
  readonly isStateless = true
  readonly #isAskable: boolean
  readonly #parts: GuestParts
  readonly #routes: ClientRoutes
  #calls = 0
  /** When it was last at work. */
  usedAt: number

  constructor(parts: GuestParts) {
    this.#parts = parts
    this.serial = parts.serial
    this.profile = parts.profile
    this.#isAskable = isAskable(parts.profile.capabilities)
    this.usedAt = parts.now()
    this.#routes = parts.reach(this)
  }

  get idle(): boolean {
    return this.#calls === 0 && !this.#parts.stateless.parked.holds(this)
  }

  get listens(): boolean {
    return !this.idle
  }

  route(call: Call): void {
    this.#calls++
    this.#parts.stateless.route(call, this.#routes.router, this.#isAskable)
  }

  ended(): void {
    this.#calls--
    this.usedAt = this.#parts.now()
  }

  needsInput(call: Call, needed: InputNeeded): void {
    this.#parts.stateless.relay(call, needed)
  }

  leave(): Promise<unknown> | undefined {
    this.#parts.stateless.parked.left(this)
    return this.#routes.leave()
  }

  listsChanged(kinds: readonly ListKind[]): void {
    this.#routes.changed(kinds)
  }

  tell(frame: NotificationFrame, edits: readonly Edit[], during: Call | undefined): void {
    if (during !== undefined) during.context.hearer?.tell(frame, edits, during)
  }

  progress(call: Call, params: string): void {
    call.context.hearer?.progress(call, params)
  }

  splice(call: Call, line: Line, edits: readonly Edit[]): Uint8Array {
    return call.context.hearer?.splice(call, line, edits) ?? splice(line, edits)
  }

  /** Only who asks for log messages with its call gets any (MCP 2026-07-28, Utilities: logging). */
  log(frame: NotificationFrame, during: Call | undefined): void {
    const wanted = during?.context.logLevel
    if (wanted === undefined) return
    const level = severity(frame.params.members.string('level'))
    if (level < 0 || level >= severity(wanted)) this.tell(frame, [], during)
  }

  /** What nobody's call is about is nobody's to answer. */
  ask(question: ServerQuestion): boolean {
    return question.during?.context.hearer?.ask?.(question) ?? false
  }

  withdraw(frame: NotificationFrame, asker: Asker): void {
    this.#parts.stateless.parked.withdraw(frame, asker)
  }

  owes(asker: Asker): boolean {
    return this.#parts.stateless.parked.owes(asker)
  }

  forget(asker: Asker): void {
    this.#parts.stateless.parked.forget(asker)
  }

  /** It is told of nothing that it has not asked for. */
  tellChanges(): void {}
}
