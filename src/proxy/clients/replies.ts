// Sends answers and notifications to a client. Each request is answered once, alone or in its batch.
//
// A client that reads too slowly holds back the servers that work for it alone. A server that reads too slowly does not hold
// its clients back, since they have other servers: what it has not taken has a limit, and calls above that are refused.

import { buildBatch, buildResult, type ErrorBody } from '../../jsonrpc/build.js'
import type { AnswerKind, Connection, MessageHead, Reply } from '../../jsonrpc/connection.js'
import type { Peer } from '../../jsonrpc/peer.js'
import type { RequestId } from '../../jsonrpc/request-id.js'
import type { Edit, Message } from '../../jsonrpc/splice.js'
import type { Call, Outcome, ReplyChannel } from '../../calls/call.js'
import type { ClientLeg } from '../../mcp/eras/client-leg.js'
import { namesRevision } from '../../mcp/meta-keys.js'
import { answerOf } from '../../mcp/eras/results.js'
import { invalidRequest, malformed } from '../../mcp/error-codes.js'
import type { ClientContext } from './client-directory.js'
import type { Session } from './session.js'
import type { SlowReader } from './unread.js'
import {
  splitBatch,
  type Frame,
  type FrameLimits,
  frameOrError,
  type NotificationFrame,
} from '../../jsonrpc/frame.js'
import { FrameError } from '../../jsonrpc/jsonrpc-errors.js'
import type { Line } from '../../jsonrpc/line.js'

/** The connection of a client, as far as nothing is asked there. */
type SendingPeer = Pick<Peer<unknown>, 'answerBytes' | 'close' | 'item' | 'notify' | 'pass'>

/** Everything that one connection of a client carries, but the questions of servers. */
export class Replies implements ReplyChannel, SlowReader {
  readonly #connection: Connection
  readonly #peer: SendingPeer
  readonly #leg: ClientLeg
  readonly #session: Session
  readonly #context: Pick<ClientContext, 'limits' | 'log' | 'unread'>
  readonly #readServers: (on: boolean) => void

  /** `readServers` stops or resumes reading what servers say to this client alone. */
  constructor(
    connection: Connection,
    peer: SendingPeer,
    leg: ClientLeg,
    session: Session,
    context: Pick<ClientContext, 'limits' | 'log' | 'unread'>,
    readServers: (on: boolean) => void,
  ) {
    this.#connection = connection
    this.#peer = peer
    this.#leg = leg
    this.#session = session
    this.#context = context
    this.#readServers = readServers
  }

  get backlogBytes(): number {
    return this.#connection.backlogBytes
  }

  /** `result` is raw JSON. */
  result(to: Reply, id: RequestId, result: string): void {
    this.inTurn(to, 'result', buildResult(id, result), id)
  }

  pong(to: Reply, id: RequestId): void {
    const answer = buildResult(id, '{}')
    this.#session.behind(answer.length, () => this.#send(to, 'result', answer), id, true)
  }

  refuse(to: Reply, id: RequestId | undefined, error: ErrorBody): void {
    this.inTurn(to, 'error', this.#leg.refusal(id, error), id)
  }

  /** An answer of the proxy leaves after the answer to an earlier `initialize`; a cancellation of `id` takes it back. */
  inTurn(to: Reply, kind: AnswerKind, answer: Message, id?: RequestId): void {
    this.#session.behind(answer.length, () => this.#send(to, kind, answer), id)
  }

  /** A call has ended: one that came before `initialize`, or behind its answer. */
  settle(call: Call, outcome: Outcome): void {
    const answer = answerOf(call, outcome, this.#peer)
    if (answer === undefined) call.reply?.drop()
    else if (call.reply !== undefined) this.#send(call.reply, answer.kind, answer.message)
  }

  /** A notification of a server, which may be about a call. */
  tell(frame: NotificationFrame, edits: readonly Edit[], call: Call | undefined): void {
    this.#peer.pass(frame, edits, { reply: call?.reply })
    this.sent()
  }

  /** A notification of the proxy, which may be about a call; `params` is raw JSON. */
  notify(method: string, params?: string, call?: Call): void {
    this.#peer.notify(method, params, { reply: call?.reply })
    this.sent()
  }

  splice(line: Line, edits: readonly Edit[]): Uint8Array {
    return this.#peer.item(line, edits)
  }

  /** Something was sent to the client, which may have more bytes to read now than it takes at once. */
  sent(): void {
    if (!this.#connection.congested) return
    this.#readServers(false)
    if (this.backlogBytes > this.#context.limits.session.backlogBytesMax) this.tooSlow(this.backlogBytes)
    else this.#context.unread.add(this)
  }

  tooSlow(bytes: number): number {
    const cut = this.#connection.cutSlowest?.() ?? 0
    const message =
      cut > 0
        ? `a client without a session leaves ${cut} bytes of an answer unread: its connection is cut`
        : `the client leaves ${bytes} bytes unread and is disconnected`
    this.#context.log({ level: 'error', message })
    if (cut > 0) return cut
    void this.#peer.close(true)
    return bytes
  }

  /** The client takes bytes again. */
  drained(): void {
    this.#context.unread.remove(this)
    this.#readServers(true)
  }

  /** The client is gone. */
  ended(): void {
    this.#context.unread.remove(this)
  }

  /** The one place from which answers leave. */
  #send(to: Reply, kind: AnswerKind, answer: Message): void {
    to.answer(answer, kind)
    this.sent()
  }
}

/** Collects the answers to a batch (JSON-RPC 2.0 section 6) until every request of it has one, or will have none. */
class BatchReply implements Reply {
  readonly isCancelledByClosing = false
  readonly #to: Reply
  readonly #replies: Replies
  readonly #answers: Message[] = []
  /** Requests without an answer, and one more until every member has been read. */
  #open = 1

  constructor(to: Reply, replies: Replies) {
    this.#to = to
    this.#replies = replies
  }

  /** One more member that is answered, or dropped. */
  expect(): this {
    this.#open++
    return this
  }

  answer(message: Message): void {
    this.#answers.push(message)
    this.drop()
  }

  /** A request was cancelled, or every member has been read. */
  drop(): void {
    if (--this.#open > 0) return
    // A batch of notifications has no answer at all.
    if (this.#answers.length === 0) this.#to.drop()
    else this.#replies.inTurn(this.#to, 'batch', buildBatch(this.#answers))
  }

  tell(message: Message, head: MessageHead): void {
    this.#to.tell(message, head)
  }
}

// Reads a client's batch: its members are handled alone, and their answers leave together (JSON-RPC 2.0 section 6).

/** MCP 2026-07-28 has no batches. */
const ALONE = 'a request that names its protocol version is no part of a batch'
/** MCP 2025-03-26, Lifecycle, Initialization. */
const OPENING = 'initialize must not be part of a batch'

/** Hands each member to `receive`, with the way back of its answer. */
export function receiveBatch(
  line: Line,
  leg: ClientLeg,
  limits: FrameLimits,
  replies: Replies,
  to: Reply,
  receive: (frame: Frame, reply: Reply) => void,
): void {
  const { version, batching } = leg.profile.revision
  if (!batching)
    return replies.refuse(to, undefined, invalidRequest(`protocol version ${version} has no batches`))
  let members: Line[]
  try {
    members = splitBatch(line, limits)
  } catch (error) {
    if (!(error instanceof FrameError)) throw error
    return replies.refuse(to, error.id, malformed(error))
  }
  const batch = new BatchReply(to, replies)
  for (const member of members) {
    const frame = frameOrError(member, limits)
    const refusal = refusalOf(frame)
    if (refusal !== undefined) batch.expect().answer(leg.refusal(refusal.id, refusal.error))
    else if (!(frame instanceof FrameError)) receive(frame, frame.kind === 'request' ? batch.expect() : batch)
  }
  batch.drop()
}

/** Why a member of a batch is answered with an error. */
function refusalOf(frame: Frame | FrameError): { id: RequestId | undefined; error: ErrorBody } | undefined {
  if (frame instanceof FrameError) return { id: frame.id, error: malformed(frame) }
  if (frame.kind !== 'request') return undefined
  if (namesRevision(frame)) return { id: frame.id, error: invalidRequest(ALONE) }
  return frame.method === 'initialize' ? { id: frame.id, error: invalidRequest(OPENING) } : undefined
}
