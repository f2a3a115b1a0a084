// One task of one client at one connection to a server.

import type { ErrorBody } from '../../jsonrpc/build.js'
import type { Call, ClientPort, HeldTask, TaskSource } from '../../mcp/call.js'
import type { CallTimes } from '../../mcp/call-deadline.js'
import { type TaskState, isTerminal } from '../../mcp/tasks.js'

/** How a client tells of the progress of a task: as it named the token in the call that began it. */
export interface TaskToken {
  /** Raw JSON of the client's own. */
  readonly own: string
  /** Nobody waits for progress any more. */
  release(): void
}

/** The connection on which the task was begun. */
export interface TaskOwner extends TaskSource {
  now(): number
  send(call: Call, task: ServerTask): void
  forget(task: ServerTask): void
}

/** A task until its server is gone, or nobody may ask for it any more. */
export class ServerTask implements HeldTask {
  readonly id: string
  readonly client: ClientPort
  /** Of the tool that it is a call of; undefined where the server's hold. */
  readonly times: CallTimes | undefined
  readonly isDurable: boolean
  readonly #owner: TaskOwner
  #endsAt: number
  #token: TaskToken | undefined
  #isDone = false
  /** Its result was given, or there will be none. */
  #isGiven = false
  /** Why nothing can be asked about it any more. */
  #gone: ErrorBody | undefined

  constructor(state: TaskState, call: Call, owner: TaskOwner, token: TaskToken | undefined) {
    const { id, isDurable, status, ttlMs } = state
    this.id = id
    this.isDurable = isDurable
    this.client = call.client
    this.times = call.times
    this.#owner = owner
    this.#endsAt = owner.now() + ttlMs
    this.#token = token
    this.saw(status)
  }

  get source(): TaskSource {
    return this.#owner
  }

  get isGone(): boolean {
    return this.#gone !== undefined
  }

  get isOver(): boolean {
    return this.isGone || this.#isGiven || this.#owner.now() >= this.#endsAt
  }

  /** Whether its server may still be at work on it. */
  get isRunning(): boolean {
    return !this.isOver && !this.#isDone
  }

  /** Raw JSON of the token by which its client knows its progress. */
  get token(): string | undefined {
    return this.#token?.own
  }

  request(call: Call): void {
    if (this.#gone === undefined) this.#owner.send(call, this)
    else call.fail(this.#gone)
  }

  /** Its server says how it is; a durable one has its result with it, and another time to live perhaps. */
  saw(status: string | undefined, ttlMs?: number): void {
    if (this.isDurable && ttlMs !== undefined) this.#endsAt = this.#owner.now() + ttlMs
    if (!isTerminal(status)) return
    this.#isDone = true
    if (status === 'cancelled' || (this.isDurable && ttlMs !== undefined)) this.#isGiven = true
    this.#endProgress()
  }

  /** Its client has the result. */
  given(): void {
    this.#isGiven = true
    this.#endProgress()
  }

  drop(why: ErrorBody): void {
    this.#gone ??= why
    this.#endProgress()
    this.#owner.forget(this)
  }

  /** MCP, Utilities: progress: the token of a task holds until it has ended. */
  #endProgress(): void {
    this.#token?.release()
    this.#token = undefined
  }
}
