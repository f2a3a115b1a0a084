// One initialised connection to one server, with its calls.
//
// Each call that it accepts is settled exactly once: by its answer, its deadline, the client's cancel, or the end of the
// connection.

import type { ErrorBody } from '../../jsonrpc/build.js'
import { type FrameError, TransportError } from '../../jsonrpc/jsonrpc-errors.js'
import type { Line } from '../../jsonrpc/line.js'
import type { NotificationFrame, RequestFrame, ResponseFrame, ResultFrame } from '../../jsonrpc/frame.js'
import { Peer, type PeerOwner, type PendingAnswer } from '../../jsonrpc/peer.js'
import { type RequestId, canonicalAt } from '../../jsonrpc/request-id.js'
import { type Edit, NO_EDITS, bothEdits, writing } from '../../jsonrpc/splice.js'
import { quote, rawAt } from '../../jsonrpc/text.js'
import type { Asker, Call, CallHolder, ClientPort } from '../../calls/call.js'
import { callTimeout, Deadlines } from '../../calls/call-deadline.js'
import type { ClientCapabilities } from '../../mcp/capabilities.js'
import type { OpenedServer, Probed, ServerFacts } from '../../mcp/eras/server-opener.js'
import { type Outdated, type ServerWriter, sessionWriter } from '../../mcp/eras/server-writers.js'
import { methodNotFound, notFollowed, upstreamFailed } from '../../mcp/error-codes.js'
import { serverNotifications, serverRequests } from '../../mcp/methods.js'
import type { Dialed, DialEnd } from '../contracts/dialed.js'
import type { ServerTimes } from '../contracts/server-config.js'
import { fromTransport, thatServer, unusable, UpstreamError } from '../contracts/upstream-error.js'
import type { Revision } from '../../mcp/revisions.js'
import { within } from '../../runtime/deadline.js'
import { Deferred } from '../../runtime/deferred.js'
import type { Timer } from '../../runtime/runtime.js'
import { Attribution } from './attribution.js'
import { FirstQuestions } from './first-questions.js'
import type { ServerContext } from './context.js'
import type { ServerLane } from './lane.js'
import type { ServerSubscription } from './listen.js'
import { Noise } from './noise.js'
import { Tasks } from './server-tasks.js'
import type { Worker } from './worker.js'

/** The time for an answer that shows that a server is alive. */
const ALIVE_MS = 5000

/** The system reports the ends of a process and of its pipes in any order, but within this time. */
const EXIT_WAIT_MS = 300

/** Why a connection ended: by itself, by a forgotten session, or because the proxy has stopped it. */
interface CloseReason extends DialEnd {
  readonly how: 'ended' | 'forgotten' | 'stopped'
}

type Budget = Exclude<keyof ServerTimes, 'settableIn'>

/** One of the time limits of a server, with its end. */
export interface Patience {
  readonly of: Budget
  readonly endsAt: number
}

/** A call that a connection has sent, until the call ends there. */
export class SentCall implements CallHolder {
  readonly call: Call
  readonly edits: readonly Edit[]
  readonly #connection: ServerConnection
  /** The id of the call at the server. */
  id: RequestId
  /** Whether the proxy checks that the server is alive because of this call. */
  isChecked = false
  isOver = false

  constructor(call: Call, edits: readonly Edit[], connection: ServerConnection) {
    this.call = call
    this.edits = edits
    this.#connection = connection
    this.id = call.frame.id
  }

  cancel(frame: NotificationFrame | undefined): void {
    this.#connection.cancel(this, frame)
  }
}

export class ServerConnection implements PeerOwner<SentCall>, Asker {
  readonly service: string
  readonly dialed: Dialed
  readonly finished: Deferred<void> = new Deferred()
  readonly #deadlines: Deadlines
  readonly tasks: Tasks
  readonly about: Attribution
  #writer: ServerWriter = sessionWriter
  #isChecking = false
  #onIdle: (() => void) | undefined
  readonly #lane: ServerLane
  readonly #worker: Worker
  readonly #context: ServerContext
  readonly #peer: Peer<SentCall>
  readonly #noise: Noise
  /** The first known reason. A server that the proxy stops may still finish earlier requests. */
  #closed: CloseReason | undefined
  /** Ends the wait for the last answers of a stopping server. */
  #lastAnswers: Timer | undefined
  /** Whether `server/discover` waits for the first answer. Only then can a server end on that question. */
  #isProbing = false
  /** Undefined before the handshake. */
  facts: ServerFacts | undefined
  /** Calls wait until these requests are answered; undefined when calls may be sent. */
  firstQuestions: FirstQuestions | undefined
  /** The subscription at a stateless server; only the first connection of a lane has one. */
  listening: ServerSubscription | undefined
  #answers = 0

  constructor(dialed: Dialed, context: ServerContext, lane: ServerLane, worker: Worker) {
    const { limits, runtime, service } = context
    this.dialed = dialed
    this.service = service
    this.#lane = lane
    this.#worker = worker
    this.#context = context
    this.#peer = new Peer<SentCall>(dialed.connection, this, { ...limits, watch: context.watch(service) })
    this.about = new Attribution(() => this.calls, lane.clients, runtime)
    const expired = (call: Call): void => this.#expired(call)
    this.#deadlines = new Deadlines(runtime, () => this.calls, expired)
    this.tasks = new Tasks(context, this)
    this.#noise = new Noise(context, limits.noise, (what) => this.#giveUp(what))
    void dialed.ended?.then((end) => {
      this.#exited(end)
      this.finished.resolve()
    })
  }

  /** Whether the server forgot a session in which it had answered calls. That is no crash. */
  get isSpent(): boolean {
    return this.#closed?.how === 'forgotten' && this.#answers > 1
  }

  get isStopped(): boolean {
    return this.#closed?.how === 'stopped'
  }

  /** Whether the channel is open; the process may have ended already. */
  get hasChannel(): boolean {
    return this.#peer.open
  }

  /** Whether the connection takes calls. */
  get isOpen(): boolean {
    return this.#peer.open && this.#closed === undefined
  }

  get failure(): UpstreamError {
    const { reason, message, details } =
      this.#closed ?? thatServer(this.service, 'closed', 'closed its connection')
    return new UpstreamError(this.service, reason, message, { details })
  }

  get refusal(): UpstreamError {
    return this.isOpen ? thatServer(this.service, 'overloaded', 'has too many in flight') : this.failure
  }

  /**
   * Begins to read and opens the server, with the client's own `initialize` if the server must get it.
   *
   * @throws UpstreamError
   */
  async start(declared: ClientCapabilities, opening?: Call): Promise<OpenedServer> {
    this.#peer.start()
    const opened = await this.#open(declared, opening)
    this.#writer = opened.writer
    this.facts = opened.facts
    if (!this.isStateless && !this.#context.questionsNameTheirCall && declared.names.has('roots'))
      this.#awaitQuestions()
    return opened
  }

  /** Whether the server has no sessions, so that it gets no notifications of a session and no responses. */
  get isStateless(): boolean {
    return this.facts?.revision.era === 'stateless'
  }

  get outputs(): Revision['outputs'] {
    return this.facts?.revision.outputs ?? 'objects'
  }

  /** The time limit of a start. A server that has listed before is installed already. */
  get startBudget(): Budget {
    return this.#context.memory.kept?.description === undefined ? 'firstStartTimeoutMs' : 'startTimeoutMs'
  }

  async #open(declared: ClientCapabilities, opening?: Call): Promise<OpenedServer> {
    const patience = this.patience(this.startBudget)
    const opened = await this.#context.open({
      declared,
      request: opening,
      clientVersion: this.#lane.clients.only?.profile.revision.version,
      ask: (method, params) => this.#ask(method, params, patience),
      probe: (method, params) => this.#probe(this.#ask(method, params, patience)),
      pass: (frame, edits) =>
        this.#answer(frame.method, this.isOpen ? this.#peer.askFor(frame, edits) : undefined, patience),
      notify: (method) => this.#peer.notify(method),
    })
    switch (opened.kind) {
      case 'opened':
        return opened
      case 'refused':
        throw unusable(this.#context, opened.why)
      case 'ended':
        throw this.failure
    }
  }

  /**
   * Waits for the answer to a request that the server may not know.
   *
   * @throws UpstreamError if the failure is no evidence that the server does not know the request
   */
  async #probe(asked: Promise<ResponseFrame>): Promise<Probed> {
    const { probeMs, runtime } = this.#context
    this.#isProbing = this.#answers === 0
    try {
      const answer = await (probeMs === Infinity ? asked : within(asked, probeMs, runtime))
      this.#isProbing = false
      return answer === undefined ? { kind: 'silent', late: asked } : { kind: 'answered', answer }
    } catch (error) {
      if (this.#hasEndedWhileProbed) return { kind: 'ended' }
      this.#isProbing = false
      if (error instanceof UpstreamError && refusesUnknown(error)) return { kind: 'refused' }
      throw error
    }
  }

  #awaitQuestions(): void {
    const ask = (frame: RequestFrame): void => this.request(frame, undefined)
    this.firstQuestions = new FirstQuestions(this.#context.runtime, ask, () => {
      this.firstQuestions = undefined
      this.#worker.takeTurn()
    })
  }

  get waitingCall(): Call | undefined {
    return this.firstQuestions === undefined ? undefined : this.#worker.waitingCall
  }

  get #hasEndedWhileProbed(): boolean {
    return this.#isProbing && this.dialed.pid !== undefined && this.#closed?.how === 'ended'
  }

  /**
   * Whether the server ended on `server/discover`, so that it must be started again without the question. A
   * server with another reason on stderr is not started again, because it would only fail again.
   */
  get endedOnProbe(): boolean {
    return this.#hasEndedWhileProbed && endsOnQuestions.test(this.failure.message)
  }

  /** Starts a time limit, which several requests may share. */
  patience(of: Budget): Patience {
    const { runtime, times } = this.#context
    return { of, endsAt: runtime.now() + times[of] }
  }

  /** Sends a request of the proxy itself; `params` is raw JSON. @throws UpstreamError */
  ask(
    method: string,
    params: string,
    patience: Patience = this.patience('timeoutMs'),
  ): Promise<ResponseFrame> {
    return this.#ask(method, this.#writer.params(params, method === 'tasks/cancel'), patience)
  }

  #ask(method: string, params: string, patience: Patience): Promise<ResponseFrame> {
    return this.#answer(method, this.isOpen ? this.#peer.ask(method, params) : undefined, patience)
  }

  /** Cancels a request that has no time limit. */
  giveUp(id: RequestId): void {
    this.#peer.retire(id)
    this.#cancelRequest(id, 'it is no longer needed')
  }

  async #answer(
    method: string,
    asked: PendingAnswer | undefined,
    patience: Patience,
  ): Promise<ResponseFrame> {
    const { runtime } = this.#context
    if (asked === undefined) throw this.refusal
    try {
      const answer = await within(asked.answer, patience.endsAt - runtime.now(), runtime)
      if (answer === undefined) throw this.#unanswered(asked.id, method, patience)
      this.#onAnswer()
      return answer
    } catch (error) {
      if (error instanceof UpstreamError) throw error
      if (error instanceof TransportError && error.code === 'TRANSPORT_SESSION') this.#forgotten(error)
      if (error instanceof TransportError && this.isOpen) throw fromTransport(this.service, error)
      await this.#explained()
      throw this.refusal
    }
  }

  #unanswered(id: RequestId, method: string, { of }: Patience): UpstreamError {
    const ms = this.#context.times[of]
    // Not earlier: the id of an answered request may already belong to another request.
    this.#peer.retire(id)
    // A handshake is never cancelled (MCP, Utilities: cancellation); the connection ends instead.
    if (!handshakes.includes(method)) this.#cancelRequest(id, 'the request timed out')
    if (of === 'startTimeoutMs') this.#timedOut()
    const budget = of === 'firstStartTimeoutMs' ? 'startTimeout' : of.replace(/Ms$/, '')
    const message = `'${this.service}' did not answer ${method} within ${ms} ms (${budget})`
    return new UpstreamError(this.service, 'timeout', message, { details: { budget, ms } })
  }

  pass(frame: NotificationFrame, edits: readonly Edit[]): void {
    if (!this.isStateless) this.#peer.pass(frame, edits)
  }

  /** Sends a request whose response ends the subscription; undefined when too many requests are in flight. */
  listen(params: string, isAboutTasks: boolean): PendingAnswer | undefined {
    return this.#peer.ask('subscriptions/listen', this.#writer.params(params, isAboutTasks))
  }

  /** Pauses or resumes reading; a connection that has failed is not read again. */
  read(on: boolean): void {
    if (!on || this.#closed?.how !== 'ended') this.dialed.connection.read(on)
  }

  /** `why` explains the error of calls in flight if the server will be started again. */
  async stop(why?: string): Promise<void> {
    const { limits, runtime } = this.#context
    const end =
      why === undefined
        ? thatServer(this.service, 'shutting-down', 'is being stopped')
        : thatServer(this.service, 'closed', `is being restarted: ${why}`)
    this.#because('stopped', end)
    this.listening?.close()
    this.#peer.failOwn()
    // A stopping server may still answer before it gets a signal, and these answers count.
    const { stdinWaitMs } = limits.ladder
    this.#lastAnswers ??= runtime.setTimer(stdinWaitMs, () => this.#failUnanswered())
    await endOf(this.dialed)
  }

  // Calls:

  call(call: Call, edits: readonly Edit[]): void {
    const { frame, deadline, row } = call
    const sent = new SentCall(call, edits, this)
    const now = this.#context.runtime.now()
    if (deadline.endsAt <= now) return this.#refuse(sent, callTimeout(this.service, call, 'no turn'))
    if (row.subscribes !== undefined && this.isStateless) return this.#follow(sent)
    const id = this.#peer.forward(frame, bothEdits(edits, this.#writer.edits(call)), sent)
    if (id === undefined) return this.#refuse(sent, this.refusal.body)
    sent.id = id
    deadline.sentAt = now
    call.holder = sent
    this.#deadlines.watch(call)
  }

  /** A server without sessions has one subscription for all clients, and no request to subscribe. */
  #follow(sent: SentCall): void {
    void (this.listening?.follows(sent.call) ?? sent.call.fail(notFollowed(this.service, '')))
    this.#end(sent)
  }

  get calls(): Call[] {
    return this.#peer.forwarded.map(({ call }) => call)
  }

  idle(): Promise<void> {
    return new Promise((resolve) => {
      this.#onIdle = resolve
      if (this.#peer.forwarded.length === 0) resolve()
    })
  }

  /** Pauses the deadlines of calls that a question may be about; returns a function that resumes them. */
  pause(client: ClientPort, during: Call | undefined): () => void {
    const isThat = (call: Call): boolean => (during === undefined ? call.client === client : call === during)
    const { runtime } = this.#context
    const paused = this.#peer.forwarded.filter(({ call }) => isThat(call))
    for (const { call } of paused) call.deadline.pause(runtime.now())
    return () => {
      for (const { call, isOver } of paused.splice(0)) {
        if (isOver) continue
        call.deadline.resume(runtime.now())
        this.#deadlines.watch(call)
      }
    }
  }

  /** Forwards progress with the client's own token; false if no call has this token. */
  #progressed(frame: NotificationFrame): boolean {
    const span = frame.params.members.span('progressToken')
    const id = span && canonicalAt(frame.line, span.start, span.end)
    if (id === undefined) return false
    const sent = this.#peer.entry(id)
    if (sent === undefined) return this.tasks.progressed(id, frame)
    const found = sent.call
    const own = found.frame.params.meta.span('progressToken')
    if (own === undefined || span === undefined) return false
    sent.isChecked = false
    found.deadline.extend(this.#context.runtime.now())
    if (!isNewProgress(found, frame)) return true
    const ownToken = rawAt(found.frame.line, own)
    found.client.tell(frame, writing(frame.line, span, ownToken, 'progress-token'), found)
    return true
  }

  /** A call that only reads is sent once more on the next connection. Others may have had an effect. */
  #mayRepeat({ call }: SentCall): boolean {
    return !call.isSettled && !call.wasAsked && call.row.isReadOnly === true && call.repeats === 0
  }

  /**
   * Whether a call may open another session. A refusal allows this once for each call; a second refusal is
   * final.
   */
  #mayFollow(call: Call, { details }: TransportError): boolean {
    if (call.isAboutTask) return false
    const wasRefused = details?.['status'] !== undefined
    const follows = !wasRefused || !call.hasRenewed
    if (wasRefused) call.hasRenewed = true
    return follows
  }

  #repeat(sent: SentCall): void {
    this.#end(sent)
    sent.call.repeats++
    this.#worker.onConnectionEnded(this)
    this.#worker.call(sent.call, sent.edits)
  }

  #failUnanswered(): void {
    this.#deadlines.stop()
    this.tasks.failAll(() => this.failure)
    for (const sent of this.#peer.forwarded) {
      this.#peer.retire(sent.id)
      if (this.#mayRepeat(sent)) this.#repeat(sent)
      else this.#refuse(sent, this.failure.body)
    }
  }

  #expired(call: Call): void {
    const sent = this.#peer.forwarded.find((each) => each.call === call)
    if (sent === undefined) return
    if (mayBeAtWork(sent)) return this.#check(sent)
    this.#abandon(sent)
    const isQuiet = call.deadline.budget === 'timeoutMs'
    const stuck = `the server is stuck: it answers no other request within ${ALIVE_MS} ms either, and gave no answer or progress`
    const what = sent.isChecked && isQuiet ? stuck : isQuiet ? 'no answer or progress' : 'no answer'
    this.#peer.retire(sent.id)
    this.#refuse(sent, callTimeout(this.service, call, what))
    this.#cancelRequest(sent.id, 'the request timed out')
    if (!call.isAboutTask) this.#timedOut()
  }

  /** Extends the deadline of a call, up to the total time, if the server answers another request. */
  #check(sent: SentCall): void {
    sent.isChecked = true
    sent.call.deadline.check(this.#context.runtime.now() + ALIVE_MS)
    if (this.#isChecking) return
    this.#isChecking = true
    void this.#isAlive().then((isAlive) => this.#checked(isAlive))
  }

  /** Whether the server answers a cheap request; an error is an answer too. */
  async #isAlive(): Promise<boolean> {
    const method = this.isStateless ? 'server/discover' : 'ping'
    try {
      await this.ask(method, '{}', { of: 'timeoutMs', endsAt: this.#context.runtime.now() + ALIVE_MS })
      return true
    } catch {
      return false
    }
  }

  #checked(isAlive: boolean): void {
    this.#isChecking = false
    if (!isAlive) return
    for (const sent of this.#peer.forwarded) {
      if (sent.isChecked) sent.call.deadline.extend(this.#context.runtime.now())
      sent.isChecked = false
    }
  }

  cancel(sent: SentCall, frame: NotificationFrame | undefined): void {
    if (sent.isOver) return
    const span = frame?.params.members.span('requestId')
    this.#abandon(sent)
    this.#peer.retire(sent.id)
    if (frame === undefined || span === undefined) this.#cancelRequest(sent.id, 'the client is gone')
    else this.#peer.pass(frame, writing(frame.line, span, sent.id, 'id'), { cancels: sent.id })
    this.#end(sent)
  }

  #cancelRequest(id: RequestId, reason: string): void {
    const params = `{"requestId":${id},"reason":${quote(reason)}}`
    this.#peer.notify('notifications/cancelled', params, { cancels: id })
  }

  #abandon({ call, id }: SentCall): void {
    this.about.abandon(id, call)
  }

  #refuse(sent: SentCall, error: ErrorBody): void {
    sent.call.fail(error)
    this.#end(sent)
  }

  #end(sent: SentCall): void {
    // The error of one call may close the connection of a client, which cancels the client's other calls.
    if (sent.isOver) return
    sent.isOver = true
    sent.call.deadline.resumeAll(this.#context.runtime)
    this.#worker.onCallEnded(sent.call)
    if (this.#onIdle !== undefined && this.#peer.forwarded.length === 0) this.#onIdle()
  }

  // Asker: answers of clients to requests of this server.

  onAnswer(frame: ResponseFrame, id: RequestId): void {
    this.firstQuestions?.answered(id)
    this.#peer.answer(frame, NO_EDITS, id)
  }

  onRefusal(id: RequestId, error: ErrorBody): void {
    this.firstQuestions?.answered(id)
    this.#peer.refuse(id, error)
  }

  onProgress(frame: NotificationFrame, edits: readonly Edit[]): void {
    this.#peer.pass(frame, edits)
  }

  // PeerOwner: messages of the server.

  request(frame: RequestFrame, during: SentCall | undefined, _reply?: unknown, stream?: RequestId): void {
    this.#noise.message()
    const row = serverRequests.get(frame.method)
    if (this.isStateless) this.#noise.request(frame.method)
    else if (row === undefined) this.#peer.refuse(frame.id, methodNotFound(frame.method))
    else if (row.capability === undefined) this.#peer.reply(frame.id, '{}')
    else if (stream !== undefined && this.about.isAbandoned(stream)) {
      this.#peer.refuse(frame.id, methodNotFound(frame.method))
      this.#context.tell('debug', `${frame.method} was refused: the call that it belongs to has ended`)
    } else {
      this.firstQuestions?.onCall(frame.id)
      this.#lane.onRequest(frame, row, this, during?.call)
    }
  }

  notification(frame: NotificationFrame, during: SentCall | undefined): void {
    this.#noise.message()
    const row = serverNotifications.get(frame.method)
    if (this.isStateless && this.listening?.onNotification(frame, row) === true) return
    if (row?.does !== 'progress') this.#lane.onNotification(frame, row, this, during?.call)
    else if (!this.#progressed(frame)) this.#context.tell('debug', 'progress that belongs to no open request')
  }

  response(frame: ResponseFrame, sent: SentCall): void {
    this.#onAnswer()
    const { call } = sent
    const outcome = this.#writer.outcome(frame)
    if (outcome.kind === 'outdated') return void this.#outdated(sent, outcome)
    if (outcome.kind === 'input-required') return this.#onInputNeeded(sent, outcome.frame)
    call.settle(isOfTask(call) ? this.tasks.answered(sent, outcome) : outcome)
    this.#end(sent)
  }

  #onAnswer(): void {
    this.#answers++
    this.#noise.message()
  }

  /** Reads the outdated facts again, and repeats the refused call once. The server has not begun it. */
  async #outdated(sent: SentCall, { what, outcome }: Outdated): Promise<void> {
    const { call, edits } = sent
    const { lists } = this.#lane
    if (call.hasRenewed) call.settle(outcome)
    this.#end(sent)
    if (call.isSettled) return
    call.hasRenewed = true
    if (what === 'lists') lists.changed(this, ['tools'])
    else this.restart('it refuses the revision that it spoke before')
    await lists.reading('tools')
    if (!call.isSettled) this.#worker.call(call, edits)
  }

  /** The call waits for its client without a slot. It returns with the same bytes. */
  #onInputNeeded(sent: SentCall, frame: ResultFrame): void {
    const { call, edits } = sent
    this.#end(sent)
    const resume = (again: Call, more: readonly Edit[]): void => this.#worker.call(again, [...edits, ...more])
    call.requestInput({ frame, service: this.service, resume })
  }

  stray(frame: ResponseFrame): void {
    this.#noise.message()
    if (frame.id !== undefined) this.about.answered(frame.id)
    this.#context.tell('debug', 'an answer that belongs to no open request', { id: frame.id })
  }

  batch(line: Line): void {
    this.#peer.receiveBatch(line)
  }

  failed(sent: SentCall | undefined, error: TransportError): void {
    if (error.code === 'TRANSPORT_SESSION') this.#forgotten(error)
    if (sent === undefined) return this.#context.tell('warn', error.message)
    const { call } = sent
    const { body, message, reason } = fromTransport(this.service, error)
    if (reason === 'login-required') this.#lane.lists.loginNeeded(this, { message, reason, body })
    if (mayStillRun(error)) this.#abandon(sent)
    if (error.code === 'TRANSPORT_SESSION' && this.#mayFollow(call, error)) return this.#repeat(sent)
    this.#end(sent)
    call.fail(body)
  }

  malformed(error: FrameError, line: Uint8Array): void {
    this.#noise.line(line, error)
  }

  oversize(id: RequestId | undefined, sent: SentCall | undefined, bytes: number): void {
    if (sent === undefined) return this.#noise.oversize(id, bytes)
    const what = `'${this.service}': its answer of ${bytes} bytes or more is over the limit`
    this.#refuse(sent, upstreamFailed(this.service, 'too-large', what))
  }

  missed(): void {
    this.#lane.lists.missed(this)
  }

  ended(): void {
    void this.#peer.close()
  }

  closed(cause: TransportError | undefined): void {
    if (this.dialed.ended === undefined) {
      this.#because('ended', cause === undefined ? this.failure : fromTransport(this.service, cause))
      this.finished.resolve()
    }
    this.#lastAnswers?.cancel()
    this.#deadlines.stop()
    const deadline = Math.min(...this.calls.map((call) => call.deadline.endsAt))
    // The exit explains more than the end of the stream, and follows it closely.
    void this.#explained(deadline).then(() => {
      if (cause !== undefined) this.#context.tell('debug', cause.message)
      this.#failUnanswered()
      this.#worker.onConnectionEnded(this)
      this.#lane.onClosed(this)
      void endOf(this.dialed)
    })
    this.listening?.close()
    this.firstQuestions?.end()
  }

  #timedOut(): void {
    if (this.#context.onTimeout === 'restart') this.restart('a call timed out')
  }

  restart(why: string): void {
    void this.#worker.restart(this, why)
  }

  /** Stops reading, and ends like a server that has closed its connection. */
  #giveUp(what: string): void {
    this.read(false)
    this.#exited({ reason: 'invalid-answer', message: `'${this.service}' ${what}` })
  }

  #forgotten(error: TransportError): void {
    this.#because('forgotten', fromTransport(this.service, error))
  }

  #because(how: CloseReason['how'], { reason, message, details }: DialEnd): void {
    this.#closed ??= { how, reason, message, details }
  }

  /** Waits a short time, not past `deadline`, for the exit that explains the end of the connection. */
  async #explained(deadline: number = Infinity): Promise<void> {
    const { runtime } = this.#context
    const leftMs = Math.max(0, deadline - runtime.now())
    const { ended } = this.dialed
    if (this.#closed === undefined && ended !== undefined)
      await within(ended, Math.min(EXIT_WAIT_MS, leftMs), runtime)
  }

  #exited(end: DialEnd): void {
    this.#because('ended', end)
    void this.#peer.close()
  }
}

export function endOf(dialed: Dialed): Promise<void> {
  return dialed.stop?.() ?? dialed.connection.close()
}

const handshakes: readonly string[] = ['initialize', 'server/discover']

/** The end of a process that fails on the question: without a reason, or with a reason about the question. */
const endsOnQuestions = /exited (?:with code -?\d+|by \w+)$|discover|initiali[sz]|method|protocol/i

// A remote server refuses an unknown request with a status (MCP 2026-07-28, Streamable HTTP,
// Backward Compatibility).

/** Statuses about credentials, time or the number of requests, which do not show what the server knows. */
const inconclusive: readonly unknown[] = [401, 403, 408, 429]

function refusesUnknown({ reason, details }: UpstreamError): boolean {
  const status = details?.['status']
  const isRefusal = typeof status === 'number' && status >= 400 && status < 500
  return reason === 'http-status' && isRefusal && !inconclusive.includes(status)
}

function isOfTask({ keeper, row }: Call): boolean {
  return keeper !== undefined || row.route.to === 'task'
}

/** Whether the limit is the default, and the server may still be at work. */
function mayBeAtWork({ call: { deadline }, isChecked }: SentCall): boolean {
  return deadline.times.settableIn !== undefined && deadline.budget === 'timeoutMs' && !isChecked
}

/** Whether the progress exceeds that of earlier rounds of the call (MCP, Utilities: progress). */
function isNewProgress(call: Call, { line, params }: NotificationFrame): boolean {
  const span = params.members.span('progress')
  const progress = span === undefined ? Number.NaN : Number(rawAt(line, span))
  if (progress <= call.progressFloor) return false
  if (progress > call.progress) call.progress = progress
  return true
}

/** The statuses of a gateway that got no answer from the server in time (RFC 9110, 15.6.3 and 15.6.5). */
const gatewayStatuses: readonly unknown[] = [502, 504]

const cuts: readonly string[] = ['TRANSPORT_CLOSED', 'TRANSPORT_IO', 'TRANSPORT_TIMEOUT']

function mayStillRun({ code, details }: TransportError): boolean {
  return cuts.includes(code) || (code === 'TRANSPORT_STATUS' && gatewayStatuses.includes(details?.['status']))
}
