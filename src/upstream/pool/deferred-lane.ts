// A lane of one client whose process starts with the first call that needs it.
//
// Many clients only list. Until one of them calls, it sees what the server says to
// clients that can be asked nothing.

import type { ErrorBody } from '../../jsonrpc/build.js'
import type { NotificationFrame } from '../../jsonrpc/frame.js'
import type { Edit } from '../../jsonrpc/splice.js'
import type { Call, ClientPort } from '../../mcp/call.js'
import type { ServerCapabilities } from '../../mcp/capabilities.js'
import type { ListItem } from '../../mcp/lists.js'
import type { ListKind } from '../../mcp/methods/method-row.js'
import type { PoolLane } from './lane.js'
import type { ServerConfig } from '../contracts/server-config.js'
import type { Lane, UpstreamState } from '../contracts/upstream.js'

/** Shows one lane until a call comes, and another from then on. */
export class DeferredLane implements Lane {
  readonly #own: PoolLane
  /** What is seen of the server now. */
  #seen: PoolLane
  #unwatch: () => void

  /** `standIn` is the lane of clients that can be asked nothing. */
  constructor(own: PoolLane, standIn: PoolLane, client: ClientPort) {
    this.#own = own
    this.#seen = standIn
    this.#unwatch = standIn.watch((kinds) => client.listsChanged(kinds))
  }

  readonly shared = false

  get config(): ServerConfig {
    return this.#own.config
  }

  get pids(): readonly number[] {
    return this.#own.pids
  }

  get state(): UpstreamState {
    return this.#seen.state
  }

  get failure(): string | undefined {
    return this.#seen.failure
  }

  get refusal(): ErrorBody | undefined {
    return this.#seen.refusal
  }

  get capabilities(): ServerCapabilities | undefined {
    return this.#seen.capabilities
  }

  get instructions(): string | undefined {
    return this.#seen.instructions
  }

  get settled(): Promise<void> | undefined {
    return this.#seen.settled
  }

  get listed(): Promise<void> | undefined {
    return this.#seen.listed
  }

  get remembered(): boolean {
    return this.#seen.remembered
  }

  get expected(): boolean {
    return this.#seen.expected
  }

  get retired(): boolean {
    return this.#own.retired
  }

  get known(): boolean {
    return this.#own.known
  }

  knows(kind: ListKind): boolean {
    return this.#own.knows(kind)
  }

  pending(kind: ListKind): Promise<void> | undefined {
    return this.#seen.pending(kind)
  }

  items(kind: ListKind): readonly ListItem[] {
    return this.#seen.items(kind)
  }

  reading(kind: ListKind): Promise<void> | undefined {
    return this.#seen.reading(kind)
  }

  wake(kinds: readonly ListKind[]): boolean {
    return this.#seen.wake(kinds)
  }

  hurry(): void {
    this.#begin().hurry()
  }

  call(call: Call, edits: readonly Edit[]): void {
    this.#begin().call(call, edits)
  }

  level(client: ClientPort, level: string): void {
    this.#own.level(client, level)
  }

  rootsChanged(client: ClientPort, frame: NotificationFrame): void {
    this.#own.rootsChanged(client, frame)
  }

  read(client: ClientPort, on: boolean): void {
    this.#own.read(client, on)
  }

  follow(client: ClientPort, uri: string): void {
    this.#begin().follow(client, uri)
  }

  surrender(client: ClientPort): string[] {
    return this.#own.surrender(client)
  }

  release(client: ClientPort): Call[] {
    return this.#own.release(client)
  }

  leave(client: ClientPort): Promise<void> | undefined {
    this.#unwatch()
    return this.#own.leave(client)
  }

  /** From now on the client sees what its own process says, and until that has started what it saw before. */
  #begin(): PoolLane {
    if (this.#seen !== this.#own) {
      const { described } = this.#seen
      if (described !== undefined) this.#own.borrow(described)
      this.#unwatch()
      this.#seen = this.#own
    }
    return this.#own
  }
}
