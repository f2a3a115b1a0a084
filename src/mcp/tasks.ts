// What the proxy reads of tasks (MCP 2025-11-25, Utilities: tasks). They pass as the bytes of those who wrote them.

import type { Params, ResultFrame } from '../jsonrpc/frame.js'
import { type Line, toLine } from '../jsonrpc/line.js'
import { type Members, itemsAt, membersAt } from '../jsonrpc/members.js'
import type { Span } from '../jsonrpc/scan.js'
import { parse, rawAt, stringAt } from '../jsonrpc/text.js'
import { RELATED_TASK } from './meta-keys.js'

/** A task as its server tells of it. */
export interface TaskState {
  readonly id: string
  readonly status: string | undefined
  /** How long it is kept; infinite where the server does not say, or for as long as it runs. */
  readonly ttlMs: number
}

/** One task of a server's list, in memory of its own. */
export interface TaskItem {
  readonly id: string
  readonly line: Line
}

interface TaskPage {
  readonly items: readonly TaskItem[]
  /** Raw JSON of the next page's cursor. */
  readonly cursor: string | undefined
}

/** The task by which a call was answered; undefined where it was answered by its result. */
export function createdTask({ line, result }: ResultFrame): TaskState | undefined {
  const members = membersAt(line, membersAt(line, result)?.span('task'))
  const id = members?.string('taskId')
  if (members === undefined || id === undefined) return undefined
  return { id, status: members.string('status'), ttlMs: ttlOf(line, members) }
}

/** The status in an answer that is a task. */
export function answeredStatus({ line, result }: ResultFrame): string | undefined {
  return membersAt(line, result)?.string('status')
}

/** Whether a task of this status will have no other. */
export function isTerminal(status: string | undefined): boolean {
  return status === 'completed' || status === 'failed' || status === 'cancelled'
}

/** The task for whose sake something is said or asked. */
export function relatedTask({ meta }: Params): string | undefined {
  return membersAt(meta.bytes, meta.span(RELATED_TASK))?.string('taskId')
}

/** The tasks of one page of a list; undefined when the result is no such list. */
export function readTaskPage({ line, result }: ResultFrame): TaskPage | undefined {
  const members = membersAt(line, result)
  const span = members?.span('tasks')
  if (members === undefined || span === undefined || line[span.start] !== 0x5b) return undefined
  const items = itemsAt(line, span).flatMap((item) => readTask(line, item) ?? [])
  const cursor = members.span('nextCursor')
  const isCursor = stringAt(line, cursor) !== undefined
  return { items, cursor: isCursor && cursor !== undefined ? rawAt(line, cursor) : undefined }
}

function readTask(line: Line, { start, end }: Span): TaskItem | undefined {
  const own = toLine(line.subarray(start, end))
  const id = membersAt(own, { start: 0, end: own.length })?.string('taskId')
  return id === undefined ? undefined : { id, line: own }
}

/** The raw JSON of a whole list of tasks. */
export function taskList(items: readonly Uint8Array[]): Uint8Array {
  const parts: Uint8Array[] = items.flatMap((item, at) => (at === 0 ? [item] : [COMMA, item]))
  return Buffer.concat([Buffer.from('{"tasks":['), ...parts, Buffer.from(']}')])
}

const COMMA = Buffer.from(',')

function ttlOf(line: Line, members: Members): number {
  const span = members.span('ttl')
  const ttl = span === undefined ? null : parse(rawAt(line, span))
  return typeof ttl === 'number' ? ttl : Infinity
}
