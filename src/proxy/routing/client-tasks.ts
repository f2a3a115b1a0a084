// The tasks of one client: which server has each (MCP 2025-11-25, Utilities: tasks).
//
// Ids stay as their servers wrote them. A client has no other way to tell its tasks apart, so of two equal ids the later
// one is refused. Lists are put together of what servers list, without the tasks of others.

import type { Target } from './catalog.js'
import { missing } from './missing.js'
import { offersTasks } from './offers-tasks.js'
import type { TaskLimits } from './principal-tasks.js'
import type { RoutedClient } from './routed-client.js'
import type { ErrorBody } from '../../jsonrpc/build.js'
import type { Edit } from '../../jsonrpc/splice.js'
import type { Call, HeldTask, TaskKeeper, TaskSource } from '../../mcp/call.js'
import {
  invalidParams,
  methodNotFound,
  taskIdTaken,
  taskIdTooLong,
  taskNotFound,
  toolNeedsTask,
  tooManyTasks,
} from '../../mcp/error-codes.js'
import { cutNamed } from '../../mcp/member-edits.js'
import { handshakeRevisions } from '../../mcp/revisions.js'
import { type TaskItem, taskList } from '../../mcp/tasks.js'
import type { CallTarget } from '../../upstream/contracts/upstream.js'

/** Begins tasks for one client, and finds them. */
export class ClientTasks implements TaskKeeper {
  readonly #client: RoutedClient
  readonly #limits: TaskLimits
  readonly #hasTasks: boolean
  /** Made for the first one: most clients have none. */
  #tasks: Map<string, HeldTask> | undefined

  constructor(client: RoutedClient, limits: TaskLimits, hasTasks: boolean) {
    this.#client = client
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

  /** Who cannot have a task has wanted none, as far as the server goes (MCP, Tasks: task support and handling). */
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

  /** Takes over a request about one task; `only` is the server that has whatever is not known here. */
  about(call: Call, only: CallTarget | undefined): void {
    if (!this.#hasTasks) return call.fail(methodNotFound(call.frame.method))
    const id = call.frame.params.members.string('taskId')
    if (id === undefined) return call.fail(missing('taskId'))
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
    const result = taskList(items.map(({ line }) => this.#client.splice(call, line, [])))
    call.settle({ kind: 'result', result })
  }

  /** What a server lists of this client's; a list without its part would look as if that were lost. */
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
    const dates = handshakeRevisions.flatMap(({ tasks, version }) => (tasks ? [version] : []))
    if (!this.#hasTasks) return `tasks need a session of revision ${dates.join(' or ')}`
    return keepsTasks ? `'${name}' does not offer tasks` : `'${name}' is shared by clients that it may ask`
  }
}

function sourceOf({ isGone, source }: HeldTask): TaskSource[] {
  return isGone ? [] : [source]
}
