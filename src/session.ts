// One attached client: its connection, its leg, and its requests.
//
// Every request that arrives here leaves here once: answered, refused, or
// cancelled by the client that sent it.

import { BatchReply, Batches } from './batch-reply.js'
import { Flow } from './flow.js'
import { splitBatch } from './jsonrpc/batch.js'
import { type ErrorBody, buildError, buildResult } from './jsonrpc/build.js'
import type { Connection } from './jsonrpc/connection.js'
import { FrameError, type TransportError } from './jsonrpc/errors.js'
import { type NotificationFrame, type RequestFrame, type ResponseFrame, readFrame } from './jsonrpc/frame.js'
import type { Line } from './jsonrpc/line.js'
import { Peer, type PeerOptions, type PeerOwner } from './jsonrpc/peer.js'
import { type RequestId, canonical } from './jsonrpc/request-id.js'
import type { WireBytes } from './jsonrpc/splice.js'
import type { SessionLimits } from './limits.js'
import { Call, type Outcome } from './mcp/call.js'
import type { ClientLeg, Received, ServerDescription } from './mcp/eras/leg.js'
import { invalidRequest, malformed, shuttingDown, tooManyCalls } from './mcp/error-codes.js'
import type { RequestRow } from './mcp/method-row.js'
import type { Question } from './questions.js'
import type { Reach } from './reach.js'
import { SessionPort } from './session-port.js'
import type { LogSink, Runtime, Timer } from './upstream/host.js'

export interface SessionParts {
  readonly leg: ClientLeg
  readonly limits: SessionLimits
  /** How long calls may still finish once the client ends the session. */
  readonly drainMs: number
  readonly runtime: Runtime
  readonly log: LogSink
  readonly watch: Pick<PeerOptions, 'wire' | 'forwarded'>
  /** What the client reaches, once it has said who it is. */
  reach(port: SessionPort, peer: Peer<Question>): Reach
}

/** How a session ended. */
export interface SessionEnd {
  /** 0, unless the client sent `exit` without `shutdown`. */
  readonly exitCode: number
  readonly cause: TransportError | undefined
}

interface Held {
  readonly frame: RequestFrame
  readonly row: RequestRow
}

/** The session of one client. */
export class Session implements PeerOwner<Question> {
  /** Resolves when the connection is closed and its servers are left. */
  readonly end: Promise<SessionEnd>
  readonly #parts: SessionParts
  readonly #peer: Peer<Question>
  readonly #port: SessionPort
  readonly #calls = new Map<RequestId, Call>()
  readonly #batches = new Batches()
  readonly #flow: Flow
  /** Calls that wait for the answer to `initialize`; undefined when none is being made. */
  #held: Held[] | undefined
  #reached: Reach | undefined
  #draining: { exitCode: number; readonly timer: Timer } | undefined
  #ended: (end: SessionEnd) => void = () => {}

  constructor(connection: Connection, parts: SessionParts) {
    this.#parts = parts
    this.end = new Promise((resolve) => {
      this.#ended = resolve
    })
    const { inflightMax, frame, changeDelayMs } = parts.limits
    this.#peer = new Peer(connection, this, { inflightMax, frame, ...parts.watch })
    this.#port = new SessionPort(this.#peer, {
      leg: parts.leg,
      runtime: parts.runtime,
      changeDelayMs,
      changed: (kinds) => this.#reached?.changed(kinds),
      flows: (yes) => (yes ? this.#flow.resume() : this.#flow.slowDown()),
    })
    this.#flow = new Flow({
      connection,
      limits: parts.limits,
      runtime: parts.runtime,
      readServers: (on) => this.#reached?.read(on),
      tooSlow: (bytes) => this.#tooSlow(bytes),
    })
    this.#peer.start()
  }

  /** Lets calls finish for a while, answers the rest with an error, and closes. */
  drain(exitCode = 0, graceMs: number = this.#parts.drainMs): void {
    if (this.#draining !== undefined) return
    const timer = this.#parts.runtime.setTimer(graceMs, () => this.#giveUp())
    this.#draining = { exitCode, timer }
    this.#closeWhenIdle()
  }

  request(frame: RequestFrame): void {
    if (this.#calls.has(canonical(frame.id)))
      return this.#refuse(frame.id, invalidRequest(`id ${frame.id} is in use`))
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
      return this.#refuse(undefined, invalidRequest(`protocol version ${version} has no batches`))
    }
    let lines: Line[]
    try {
      lines = splitBatch(line, this.#parts.limits.frame)
    } catch (error) {
      if (!(error instanceof FrameError)) throw error
      return this.malformed(error)
    }
    const reply = new BatchReply((bytes) => this.#peer.send(bytes))
    for (const member of lines) this.#member(member, reply)
    reply.seal()
  }

  malformed(error: FrameError): void {
    this.#refuse(error.id, malformed(error))
  }

  oversize(id: RequestId | undefined, question: Question | undefined, bytes: number): void {
    const { lineBytesMax } = this.#parts.limits.ndjson
    const error = invalidRequest(`a message of ${bytes} bytes is over the limit of ${lineBytesMax}`)
    if (question === undefined) this.#refuse(id, error)
    else question.asker.refused(question.id, error)
  }

  drained(): void {
    this.#flow.drained()
  }

  ended(): void {
    this.drain()
  }

  closed(_unanswered: readonly Question[], cause: TransportError | undefined): void {
    for (const call of [...this.#calls.values()]) call.cancel(undefined)
    this.#draining?.timer.cancel()
    const exitCode = this.#draining?.exitCode ?? 0
    void (this.#reached?.leave() ?? Promise.resolve()).finally(() => this.#ended({ exitCode, cause }))
  }

  #handle(frame: RequestFrame, received: Received): void {
    switch (received.kind) {
      case 'call':
        return this.#held === undefined ? this.#call(frame, received.row) : this.#hold(frame, received.row)
      case 'reply':
        return this.#say(frame.id, buildResult(frame.id, received.result))
      case 'refused':
        return this.#refuse(frame.id, received.error)
      case 'level':
        this.#port.setLevel(received.level)
        this.#reach().level(received.level)
        return this.#say(frame.id, buildResult(frame.id, '{}'))
      case 'open':
        this.#held = []
        return void this.#open(frame.id, received.reply)
    }
  }

  /** Answers `initialize` with what is behind the proxy, and only then what came after it. */
  async #open(id: RequestId, reply: (description: ServerDescription) => string): Promise<void> {
    const reach = this.#reach()
    await reach.settled
    this.#port.forgetChanges()
    this.#say(id, buildResult(id, reply(reach.describe())))
    const held = this.#held ?? []
    this.#held = undefined
    for (const { frame, row } of held) this.#call(frame, row)
    this.#closeWhenIdle()
  }

  #hold(frame: RequestFrame, row: RequestRow): void {
    if (this.#held === undefined || this.#held.length >= this.#parts.limits.callsMax) {
      this.#refuse(frame.id, tooManyCalls())
    } else this.#held.push({ frame, row })
  }

  #call(frame: RequestFrame, row: RequestRow): void {
    if (this.#calls.size >= this.#parts.limits.callsMax) return this.#refuse(frame.id, tooManyCalls())
    const call = new Call(frame, row, this.#port, (settled, outcome) => this.#settled(settled, outcome))
    this.#calls.set(call.key, call)
    this.#reach().router.route(call)
  }

  #settled(call: Call, outcome: Outcome): void {
    const { id } = call.frame
    this.#calls.delete(call.key)
    this.#say(id, this.#bytesOf(id, outcome))
    if (this.#draining !== undefined) this.#closeWhenIdle()
  }

  #bytesOf(id: RequestId, outcome: Outcome): WireBytes | undefined {
    switch (outcome.kind) {
      case 'answered':
        return this.#peer.answerBytes(outcome.frame, outcome.edits, id)
      case 'result':
        return buildResult(id, outcome.result)
      case 'failed':
        return buildError(id, outcome.error)
      case 'cancelled':
        return undefined
    }
  }

  /** The one place from which a request's answer leaves. */
  #say(id: RequestId | undefined, answer: WireBytes | undefined): void {
    if (this.#batches.takes(id, answer) || answer === undefined) return
    this.#peer.send(answer)
    this.#flow.sent()
  }

  #refuse(id: RequestId | undefined, error: ErrorBody): void {
    this.#say(id, buildError(id, error, this.#parts.leg.profile.revision.orphanId))
  }

  #member(line: Line, reply: BatchReply): void {
    try {
      const frame = readFrame(line, this.#parts.limits.frame)
      if (frame.kind === 'request') this.#batches.expect(canonical(frame.id), reply)
      this.#peer.receive(frame)
    } catch (error) {
      if (!(error instanceof FrameError)) throw error
      reply.add(buildError(error.id, malformed(error), this.#parts.leg.profile.revision.orphanId))
    }
  }

  #cancelled(frame: NotificationFrame): void {
    const span = frame.params.members.span('requestId')
    if (span === undefined) return
    const text = frame.line.toString('utf8', span.start, span.end)
    for (const [key, call] of this.#calls) {
      if (key === text || call.frame.id === text) return call.cancel(frame)
    }
  }

  #reach(): Reach {
    this.#reached ??= this.#parts.reach(this.#port, this.#peer)
    return this.#reached
  }

  #tooSlow(bytes: number): void {
    this.#log('error', `the client leaves ${bytes} bytes unread and is disconnected`)
    void this.#peer.close()
  }

  #giveUp(): void {
    for (const call of [...this.#calls.values()]) call.fail(shuttingDown())
    void this.#peer.close()
  }

  #closeWhenIdle(): void {
    if (this.#draining === undefined || this.#calls.size > 0 || this.#held !== undefined) return
    this.#draining.timer.cancel()
    void this.#peer.close()
  }

  #log(level: 'debug' | 'error', message: string): void {
    this.#parts.log({ level, message })
  }
}
