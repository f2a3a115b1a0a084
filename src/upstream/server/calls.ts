// The calls in flight on one connection: each accepted one is settled exactly once, by
// its answer, its deadline, the client's cancel, or the end of the connection.

import type { ErrorBody } from '../../jsonrpc/build.js'
import type { TransportError } from '../../jsonrpc/jsonrpc-errors.js'
import type { NotificationFrame, ResponseFrame, ResultFrame } from '../../jsonrpc/frame.js'
import { type Edit, bothEdits, writing } from '../../jsonrpc/splice.js'
import type { RequestId } from '../../jsonrpc/request-id.js'
import type { Span } from '../../jsonrpc/scan.js'
import { quote, rawAt } from '../../jsonrpc/text.js'
import type { Call, CallHolder, ClientPort } from '../../mcp/call.js'
import { type Outdated, type ServerWriter, sessionWriter } from '../../mcp/eras/server-writers.js'
import { type FailureReason, upstreamFailed } from '../../mcp/error-codes.js'
import { ProgressTokens } from '../../mcp/progress-tokens.js'
import { Attribution } from './attribution.js'
import type { ServerConnection } from './server-connection.js'
import type { Worker } from './worker.js'
import { callTimeout } from '../../mcp/call-deadline.js'
import { type UpstreamError, fromTransport } from '../contracts/upstream-error.js'
import { ServerTask, Tasks } from './server-tasks.js'
import type { ServerContext } from './context.js'
import type { Traffic } from '../../jsonrpc/connection.js'
import type { AnswerWaiter, Peer } from '../../jsonrpc/peer.js'
import { graceMs } from '../../runtime/deadline.js'
import type { Runtime, Timer } from '../../runtime/runtime.js'

/** How long a server has for an answer that shows that it is alive. */
const ALIVE_MS = 5000

/** Sends calls and settles them. */
export class Calls {
  readonly #service: string
  readonly #runtime: Pick<Runtime, 'now'>
  readonly #peer: Peer<InflightCall>
  readonly #connection: ServerConnection
  readonly #worker: Worker
  /** The clients of the connection; the ids and tokens of one alone may stay as they are. */
  readonly #clients: { readonly only: ClientPort | undefined }
  readonly #deadlines: Deadlines
  readonly #tokens = new ProgressTokens<InflightCall | ServerTask>()
  /** The tasks that calls have begun. */
  readonly tasks: Tasks
  /** Which of the calls a message of the server is about. */
  readonly about: Attribution
  /** The server is being asked whether it is alive. */
  #isChecking = false
  /** That of the era in which the server was opened. */
  writer: ServerWriter = sessionWriter
  /** Called once when no call is left in flight. */
  #onIdle: (() => void) | undefined

  constructor(
    context: ServerContext,
    peer: Peer<InflightCall>,
    connection: ServerConnection,
    worker: Worker,
    clients: { readonly only: ClientPort | undefined },
  ) {
    const { service, limits, runtime } = context
    this.#service = service
    this.#runtime = runtime
    this.#peer = peer
    this.#connection = connection
    this.#worker = worker
    this.#clients = clients
    this.about = new Attribution(() => peer.waiting(), clients, limits.abandoned, runtime)
    const expired = (flight: InflightCall): void => this.#expired(flight)
    this.#deadlines = new Deadlines(runtime, () => peer.waiting(), expired)
    this.tasks = new Tasks(context, peer, connection, this.#tokens)
  }

  send(call: Call, edits: readonly Edit[]): void {
    const flight = new InflightCall(call, edits, this)
    if (call.deadline.endsAt < this.#deadlines.looksAt && !this.#deadlines.start(call))
      return this.#refuse(flight, callTimeout(this.#service, call, 'no turn'))
    if (call.row.subscribes !== undefined && this.#connection.follows(call)) return this.#end(flight)
    const lend = this.#clients.only !== undefined
    const own = call.frame.params.meta.span('progressToken')
    const written = bothEdits(edits, this.writer.edits(call))
    const all = own === undefined ? written : this.#withToken(written, flight, own, lend)
    const id = this.#peer.forward(call.frame, all, flight, lend, undefined, wasAnswered(call))
    if (id === undefined) return this.#refuse(flight, this.#connection.refusal.body)
    flight.id = id
    if (call.deadline.isTimed) call.deadline.sentAt = this.#runtime.now()
    flight.sequence = this.#traffic?.given
    call.holder = flight
  }

  /** How much of what the connection was given has left, where it counts. */
  get #traffic(): Traffic | undefined {
    return this.#connection.dialed.connection.traffic
  }

  /** The server has answered. */
  answered(flight: InflightCall, frame: ResponseFrame): void {
    this.#connection.onAnswer()
    const outcome = this.writer.outcome(frame)
    if (outcome.kind === 'outdated') return this.#outdated(flight, outcome)
    if (outcome.kind === 'input-required') return this.#needsInput(flight, outcome.frame)
    const { keeper, row } = flight.call
    const isOfTask = keeper !== undefined || row.route.to === 'task'
    flight.call.settle(isOfTask ? this.tasks.answered(flight, outcome) : outcome)
    this.#end(flight)
  }

  /** The call was refused and not begun: it is made once more when what it was made with is known anew. */
  #outdated(flight: InflightCall, { what, outcome }: Outdated): void {
    const { call, edits } = flight
    if (call.hasRenewed) call.settle(outcome)
    this.#end(flight)
    if (call.settled) return
    call.hasRenewed = true
    void this.#connection.renew(what).then(() => call.settled || this.#worker.call(call, edits))
  }

  /** The call waits for its client and holds no slot; it comes back in the same bytes. */
  #needsInput(flight: InflightCall, frame: ResultFrame): void {
    this.#end(flight)
    const resume = (again: Call, more: readonly Edit[]): void =>
      this.#worker.call(again, [...flight.edits, ...more])
    flight.call.needsInput({ frame, service: this.#service, resume })
  }

  /** Resolves when no call is in flight. */
  idle(): Promise<void> {
    return new Promise((resolve) => {
      this.#onIdle = resolve
      this.#checkIdle()
    })
  }

  /** The client is asked: the time of the calls that it may be about stands still until what this gives is called. */
  pause(client: ClientPort, during: Call | undefined): () => void {
    const isThat = (call: Call): boolean => (during === undefined ? call.client === client : call === during)
    const flights = [...this.#peer.waiting()].filter(({ call }) => isThat(call))
    return this.#deadlines.pause(flights)
  }

  /** Passes progress on with the client's own token; false when no call has this token. */
  progressed(frame: NotificationFrame): boolean {
    const span = frame.params.members.span('progressToken')
    const flight = this.#tokens.find(span === undefined ? '' : rawAt(frame.line, span))
    if (flight instanceof ServerTask) return this.tasks.progressed(flight, frame)
    const own = flight?.call.frame.params.meta.span('progressToken')
    if (flight === undefined || own === undefined || span === undefined) return false
    flight.call.deadline.extend(this.#runtime.now())
    if (!isNewProgress(flight.call, frame)) return true
    const ownToken = rawAt(flight.call.frame.line, own)
    flight.call.client.tell(frame, writing(frame.line, span, ownToken, 'progress-token'), flight.call)
    return true
  }

  /** The call did not get through, or its answer will not come; the transport says why, or `instead` does. */
  failed(flight: InflightCall, error: TransportError, instead?: Promise<ErrorBody | undefined>): void {
    if (mayStillRun(error)) this.#abandon(flight)
    this.#end(flight)
    const { body } = fromTransport(this.#service, error)
    if (error.code === 'TRANSPORT_SESSION' && this.#mayFollow(flight.call, error)) this.#repeat(flight)
    else if (instead === undefined) flight.call.fail(body)
    else void instead.then((better) => flight.call.fail(better ?? body))
  }

  /** The answer came, but cannot be given. */
  failUnusable(flight: InflightCall, reason: FailureReason, what: string): void {
    this.#giveUp(flight, upstreamFailed(this.#service, reason, `'${this.#service}': ${what}`))
  }

  /** The connection has ended, so no answer comes any more. */
  drain(unanswered: readonly InflightCall[], failure: () => UpstreamError): void {
    this.#deadlines.stop()
    this.tasks.failAll(failure)
    for (const flight of unanswered) {
      this.#peer.retire(flight.id)
      this.#end(flight)
      if (this.#mayRepeat(flight)) this.#repeat(flight)
      else flight.call.fail(failure().body)
    }
  }

  /** The server is being stopped, so calls that have not left go to the next connection, before later calls. */
  requeueUnsent(): void {
    for (const flight of this.#peer.waiting()) {
      if (!this.#isUnsent(flight)) continue
      this.#peer.retire(flight.id)
      this.#end(flight)
      this.#repeat(flight)
    }
  }

  /**
   * Whether the next connection may have a call: one that provably never left, and one that reads, once.
   *
   * Any other call may have had an effect, so it is not made twice.
   */
  #mayRepeat(flight: InflightCall): boolean {
    const { call } = flight
    if (call.settled || call.wasAsked) return false
    return this.#isUnsent(flight) || (call.row.reads === true && call.repeats === 0)
  }

  #isUnsent({ call, sequence }: InflightCall): boolean {
    const traffic = this.#traffic
    // The next connection knows nothing of the task.
    if (call.isAboutTask) return false
    return sequence !== undefined && traffic !== undefined && sequence > traffic.departed
  }

  /**
   * A session is opened anew once for each call that is refused in it: what is refused there too is refused for good.
   */
  #mayFollow(call: Call, { details }: TransportError): boolean {
    if (call.isAboutTask) return false
    const wasRefused = details?.['status'] !== undefined
    const follows = !wasRefused || !call.hasRenewed
    if (wasRefused) call.hasRenewed = true
    return follows
  }

  #repeat({ call, edits }: InflightCall): void {
    call.repeats++
    this.#worker.onConnectionEnded(this.#connection)
    this.#worker.call(call, edits)
  }

  #withToken(edits: readonly Edit[], flight: InflightCall, own: Span, lend: boolean): readonly Edit[] {
    const text = rawAt(flight.call.frame.line, own)
    flight.token = this.#tokens.lend(text, flight, lend)
    if (flight.token === text) return edits
    return [...edits, { ...own, bytes: Buffer.from(flight.token), why: 'progress-token' }]
  }

  #expired(flight: InflightCall): void {
    const { call } = flight
    if (this.#mayBeAtWork(flight)) return this.#check(flight)
    this.#abandon(flight)
    const isQuiet = call.deadline.budget === 'timeoutMs'
    const stuck = `the server is stuck: it answers no other request within ${ALIVE_MS} ms either, and gave no answer or progress`
    const what = flight.isChecked && isQuiet ? stuck : isQuiet ? 'no answer or progress' : 'no answer'
    this.#giveUp(flight, callTimeout(this.#service, call, what))
    cancelRequest(this.#peer, flight.id, 'the request timed out')
    // Another process would not have the task.
    if (!call.isAboutTask) this.#connection.timedOut()
  }

  /** The limit is the default, and the server is not known to be stuck. */
  #mayBeAtWork({ call: { deadline }, isChecked }: InflightCall): boolean {
    return deadline.times.settableIn !== undefined && deadline.budget === 'timeoutMs' && !isChecked
  }

  /** A server that answers another request is alive: the call has its time anew, up to the total time. */
  #check(flight: InflightCall): void {
    const now = this.#runtime.now()
    flight.isChecked = true
    flight.call.deadline.check(now + ALIVE_MS)
    if (this.#isChecking) return
    this.#isChecking = true
    void this.#isAlive().then((isAlive) => this.#checked(isAlive))
  }

  /** Whether the server answers a request that costs it nothing; an error is an answer too. */
  async #isAlive(): Promise<boolean> {
    const method = this.#connection.isStateless ? 'server/discover' : 'ping'
    try {
      await this.#connection.ask(method, '{}', { of: 'timeoutMs', endsAt: this.#runtime.now() + ALIVE_MS })
      return true
    } catch {
      return false
    }
  }

  #checked(isAlive: boolean): void {
    this.#isChecking = false
    if (!isAlive) return
    for (const flight of this.#peer.waiting()) {
      if (flight.isChecked) flight.call.deadline.extend(this.#runtime.now())
      flight.isChecked = false
    }
  }

  #giveUp(flight: InflightCall, error: ErrorBody): void {
    this.#peer.retire(flight.id)
    this.#refuse(flight, error)
  }

  #refuse(flight: InflightCall, error: ErrorBody): void {
    flight.call.fail(error)
    this.#end(flight)
  }

  /** The client has cancelled the call, or is gone. */
  cancelled(flight: InflightCall, frame: NotificationFrame | undefined): void {
    const peer = this.#peer
    const span = frame?.params.members.span('requestId')
    this.#abandon(flight)
    peer.retire(flight.id)
    if (frame === undefined || span === undefined) cancelRequest(peer, flight.id, 'the client is gone')
    else peer.pass(frame, writing(frame.line, span, flight.id, 'id'), { cancels: flight.id })
    this.#end(flight)
  }

  /** The server may still work on the call, report progress, and ask. */
  #abandon(flight: InflightCall): void {
    this.#tokens.retire(flight.token)
    this.about.abandon(flight.id, flight.call)
  }

  /** Once for each flight, though a cancel may come after the connection has closed. */
  #end(flight: InflightCall): void {
    if (flight.ended) return
    flight.ended = true
    // Questions about it may still be open.
    flight.call.deadline.goOn(this.#runtime.now())
    this.#tokens.release(flight.token)
    this.#worker.onCallEnded(flight.call)
    if (this.#onIdle !== undefined) this.#checkIdle()
  }

  #checkIdle(): void {
    const [next] = this.#peer.waiting()
    if (next === undefined) this.#onIdle?.()
  }
}

/** The entry of a call in its connection. */
export class InflightCall implements CallHolder, AnswerWaiter {
  readonly #owner: Pick<Calls, 'answered' | 'cancelled'>
  readonly call: Call
  /** The edits of the call, kept in case it has to be sent again. */
  readonly edits: readonly Edit[]
  /** By how much its deadline was put off, since the proxy did not run. */
  graceMs = 0
  /** Which of the messages to this server it is, where they are counted. */
  sequence: number | undefined
  /** The id that the server knows it by. */
  id: RequestId
  /** The server is being asked on its account whether it is alive. */
  isChecked = false
  /** The call has ended on this connection, and its slot is free. */
  ended = false
  /** Raw JSON of the progress token that the server was given, until a task has it. */
  token: string | undefined

  constructor(call: Call, edits: readonly Edit[], owner: Pick<Calls, 'answered' | 'cancelled'>) {
    this.#owner = owner
    this.call = call
    this.edits = edits
    this.id = call.frame.id
  }

  answered(frame: ResponseFrame): void {
    this.#owner.answered(this, frame)
  }

  cancel(frame: NotificationFrame | undefined): void {
    this.#owner.cancelled(this, frame)
  }
}

/** Whether its server has answered it once already, so that it comes again under another id. */
function wasAnswered({ hasRenewed, pinnedTo }: Call): boolean {
  return hasRenewed || pinnedTo !== undefined
}

/** Whether the progress goes on from where an earlier round of the call had come (MCP, Utilities: progress). */
function isNewProgress(call: Call, { line, params }: NotificationFrame): boolean {
  const span = params.members.span('progress')
  const progress = span === undefined ? Number.NaN : Number(rawAt(line, span))
  if (progress <= call.progressFloor) return false
  if (progress > call.progress) call.progress = progress
  return true
}

/** The statuses of a gateway that had no answer of the server in time (RFC 9110, 15.6.3 and 15.6.5). */
const gatewayStatuses: readonly unknown[] = [502, 504]

/** Whether the call may have reached the server, which has not said that it is done with it. */
function mayStillRun({ code, details }: TransportError): boolean {
  switch (code) {
    case 'TRANSPORT_CLOSED':
    case 'TRANSPORT_IO':
    case 'TRANSPORT_TIMEOUT':
      return true
    case 'TRANSPORT_STATUS':
      return gatewayStatuses.includes(details?.['status'])
    case 'TRANSPORT_TAP':
    case 'TRANSPORT_ANSWER':
    case 'TRANSPORT_AUTH':
    case 'TRANSPORT_LOGIN':
    case 'TRANSPORT_UNREACHABLE':
    case 'TRANSPORT_SESSION':
    case 'TRANSPORT_TOKEN':
      return false
  }
}

/** `id` is the one that the server knows. */
export function cancelRequest(peer: Peer<InflightCall>, id: RequestId, reason: string): void {
  peer.notify('notifications/cancelled', `{"requestId":${id},"reason":${quote(reason)}}`, { cancels: id })
}

// The one timer that limits all calls in flight on a connection.

/**
 * The deadlines of all calls in flight on one connection.
 *
 * Nearly every call is answered in time, so none has a timer of its own: one is
 * set for the earliest deadline that was known when it was set, and looks again.
 */
export class Deadlines {
  readonly #runtime: Pick<Runtime, 'now' | 'setTimer'>
  readonly #flights: () => Iterable<InflightCall>
  readonly #expire: (flight: InflightCall) => void
  #timer: Timer | undefined
  /**
   * The time of the next timer. Only a call with an earlier deadline sets the timer anew; the timer finds the others.
   */
  looksAt: number = Infinity

  constructor(
    runtime: Pick<Runtime, 'now' | 'setTimer'>,
    flights: () => Iterable<InflightCall>,
    expire: (flight: InflightCall) => void,
  ) {
    this.#runtime = runtime
    this.#flights = flights
    this.#expire = expire
  }

  /** A call starts now, and its time has run since it came; false when that was over before. */
  start({ deadline: { endsAt } }: Call): boolean {
    if (endsAt <= this.#runtime.now()) return false
    this.#lookAt(endsAt)
    return true
  }

  /** The time of these calls stands still until the result is called. */
  pause(flights: readonly InflightCall[]): () => void {
    const now = this.#runtime.now()
    const paused = [...flights]
    for (const flight of paused) flight.call.deadline.pause(now)
    return () => {
      for (const flight of paused.splice(0)) this.#resume(flight)
    }
  }

  stop(): void {
    this.#timer?.cancel()
    this.looksAt = Infinity
  }

  #resume({ call, ended }: InflightCall): void {
    if (ended) return
    call.deadline.resume(this.#runtime.now())
    this.#lookAt(call.deadline.endsAt)
  }

  #lookAt(deadline: number): void {
    if (deadline >= this.looksAt) return
    this.#timer?.cancel()
    const now = this.#runtime.now()
    this.looksAt = Math.max(now, deadline)
    this.#timer = this.#runtime.setTimer(this.looksAt - now, () => this.#look())
  }

  #look(): void {
    const now = this.#runtime.now()
    const grace = graceMs(now - this.looksAt)
    this.looksAt = Infinity
    let earliest = Infinity
    for (const flight of this.#flights()) {
      const { deadline } = flight.call
      if (deadline.endsAt <= now && grace > flight.graceMs) {
        flight.graceMs = grace
        deadline.putOff(now + grace)
      }
      if (deadline.endsAt <= now) this.#expire(flight)
      if (!flight.ended) earliest = Math.min(earliest, deadline.endsAt)
    }
    if (earliest !== Infinity) this.#lookAt(earliest)
  }
}
