// Reads a client's batch: its members are handled alone, and their answers leave together (JSON-RPC 2.0 section 6).

import type { Answers } from './answers.js'
import { splitBatch } from '../../jsonrpc/batch.js'
import { FrameError } from '../../jsonrpc/errors.js'
import { type Frame, frameOrError } from '../../jsonrpc/frame.js'
import type { Line } from '../../jsonrpc/line.js'
import { type RequestId, canonical } from '../../jsonrpc/request-id.js'
import { claims } from '../../mcp/eras/any-client.js'
import { idInUse, invalidRequest, malformed } from '../../mcp/error-codes.js'
import type { SessionParts } from './session-parts.js'

/** MCP 2026-07-28 has no batches. */
const ALONE = 'a request that names its protocol version is no part of a batch'

/** Hands each member to `receive`, but for requests whose ids are those of other `calls` that wait for an answer. */
export function receiveBatch(
  line: Line,
  { leg, limits }: Pick<SessionParts, 'leg' | 'limits'>,
  answers: Answers,
  calls: { has(key: RequestId): boolean },
  receive: (frame: Frame) => void,
): void {
  if (!leg.batching) {
    const { version } = leg.profile.revision
    return answers.refuse(undefined, invalidRequest(`protocol version ${version} has no batches`))
  }
  let members: Line[]
  try {
    members = splitBatch(line, limits.frame)
  } catch (error) {
    if (!(error instanceof FrameError)) throw error
    return answers.refuse(error.id, malformed(error))
  }
  const reply = answers.newBatch()
  for (const member of members) {
    const frame = frameOrError(member, limits.frame)
    if (frame instanceof FrameError) reply.add(answers.refusal(frame.id, malformed(frame)))
    else if (frame.kind !== 'request') receive(frame)
    else if (claims(frame)) reply.add(answers.refusal(frame.id, invalidRequest(ALONE)))
    else if (!calls.has(canonical(frame.id)) && answers.expect(frame.id, reply)) receive(frame)
    else reply.add(answers.refusal(frame.id, idInUse(frame.id)))
  }
  reply.settle(undefined)
}
