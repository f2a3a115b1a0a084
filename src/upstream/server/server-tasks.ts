// The tasks that calls on one connection have begun (MCP 2025-11-25, Utilities: tasks; the extension Tasks of
// 2026-07-28).
//
// A server knows its tasks by ids alone, and may have several clients here. So each id has its client, and no
// other client can ask for it or gets its notifications. Tasks end with the connection: another process knows nothing
// of them. A durable one may be known to its server behind another connection too, which is asked then.

import type { ErrorBody } from '../../jsonrpc/build.js'
import type { NotificationFrame, RequestFrame, ResultFrame } from '../../jsonrpc/frame.js'
import type { RequestId } from '../../jsonrpc/request-id.js'
import { writing } from '../../jsonrpc/splice.js'
import { quote, rawAt } from '../../jsonrpc/text.js'
import type { Call, HeldTask, Outcome, TaskSource, ClientPort } from '../../calls/call.js'
import type { TaskCapabilities } from '../../mcp/capabilities.js'
import { taskIdTaken, taskLost, taskNotFound } from '../../mcp/error-codes.js'
import type { Revision } from '../../mcp/revisions.js'
import {
  answeredTask,
  createdTask,
  isTerminal,
  readTaskPage,
  relatedTask,
  type TaskItem,
  type TaskState,
} from '../../mcp/tasks.js'
import { asUpstreamError, thatServer, type UpstreamError } from '../contracts/upstream-error.js'
import type { SentCall, ServerConnection } from './server-connection.js'
import type { ServerContext } from './context.js'
import type { Runtime } from '../../runtime/runtime.js'

export class Tasks implements TaskSource {
  readonly service: string
  /** The server's capabilities for tasks; undefined before the handshake. */
  capabilities: TaskCapabilities | undefined
  readonly #context: ServerContext
  readonly #connection: ServerConnection
  /** Made for the first one: most servers have none. */
  #tasks: Map<string, ServerTask> | undefined

  constructor(context: ServerContext, connection: ServerConnection) {
    this.service = context.service
    this.#context = context
    this.#connection = connection
  }

  get areWanted(): boolean {
    return this.#tasks !== undefined && [...this.#tasks.values()].some((task) => !task.isOver)
  }

  /** A call is answered that may begin a task, or asks about one; returns the outcome for its client. */
  answered(sent: SentCall, outcome: Outcome): Outcome {
    const { call } = sent
    if (outcome.kind !== 'answered' || outcome.frame.kind === 'error') return outcome
    if (call.row.route.to === 'task') this.#onAnswer(call.frame, outcome.frame, outcome.era)
    const state = call.keeper === undefined ? undefined : createdTask(outcome.frame, outcome.era)
    if (state === undefined) return outcome
    const error = this.#begin(sent, state)
    return error === undefined ? { ...outcome, isTask: true } : { kind: 'failed', error }
  }

  #onAnswer({ method, params }: RequestFrame, answer: ResultFrame, era: Revision['era']): void {
    const task = this.#find(params.members.string('taskId'))
    if (task === undefined) return
    const isLast = era === 'session' ? method === 'tasks/result' : method === 'tasks/cancel'
    const state = answeredTask(answer, era)
    if (isLast) task.resultDelivered()
    else if (state !== undefined) task.reported(state.status, state.ttlMs)
  }

  /** Keeps the task for the client of the call, unless its id is in use; gives the error then. */
  #begin(sent: SentCall, state: TaskState): ErrorBody | undefined {
    const { call } = sent
    const { id } = state
    const twin = this.#find(id)
    // A cancel could reach either of the two.
    if (twin?.isOver === false && !isAgain(twin, state, call))
      return taskIdTaken(this.service, id, this.service)
    twin?.drop(taskNotFound(id))
    const task = new ServerTask(state, call.client, this, this.#context.runtime, tokenOf(sent, state))
    const error = call.keeper?.keep(task)
    if (error !== undefined) {
      this.#cancel(task)
      task.drop(error)
      return error
    }
    this.#tasks ??= new Map()
    this.#tasks.set(id, task)
    return undefined
  }

  send(call: Call): void {
    call.isAboutTask = true
    call.deadline.times = this.#context.times
    this.#connection.call(call, [])
  }

  /** The call that waits for the result of the task that this is said or asked for. */
  waitingFor({ params }: Pick<NotificationFrame, 'params'>): Call | undefined {
    const id = this.#tasks === undefined ? undefined : relatedTask(params)
    return id === undefined ? undefined : this.#waiting(id)[0]
  }

  /** A server reports the status of a task; false when no client has that task. */
  onStatus(frame: NotificationFrame): boolean {
    const { members } = frame.params
    const task = this.#find(members.string('taskId'))
    if (task === undefined) return false
    if (!task.isDurable) task.client.tell(frame, [], this.#atWork(task))
    task.reported(members.string('status'))
    return true
  }

  /** A server reports the progress of the task that this request has begun; false when no client waits for it. */
  progressed(id: RequestId, frame: NotificationFrame): boolean {
    const task = [...(this.#tasks?.values() ?? [])].find(({ token }) => token?.sent === id)
    const span = frame.params.members.span('progressToken')
    if (task?.token === undefined || span === undefined) return false
    task.client.tell(frame, writing(frame.line, span, task.token.own, 'progress-token'), this.#atWork(task))
    return true
  }

  /** Extends the time of the calls that wait for the result; returns the first of them. */
  #atWork({ id }: ServerTask): Call | undefined {
    const waiting = this.#waiting(id)
    for (const call of waiting) call.deadline.extend(this.#context.runtime.now())
    return waiting[0]
  }

  #waiting(id: string): Call[] {
    return this.#connection.calls.filter(
      ({ frame: { method, params } }) => method === 'tasks/result' && params.members.string('taskId') === id,
    )
  }

  async list(): Promise<TaskItem[] | ErrorBody> {
    try {
      return this.capabilities?.list === true ? await this.#readList() : []
    } catch (error) {
      return asUpstreamError(this.service, error).body
    }
  }

  /** @throws UpstreamError */
  async #readList(): Promise<TaskItem[]> {
    const { pagesMax, itemsMax } = this.#context.limits.lists
    const broken = (what: string): UpstreamError => thatServer(this.service, 'invalid-answer', what)
    const items: TaskItem[] = []
    let params = '{}'
    for (let pages = 0; pages < pagesMax; pages++) {
      const frame = await this.#connection.ask('tasks/list', params)
      const page = frame.kind === 'error' ? undefined : readTaskPage(frame)
      if (page === undefined) throw broken('answered tasks/list with no list')
      items.push(...page.items)
      if (items.length > itemsMax) throw broken(`has more than ${itemsMax} tasks`)
      if (page.cursor === undefined) return items
      params = `{"cursor":${page.cursor}}`
    }
    throw broken(`has more than ${pagesMax} pages of tasks`)
  }

  /** The client is gone, and no other client may have its tasks; a durable task belongs to the principal. */
  onClientLeft(client: ClientPort): void {
    for (const task of this.#tasks?.values() ?? []) {
      if (task.client !== client || task.isDurable) continue
      if (task.isRunning) this.#cancel(task)
      task.drop(taskNotFound(task.id))
    }
  }

  failAll(failure: () => UpstreamError): void {
    for (const task of this.#tasks?.values() ?? []) {
      const { reason, message } = failure()
      task.drop(taskLost(this.service, task.id, reason, message))
    }
  }

  forget(task: ServerTask): void {
    task.token = undefined
    if (this.#find(task.id) === task) this.#tasks?.delete(task.id)
  }

  #find(id: string | undefined): ServerTask | undefined {
    return id === undefined ? undefined : this.#tasks?.get(id)
  }

  #cancel({ id }: ServerTask): void {
    if (this.capabilities?.cancel !== true) return
    this.#connection.ask('tasks/cancel', `{"taskId":${quote(id)}}`).catch(() => {})
  }
}

function tokenOf({ call, id }: SentCall, { status, isDurable }: TaskState): TaskToken | undefined {
  const own = call.frame.params.meta.span('progressToken')
  if (own === undefined || isDurable || isTerminal(status)) return undefined
  return { own: rawAt(call.frame.line, own), sent: id }
}

/** A server may answer calls of one principal with the same durable task. */
function isAgain({ client, isDurable }: ServerTask, state: TaskState, { context }: Call): boolean {
  return isDurable && state.isDurable && client.profile.principal === context.principal
}

/** The progress token of a task: the client's own as raw JSON, and the id of the request that has begun it. */
interface TaskToken {
  readonly own: string
  readonly sent: RequestId
}

/** A task, until its server is gone or it may not be asked about any more. */
export class ServerTask implements HeldTask {
  readonly id: string
  readonly client: ClientPort
  readonly isDurable: boolean
  readonly source: Tasks
  readonly #runtime: Pick<Runtime, 'now'>
  #endsAt: number
  token: TaskToken | undefined
  /** `done` has a result that was not given; of one that is `over`, nothing more will come. */
  #state: 'running' | 'done' | 'over' = 'running'
  #gone: ErrorBody | undefined

  constructor(
    { id, isDurable, status, ttlMs }: TaskState,
    client: ClientPort,
    source: Tasks,
    runtime: Pick<Runtime, 'now'>,
    token: TaskToken | undefined,
  ) {
    this.id = id
    this.isDurable = isDurable
    this.client = client
    this.source = source
    this.#runtime = runtime
    this.#endsAt = runtime.now() + ttlMs
    this.token = token
    this.reported(status)
  }

  get isGone(): boolean {
    return this.#gone !== undefined
  }

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

  drop(why: ErrorBody): void {
    this.#gone ??= why
    this.source.forget(this)
  }
}
