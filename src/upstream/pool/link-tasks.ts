// The tasks that calls on one link have begun (MCP 2025-11-25, Utilities: tasks; the extension Tasks of 2026-07-28).
//
// A server knows its tasks by ids alone, and may have several clients here. So each id has its client, and nobody
// else can ask for it or hears of it. Tasks end with the connection: another process knows nothing of them. A durable
// one may be known to its server behind another connection too, which is asked then.

import type { ErrorBody } from '../../jsonrpc/build.js'
import type { NotificationFrame, RequestFrame, ResponseFrame, ResultFrame } from '../../jsonrpc/frame.js'
import { writing } from '../../jsonrpc/id-edit.js'
import { quote } from '../../jsonrpc/text.js'
import type { Call, ClientPort, Outcome } from '../../mcp/call.js'
import type { TaskCapabilities } from '../../mcp/capabilities.js'
import { taskIdTaken, taskLost, taskNotFound } from '../../mcp/error-codes.js'
import type { ProgressTokens } from '../../mcp/progress-tokens.js'
import type { Revision } from '../../mcp/revisions/revision.js'
import {
  type TaskItem,
  type TaskState,
  answeredTask,
  createdTask,
  isTerminal,
  readTaskPage,
  relatedTask,
} from '../../mcp/tasks.js'
import { type UpstreamError, asUpstreamError, thatServer } from '../contracts/errors.js'
import type { InflightCall } from './inflight-call.js'
import type { ServerParts } from './pool-parts.js'
import { ServerTask, type TaskOwner, type TaskToken } from './server-task.js'

/** The link of the tasks. */
export interface LinkTasksParts {
  /** The calls in flight. */
  flights(): Iterable<InflightCall>
  call(call: Call): void
  /** The server is at work on this one. */
  extend(flight: InflightCall): void
  /** Who waits for progress. */
  readonly tokens: ProgressTokens<InflightCall | ServerTask>
  /** Asks something of the proxy's own; `params` is raw JSON. @throws UpstreamError */
  ask(method: string, params: string): Promise<ResponseFrame>
}

/** Knows whose each of them is. */
export class LinkTasks implements TaskOwner {
  readonly service: string
  /** What the server lets ask about them; undefined before it has said. */
  capabilities: TaskCapabilities | undefined
  readonly #parts: ServerParts
  readonly #link: LinkTasksParts
  /** Made for the first one: most servers have none. */
  #tasks: Map<string, ServerTask> | undefined

  constructor(parts: ServerParts, link: LinkTasksParts) {
    this.service = parts.service
    this.#parts = parts
    this.#link = link
  }

  /** Whether somebody may still ask for the result of one. */
  get areWanted(): boolean {
    return this.#tasks !== undefined && [...this.#tasks.values()].some((task) => !task.isOver)
  }

  now(): number {
    return this.#parts.runtime.now()
  }

  /** A call is answered that may begin a task, or asks about one; gives what its client is told. */
  answered(flight: InflightCall, outcome: Outcome): Outcome {
    const { call } = flight
    if (outcome.kind !== 'answered' || outcome.frame.kind === 'error') return outcome
    if (call.row.route.to === 'task') this.#told(call.frame, outcome.frame, outcome.form)
    const state = call.keeper === undefined ? undefined : createdTask(outcome.frame, outcome.form)
    if (state === undefined) return outcome
    const error = this.#begin(flight, state)
    return error === undefined ? { ...outcome, isTask: true } : { kind: 'failed', error }
  }

  #told({ method, params }: RequestFrame, answer: ResultFrame, form: Revision['form']): void {
    const task = this.#find(params.members.string('taskId'))
    if (task === undefined) return
    const isLast = form === 'bare' ? method === 'tasks/result' : method === 'tasks/cancel'
    const state = answeredTask(answer, form)
    if (isLast) task.given()
    else if (state !== undefined) task.saw(state.status, state.ttlMs)
  }

  /** Keeps the task for the client of the call, unless its id is in use; gives the error then. */
  #begin(flight: InflightCall, state: TaskState): ErrorBody | undefined {
    const { id } = state
    const twin = this.#find(id)
    // Which of the two a cancel would reach nobody can know.
    if (twin?.isOver === false && !isAgain(twin, state, flight.call))
      return taskIdTaken(this.service, id, this.service)
    twin?.drop(taskNotFound(id))
    const task = new ServerTask(state, flight.call, this, this.#tokenOf(flight, state))
    const error = flight.call.keeper?.keep(task)
    if (error !== undefined) {
      this.#cancel(task)
      task.drop(error)
      return error
    }
    this.#tasks ??= new Map()
    this.#tasks.set(id, task)
    if (task.token !== undefined) flight.isHanded = this.#link.tokens.hand(flight.token, task)
    return undefined
  }

  #tokenOf({ call, token }: InflightCall, { status, isDurable }: TaskState): TaskToken | undefined {
    const own = call.frame.params.meta.span('progressToken')
    if (token === undefined || own === undefined || isDurable || isTerminal(status)) return undefined
    return { own: call.raw(own), release: () => this.#link.tokens.retire(token) }
  }

  send(call: Call, task: ServerTask): void {
    call.isAboutTask = true
    call.deadline.times = task.times ?? this.#parts.times
    this.#link.call(call)
  }

  /** The call that waits for the result of the task that this is said or asked for. */
  waitingFor({ params }: Pick<NotificationFrame, 'params'>): Call | undefined {
    const id = this.#tasks === undefined ? undefined : relatedTask(params)
    return id === undefined ? undefined : this.#waiting(id)[0]?.call
  }

  /** A server tells how a task is; false when it is nobody's. */
  told(frame: NotificationFrame): boolean {
    const { members } = frame.params
    const task = this.#find(members.string('taskId'))
    if (task === undefined) return false
    if (!task.isDurable) task.client.tell(frame, [], this.#atWork(task))
    task.saw(members.string('status'))
    return true
  }

  /** A server tells how far a task is; false when nobody waits for that. */
  progressed(task: ServerTask, frame: NotificationFrame): boolean {
    const { token } = task
    const span = frame.params.members.span('progressToken')
    if (token === undefined || span === undefined) return false
    task.client.tell(frame, writing(frame.line, span, token, 'progress-token'), this.#atWork(task))
    return true
  }

  /** Who waits for the result waits on; gives the call that does. */
  #atWork({ id }: ServerTask): Call | undefined {
    const waiting = this.#waiting(id)
    for (const flight of waiting) this.#link.extend(flight)
    return waiting[0]?.call
  }

  #waiting(id: string): InflightCall[] {
    return [...this.#link.flights()].filter(
      ({ call: { frame } }) =>
        frame.method === 'tasks/result' && frame.params.members.string('taskId') === id,
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
    const { pagesMax, itemsMax } = this.#parts.limits.lists
    const broken = (what: string): UpstreamError => thatServer(this.service, 'invalid-answer', what)
    const items: TaskItem[] = []
    let params = '{}'
    for (let pages = 0; pages < pagesMax; pages++) {
      const frame = await this.#link.ask('tasks/list', params)
      const page = frame.kind === 'error' ? undefined : readTaskPage(frame)
      if (page === undefined) throw broken('answered tasks/list with no list')
      items.push(...page.items)
      if (items.length > itemsMax) throw broken(`has more than ${itemsMax} tasks`)
      if (page.cursor === undefined) return items
      params = `{"cursor":${page.cursor}}`
    }
    throw broken(`has more than ${pagesMax} pages of tasks`)
  }

  /** The client is gone, and nobody else may have what it has begun; what is durable is not that client's alone. */
  left(client: ClientPort): void {
    for (const task of this.#tasks?.values() ?? []) {
      if (task.client !== client || task.isDurable) continue
      if (task.isRunning) this.#cancel(task)
      task.drop(taskNotFound(task.id))
    }
  }

  /** The server is gone. */
  lost(failure: () => UpstreamError): void {
    for (const task of this.#tasks?.values() ?? []) {
      const { reason, message } = failure()
      task.drop(taskLost(this.service, task.id, reason, message))
    }
  }

  forget(task: ServerTask): void {
    if (this.#find(task.id) === task) this.#tasks?.delete(task.id)
  }

  #find(id: string | undefined): ServerTask | undefined {
    return id === undefined ? undefined : this.#tasks?.get(id)
  }

  #cancel({ id }: ServerTask): void {
    if (this.capabilities?.cancel !== true) return
    this.#link.ask('tasks/cancel', `{"taskId":${quote(id)}}`).catch(() => {})
  }
}

/** A server may answer calls of one principal with the same durable task. */
function isAgain({ client, isDurable }: ServerTask, state: TaskState, { context }: Call): boolean {
  return isDurable && state.isDurable && client.profile.principal === context.principal
}
