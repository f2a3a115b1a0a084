// The tasks of all who are one principal to the front (the extension Tasks of 2026-07-28).
//
// A task belongs to the principal that began it, on any connection. The proxy knows which server has which task, and lets
// nobody else ask about it. An id that it does not know does not exist.

import { missing } from './missing.js'
import { relaysTasks } from './offers-tasks.js'
import type { ErrorBody } from '../../jsonrpc/build.js'
import type { Call, HeldTask, TaskKeeper } from '../../mcp/call.js'
import { declaresTasks } from '../../mcp/capabilities.js'
import { missingCapability, taskIdTaken, taskIdTooLong, taskNotFound } from '../../mcp/error-codes.js'
import { tasksRequired } from '../../mcp/extensions.js'
import type { CallTarget } from '../../upstream/contracts/upstream.js'

export interface TaskLimits {
  /** Tasks of one client that are not over. */
  readonly tasksMax: number
  /** One id of a server's choice. */
  readonly taskIdLengthMax: number
}

/** Begins tasks for one principal, and finds them. */
export class PrincipalTasks implements TaskKeeper {
  readonly #limits: TaskLimits
  /** By id; those that were asked about longest ago come first. */
  readonly #tasks = new Map<string, HeldTask>()

  constructor(limits: TaskLimits) {
    this.#limits = limits
  }

  /** Whether none of its tasks runs. */
  get isIdle(): boolean {
    return [...this.#tasks.values()].every(({ isOver }) => isOver)
  }

  /** A call of a tool may begin a task, where its client and its server have the extension. */
  begin(call: Call, lane: CallTarget): void {
    if (declaresTasks(call.context.capabilities) && relaysTasks(lane)) call.keeper = this
  }

  keep(task: HeldTask): ErrorBody | undefined {
    const { id, source } = task
    const { tasksMax, taskIdLengthMax } = this.#limits
    const twin = this.#tasks.get(id)
    if (twin !== undefined && twin.source.service !== source.service && !twin.isOver)
      return taskIdTaken(source.service, id, twin.source.service)
    if (id.length > taskIdLengthMax) return taskIdTooLong(source.service, id.length, taskIdLengthMax)
    this.#tasks.delete(id)
    if (this.#tasks.size >= tasksMax) this.#forgetOne()
    this.#tasks.set(id, task)
    return undefined
  }

  /** Takes over a request about one task. */
  about(call: Call, lanes: readonly CallTarget[]): void {
    const id = call.frame.params.members.string('taskId')
    if (id === undefined) return call.fail(missing('taskId'))
    // Only the proxy itself asks to follow one, for a client that has declared it.
    const isOwn = call.row.subscribes !== undefined
    if (!isOwn && !declaresTasks(call.context.capabilities))
      return call.fail(missingCapability(tasksRequired))
    const task = this.#tasks.get(id)
    if (task === undefined) return call.fail(taskNotFound(id))
    this.#touch(task)
    call.service = task.source.service
    if (!task.isGone && !isOwn) return task.request(call)
    // Another connection may lead to it too.
    const lane = lanes.find(({ config }) => config.name === task.source.service)
    if (lane === undefined) call.fail(taskNotFound(id))
    else lane.call(call, [])
  }

  /** The principal asks nothing any more. */
  left(): void {
    for (const task of this.#tasks.values()) task.drop(taskNotFound(task.id))
    this.#tasks.clear()
  }

  #touch(task: HeldTask): void {
    this.#tasks.delete(task.id)
    this.#tasks.set(task.id, task)
  }

  #forgetOne(): void {
    const [oldest] = this.#tasks.values()
    const first = [...this.#tasks.values()].find(({ isOver }) => isOver) ?? oldest
    if (first === undefined) return
    first.drop(taskNotFound(first.id))
    this.#tasks.delete(first.id)
  }
}
