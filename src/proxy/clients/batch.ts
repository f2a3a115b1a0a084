// A client's batch (JSON-RPC 2.0 section 6): the proxy handles each member alone, and joins the answers.

import { buildBatch, type ErrorBody } from '../../jsonrpc/build.js'
import type { AnswerKind, MessageHead, Reply } from '../../jsonrpc/connection.js'
import { type ReceivedMessage, readMessage, splitBatch } from '../../jsonrpc/frame.js'
import { FrameError } from '../../jsonrpc/jsonrpc-errors.js'
import type { Line } from '../../jsonrpc/line.js'
import type { RequestId } from '../../jsonrpc/request-id.js'
import type { Message } from '../../jsonrpc/splice.js'
import type { ClientLeg } from '../../mcp/eras/client-leg.js'
import { namesRevision } from '../../mcp/meta-keys.js'
import { invalidRequest, malformed } from '../../mcp/error-codes.js'

type Send = (to: Reply, kind: AnswerKind, answer: Message) => void

/** Collects the answers to a batch until every request of the batch has an answer, or will never have one. */
class BatchReply implements Reply {
  readonly isCancelledByClosing = false
  readonly #to: Reply
  readonly #send: Send
  readonly #answers: Message[] = []
  /** Requests without an answer, plus one until every member has been read. */
  #open = 1

  constructor(to: Reply, send: Send) {
    this.#to = to
    this.#send = send
  }

  expect(): this {
    this.#open++
    return this
  }

  answer(message: Message): void {
    this.#answers.push(message)
    this.drop()
  }

  drop(): void {
    if (--this.#open > 0) return
    // A batch of notifications has no answer at all.
    if (this.#answers.length === 0) this.#to.drop()
    else this.#send(this.#to, 'batch', buildBatch(this.#answers))
  }

  tell(message: Message, head: MessageHead): void {
    this.#to.tell(message, head)
  }
}

/** MCP 2026-07-28 has no batches. */
const ALONE = 'a request that names its protocol version is no part of a batch'
/** MCP 2025-03-26, Lifecycle, Initialization. */
const OPENING = 'initialize must not be part of a batch'

/** Passes each member to `receive`, with the reply that collects its answer. */
export function receiveBatch(
  line: Line,
  leg: Pick<ClientLeg, 'profile' | 'refusal'>,
  to: Reply,
  send: Send,
  receive: (message: ReceivedMessage, reply: Reply) => void,
): void {
  const { version, hasBatches } = leg.profile.revision
  const refuse = (id: RequestId | undefined, error: ErrorBody): void =>
    send(to, 'error', leg.refusal(id, error))
  if (!hasBatches) return refuse(undefined, invalidRequest(`protocol version ${version} has no batches`))
  let members: Line[]
  try {
    members = splitBatch(line)
  } catch (error) {
    if (!(error instanceof FrameError)) throw error
    return refuse(error.id, malformed(error))
  }
  const batch = new BatchReply(to, send)
  for (const member of members) {
    const message = readMessage(member)
    const refusal = refusalOf(message)
    if (refusal !== undefined) batch.expect().answer(leg.refusal(refusal.id, refusal.error))
    else receive(message, message.kind === 'request' ? batch.expect() : batch)
  }
  batch.drop()
}

/** The error for a member that is unreadable or not allowed in a batch. */
function refusalOf(frame: ReceivedMessage): { id: RequestId | undefined; error: ErrorBody } | undefined {
  if (frame.kind === 'unreadable') return { id: frame.error.id, error: malformed(frame.error) }
  if (frame.kind !== 'request') return undefined
  if (namesRevision(frame)) return { id: frame.id, error: invalidRequest(ALONE) }
  return frame.method === 'initialize' ? { id: frame.id, error: invalidRequest(OPENING) } : undefined
}
