// A client whose requests say by themselves what it is: all of one principal that can be asked the same.
//
// It has lanes and names as a session has, and outlives the connections on which its requests come. What is said
// during a call goes to the connection of that call; all else is for nobody.

import type { NotificationFrame } from '../../jsonrpc/frame.js'
import type { Line } from '../../jsonrpc/line.js'
import { type Edit, splice } from '../../jsonrpc/splice.js'
import type { Call, ClientProfile, ServerQuestion } from '../../mcp/call.js'
import type { ListKind } from '../../mcp/methods/method-row.js'
import { severity } from '../../mcp/methods/logging.js'
import type { ClientRoutes } from '../routing/client-routes.js'
import type { StatelessClient } from '../routing/guest-list.js'
import type { RoutedClient } from '../routing/routed-client.js'

export interface GuestParts {
  readonly serial: number
  readonly profile: ClientProfile
  reach(client: RoutedClient): ClientRoutes
  now(): number
}

/** One such client. */
export class Guest implements RoutedClient, StatelessClient {
  readonly serial: number
  readonly profile: ClientProfile
  readonly isReady = false
  readonly #parts: GuestParts
  readonly #routes: ClientRoutes
  #calls = 0
  /** When it was last at work. */
  usedAt: number

  constructor(parts: GuestParts) {
    this.#parts = parts
    this.serial = parts.serial
    this.profile = parts.profile
    this.usedAt = parts.now()
    this.#routes = parts.reach(this)
  }

  get idle(): boolean {
    return this.#calls === 0
  }

  get listens(): boolean {
    return !this.idle
  }

  route(call: Call): void {
    this.#calls++
    this.#routes.router.route(call)
  }

  ended(): void {
    this.#calls--
    this.usedAt = this.#parts.now()
  }

  leave(): Promise<unknown> | undefined {
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

  // It can be asked nothing, and is told of nothing that it has not asked for.

  ask(_question: ServerQuestion): boolean {
    return false
  }

  withdraw(): void {}

  owes(): boolean {
    return false
  }

  forget(): void {}

  tellChanges(): void {}
}
