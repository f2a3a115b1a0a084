// A task that a tool call has begun (MCP 2025-11-25, Utilities: tasks; the extension Tasks of 2026-07-28).

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
  /** The task with this id, of any client of this connection. */
  find(id: string): Task | undefined
  /** Sends a request about one of its tasks. */
  send(call: Call): void
  /** The client's tasks that the server lists; empty without a list. Resolves with an error if the server fails. */
  list(isOfClient: (task: Task) => boolean): Promise<Line[] | ErrorBody>
  forget(task: Task): void
}

export interface TaskKeeper {
  /** Keeps a task; returns the error for the call that began it if that is not possible. */
  keep(task: Task): ErrorBody | undefined
}

/** The progress token of a task: the client's token as raw JSON, and the id of the request that began the task. */
interface TaskToken {
  readonly original: string
  readonly sent: RequestId
}

/** A task, until its server is gone or the client may not ask about it any more. */
export class Task {
  readonly id: string
  readonly client: ClientPort
  readonly isDurable: boolean
  readonly source: TaskSource
  readonly #runtime: Pick<Runtime, 'now'>
  #endsAt: number
  token: TaskToken | undefined
  /** `done`: the result was not delivered yet. `over`: no message will follow. */
  #state: 'running' | 'done' | 'over' = 'running'
  #gone: ErrorBody | undefined

  /** `sent` is the id of the request to the server that began the task. */
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

  /** Whether the server has forgotten the task. A request about it then fails with the reason. */
  get isGone(): boolean {
    return this.#gone !== undefined
  }

  /** Whether the task can be removed: its result was fetched, it was cancelled, or its time is over. */
  get isOver(): boolean {
    return this.isGone || this.#state === 'over' || this.#runtime.now() >= this.#endsAt
  }

  get isRunning(): boolean {
    return !this.isOver && this.#state === 'running'
  }

  request(call: Call): void {
    if (this.#gone === undefined) this.source.send(call)
    else call.fail(this.#gone)
  }

  /** Records the server's status. A durable task's message has the result, and perhaps another time to live. */
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

  /** Ends the task for its client. */
  drop(why: ErrorBody): void {
    this.#gone ??= why
    this.source.forget(this)
  }
}
