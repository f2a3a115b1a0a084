// Sends answers and notifications to a client. Each request is answered once, alone or in its batch.

import type { Flow } from './flow.js'
import { buildBatch, buildResult, type ErrorBody } from '../../jsonrpc/build.js'
import { answerHead, type AnswerKind } from '../../jsonrpc/connection.js'
import type { AnswerWaiter, Peer } from '../../jsonrpc/peer.js'
import { canonical, type RequestId } from '../../jsonrpc/request-id.js'
import { joinedWire, type Outgoing } from '../../jsonrpc/fast/splice-parts.js'
import type { Edit, WireBytes } from '../../jsonrpc/splice.js'
import type { Call, Outcome, ReplyChannel } from '../../mcp/call.js'
import type { ClientLeg } from '../../mcp/eras/client-leg.js'
import { claims } from '../../mcp/meta-keys.js'
import { answerOf } from '../../mcp/eras/results.js'
import { idInUse, invalidRequest, malformed } from '../../mcp/error-codes.js'
import type { Opening } from './opening.js'
import { splitBatch } from '../../jsonrpc/batch.js'
import { FrameError } from '../../jsonrpc/jsonrpc-errors.js'
import { type Frame, type FrameLimits, frameOrError, type NotificationFrame } from '../../jsonrpc/frame.js'
import type { Line } from '../../jsonrpc/line.js'

/** The connection of a client, as far as nothing is asked there. */
type SendingPeer = Pick<Peer<AnswerWaiter>, 'answerBytes' | 'item' | 'notify' | 'pass' | 'send'>

/** Everything that one connection of a client carries, but the questions of servers. */
export class Replies implements ReplyChannel {
  readonly flow: Flow
  readonly #peer: SendingPeer
  readonly #leg: ClientLeg
  readonly #opening: Opening
  /** The batches of requests that wait for their answers; undefined while there are none. */
  #batched: Map<RequestId, BatchReply> | undefined

  constructor(peer: SendingPeer, leg: ClientLeg, flow: Flow, opening: Opening) {
    this.#peer = peer
    this.#leg = leg
    this.flow = flow
    this.#opening = opening
  }

  /** A batch whose answers leave together. */
  newBatch(): BatchReply {
    return new BatchReply((bytes) => this.#inTurn('batch', undefined, bytes))
  }

  /** The request belongs to the batch; false when another batch waits for an answer with its id. */
  expect(id: RequestId, batch: BatchReply): boolean {
    const key = canonical(id)
    this.#batched ??= new Map()
    if (this.#batched.has(key)) return false
    batch.expect()
    this.#batched.set(key, batch)
    return true
  }

  /** The id is in use; the request that has it is answered later, alone or in its batch. */
  refuseTwin(id: RequestId): void {
    this.#inTurn('error', undefined, this.refusal(id, idInUse(id)))
  }

  /** `result` is raw JSON. */
  reply(id: RequestId, result: string): void {
    const answer = buildResult(id, result)
    if (!this.#joinsBatch(id, answer)) this.#inTurn('result', id, answer)
  }

  pong(id: RequestId): void {
    const answer = buildResult(id, '{}')
    if (!this.#joinsBatch(id, answer))
      this.#opening.ping(answer.length, id, () => this.#send('result', id, answer))
  }

  refuse(id: RequestId | undefined, error: ErrorBody): void {
    const answer = this.refusal(id, error)
    if (!this.#joinsBatch(id, answer)) this.#inTurn('error', id, answer)
  }

  refusal(id: RequestId | undefined, error: ErrorBody): WireBytes {
    return this.#leg.refusal(id, error)
  }

  /** A call has ended: one that came before `initialize`, or behind its answer. */
  settle(call: Call, outcome: Outcome): void {
    const { id } = call.frame
    const answer = answerOf(call, outcome, this.#peer)
    if (this.#batched !== undefined && this.#joinsBatch(id, answer?.message)) return
    if (answer !== undefined) this.#send(answer.kind, id, answer.message)
  }

  /** A notification of a server, which may be about a call. */
  tell(frame: NotificationFrame, edits: readonly Edit[], call: Call | undefined): void {
    this.#peer.pass(frame, edits, { about: call?.frame.id })
    this.flow.sent()
  }

  /** A notification of the proxy, which may be about a call; `params` is raw JSON. */
  notify(method: string, params?: string, call?: Call): void {
    this.#peer.notify(method, params, { about: call?.frame.id })
    this.flow.sent()
  }

  splice(line: Line, edits: readonly Edit[]): Uint8Array {
    return this.#peer.item(line, edits)
  }

  /** Whether the answer leaves with a batch. */
  #joinsBatch(id: RequestId | undefined, answer: Outgoing | undefined): boolean {
    if (id === undefined || this.#batched === undefined) return false
    const key = canonical(id)
    const batch = this.#batched.get(key)
    this.#batched.delete(key)
    if (this.#batched.size === 0) this.#batched = undefined
    batch?.settle(answer && joinedWire(answer))
    return batch !== undefined
  }

  /** An answer of the proxy leaves after the answer to an earlier `initialize`. */
  #inTurn(kind: AnswerKind, id: RequestId | undefined, answer: WireBytes): void {
    this.#opening.behind(answer.length, () => this.#send(kind, id, answer), id)
  }

  /** The one place from which answers leave. */
  #send(kind: AnswerKind, id: RequestId | undefined, answer: Outgoing): void {
    this.#peer.send(answer, answerHead(kind, id))
    this.flow.sent()
  }
}

/** Collects the answers to a batch (JSON-RPC 2.0 section 6) until every request of it has one, or will have none. */
export class BatchReply {
  readonly #send: (bytes: WireBytes) => void
  readonly #answers: WireBytes[] = []
  /** Requests without an answer, and one more until every member has been read. */
  #open = 1

  constructor(send: (bytes: WireBytes) => void) {
    this.#send = send
  }

  /** One more request that will be answered. */
  expect(): void {
    this.#open++
  }

  /** An answer to a member that is no request, or that is refused for its id. */
  add(answer: WireBytes): void {
    this.#answers.push(answer)
  }

  /** A request is answered, or every member has been read; `answer` is undefined then, and for a request that was cancelled. */
  settle(answer: WireBytes | undefined): void {
    this.#open--
    if (answer !== undefined) this.add(answer)
    // A batch of notifications has no answer at all.
    if (this.#open === 0 && this.#answers.length > 0) this.#send(buildBatch(this.#answers))
  }
}

// Reads a client's batch: its members are handled alone, and their answers leave together (JSON-RPC 2.0 section 6).

/** MCP 2026-07-28 has no batches. */
const ALONE = 'a request that names its protocol version is no part of a batch'
/** MCP 2025-03-26, Lifecycle, Initialization. */
const OPENING = 'initialize must not be part of a batch'

/** Hands each member to `receive`, but for requests whose ids are those of other `calls` that wait for an answer. */
export function receiveBatch(
  line: Line,
  leg: ClientLeg,
  limits: FrameLimits,
  replies: Replies,
  calls: { has(key: RequestId): boolean },
  receive: (frame: Frame) => void,
): void {
  const { version, batching } = leg.profile.revision
  if (!batching)
    return replies.refuse(undefined, invalidRequest(`protocol version ${version} has no batches`))
  let members: Line[]
  try {
    members = splitBatch(line, limits)
  } catch (error) {
    if (!(error instanceof FrameError)) throw error
    return replies.refuse(error.id, malformed(error))
  }
  const reply = replies.newBatch()
  for (const member of members) {
    const frame = frameOrError(member, limits)
    if (frame instanceof FrameError) reply.add(replies.refusal(frame.id, malformed(frame)))
    else if (frame.kind !== 'request') receive(frame)
    else if (claims(frame)) reply.add(replies.refusal(frame.id, invalidRequest(ALONE)))
    else if (frame.method === 'initialize') reply.add(replies.refusal(frame.id, invalidRequest(OPENING)))
    else if (!calls.has(canonical(frame.id)) && replies.expect(frame.id, reply)) receive(frame)
    else reply.add(replies.refusal(frame.id, idInUse(frame.id)))
  }
  reply.settle(undefined)
}
