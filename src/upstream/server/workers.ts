// The processes of one lane, and which of them gets a call.

import type { Call, ClientPort } from '../../calls/call.js'
import type { UpstreamError } from '../contracts/upstream-error.js'
import type { UpstreamState } from '../contracts/upstream.js'
import type { Inbox } from './inbox.js'
import type { ServerContext } from './context.js'
import type { ServerConnection } from './server-connection.js'
import { type Forward, type Load, sumOf, Worker } from './worker.js'
import { holdsProcess, type LaneScope } from './sharing.js'

/** The workers of a lane: as many as are busy, up to a limit. */
export class Workers {
  readonly #workers: Worker[] = []
  readonly #workersMax: number
  readonly #context: ServerContext
  readonly #scope: LaneScope
  readonly #inbox: Inbox

  constructor(context: ServerContext, scope: LaneScope, inbox: Inbox) {
    this.#context = context
    this.#scope = scope
    this.#inbox = inbox
    this.#workersMax = workersMax(context, scope)
  }

  get first(): Worker {
    return this.#workers[0] ?? this.#add()
  }

  /** The connection that gets the subscriptions. */
  get firstConnection(): ServerConnection | undefined {
    return this.#workers[0]?.connection
  }

  get connections(): ServerConnection[] {
    return this.#workers.flatMap((worker) => worker.connection ?? [])
  }

  get failure(): UpstreamError | undefined {
    return this.#workers.find((worker) => worker.failure)?.failure
  }

  get load(): Load {
    return sumOf(this.#workers.map(({ load }) => load))
  }

  /** The state once a start has begun. */
  get state(): UpstreamState {
    // The first process is made a moment after its lane.
    if (this.#workers.length === 0) return this.#inbox.isClosed ? 'disconnected' : 'starting'
    const states = this.#workers.map((worker) => worker.state)
    if (states.includes('ready')) return 'connected'
    if (states.includes('starting')) return 'starting'
    // A process at rest comes back for the next call; one that has never said what it has may have failed by itself.
    const isAtRest = states.includes('stopped')
    if (isAtRest && this.#inbox.server?.facts !== undefined) return 'connected'
    return isAtRest || states.includes('closed') ? 'disconnected' : 'error'
  }

  /**
   * Calls during which the server may ask run in any process; other calls may need the state that earlier ones left
   * behind.
   */
  workerFor(call: Call): Worker {
    if (!call.row.askable || this.#workersMax < 2) return this.first
    const free = this.#workers.find((worker) => worker.room > 0)
    if (free !== undefined) return free
    if (this.#workers.length < this.#workersMax) return this.#add()
    return this.#workers.reduce((best, worker) => (worker.room > best.room ? worker : best))
  }

  /** Gives back the calls of a client that have not begun. */
  release(client: ClientPort): Forward[] {
    return this.#workers.flatMap((worker) => worker.release(client))
  }

  /** Later calls are refused. */
  async close(): Promise<void> {
    await Promise.all(this.#workers.map((worker) => worker.close()))
  }

  /** A call that waits for a process whose client is away goes to one that has become free. */
  #share(free: Worker): void {
    for (const other of this.#workers) {
      const forward = free.room > 0 && other.room < 0 ? other.takeQueued() : undefined
      if (forward !== undefined) free.call(forward.call, forward.edits)
    }
  }

  #add(): Worker {
    const isFirst = this.#workers.length === 0
    const onFree = this.#scope.sharing === 'stateless' ? (): void => this.#share(worker) : undefined
    const worker: Worker = new Worker(this.#context, this.#scope, this.#inbox, isFirst, onFree)
    this.#workers.push(worker)
    if (this.#inbox.isClosed) void worker.close()
    return worker
  }
}

/** A call that waits for its client keeps its process, so that others of the same client need more. */
function workersMax({ processes, questionsNameTheirCall, limits }: ServerContext, scope: LaneScope): number {
  if (scope.sharing === 'own') return 1
  return holdsProcess(scope, questionsNameTheirCall)
    ? Math.max(processes, limits.statelessProcessesMax)
    : processes
}
