// Chooses the client for a request from a server.
//
// On stdio such a request does not name its call. It is refused when it may belong to a call that another
// client has cancelled. A server that is told of a cancel owes no answer, so it may never be known whether
// it has stopped. After a while, the first request that is refused for this reason has the process replaced as
// soon as the call that caused it has ended: one cancelled call costs one request, and nothing when the server
// never asks.

import type { RequestFrame } from '../../jsonrpc/frame.js'
import type { Call } from '../../mcp/call.js'
import { methodNotFound } from '../../mcp/error-codes.js'
import type { ServerRequestRow } from '../../mcp/methods/method-row.js'
import type { LaneClients } from './lane-clients.js'
import type { Sharing } from './lane-parts.js'
import type { Link } from './link.js'

export interface AskingParts {
  readonly sharing: Sharing
  readonly audience: LaneClients
  log(level: 'debug' | 'warn', message: string): void
  /** Replaces the process behind this link. */
  replace(link: Link, why: string): void
}

/** Passes questions to the one client that each can be for. */
export class Asking {
  readonly #parts: AskingParts
  readonly #inDoubt = new Set<Link>()

  constructor(parts: AskingParts) {
    this.#parts = parts
  }

  /** `during` is the call that it belongs to, where the transport tells. */
  asked(frame: RequestFrame, row: ServerRequestRow, link: Link, during: Call | undefined): void {
    const { sharing, audience } = this.#parts
    const call = during ?? (sharing === 'plain' ? undefined : link.subject.askable)
    // On a lane of its own a client can be asked at any time.
    const client = sharing === 'own' ? audience.only : call?.client
    const names = (call?.context ?? client?.profile)?.capabilities.names
    const isDeclared = row.capability !== undefined && names?.has(row.capability)
    if (isDeclared !== true || client === undefined) return this.#refuse(frame, link)
    const over = link.subject.pause(client, call)
    if (client.ask({ frame, asker: link, during: call, over })) return
    over()
    this.#refuse(frame, link)
  }

  /** A call has ended; of those that can be asked about, one ran at a time. */
  ended({ row }: Call, link: Link): void {
    if (this.#inDoubt.size === 0 || !row.askable || !this.#inDoubt.delete(link)) return
    this.#parts.replace(link, 'it may still be at work on a call that was given up')
  }

  closed(link: Link): void {
    this.#inDoubt.delete(link)
  }

  #refuse(frame: RequestFrame, link: Link): void {
    link.refused(frame.id, methodNotFound(frame.method))
    if (this.#parts.sharing !== 'shared' || !link.subject.isInDoubt) {
      return this.#parts.log('debug', `${frame.method} was refused: no client to ask`)
    }
    this.#inDoubt.add(link)
    this.#parts.log(
      'warn',
      `${frame.method} was refused: it may be about a call that another client has given up`,
    )
  }
}
