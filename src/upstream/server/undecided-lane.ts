// The lane of a client that has processes of its own where the server knows sessions, until that is known.
//
// Nothing of a client is kept in a server without sessions, so one lane is for all of them. Which kind of server it is
// may be found out after a client has come; until it uses the server, both look the same to it. Calls that come while
// another process is being asked wait for its answer: where the server is open to all, no process of their own starts.

import type { NotificationFrame } from '../../jsonrpc/frame.js'
import type { Edit } from '../../jsonrpc/splice.js'
import type { Call, ClientPort } from '../../mcp/call.js'
import { listKinds } from '../../mcp/lists.js'
import type { ListKind } from '../../mcp/methods/method-row.js'
import type { ServerConfig } from '../contracts/server-config.js'
import type { Lane, ServerView } from '../contracts/upstream.js'
import type { ServerLane } from './lane.js'

/** Stands for a lane of the client's own, or for the one that all share. */
export class UndecidedLane implements Lane {
  readonly #client: ClientPort
  readonly #own: ServerLane
  readonly #eraKnown: () => Promise<void> | undefined
  readonly #join: () => Lane
  /** Waits to be told that the server is open to all; one that is chosen does not. */
  readonly #undecided: Set<UndecidedLane>
  #lane: Lane
  #level: string | undefined

  /**
   * `own` is used unless it is found, before the client uses the server, that this is open to all; then `join` gives the
   * lane for that. `eraKnown` resolves when that has been found out or could not be, and is undefined when no process is finding it out.
   */
  constructor(
    client: ClientPort,
    own: ServerLane,
    undecided: Set<UndecidedLane>,
    eraKnown: () => Promise<void> | undefined,
    join: () => Lane,
  ) {
    this.#client = client
    this.#own = own
    this.#lane = own
    this.#undecided = undecided
    this.#eraKnown = eraKnown
    this.#join = join
    undecided.add(this)
  }

  /** The server is open to all: a client that has not used it shares what the others have. */
  found(): void {
    if (!this.#undecided.delete(this)) return
    this.#lane = this.#join()
    if (this.#level !== undefined) this.#lane.level(this.#client, this.#level)
    this.#own.moveTo(this.#lane, this.#client)
    void this.#own.leave(this.#client)
    // The other lane may have announced its lists before it had this client.
    this.#client.listsChanged(listKinds)
  }

  get config(): ServerConfig {
    return this.#lane.config
  }

  get view(): ServerView {
    return this.#lane.view
  }

  get retired(): boolean {
    return this.#lane.retired
  }

  get shared(): boolean {
    return this.#lane.shared
  }

  get keepsTasks(): boolean {
    return this.#lane.keepsTasks
  }

  get pids(): readonly number[] {
    return this.#lane.pids
  }

  get known(): ReadonlySet<ListKind> {
    return this.#lane.known
  }

  hurry(): void {
    this.#chosen.hurry()
  }

  call(call: Call, edits: readonly Edit[]): void {
    // The lane that makes the call remembers the subscription.
    if (call.row.subscribes !== undefined) this.#undecided.delete(this)
    this.#chosen.call(call, edits)
  }

  follow(client: ClientPort, uri: string): void {
    this.#undecided.delete(this)
    this.#lane.follow(client, uri)
  }

  level(client: ClientPort, level: string): void {
    this.#level = level
    this.#lane.level(client, level)
  }

  told(client: ClientPort, frame: NotificationFrame): void {
    this.#lane.told(client, frame)
  }

  read(client: ClientPort, on: boolean): void {
    this.#lane.read(client, on)
  }

  surrender(client: ClientPort): string[] {
    return this.#lane.surrender(client)
  }

  release(client: ClientPort): Call[] {
    return this.#lane.release(client)
  }

  leave(client: ClientPort): Promise<void> | undefined {
    this.#undecided.delete(this)
    return this.#lane.leave(client)
  }

  /**
   * From now on it stays the one that it is, or from then on when the era is known: calls wait in the own lane until
   * then.
   */
  get #chosen(): Lane {
    const eraKnown = this.#undecided.has(this) ? this.#eraKnown() : undefined
    if (eraKnown === undefined) this.#undecided.delete(this)
    else void eraKnown.then(() => this.#undecided.delete(this))
    return this.#lane
  }
}
