// The members of a client's batch, each handled alone (JSON-RPC 2.0 section 6).

import type { Answers } from './answers.js'
import type { BatchReply } from './batch-reply.js'
import { splitBatch } from './jsonrpc/batch.js'
import { FrameError } from './jsonrpc/errors.js'
import type { FrameLimits } from './jsonrpc/frame-limits.js'
import { type Frame, readFrame } from './jsonrpc/frame.js'
import type { Line } from './jsonrpc/line.js'
import type { RequestId } from './jsonrpc/request-id.js'
import { malformed } from './mcp/error-codes.js'

export interface BatchMembersParts {
  readonly limits: FrameLimits
  readonly answers: Answers
  /** The requests that wait for an answer. */
  readonly calls: { has(key: RequestId): boolean }
  receive(frame: Frame): void
}

/** Hands on each member of a batch; their answers leave together. */
export function receiveBatch(line: Line, parts: BatchMembersParts): void {
  const { answers } = parts
  let lines: Line[]
  try {
    lines = splitBatch(line, parts.limits)
  } catch (error) {
    if (!(error instanceof FrameError)) throw error
    return answers.refuse(error.id, malformed(error))
  }
  const reply = answers.newBatch()
  for (const member of lines) receiveMember(member, reply, parts)
  reply.seal()
}

function receiveMember(line: Line, reply: BatchReply, parts: BatchMembersParts): void {
  const { limits, answers, calls } = parts
  try {
    const frame = readFrame(line, limits)
    if (frame.kind === 'request' && !answers.expect(frame.id, reply, calls)) return
    parts.receive(frame)
  } catch (error) {
    if (!(error instanceof FrameError)) throw error
    reply.add(answers.refusal(error.id, malformed(error)))
  }
}
