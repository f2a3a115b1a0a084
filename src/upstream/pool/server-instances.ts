// The processes of one lane: which of them gets a call.

import type { Call, ClientPort } from '../../mcp/call.js'
import type { UpstreamError } from '../contracts/errors.js'
import type { LaneParts } from './lane-parts.js'
import type { Link } from './link.js'
import { type InstanceOwner, ServerInstance } from './server-instance.js'
import type { UpstreamState } from '../contracts/upstream.js'

/** Grows while all processes are busy, where more than one is allowed. */
export class ServerInstances {
  readonly #members: ServerInstance[] = []
  /** The one process, once it is there, of a lane that has no more. */
  only: ServerInstance | undefined
  readonly #parts: LaneParts
  readonly #lane: InstanceOwner
  readonly #membersMax: number

  constructor(parts: LaneParts, lane: InstanceOwner) {
    this.#parts = parts
    this.#lane = lane
    this.#membersMax = parts.sharing === 'own' ? 1 : parts.processes
  }

  get first(): ServerInstance {
    return this.#members[0] ?? this.#add()
  }

  /** Of the one that is told what clients follow. */
  get firstLink(): Link | undefined {
    return this.#members[0]?.supervisor.link
  }

  get links(): Link[] {
    return this.#members.flatMap((member) => member.supervisor.link ?? [])
  }

  get failure(): UpstreamError | undefined {
    return this.#members.find((member) => member.supervisor.failure)?.supervisor.failure
  }

  get idle(): boolean {
    return this.#members.every((member) => member.idle)
  }

  /** `wasReady` says whether a process at rest has ever run. */
  state(wasReady: boolean): UpstreamState {
    // The first process is made a moment after its lane.
    if (this.#members.length === 0) return this.#lane.isClosed ? 'disconnected' : 'starting'
    const states = this.#members.map((member) => member.supervisor.state)
    if (states.includes('ready')) return 'connected'
    if (states.includes('starting')) return 'starting'
    // A process at rest comes back for the next call.
    if (states.includes('stopped')) return wasReady ? 'connected' : 'starting'
    return states.includes('closed') ? 'disconnected' : 'error'
  }

  /** Starts the first one; resolves when that has succeeded or failed. */
  async start(): Promise<void> {
    // The pool puts the lane into place before its first process starts.
    await Promise.resolve()
    try {
      await this.first.supervisor.ready()
    } catch {
      // The supervisor has logged it, and calls will say it.
    }
  }

  /** What can be asked about may run anywhere; the rest has to find what it left behind. */
  pick(call: Call): ServerInstance {
    if (!call.row.askable || this.#membersMax < 2) return this.first
    const free = this.#members.find((member) => member.room > 0)
    if (free !== undefined) return free
    if (this.#members.length < this.#membersMax) return this.#add()
    return this.#members.reduce((most, member) => (member.room > most.room ? member : most))
  }

  /** Gives back the calls of a client that have not begun. */
  release(client: ClientPort): Call[] {
    return this.#members.flatMap((member) => member.release(client))
  }

  /** Whoever still calls is refused. */
  async close(): Promise<void> {
    await Promise.all(this.#members.map((member) => member.close()))
  }

  #add(): ServerInstance {
    const member = new ServerInstance(this.#parts, this.#lane, this.#members.length === 0)
    this.#members.push(member)
    if (this.#membersMax < 2) this.only = member
    if (this.#lane.isClosed) void member.close()
    return member
  }
}
