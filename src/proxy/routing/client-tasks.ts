// The tasks that clients may ask about, and the server of each (MCP 2025-11-25, Utilities: tasks; the
// extension Tasks of 2026-07-28).
//
// A task of a session belongs to its client. A task of the extension belongs to the principal that began it,
// on any connection, and to no other. The proxy does not change ids. A client cannot distinguish two tasks
// with one id, so the proxy refuses the later one. A task whose id is not in this table does not exist.

import type { ErrorBody } from '../../jsonrpc/build.js'
import type { Call } from '../../calls/call.js'
import type { Task, TaskKeeper } from '../../calls/task.js'
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
import type { Limits } from '../../limits.js'
import type { Target } from './catalog.js'
import { type Edit, NO_EDITS } from '../../jsonrpc/splice.js'
import { cutNamed } from '../../mcp/member-edits.js'
import { sessionRevisions } from '../../mcp/revisions.js'
import { itemList } from '../../mcp/list-items.js'

/** The tasks of one client, or of one principal, and the requests about them. */
export class TaskTable implements TaskKeeper {
  readonly #limits: Limits['session']
  /** A session with tasks, a principal whose clients have no session, or a client that can have no tasks. */
  readonly #owner: 'session' | 'principal' | 'nobody'
  /** By id. The tasks that were asked about longest ago come first. */
  readonly #tasks = new Map<string, Task>()

  constructor(limits: Limits['session'], owner: 'session' | 'principal' | 'nobody') {
    this.#limits = limits
    this.#owner = owner
  }

  get isIdle(): boolean {
    return [...this.#tasks.values()].every(({ isOver }) => isOver)
  }

  keep(task: Task): ErrorBody | undefined {
    const { id, source } = task
    const { taskIdLengthMax } = this.#limits
    const own = this.#tasks.get(id)
    // A server may answer several calls of one principal with the same task.
    const again = this.#owner === 'principal' && own?.source.service === source.service ? own : undefined
    const known = [own, source.find(id)]
    const taken = known.find((each) => each?.isOver === false && each !== again)
    if (taken !== undefined) return taskIdTaken(source.service, id, taken.source.service)
    if (id.length > taskIdLengthMax) return taskIdTooLong(source.service, id.length, taskIdLengthMax)
    for (const each of known) each?.drop(taskNotFound(id))
    this.#tasks.delete(id)
    const full = this.#fullError()
    if (full === undefined) this.#tasks.set(id, task)
    return full
  }

  /**
   * The error of a call that would begin one task too many. A task that is over makes room, the oldest first.
   * For a principal, the oldest running task also makes room.
   */
  #fullError(): ErrorBody | undefined {
    const { tasksMax } = this.#limits
    if (this.#tasks.size < tasksMax) return undefined
    const all = [...this.#tasks.values()]
    const first = all.find(({ isOver }) => isOver) ?? (this.#owner === 'principal' ? all[0] : undefined)
    if (first === undefined) return tooManyTasks(tasksMax)
    first.drop(taskNotFound(first.id))
    this.#tasks.delete(first.id)
    return undefined
  }

  #find(id: string): Task | undefined {
    const task = this.#tasks.get(id)
    if (task !== undefined && this.#tasks.delete(id)) this.#tasks.set(id, task)
    return task
  }

  dropAll(): void {
    for (const task of this.#tasks.values()) task.drop(taskNotFound(task.id))
    this.#tasks.clear()
  }

  /**
   * Prepares a call of a tool that may begin a task; returns the edits of the call, or its error.
   *
   * The member `task` is cut for a server that runs no tasks (MCP, Tasks: task support and handling).
   */
  begin(call: Call, { lane, item }: Target, name: string): readonly Edit[] | ErrorBody {
    const { members } = call.frame.params
    const isWanted = members.span('task') !== undefined
    const isPossible = this.#owner === 'session' && offersTasks(lane)
    if (item.needsTask && !isPossible) return toolNeedsTask(name, this.#whyNot(lane))
    if (isWanted && isPossible) {
      call.keeper = this
      return this.#fullError() ?? NO_EDITS
    }
    const mayGoOn = this.#owner === 'principal' && declaresTasks(call.context.capabilities)
    if (mayGoOn && relaysTasks(lane)) call.keeper = this
    return isWanted ? cutNamed(members, ['task'], 'task') : NO_EDITS
  }

  /** Handles a request about one task. `only` is the server of the session's tasks that this table does not contain. */
  about(call: Call, lanes: readonly CallTarget[], only: CallTarget | undefined): void {
    const isDurable = this.#owner === 'principal'
    // Only the proxy itself sends a request that follows a task, for a client that declared the extension.
    const isOwn = call.row.subscribes !== undefined
    if (this.#owner === 'nobody') return call.fail(methodNotFound(call.frame.method))
    const id = call.frame.params.members.string('taskId')
    if (id === undefined) return call.fail(missingParameter('taskId'))
    if (isDurable && !isOwn && !declaresTasks(call.context.capabilities))
      return call.fail(missingCapability(tasksRequired))
    const task = this.#find(id)
    const isElsewhere = isDurable && (task?.isGone === true || isOwn)
    if (task !== undefined) call.service = task.source.service
    if (task !== undefined && !isElsewhere) return task.request(call)
    // A durable task is also reachable through another connection.
    const lane = isDurable ? lanes.find(({ config }) => config.name === task?.source.service) : only
    call.service ??= lane?.config.name
    if (lane === undefined) call.fail(taskNotFound(id))
    else lane.call(call, NO_EDITS)
  }

  list(call: Call, only: CallTarget | undefined): void {
    if (this.#owner !== 'session') return call.fail(methodNotFound(call.frame.method))
    if (only !== undefined) return only.call(call, NO_EDITS)
    const cursor = call.frame.params.members.span('cursor')
    if (cursor !== undefined)
      return call.fail(invalidParams('the cursor is invalid or expired', { parameter: 'cursor' }))
    call.keep()
    void this.#listed(call)
  }

  async #listed(call: Call): Promise<void> {
    const sources = new Set([...this.#tasks.values()].flatMap(({ isGone, source }) => (isGone ? [] : source)))
    const isOwn = (task: Task): boolean => this.#tasks.get(task.id) === task
    const listed = await Promise.all([...sources].map((source) => source.list(isOwn)))
    // Without the list of one server, the tasks of that server would look lost.
    const failed = listed.find((each) => 'code' in each)
    if (failed !== undefined) return call.fail(failed)
    const lines = listed.flatMap((each) => ('code' in each ? [] : each))
    const items = lines.map((line) => call.splice(line, []))
    call.settle({ kind: 'result', result: itemList('tasks', items) })
  }

  #whyNot({ config: { name }, keepsTasks }: CallTarget): string {
    const dates = sessionRevisions.flatMap(({ hasTasks, version }) => (hasTasks ? [version] : []))
    if (this.#owner !== 'session') return `tasks need a session of revision ${dates.join(' or ')}`
    return keepsTasks ? `'${name}' does not offer tasks` : `'${name}' is shared by clients that it may ask`
  }
}

interface Described {
  readonly view: Pick<CallTarget['view'], 'facts'>
}

export function offersTasks({ keepsTasks, view }: CallTarget): boolean {
  return keepsTasks && view.facts?.capabilities.tasks !== undefined
}

/** Whether the server offers the extension Tasks, in which the server decides which call becomes a task. */
export function relaysTasks({ view: { facts } }: Described): boolean {
  return facts?.revision.era === 'stateless' && facts.capabilities.extensions.has(TASKS)
}
