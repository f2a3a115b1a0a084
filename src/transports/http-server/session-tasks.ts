// Tasks of sessions. Only the instance where a task began knows it (MCP 2025-11-25, Utilities: tasks).

import { createHash } from 'node:crypto'
import { type Frame, readFrame } from '../../jsonrpc/frame.js'
import { membersAt } from '../../jsonrpc/members.js'
import type { Message } from '../../jsonrpc/splice.js'

/** The name under which an instance claims a task of a session. It reveals neither id. */
export function taskName(sessionId: string, taskId: string): string {
  return `task:${createHash('sha256').update(`${sessionId}\n${taskId}`).digest('base64url')}`
}

/** Whether a request may become a task. */
export function mayBeTask(frame: Frame): boolean {
  return frame.kind === 'request' && frame.params.members.span('task') !== undefined
}

/** The task that a request is about. */
export function askedTask(frame: Frame): string | undefined {
  if (frame.kind !== 'request' || !frame.method.startsWith('tasks/')) return undefined
  return frame.params.members.string('taskId')
}

/** The id of the task that a request has become. */
export function begunTask(answer: Message): string | undefined {
  const frame = readFrame(answer.joined)
  if (frame.kind !== 'result') return undefined
  return membersAt(frame.line, frame.members?.span('task'))?.string('taskId')
}
