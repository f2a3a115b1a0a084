// The tasks that a client runs for one server, on one connection (MCP 2025-11-25, Utilities: tasks).
//
// The server has asked something that its client answers later. The ids are the client's own, and another server has
// tasks of the same client: so each hears of those alone that it has begun itself.

import type { ErrorBody } from '../../jsonrpc/build.js'
import type { NotificationFrame, RequestFrame, ResponseFrame, ResultFrame } from '../../jsonrpc/frame.js'
import { itemsAt, membersAt } from '../../jsonrpc/members.js'
import { type RequestId, canonical } from '../../jsonrpc/request-id.js'
import type { Span } from '../../jsonrpc/scan.js'
import { type Edit, NO_EDITS } from '../../jsonrpc/splice.js'
import { rawAt } from '../../jsonrpc/text.js'
import { taskNotFound } from '../../mcp/error-codes.js'
import { cutItems } from '../../mcp/member-edits.js'
import { createdTask } from '../../mcp/tasks.js'

/** Knows which they are. */
export class AskedTasks {
  readonly #tasksMax: number
  /** Their ids; the server asked about the first longest ago. Made for the first one. */
  #tasks: Set<string> | undefined
  /** What the server has asked whose answer begins a task, or lists all of them; by its own ids. */
  #open: Map<RequestId, 'begins' | 'lists'> | undefined
  /** Its client sees all of the one server there is, so that every task is that server's. */
  isWhole = false

  /** Of more than `tasksMax` the first is forgotten. */
  constructor(tasksMax: number) {
    this.#tasksMax = tasksMax
  }

  has(id: string | undefined): boolean {
    return this.isWhole || (id !== undefined && this.#tasks?.has(id) === true)
  }

  /** The server asks something; gives the error where that is about a task that it has not begun. */
  asked({ id, method, params }: RequestFrame): ErrorBody | undefined {
    const begins = params.members.span('task') !== undefined
    if (begins || method === 'tasks/list') {
      this.#open ??= new Map()
      this.#open.set(canonical(id), begins ? 'begins' : 'lists')
    }
    if (!method.startsWith('tasks/') || method === 'tasks/list') return undefined
    const task = params.members.string('taskId') ?? ''
    if (!this.has(task)) return taskNotFound(task)
    this.#keep(task)
    return undefined
  }

  /** The edits with which the server is given the client's answer. */
  answered(frame: ResponseFrame, id: RequestId): readonly Edit[] {
    const what = this.#open?.get(canonical(id))
    this.over(id)
    if (what === undefined || frame.kind === 'error') return NO_EDITS
    if (what === 'lists') return this.#withoutOthers(frame)
    const task = createdTask(frame, 'bare')
    if (task !== undefined) this.#keep(task.id)
    return NO_EDITS
  }

  /** There will be no answer. */
  over(id: RequestId): void {
    this.#open?.delete(canonical(id))
  }

  /** The server does not want an answer any more. */
  withdrawn({ line, params }: NotificationFrame): void {
    const span = params.members.span('requestId')
    if (span === undefined || this.#open === undefined) return
    const text = rawAt(line, span)
    for (const id of this.#open.keys()) if (id === text) this.#open.delete(id)
  }

  #keep(id: string): void {
    this.#tasks ??= new Set()
    this.#tasks.delete(id)
    const [first] = this.#tasks
    if (first !== undefined && this.#tasks.size >= this.#tasksMax) this.#tasks.delete(first)
    this.#tasks.add(id)
  }

  #withoutOthers({ line, result }: ResultFrame): readonly Edit[] {
    const items = itemsAt(line, membersAt(line, result)?.span('tasks'))
    const isOfOther = (item: Span): boolean => !this.has(membersAt(line, item)?.string('taskId'))
    return cutItems(items, isOfOther, 'task')
  }
}
