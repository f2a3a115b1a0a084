// The tasks of all who are one principal to the front (the extension Tasks of 2026-07-28).
//
// A task belongs to the principal that began it, on any connection. The proxy knows which server has which task, and lets
// no other principal ask about it. An unknown id does not exist.

import type { ErrorBody } from '../../jsonrpc/build.js'
import type { Call, HeldTask, TaskKeeper, TaskSource } from '../../mcp/call.js'
import { declaresTasks, TASKS, tasksRequired } from '../../mcp/capabilities.js'
import {
  invalidParams,
  methodNotFound,
  missingCapability,
  taskIdTaken,
  taskIdTooLong,
  taskNotFound,
  toolNeedsTask,
  tooManyTasks,
  missingParameter,
} from '../../mcp/error-codes.js'
import type { CallTarget } from '../../upstream/contracts/upstream.js'
import type { Target } from './catalog.js'
import type { Edit } from '../../jsonrpc/splice.js'
import { cutNamed } from '../../mcp/member-edits.js'
import { sessionRevisions } from '../../mcp/revisions.js'
import { itemList } from '../../mcp/list-items.js'
import type { TaskItem } from '../../mcp/tasks.js'

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
    if (id === undefined) return call.fail(missingParameter('taskId'))
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

// The tasks of one client: which server has each (MCP 2025-11-25, Utilities: tasks).
//
// Ids stay as their servers wrote them. A client has no other way to tell its tasks apart, so of two equal ids the later
// one is refused. Lists are put together of what servers list, without the tasks of others.

/** Begins tasks for one client, and finds them. */
export class ClientTasks implements TaskKeeper {
  readonly #limits: TaskLimits
  readonly #hasTasks: boolean
  /** Made for the first one: most clients have none. */
  #tasks: Map<string, HeldTask> | undefined

  constructor(limits: TaskLimits, hasTasks: boolean) {
    this.#limits = limits
    this.#hasTasks = hasTasks
  }

  /** Makes ready a call of a tool that is to begin a task, or can do nothing else; gives the error where it cannot. */
  begin(call: Call, { lane, item }: Target, name: string): ErrorBody | undefined {
    const isWanted = call.frame.params.members.span('task') !== undefined
    if (!this.#hasTasks || !offersTasks(lane))
      return item.needsTask ? toolNeedsTask(name, this.#whyNot(lane)) : undefined
    if (!isWanted) return undefined
    if (!this.#hasRoom()) return tooManyTasks(this.#limits.tasksMax)
    call.keeper = this
    return undefined
  }

  /** The member `task` is cut for a server that runs no tasks (MCP, Tasks: task support and handling). */
  edits(call: Call): readonly Edit[] {
    return call.keeper === undefined ? cutNamed(call.frame.params.members, ['task'], 'task') : []
  }

  keep(task: HeldTask): ErrorBody | undefined {
    const { id, source } = task
    const { tasksMax, taskIdLengthMax } = this.#limits
    const twin = this.#tasks?.get(id)
    if (twin?.isOver === false) return taskIdTaken(source.service, id, twin.source.service)
    if (id.length > taskIdLengthMax) return taskIdTooLong(source.service, id.length, taskIdLengthMax)
    twin?.drop(taskNotFound(id))
    this.#tasks?.delete(id)
    if (!this.#hasRoom()) return tooManyTasks(tasksMax)
    this.#tasks ??= new Map()
    this.#tasks.set(id, task)
    return undefined
  }

  /** Takes over a request about one task; `only` is the server that has the tasks that are not known here. */
  about(call: Call, only: CallTarget | undefined): void {
    if (!this.#hasTasks) return call.fail(methodNotFound(call.frame.method))
    const id = call.frame.params.members.string('taskId')
    if (id === undefined) return call.fail(missingParameter('taskId'))
    const task = this.#tasks?.get(id)
    call.service = task?.source.service ?? only?.config.name
    if (task !== undefined) task.request(call)
    else if (only !== undefined) only.call(call, [])
    else call.fail(taskNotFound(id))
  }

  /** Takes over a request for all of them. */
  list(call: Call, only: CallTarget | undefined): void {
    if (!this.#hasTasks) return call.fail(methodNotFound(call.frame.method))
    if (only !== undefined) return only.call(call, [])
    const cursor = call.frame.params.members.span('cursor')
    if (cursor !== undefined)
      return call.fail(invalidParams('the cursor is invalid or expired', { parameter: 'cursor' }))
    call.keep()
    void this.#listed(call)
  }

  async #listed(call: Call): Promise<void> {
    const sources = new Set([...(this.#tasks?.values() ?? [])].flatMap((task) => sourceOf(task)))
    const listed = await Promise.all([...sources].map((source) => this.#listedBy(source)))
    const failed = listed.find((each) => 'code' in each)
    if (failed !== undefined) return call.fail(failed)
    const items = listed.flatMap((each) => ('code' in each ? [] : each))
    const result = itemList(
      'tasks',
      items.map(({ line }) => call.splice(line, [])),
    )
    call.settle({ kind: 'result', result })
  }

  /** The tasks of this client that a server lists, or its error: without them the tasks would look lost. */
  async #listedBy(source: TaskSource): Promise<TaskItem[] | ErrorBody> {
    const listed = await source.list()
    return 'code' in listed ? listed : listed.filter(({ id }) => this.#tasks?.get(id)?.source === source)
  }

  /** Whether one more may be begun; what is over goes first, the oldest before others. */
  #hasRoom(): boolean {
    if (this.#tasks === undefined || this.#tasks.size < this.#limits.tasksMax) return true
    for (const [id, task] of this.#tasks) {
      if (!task.isOver) continue
      task.drop(taskNotFound(id))
      return this.#tasks.delete(id)
    }
    return false
  }

  #whyNot({ config: { name }, keepsTasks }: CallTarget): string {
    const dates = sessionRevisions.flatMap(({ tasks, version }) => (tasks ? [version] : []))
    if (!this.#hasTasks) return `tasks need a session of revision ${dates.join(' or ')}`
    return keepsTasks ? `'${name}' does not offer tasks` : `'${name}' is shared by clients that it may ask`
  }
}

function sourceOf({ isGone, source }: HeldTask): TaskSource[] {
  return isGone ? [] : [source]
}

// Whether a call to a server can begin a task.

/** A server with its facts. */
interface Described {
  readonly view: Pick<CallTarget['view'], 'facts'>
}

export function offersTasks({ keepsTasks, view }: CallTarget): boolean {
  return keepsTasks && view.facts?.capabilities.tasks !== undefined
}

/** The same by the extension, in which the server decides which call goes on as a task. */
export function relaysTasks({ view: { facts } }: Described): boolean {
  return facts?.revision.era === 'stateless' && facts.capabilities.extensions.has(TASKS)
}
