// The calls in flight on one link: each accepted one is settled exactly once, by
// its answer, its deadline, the client's cancel, or the end of the connection.

import type { ErrorBody } from '../../jsonrpc/build.js'
import type { FrameError, TransportError } from '../../jsonrpc/errors.js'
import type { NotificationFrame, ResponseFrame, ResultFrame } from '../../jsonrpc/frame.js'
import { writing } from '../../jsonrpc/id-edit.js'
import type { RequestId } from '../../jsonrpc/request-id.js'
import type { Span } from '../../jsonrpc/scan.js'
import { type Edit, bothEdits } from '../../jsonrpc/splice.js'
import { rawAt } from '../../jsonrpc/text.js'
import type { Call, ClientPort } from '../../mcp/call.js'
import type { Outdated } from '../../mcp/eras/leg.js'
import { type FailureReason, upstreamFailed } from '../../mcp/error-codes.js'
import { ProgressTokens } from '../../mcp/progress-tokens.js'
import { Abandoned } from './abandoned.js'
import { AskedTasks } from './asked-tasks.js'
import { isNews } from './call-progress.js'
import { callTimeout } from '../../mcp/call-timeout.js'
import { claimedIds } from './claimed-ids.js'
import { cancelRequest } from './cancel-request.js'
import { type UpstreamError, fromTransport } from '../contracts/errors.js'
import { Deadlines } from './deadlines.js'
import { InflightCall, type InflightOwner } from './inflight-call.js'
import type { InflightCallsOwner } from './inflight-calls-owner.js'
import { LinkTasks } from './link-tasks.js'
import { mayGoOn } from './may-go-on.js'
import type { ServerParts } from './pool-parts.js'
import { theOne } from './the-one.js'
import { ServerTask } from './server-task.js'

/** How long a server has for an answer that shows that it is alive. */
export const ALIVE_MS = 5000

/** Sends calls and settles them. */
export class InflightCalls implements InflightOwner {
  readonly #service: string
  readonly #link: InflightCallsOwner
  readonly #deadlines: Deadlines
  readonly #tokens = new ProgressTokens<InflightCall | ServerTask>()
  /** What calls have begun that goes on behind their answers. */
  readonly tasks: LinkTasks
  /** What the server has asked that its client answers later. */
  readonly asked: AskedTasks
  /** Whose calls the server may still be at work on, though nobody waits for them. */
  readonly #abandoned: Abandoned
  /** Calls that came when the connection had ended, until it is known what is next. */
  readonly #unsent: InflightCall[] = []
  /** The server is being asked whether it is alive. */
  #isChecking = false
  /** How many have come. */
  answers = 0
  /** Called once when no call is left in flight. */
  #onIdle: (() => void) | undefined

  constructor(parts: ServerParts, link: InflightCallsOwner) {
    const { service, limits, runtime } = parts
    this.#service = service
    this.#link = link
    this.asked = new AskedTasks(limits.askedTasksMax)
    this.#abandoned = new Abandoned(limits.abandoned, runtime)
    const flights = (): Iterable<InflightCall> => link.peer.waiting()
    this.#deadlines = new Deadlines(runtime, flights, (flight) => this.#expired(flight))
    this.tasks = new LinkTasks(parts, {
      flights,
      call: (call) => this.call(call, []),
      extend: (flight) => this.#deadlines.extend(flight),
      tokens: this.#tokens,
      ask: (method, params) => link.ask(method, params),
    })
  }

  call(call: Call, edits: readonly Edit[]): void {
    const { peer, traffic, leg } = this.#link
    const flight = new InflightCall(call, edits, this)
    if (call.deadline.endsAt < this.#deadlines.looksAt && !this.#deadlines.start(call))
      return this.#refuse(flight, callTimeout(this.#service, call, 'no turn'))
    if (call.row.subscribes !== undefined && this.#link.follows(call)) return this.#end(flight)
    const lend = this.#link.audience.only !== undefined
    const own = call.frame.params.meta.span('progressToken')
    const inWords = bothEdits(edits, leg.speech.edits(call))
    const all = own === undefined ? inWords : this.#withToken(inWords, flight, own, lend)
    const id = peer.forward(call.frame, all, flight, lend, undefined, call.wasAnswered)
    if (id === undefined) return this.#notSent(flight)
    flight.id = id
    flight.wasSent = true
    flight.nth = traffic?.given
    call.holder = flight
  }

  answered(flight: InflightCall, frame: ResponseFrame): void {
    this.answers++
    const outcome = this.#link.leg.speech.outcome(flight.call, frame)
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
    call.wasAnswered = true
    void this.#link.renew(what).then(() => call.settled || this.#link.member.call(call, edits))
  }

  /** The call waits for its client and holds no slot; it comes back in the same bytes. */
  #needsInput(flight: InflightCall, frame: ResultFrame): void {
    this.#end(flight)
    const resume = (again: Call, more: readonly Edit[]): void => {
      again.wasAnswered = true
      this.#link.member.call(again, [...flight.edits, ...more])
    }
    flight.call.needsInput({ frame, service: this.#service, resume })
  }

  /** An answer that comes after all: the server is done with that call. */
  late(id: RequestId): void {
    this.#abandoned.answered(id)
  }

  /** The one askable call in flight; undefined where there are several. */
  get oneAskable(): Call | undefined {
    return theOne(this.#link.peer.waiting(), ({ row }) => row.askable)
  }

  /** The call that the server asks for, where it can only be one. */
  get askable(): Call | undefined {
    const found = this.oneAskable
    return found === undefined || this.mayAskOthers(found.client) ? undefined : found
  }

  /** Whether the server may ask for an abandoned call of another client than this one. */
  mayAskOthers(client: ClientPort): boolean {
    const isAlone = this.#link.audience.only === client && client.isSeveral !== true
    return !isAlone && this.#abandoned.mayAskOthers(client)
  }

  /** The call that a log message is about, where it can only be one. */
  get logging(): Call | undefined {
    const found = theOne(this.#link.peer.waiting(), ({ context }) => context.logLevel !== undefined)
    return found === undefined || this.#abandoned.mayLogForOthers(found.client) ? undefined : found
  }

  /** Resolves when no call is in flight. */
  idle(): Promise<void> {
    return new Promise((resolve) => {
      this.#onIdle = resolve
      this.#checkIdle()
    })
  }

  /** The one call in flight; undefined where there are several. */
  get only(): Call | undefined {
    return theOne(this.#link.peer.waiting(), () => true)
  }

  /**
   * The client is asked: the time of the calls that it may be about stands still until what this gives is called.
   *
   * `isAtWork` says that the client has been at work on it before, so that who waits for the server waits on.
   */
  pause(client: ClientPort, during: Call | undefined, isAtWork: boolean): () => void {
    const isThat = (call: Call): boolean => (during === undefined ? call.client === client : call === during)
    const flights = [...this.#link.peer.waiting()].filter(({ call }) => isThat(call))
    if (isAtWork) for (const flight of flights) this.#deadlines.extend(flight)
    return this.#deadlines.pause(flights)
  }

  /** Gives each token back as its client wrote it; false when nobody waits for this progress. */
  progressed(frame: NotificationFrame): boolean {
    const span = frame.params.members.span('progressToken')
    const flight = this.#tokens.find(span === undefined ? '' : rawAt(frame.line, span))
    if (flight instanceof ServerTask) return this.tasks.progressed(flight, frame)
    const own = flight?.call.frame.params.meta.span('progressToken')
    if (flight === undefined || own === undefined || span === undefined) return false
    this.#deadlines.extend(flight)
    if (!isNews(flight.call, frame)) return true
    const ownToken = flight.call.raw(own)
    flight.call.client.tell(frame, writing(frame.line, span, ownToken, 'progress-token'), flight.call)
    return true
  }

  /** Whose answer an unacceptable message would have been; with two ids it is the answer of neither. */
  addressees(error: FrameError, line: Uint8Array): InflightCall[] {
    return [...new Set(claimedIds(error, line).flatMap((id) => this.#link.peer.entry(id) ?? []))]
  }

  /** The call did not get through, or its answer will not come; the transport says why. */
  failed(flight: InflightCall, error: TransportError): void {
    if (mayGoOn(error)) this.#abandon(flight)
    this.#end(flight)
    if (error.code === 'TRANSPORT_SESSION' && this.#mayFollow(flight.call, error)) this.#repeat(flight)
    else flight.call.fail(fromTransport(this.#service, error).body)
  }

  /** The answer came, but cannot be given. */
  spoilt(flight: InflightCall, reason: FailureReason, what: string): void {
    this.#giveUp(flight, upstreamFailed(this.#service, reason, `'${this.#service}': ${what}`))
  }

  /** Nobody will answer any more. */
  drain(unanswered: readonly InflightCall[], failure: () => UpstreamError): void {
    this.#deadlines.stop()
    this.tasks.lost(failure)
    const left = [...unanswered, ...this.#unsent.splice(0)]
    for (const flight of left) {
      if (flight.wasSent) this.#link.peer.retire(flight.id)
      this.#end(flight)
      // Its end makes room for another call, which may have come here too.
      left.push(...this.#unsent.splice(0))
      if (this.#mayRepeat(flight)) this.#repeat(flight)
      else flight.call.fail(failure().body)
    }
  }

  /** The server is being stopped, so what has not left never will: the next one has it before what comes later. */
  takeBack(): void {
    for (const flight of this.#link.peer.waiting()) {
      if (!this.#isUnsent(flight)) continue
      this.#link.peer.retire(flight.id)
      this.#end(flight)
      this.#repeat(flight)
    }
  }

  /** A connection that has just ended takes nothing, and why is about to be known. */
  #notSent(flight: InflightCall): void {
    if (!this.#link.peer.open) return void this.#unsent.push(flight)
    this.#refuse(flight, this.#link.refusal().body)
  }

  /**
   * Whether the next connection may have a call: one that provably never left, and one that reads, once.
   *
   * What else a server may have done stays undone or done; nothing of it is done twice.
   */
  #mayRepeat(flight: InflightCall): boolean {
    const { call } = flight
    if (call.settled || call.wasAsked) return false
    return this.#isUnsent(flight) || (call.row.reads === true && call.repeats === 0)
  }

  #isUnsent({ call, nth, wasSent }: InflightCall): boolean {
    const { traffic } = this.#link
    // The next connection knows nothing of the task.
    if (call.isAboutTask) return false
    return !wasSent || (nth !== undefined && traffic !== undefined && nth > traffic.departed)
  }

  /** A session is opened anew once for each call that is refused in it: what is refused there too is refused for good. */
  #mayFollow(call: Call, { details }: TransportError): boolean {
    if (call.isAboutTask) return false
    const wasRefused = details?.['status'] !== undefined
    const follows = !wasRefused || !call.hasRenewed
    if (wasRefused) call.hasRenewed = true
    return follows
  }

  #repeat({ call, edits }: InflightCall): void {
    call.repeats++
    this.#link.again(call, edits)
  }

  #withToken(edits: readonly Edit[], flight: InflightCall, own: Span, lend: boolean): readonly Edit[] {
    const text = flight.call.raw(own)
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
    cancelRequest(this.#link.peer, flight.id, 'the request timed out')
    // Another process would not have the task.
    if (!call.isAboutTask) this.#link.timedOut()
  }

  /** The limit is nobody's own, and it is not known that the server is stuck. */
  #mayBeAtWork({ call: { deadline }, isChecked }: InflightCall): boolean {
    return deadline.times.settableIn !== undefined && deadline.budget === 'timeoutMs' && !isChecked
  }

  /** A server that answers another request is alive: the call has its time anew, up to the total time. */
  #check(flight: InflightCall): void {
    const { now } = this.#deadlines
    flight.isChecked = true
    flight.call.deadline.check(now + ALIVE_MS)
    if (this.#isChecking) return
    this.#isChecking = true
    void this.#link.isAlive().then((isAlive) => this.#checked(isAlive))
  }

  #checked(isAlive: boolean): void {
    this.#isChecking = false
    if (!isAlive) return
    for (const flight of this.#link.peer.waiting()) {
      if (flight.isChecked) this.#deadlines.extend(flight)
      flight.isChecked = false
    }
  }

  #giveUp(flight: InflightCall, error: ErrorBody): void {
    this.#link.peer.retire(flight.id)
    this.#refuse(flight, error)
  }

  #refuse(flight: InflightCall, error: ErrorBody): void {
    flight.call.fail(error)
    this.#end(flight)
  }

  /** Nobody wants the answer any more. */
  cancelled(flight: InflightCall, frame: NotificationFrame | undefined): void {
    const { peer } = this.#link
    const span = frame?.params.members.span('requestId')
    this.#abandon(flight)
    peer.retire(flight.id)
    if (frame === undefined || span === undefined) cancelRequest(peer, flight.id, 'the client is gone')
    else peer.pass(frame, writing(frame.line, span, flight.id, 'id'), { cancels: flight.id })
    this.#end(flight)
  }

  /** The server may go on with it, tell of progress, and even ask. */
  #abandon(flight: InflightCall): void {
    this.#tokens.retire(flight.token)
    this.#abandoned.add(flight.id, flight.call)
  }

  /** Once for each flight, though a cancel may come after the connection has closed. */
  #end(flight: InflightCall): void {
    if (flight.ended) return
    flight.ended = true
    if (flight.isPaused) this.#deadlines.end(flight)
    if (flight.token !== undefined && !flight.isHanded) this.#tokens.release(flight.token)
    this.#link.member.ended(flight.call)
    if (this.#onIdle !== undefined) this.#checkIdle()
  }

  #checkIdle(): void {
    const [next] = this.#link.peer.waiting()
    if (next === undefined) this.#onIdle?.()
  }
}
