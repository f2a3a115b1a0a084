// A task that a call of a tool has begun (MCP 2025-11-25, Utilities: tasks; the extension Tasks of 2026-07-28).

import type { ErrorBody } from '../jsonrpc/build.js'
import type { Line } from '../jsonrpc/line.js'
import type { RequestId } from '../jsonrpc/request-id.js'
import { rawAt } from '../jsonrpc/text.js'
import { isTerminal, type TaskState } from '../mcp/tasks.js'
import type { Runtime } from '../runtime/runtime.js'
import type { Call, ClientPort } from './call.js'

/** The connection to a server that has tasks. */
export interface TaskSource {
  readonly service: string
  /** The task of any client here that has this id. */
  find(id: string): Task | undefined
  /** Takes over a request about one of its tasks. */
  send(call: Call): void
  /** The tasks of a client that the server lists; empty if it has no list. Resolves with the error if it has failed. */
  list(isOfClient: (task: Task) => boolean): Promise<Line[] | ErrorBody>
  forget(task: Task): void
}

/** The tasks of one client, or of one principal. */
export interface TaskKeeper {
  /** Takes a task; gives the error for the call that has begun it where that is not possible. */
  keep(task: Task): ErrorBody | undefined
}

/** The progress token of a task: the client's own as raw JSON, and the id of the request that has begun it. */
interface TaskToken {
  readonly original: string
  readonly sent: RequestId
}

/** A task, until its server is gone or it may not be asked about any more. */
export class Task {
  readonly id: string
  readonly client: ClientPort
  readonly isDurable: boolean
  readonly source: TaskSource
  readonly #runtime: Pick<Runtime, 'now'>
  #endsAt: number
  token: TaskToken | undefined
  /** `done` has a result that was not given; of one that is `over`, nothing more will come. */
  #state: 'running' | 'done' | 'over' = 'running'
  #gone: ErrorBody | undefined

  /** `sent` is the id with which the server got the call that has begun the task. */
  constructor(
    { client, frame }: Call,
    { id, isDurable, status, ttlMs }: TaskState,
    sent: RequestId,
    source: TaskSource,
    runtime: Pick<Runtime, 'now'>,
  ) {
    this.id = id
    this.isDurable = isDurable
    this.client = client
    this.source = source
    this.#runtime = runtime
    this.#endsAt = runtime.now() + ttlMs
    const own = isDurable ? undefined : frame.params.meta.span('progressToken')
    this.token = own && { original: rawAt(frame.line, own), sent }
    this.reported(status)
  }

  /** Its server has forgotten it: a request about it fails with the reason. */
  get isGone(): boolean {
    return this.#gone !== undefined
  }

  /** It can be removed: it has ended and its result was fetched, it was cancelled, or its time is over. */
  get isOver(): boolean {
    return this.isGone || this.#state === 'over' || this.#runtime.now() >= this.#endsAt
  }

  get isRunning(): boolean {
    return !this.isOver && this.#state === 'running'
  }

  /** Takes over a request about it. */
  request(call: Call): void {
    if (this.#gone === undefined) this.source.send(call)
    else call.fail(this.#gone)
  }

  /** Its server says how it is; a durable one has its result with it, and another time to live perhaps. */
  reported(status: string | undefined, ttlMs?: number): void {
    const isAnswer = this.isDurable && ttlMs !== undefined
    if (isAnswer) this.#endsAt = this.#runtime.now() + ttlMs
    if (!isTerminal(status)) return
    if (status === 'cancelled' || isAnswer) this.#state = 'over'
    else if (this.#state === 'running') this.#state = 'done'
    this.token = undefined
  }

  resultDelivered(): void {
    this.#state = 'over'
    this.token = undefined
  }

  /** Its client does not have it any more. */
  drop(why: ErrorBody): void {
    this.#gone ??= why
    this.source.forget(this)
  }
}
