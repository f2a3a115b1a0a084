// The members of a client's batch, each handled alone (JSON-RPC 2.0 section 6).

import type { Answers } from './answers.js'
import type { BatchReply } from './batch-reply.js'
import { splitBatch } from '../../jsonrpc/batch.js'
import { FrameError } from '../../jsonrpc/errors.js'
import { type FrameLimits, type Frame, readFrame } from '../../jsonrpc/frame.js'
import type { Line } from '../../jsonrpc/line.js'
import type { RequestId } from '../../jsonrpc/request-id.js'
import { invalidRequest, malformed } from '../../mcp/error-codes.js'
import type { SessionParts } from './session-parts.js'

export interface BatchMembersParts {
  readonly answers: Answers
  /** The requests that wait for an answer. */
  readonly calls: { has(key: RequestId): boolean }
  receive(frame: Frame): void
}

/** Hands on each member of a batch; their answers leave together. */
export function receiveBatch(
  line: Line,
  { leg, limits }: Pick<SessionParts, 'leg' | 'limits'>,
  parts: BatchMembersParts,
): void {
  const { answers } = parts
  if (!leg.batching) {
    const { version } = leg.profile.revision
    return answers.refuse(undefined, invalidRequest(`protocol version ${version} has no batches`))
  }
  let lines: Line[]
  try {
    lines = splitBatch(line, limits.frame)
  } catch (error) {
    if (!(error instanceof FrameError)) throw error
    return answers.refuse(error.id, malformed(error))
  }
  const reply = answers.newBatch()
  for (const member of lines) receiveMember(member, limits.frame, reply, parts)
  reply.seal()
}

function receiveMember(line: Line, limits: FrameLimits, reply: BatchReply, parts: BatchMembersParts): void {
  const { answers, calls } = parts
  try {
    const frame = readFrame(line, limits)
    if (frame.kind === 'request' && !answers.expect(frame.id, reply, calls)) return
    parts.receive(frame)
  } catch (error) {
    if (!(error instanceof FrameError)) throw error
    reply.add(answers.refusal(error.id, malformed(error)))
  }
}
