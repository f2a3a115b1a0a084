// The members of tasks that the proxy reads (MCP 2025-11-25, Utilities: tasks; the extension Tasks of
// 2026-07-28). Tasks pass as the bytes that their server wrote.

import type { Params, ResultFrame } from '../jsonrpc/frame.js'
import { type Line, toLine } from '../jsonrpc/line.js'
import { OPEN_ARRAY } from '../jsonrpc/ascii.js'
import { type Members, itemsAt, membersAt, membersOf } from '../jsonrpc/members.js'
import type { Span } from '../jsonrpc/scan.js'
import { parse, rawAt } from '../jsonrpc/text.js'
import { cursorAt } from './list-items.js'
import { RELATED_TASK } from './meta-keys.js'
import { typeNamed } from './result-type.js'
import type { Revision } from './revisions.js'

/** The state of a task, as its server writes it. */
export interface TaskState {
  readonly id: string
  readonly status: string | undefined
  /** How long the server keeps the task; infinite if the server gives no time. */
  readonly ttlMs: number
  /** Whether the task belongs to its principal on every connection, as in the extension Tasks. */
  readonly isDurable: boolean
}

interface TaskPage {
  /** Each `line` is copied out of the list. */
  readonly items: readonly { readonly id: string; readonly line: Line }[]
  readonly cursor: string | undefined
}

const TASK_TYPE = 'task'

/** The task that a server has created for a call; undefined if the server answered with the result. */
export function createdTask(frame: ResultFrame, era: Revision['era']): TaskState | undefined {
  if (era === 'stateless')
    return typeNamed(frame) === TASK_TYPE ? taskIn(frame.line, frame.members, 'ttlMs') : undefined
  const task = frame.members?.span('task')
  return task && taskIn(frame.line, membersAt(frame.line, task), 'ttl')
}

export function answeredTask(
  { line, members }: ResultFrame,
  era: Revision['era'],
): Pick<TaskState, 'status' | 'ttlMs'> | undefined {
  return taskIn(line, members, era === 'session' ? 'ttl' : 'ttlMs')
}

function taskIn(line: Line, members: Members | undefined, ttl: 'ttl' | 'ttlMs'): TaskState | undefined {
  const id = members?.string('taskId')
  if (members === undefined || id === undefined) return undefined
  const ttlMs = ttlOf(line, members.span(ttl))
  return { id, status: members.string('status'), ttlMs, isDurable: ttl === 'ttlMs' }
}

export function isTerminal(status: string | undefined): boolean {
  return status === 'completed' || status === 'failed' || status === 'cancelled'
}

/** The task to which a request or notification of a server belongs. */
export function relatedTask({ meta }: Params): string | undefined {
  return membersAt(meta.bytes, meta.span(RELATED_TASK))?.string('taskId')
}

/** The tasks of one page of a list; undefined if the result is no such list. */
export function readTaskPage({ line, members }: ResultFrame): TaskPage | undefined {
  const span = members?.span('tasks')
  if (members === undefined || span === undefined || line[span.start] !== OPEN_ARRAY) return undefined
  const items = itemsAt(line, span).flatMap((item) => readTask(line, item) ?? [])
  return { items, cursor: cursorAt(line, members.span('nextCursor')) }
}

function readTask(line: Line, { start, end }: Span): TaskPage['items'][number] | undefined {
  const own = toLine(line.subarray(start, end))
  const id = membersOf(own)?.string('taskId')
  return id === undefined ? undefined : { id, line: own }
}

function ttlOf(line: Line, span: Span | undefined): number {
  const ttl = span === undefined ? null : parse(rawAt(line, span))
  return typeof ttl === 'number' ? ttl : Infinity
}
