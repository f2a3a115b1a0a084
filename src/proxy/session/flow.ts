// Back-pressure from one client to its servers: a client that reads too slowly holds them back.
//
// A server that reads too slowly does not hold its clients back, since they have other servers: what it has not taken
// has a limit, and calls above that are refused.

import type { Connection } from '../../jsonrpc/connection.js'
import type { AnswerWaiter, Peer } from '../../jsonrpc/peer.js'
import type { SessionParts } from './session-parts.js'
import type { SlowReader } from './unread.js'

/** What flows between one client and its servers, and how fast. */
export class Flow implements SlowReader {
  readonly connection: Connection
  readonly #peer: Pick<Peer<AnswerWaiter>, 'close'>
  readonly #parts: SessionParts
  readonly #readServers: (on: boolean) => void

  /** `readServers` stops or resumes reading what servers say to this client alone. */
  constructor(
    connection: Connection,
    peer: Pick<Peer<AnswerWaiter>, 'close'>,
    parts: SessionParts,
    readServers: (on: boolean) => void,
  ) {
    this.connection = connection
    this.#peer = peer
    this.#parts = parts
    this.#readServers = readServers
  }

  /** Something was sent to the client. */
  sent(): void {
    if (this.connection.congested) this.clogged()
  }

  /** What was sent is more than the client takes. */
  clogged(): void {
    this.#readServers(false)
    if (this.backlogBytes > this.#parts.limits.backlogBytesMax) this.tooSlow(this.backlogBytes)
    else this.#parts.unread.add(this)
  }

  get backlogBytes(): number {
    return this.connection.backlogBytes
  }

  /** The client leaves more unread than anyone should keep. */
  tooSlow(bytes: number): number {
    const cut = this.connection.cutSlowest?.() ?? 0
    if (cut > 0) {
      const message = `a client without a session leaves ${cut} bytes of an answer unread: its connection is cut`
      this.#parts.log({ level: 'error', message })
      return cut
    }
    const message = `the client leaves ${bytes} bytes unread and is disconnected`
    this.#parts.log({ level: 'error', message })
    void this.#peer.close(true)
    return bytes
  }

  /** The client is gone. */
  ended(): void {
    this.#parts.unread.remove(this)
  }

  /** The client takes bytes again. */
  drained(): void {
    this.#parts.unread.remove(this)
    this.#readServers(true)
  }
}
