// One attached client: its connection, its leg, and its requests.
//
// Every request that arrives here leaves here once: answered, refused, or
// cancelled by the client that sent it.

import { Answers } from './answers.js'
import type { BatchReply } from './batch-reply.js'
import { Draining } from './draining.js'
import { EarlyCalls } from './early-calls.js'
import { Flow } from './flow.js'
import { splitBatch } from './jsonrpc/batch.js'
import { BriefMap } from './jsonrpc/brief-map.js'
import type { Connection } from './jsonrpc/connection.js'
import { FrameError, type TransportError } from './jsonrpc/errors.js'
import { type NotificationFrame, type RequestFrame, type ResponseFrame, readFrame } from './jsonrpc/frame.js'
import type { Line } from './jsonrpc/line.js'
import { Peer, type PeerOwner } from './jsonrpc/peer.js'
import { type RequestId, canonical } from './jsonrpc/request-id.js'
import { rawAt } from './jsonrpc/text.js'
import { Call, type Outcome } from './mcp/call.js'
import type { Received, ServerDescription } from './mcp/eras/leg.js'
import { invalidRequest, malformed, shuttingDown, tooManyCalls } from './mcp/error-codes.js'
import type { RequestRow } from './mcp/method-row.js'
import type { Revision } from './mcp/revision.js'
import type { Question } from './questions.js'
import type { Reach } from './reach.js'
import type { SessionParts } from './session-parts.js'
import { SessionPort } from './session-port.js'

/** The session of one client. */
export class Session implements PeerOwner<Question> {
  readonly draining: Draining
  readonly #parts: SessionParts
  readonly #peer: Peer<Question>
  readonly #port: SessionPort
  readonly #calls = new BriefMap<RequestId, Call>()
  readonly #flow: Flow
  readonly #answers: Answers
  /** Calls that wait for the answer to `initialize`; undefined when none is being made. */
  #held: EarlyCalls | undefined
  #reached: Reach | undefined
  readonly #settled = (call: Call, outcome: Outcome): void => {
    this.#calls.take(call.key)
    this.#answers.settle(call.frame.id, outcome)
    if (this.draining.on) this.#closeWhenIdle()
  }

  constructor(connection: Connection, parts: SessionParts) {
    this.#parts = parts
    this.draining = new Draining(parts.runtime, () => this.#giveUp())
    const { inflightMax, frame } = parts.limits
    this.#peer = new Peer(connection, this, { inflightMax, frame, ...parts.watch })
    this.#port = new SessionPort(this.#peer, parts, {
      changed: (kinds) => this.#reached?.changed(kinds) ?? false,
      said: () => this.#flow.sent(),
      flows: (yes) => (yes ? this.#flow.resume() : this.#flow.slowDown()),
    })
    this.#flow = new Flow(connection, parts, {
      readServers: (on) => this.#reached?.read(on),
      tooSlow: (bytes) => this.#tooSlow(bytes),
    })
    this.#answers = new Answers(this.#peer, parts.leg, this.#flow)
    this.#peer.start()
  }

  get revision(): Revision {
    return this.#parts.leg.profile.revision
  }

  /** Lets calls finish for a while, answers the rest with an error, and closes. */
  drain(exitCode = 0, graceMs: number = this.#parts.drainMs): void {
    this.draining.begin(exitCode, graceMs)
    this.#closeWhenIdle()
  }

  request(frame: RequestFrame): void {
    if (this.#calls.has(canonical(frame.id))) return this.#answers.refuseTwin(frame.id)
    this.#handle(frame, this.#parts.leg.received(frame))
  }

  notification(frame: NotificationFrame): void {
    const told = this.#parts.leg.told(frame)
    if (told.kind === 'exit') return this.drain(told.exitCode)
    if (told.kind === 'unknown') return this.#log('debug', `a notification '${frame.method}' was ignored`)
    switch (told.row.does) {
      case 'initialized':
        return this.#port.announce()
      case 'cancel':
        return this.#cancelled(frame)
      case 'progress':
        return this.#port.questions.progressed(frame)
      case 'roots-changed':
        return this.#reached?.rootsChanged(frame)
      case 'exit':
        return
    }
  }

  response(frame: ResponseFrame, question: Question): void {
    this.#port.questions.answered(frame, question)
  }

  stray(frame: ResponseFrame): void {
    this.#log('debug', `an answer with id ${frame.id ?? 'null'} that nobody waits for`)
  }

  batch(line: Line): void {
    if (!this.#parts.leg.batching) {
      const { version } = this.#parts.leg.profile.revision
      return this.#answers.refuse(undefined, invalidRequest(`protocol version ${version} has no batches`))
    }
    let lines: Line[]
    try {
      lines = splitBatch(line, this.#parts.limits.frame)
    } catch (error) {
      if (!(error instanceof FrameError)) throw error
      return this.malformed(error)
    }
    const reply = this.#answers.newBatch()
    for (const member of lines) this.#member(member, reply)
    reply.seal()
  }

  failed(question: Question | undefined, error: TransportError): void {
    this.#log('debug', error.message)
    if (question !== undefined) this.#port.questions.failed(question)
  }

  malformed(error: FrameError): void {
    this.#answers.refuse(error.id, malformed(error))
  }

  oversize(id: RequestId | undefined, question: Question | undefined, bytes: number): void {
    const { lineBytesMax } = this.#parts.limits.ndjson
    const error = invalidRequest(`a message of ${bytes} bytes is over the limit of ${lineBytesMax}`)
    if (question === undefined) this.#answers.refuse(id, error)
    else question.asker.refused(question.id, error)
  }

  drained(): void {
    this.#flow.drained()
  }

  ended(): void {
    this.drain()
  }

  closed(unanswered: readonly Question[], cause: TransportError | undefined): void {
    this.#flow.ended()
    this.#port.gone(unanswered)
    for (const call of this.#calls.values()) call.cancel(undefined)
    this.draining.finish()
    const left = this.#reached?.leave()
    if (left === undefined) this.#over(cause)
    else void left.finally(() => this.#over(cause))
  }

  #over(cause: TransportError | undefined): void {
    this.#parts.ended(this.#parts.serial)
    this.draining.end(cause)
  }

  #handle(frame: RequestFrame, received: Received): void {
    switch (received.kind) {
      case 'call':
        return this.#call(frame, received.row)
      case 'reply':
        return this.#answers.reply(frame.id, received.result)
      case 'refused':
        return this.#answers.refuse(frame.id, received.error)
      case 'level':
        this.#port.setLevel(received.level)
        this.#reach().level(received.level)
        return this.#answers.reply(frame.id, '{}')
      case 'open':
        return this.#open(frame.id, received.reply)
    }
  }

  /** Answers `initialize` with what is behind the proxy, and only then what came after it. */
  #open(id: RequestId, reply: (description: ServerDescription) => string): void {
    const { settled } = this.#reach()
    if (settled === undefined) return this.#opened(id, reply)
    this.#held = new EarlyCalls(this.#parts.limits.waitingBytesMax)
    void Promise.race([settled, this.draining.begun]).then(() => this.#opened(id, reply))
  }

  #opened(id: RequestId, reply: (description: ServerDescription) => string): void {
    const reach = this.#reach()
    this.#answers.reply(id, reply(reach.describe()))
    const held = this.#held?.release() ?? []
    this.#held = undefined
    for (const call of held) reach.router.route(call.since(this.#parts.runtime.now()))
    this.#closeWhenIdle()
  }

  #call(frame: RequestFrame, row: RequestRow): void {
    if (this.draining.on) return this.#answers.refuse(frame.id, shuttingDown())
    if (this.#calls.size >= this.#parts.limits.callsMax) return this.#answers.refuse(frame.id, tooManyCalls())
    const call = new Call(frame, row, this.#port, this.#parts.runtime.now(), this.#settled)
    this.#calls.set(call.key, call)
    if (this.#held === undefined) this.#reach().router.route(call)
    else this.#held.hold(call)
  }

  #member(line: Line, reply: BatchReply): void {
    try {
      const frame = readFrame(line, this.#parts.limits.frame)
      if (frame.kind === 'request' && !this.#answers.expect(frame.id, reply, this.#calls)) return
      this.#peer.receive(frame)
    } catch (error) {
      if (!(error instanceof FrameError)) throw error
      reply.add(this.#answers.refusal(error.id, malformed(error)))
    }
  }

  #cancelled(frame: NotificationFrame): void {
    const span = frame.params.members.span('requestId')
    if (span === undefined) return
    const text = rawAt(frame.line, span)
    for (const call of this.#calls.values()) {
      if (call.key === text || call.frame.id === text) return call.cancel(frame)
    }
  }

  #reach(): Reach {
    this.#reached ??= this.#parts.reach(this.#port, this.#peer)
    return this.#reached
  }

  #tooSlow(bytes: number): void {
    this.#log('error', `the client leaves ${bytes} bytes unread and is disconnected`)
    void this.#peer.close(true)
  }

  #giveUp(): void {
    for (const call of this.#calls.values()) call.abandon(shuttingDown())
  }

  #closeWhenIdle(): void {
    if (!this.draining.on || this.#calls.size > 0 || this.#held !== undefined) return
    this.draining.finish()
    void this.#peer.close()
  }

  #log(level: 'debug' | 'error', message: string): void {
    this.#parts.log({ level, message })
  }
}
