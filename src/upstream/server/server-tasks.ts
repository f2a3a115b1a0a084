// The tasks that calls on one connection have started (MCP 2025-11-25, Utilities: tasks; the extension Tasks
// of 2026-07-28).
//
// A server identifies its tasks only by ids, and may have several clients. So each id belongs to one client:
// no other client can request the task or gets its notifications. Tasks end with the connection, because
// another process does not know them. The server may know a durable task on another connection too, which the
// proxy then asks.

import type { ErrorBody } from '../../jsonrpc/build.js'
import type { NotificationFrame, RequestFrame, ResultFrame } from '../../jsonrpc/frame.js'
import type { Line } from '../../jsonrpc/line.js'
import type { RequestId } from '../../jsonrpc/request-id.js'
import { writing } from '../../jsonrpc/splice.js'
import { quote } from '../../jsonrpc/text.js'
import type { Call, Outcome, ClientPort } from '../../calls/call.js'
import { Task, type TaskSource } from '../../calls/task.js'
import type { TaskCapabilities } from '../../mcp/capabilities.js'
import { taskLost, taskNotFound } from '../../mcp/error-codes.js'
import type { Revision } from '../../mcp/revisions.js'
import { answeredTask, createdTask, readTaskPage, relatedTask, type TaskState } from '../../mcp/tasks.js'
import { asUpstreamError, thatServer, type UpstreamError } from '../contracts/upstream-error.js'
import type { SentCall, ServerConnection } from './server-connection.js'
import type { ServerContext } from './context.js'

export class Tasks implements TaskSource {
  readonly service: string
  /** The server's capabilities for tasks; undefined before the handshake. */
  capabilities: TaskCapabilities | undefined
  readonly #context: ServerContext
  readonly #connection: ServerConnection
  readonly #tasks = new Map<string, Task>()

  constructor(context: ServerContext, connection: ServerConnection) {
    this.service = context.service
    this.#context = context
    this.#connection = connection
  }

  get hasRunning(): boolean {
    return [...this.#tasks.values()].some((task) => !task.isOver)
  }

  /** Handles the answer to a call that may start a task, or is about one; returns the client's outcome. */
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
    const task = this.find(params.members.string('taskId'))
    if (task === undefined) return
    const isLast = era === 'session' ? method === 'tasks/result' : method === 'tasks/cancel'
    const state = answeredTask(answer, era)
    if (isLast) task.resultDelivered()
    else if (state !== undefined) task.reported(state.status, state.ttlMs)
  }

  /** Keeps the task for the client of the call; returns an error if that is not possible. */
  #begin({ call, id }: SentCall, state: TaskState): ErrorBody | undefined {
    const task = new Task(call, state, id, this, this.#context.runtime)
    const error = call.keeper?.keep(task)
    if (error === undefined) this.#tasks.set(task.id, task)
    // A cancel could hit either of two tasks with one id.
    else if (this.find(task.id)?.isOver !== false) this.#cancel(task)
    return error
  }

  send(call: Call): void {
    call.isAboutTask = true
    call.deadline.times = this.#context.times
    this.#connection.call(call, [])
  }

  waitingFor({ params }: Pick<NotificationFrame, 'params'>): Call | undefined {
    const id = relatedTask(params)
    return id === undefined ? undefined : this.#waiting(id)[0]
  }

  /** Handles a status of a task from the server; false if no client has that task. */
  onStatus(frame: NotificationFrame): boolean {
    const { members } = frame.params
    const task = this.find(members.string('taskId'))
    if (task === undefined) return false
    if (!task.isDurable) task.client.tell(frame, [], this.#atWork(task))
    task.reported(members.string('status'))
    return true
  }

  /** Handles progress of the task that this request has started; false if no client waits for it. */
  progressed(id: RequestId, frame: NotificationFrame): boolean {
    const task = [...this.#tasks.values()].find(({ token }) => token?.sent === id)
    const span = frame.params.members.span('progressToken')
    if (task?.token === undefined || span === undefined) return false
    const edits = writing(frame.line, span, task.token.original, 'progress-token')
    task.client.tell(frame, edits, this.#atWork(task))
    return true
  }

  /** Extends the deadlines of the calls that wait for the result; returns the first of them. */
  #atWork({ id }: Task): Call | undefined {
    const waiting = this.#waiting(id)
    for (const call of waiting) call.deadline.extend(this.#context.runtime.now())
    return waiting[0]
  }

  #waiting(id: string): Call[] {
    return this.#connection.calls.filter(
      ({ frame: { method, params } }) => method === 'tasks/result' && params.members.string('taskId') === id,
    )
  }

  async list(isOfClient: (task: Task) => boolean): Promise<Line[] | ErrorBody> {
    try {
      return this.capabilities?.list === true ? await this.#readList(isOfClient) : []
    } catch (error) {
      return asUpstreamError(this.service, error).body
    }
  }

  /** @throws UpstreamError */
  async #readList(isOfClient: (task: Task) => boolean): Promise<Line[]> {
    const { pagesMax, itemsMax } = this.#context.limits.lists
    const broken = (what: string): UpstreamError => thatServer(this.service, 'invalid-answer', what)
    const lines: Line[] = []
    let count = 0
    let params = '{}'
    for (let pages = 0; pages < pagesMax; pages++) {
      const frame = await this.#connection.ask('tasks/list', params)
      const page = frame.kind === 'error' ? undefined : readTaskPage(frame)
      if (page === undefined) throw broken('answered tasks/list with no list')
      count += page.items.length
      if (count > itemsMax) throw broken(`has more than ${itemsMax} tasks`)
      for (const { id, line } of page.items) {
        const task = this.find(id)
        if (task !== undefined && isOfClient(task)) lines.push(line)
      }
      if (page.cursor === undefined) return lines
      params = `{"cursor":${page.cursor}}`
    }
    throw broken(`has more than ${pagesMax} pages of tasks`)
  }

  /** Drops the tasks of a client that has left, except durable ones, which belong to the principal. */
  onClientLeft(client: ClientPort): void {
    for (const task of this.#tasks.values()) {
      if (task.client !== client || task.isDurable) continue
      if (task.isRunning) this.#cancel(task)
      task.drop(taskNotFound(task.id))
    }
  }

  failAll(failure: () => UpstreamError): void {
    for (const task of this.#tasks.values()) {
      const { reason, message } = failure()
      task.drop(taskLost(this.service, task.id, reason, message))
    }
  }

  forget(task: Task): void {
    task.token = undefined
    if (this.find(task.id) === task) this.#tasks.delete(task.id)
  }

  find(id: string | undefined): Task | undefined {
    return id === undefined ? undefined : this.#tasks.get(id)
  }

  #cancel({ id }: Task): void {
    if (this.capabilities?.cancel !== true) return
    this.#connection.ask('tasks/cancel', `{"taskId":${quote(id)}}`).catch(() => {})
  }
}
