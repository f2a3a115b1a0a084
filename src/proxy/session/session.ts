// One attached client: its connection, its leg, and its requests.
//
// Every request that arrives here leaves here once: answered, refused, or
// cancelled by the client that sent it.

import { Answers } from './answers.js'
import { receiveBatch } from './batch-members.js'
import { cancelledCall } from './cancelled-call.js'
import { Draining } from './draining.js'
import { Flow } from './flow.js'
import type { ErrorBody } from '../../jsonrpc/build.js'
import { BriefMap } from '../../jsonrpc/fast/brief-map.js'
import type { Connection } from '../../jsonrpc/connection.js'
import type { FrameError, TransportError } from '../../jsonrpc/errors.js'
import type { NotificationFrame, RequestFrame, ResponseFrame } from '../../jsonrpc/frame.js'
import type { Line } from '../../jsonrpc/line.js'
import { Peer, type PeerOwner } from '../../jsonrpc/peer.js'
import { type RequestId, canonical } from '../../jsonrpc/request-id.js'
import { Call, type Outcome } from '../../mcp/call.js'
import { CallDeadline } from '../../mcp/call-deadline.js'
import type { Received } from '../../mcp/eras/leg.js'
import {
  clientUnreachable,
  invalidRequest,
  malformed,
  shuttingDown,
  tooManyCalls,
} from '../../mcp/error-codes.js'
import type { RequestRow } from '../../mcp/methods/method-row.js'
import type { Revision } from '../../mcp/revisions/revision.js'
import { Opening } from './opening.js'
import { PassedOpening } from './passed-opening.js'
import type { Question } from './questions.js'
import type { ClientRoutes } from '../routing/client-routes.js'
import type { SessionParts } from './session-parts.js'
import { SessionPort } from './session-port.js'
import type { SessionStatus } from '../routing/session-status.js'

/** The session of one client. */
export class Session implements PeerOwner<Question> {
  readonly draining: Draining
  readonly #parts: SessionParts
  readonly #peer: Peer<Question>
  readonly #port: SessionPort
  readonly #calls = new BriefMap<RequestId, Call>()
  readonly #flow: Flow
  readonly #answers: Answers
  readonly #opening: Opening
  readonly #connectedAtMs: number
  #reached: ClientRoutes | undefined
  #passed: PassedOpening | undefined
  readonly #settled = (call: Call, outcome: Outcome): void => {
    this.#calls.take(call.key)
    this.#answers.settle(call, outcome)
    this.#parts.reports.settled(call, outcome)
    if (this.draining.on) this.#rest()
  }

  constructor(connection: Connection, parts: SessionParts) {
    this.#parts = parts
    this.#connectedAtMs = parts.runtime.wallNow()
    this.draining = new Draining(parts.runtime, () => this.#giveUp())
    const { inflightMax, frame } = parts.limits
    this.#peer = new Peer(connection, this, { inflightMax, frame, ...parts.watch })
    this.#port = new SessionPort(this.#peer, parts, {
      changed: (kinds) => this.#reached?.changed(kinds) ?? false,
      tell: (kinds) => this.#reached?.tell(kinds) ?? [],
      said: () => this.#flow.sent(),
      listens: () => connection.busy ?? false,
    })
    this.#flow = new Flow(connection, parts, {
      readServers: (on) => this.#reached?.read(on),
      tooSlow: (bytes) => {
        this.#log('error', `the client leaves ${bytes} bytes unread and is disconnected`)
        void this.#peer.close(true)
      },
    })
    this.#opening = new Opening(parts)
    this.#answers = new Answers(this.#peer, parts.leg, this.#flow, this.#opening)
    this.#peer.start()
  }

  get revision(): Revision {
    return this.#parts.leg.profile.revision
  }

  status(): SessionStatus {
    return {
      client: this.#parts.leg.profile.info,
      revision: this.revision.version,
      connectedAtMs: this.#connectedAtMs,
      processes: this.#reached?.processes ?? [],
    }
  }

  /** Lets calls finish for a while, answers the rest with an error, and closes. */
  drain(exitCode = 0, graceMs: number = this.#parts.drainMs): void {
    this.draining.begin(exitCode, graceMs)
    this.#rest()
  }

  request(frame: RequestFrame): void {
    if (this.#calls.has(canonical(frame.id))) return this.#answers.refuseTwin(frame.id)
    this.#handle(frame, this.#parts.leg.received(frame))
  }

  notification(frame: NotificationFrame): void {
    const told = this.#parts.leg.told(frame)
    if (told.kind === 'exit') return this.#leave(told.exitCode)
    if (told.kind === 'unknown') return this.#log('debug', `a notification '${frame.method}' was ignored`)
    switch (told.row.does) {
      case 'initialized':
        return this.#opening.behind(0, () => this.#ready())
      case 'cancel':
        return cancelledCall(frame, this.#calls.values())?.cancel(frame)
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
    receiveBatch(line, this.#parts, {
      answers: this.#answers,
      calls: this.#calls,
      receive: (frame) => this.#peer.receive(frame),
    })
  }

  failed(question: Question | undefined, error: TransportError): void {
    this.#log('debug', error.message)
    if (question !== undefined) this.#port.questions.refused(question, clientUnreachable())
  }

  malformed(error: FrameError): void {
    this.#answers.refuse(error.id, malformed(error))
  }

  oversize(id: RequestId | undefined, question: Question | undefined, bytes: number): void {
    const { lineBytesMax } = this.#parts.limits.ndjson
    const error = invalidRequest(`a message of ${bytes} bytes is over the limit of ${lineBytesMax}`)
    if (question === undefined) this.#answers.refuse(id, error)
    else this.#port.questions.refused(question, error)
  }

  drained(): void {
    this.#flow.drained()
  }

  ended(): void {
    this.#leave(0)
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
      case 'ping':
        return this.#answers.pong(frame.id)
      case 'refused':
        return this.#refuse(frame, received.error)
      case 'level':
        this.#port.setLevel(received.level)
        this.#reach().level(received.level)
        return this.#answers.reply(frame.id, '{}')
      case 'open':
        return this.#open(frame, received)
      case 'shutdown':
        return this.#shutDown(frame.id)
    }
  }

  /** Answers `initialize` with what is behind the proxy, and only then what came after it. */
  #open(frame: RequestFrame, { row, reply, passed }: Received & { readonly kind: 'open' }): void {
    // Whoever has called before has had the server opened for it.
    if (passed !== undefined && (this.#reached === undefined || this.#passed?.isRefused === true))
      return this.#pass(frame, row, passed)
    const reach = this.#reach()
    this.#opening.begin(() => this.#answers.reply(frame.id, reply(reach.describe())))
    if (reach.settled === undefined) this.#opened()
    else void reach.settled.then(() => this.#opened())
  }

  /** Opens the server with the client's own request; its answer, or why there is none, is the client's. */
  #pass(frame: RequestFrame, row: RequestRow, passed: (outcome: Outcome) => void): void {
    const opening = new PassedOpening(frame, row, this.#port, this.#parts.runtime.now(), (outcome) => {
      passed(outcome)
      this.#opened()
    })
    this.#passed = opening
    this.#opening.begin(() => this.#answers.settle(opening.call, opening.outcome))
    void this.#reached?.leave()
    this.#reached = undefined
    this.#port.open(opening.call)
    this.#reach()
  }

  #opened(): void {
    this.#opening.end()
    if (this.draining.on) this.draining.wait(this.#parts.drainMs)
    this.#rest()
  }

  /** The client leaves, behind the answer of the server that it opens: that has a time of its own. */
  #leave(exitCode: number): void {
    if (this.#isPassing) this.#opening.behind(0, () => this.drain(exitCode))
    else this.drain(exitCode)
  }

  /** Whether the client's own `initialize` is on its way to the one server. */
  get #isPassing(): boolean {
    return this.#passed !== undefined && this.#opening.on
  }

  #shutDown(id: RequestId): void {
    if (this.draining.owesAnswer) return this.#answers.refuse(id, invalidRequest('a shutdown is under way'))
    const graceMs = this.#isPassing ? Infinity : this.#parts.drainMs
    this.draining.announce(graceMs, () => this.#answers.reply(id, '{}'))
    this.#rest()
  }

  #call(frame: RequestFrame, row: RequestRow): void {
    if (this.draining.on) return this.#refuse(frame, shuttingDown())
    const call = new Call(frame, row, this.#port, new CallDeadline(this.#parts.runtime.now()), this.#settled)
    const isEarly = this.#opening.on
    const isTooMuch =
      this.#calls.size >= this.#parts.limits.callsMax || (isEarly && !this.#opening.hasRoom(call.bytes))
    if (isTooMuch) return this.#refuse(frame, tooManyCalls())
    this.#calls.set(call.key, call)
    const { router } = this.#reach()
    if (!isEarly) return router.route(call)
    this.#opening.hold(call, () => {
      call.beginAt(this.#parts.runtime.now())
      router.route(call)
    })
  }

  /** MCP, Lifecycle: the client has had the answer to `initialize`. */
  #ready(): void {
    this.#port.announce()
    this.#reached?.ready()
  }

  #refuse(frame: RequestFrame, error: ErrorBody): void {
    this.#answers.refuse(frame.id, this.#parts.reports.refused(frame, error))
  }

  #reach(): ClientRoutes {
    this.#reached ??= this.#parts.reach(this.#port, this.#peer)
    return this.#reached
  }

  #giveUp(): void {
    this.#opening.end()
    for (const call of this.#calls.values()) call.abandon(shuttingDown())
    this.#rest()
  }

  /** The session ends, or its `shutdown` is answered, when nothing runs any more. */
  #rest(): void {
    if (!this.draining.on || this.#calls.size > 0 || this.#opening.owes) return
    if (this.draining.rest()) void this.#peer.close()
  }

  #log(level: 'debug' | 'error', message: string): void {
    this.#parts.log({ level, message })
  }
}
