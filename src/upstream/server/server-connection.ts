// One initialised connection to one server.

import type { ErrorBody } from '../../jsonrpc/build.js'
import { type FrameError, TransportError } from '../../jsonrpc/jsonrpc-errors.js'
import type { NotificationFrame, RequestFrame, ResponseFrame } from '../../jsonrpc/frame.js'
import { Peer, type PeerOwner, type PendingAnswer } from '../../jsonrpc/peer.js'
import type { RequestId } from '../../jsonrpc/request-id.js'
import { type Edit, NO_EDITS } from '../../jsonrpc/splice.js'
import type { Asker, Call } from '../../mcp/call.js'
import type { ClientCapabilities } from '../../mcp/capabilities.js'
import type { OpenedServer, Probed } from '../../mcp/eras/server-era.js'
import { methodNotFound, notFollowed } from '../../mcp/error-codes.js'
import { serverNotifications, serverRequests } from '../../mcp/methods.js'
import { messageNames } from '../../mcp/result-type.js'
import type { Dialed, DialEnd } from '../contracts/dial.js'
import { FirstQuestions } from './first-questions.js'
import { fromTransport, thatServer, unusable, UpstreamError } from '../contracts/upstream-error.js'
import { Calls, cancelRequest, type InflightCall } from './calls.js'
import type { Timer } from '../../runtime/runtime.js'
import { Noise } from './noise.js'
import type { ServerContext } from './context.js'
import type { Inbox } from './inbox.js'
import type { Worker } from './worker.js'
import type { ServerSubscription } from './listen.js'
import { within } from '../../runtime/deadline.js'
import type { ServerTimes } from '../contracts/server-config.js'

/** Why a connection ended: by itself, because the server has forgotten the session, or because the proxy has stopped it. */
interface CloseReason extends DialEnd {
  readonly how: 'ended' | 'forgotten' | 'stopped'
}

type Budget = Exclude<keyof ServerTimes, 'settableIn'>

/** One of a server's times, running. */
export interface Patience {
  readonly of: Budget
  readonly endsAt: number
}

/** A server as the proxy talks to it. */
export class ServerConnection implements PeerOwner<InflightCall>, Asker {
  readonly service: string
  readonly dialed: Dialed
  /** The calls that are this connection's to settle. */
  readonly calls: Calls
  readonly #inbox: Inbox
  readonly #worker: Worker
  readonly #context: ServerContext
  readonly #peer: Peer<InflightCall>
  readonly #noise: Noise
  /** The first reason that was known. A server that did not end by itself may still finish what it was asked before. */
  #closed: CloseReason | undefined
  /** Runs out when no further answer of a stopping server is waited for. */
  #lastAnswers: Timer | undefined
  /** Each ends the wait for an answer to a request of the proxy's own, since the server is being stopped. */
  readonly #waits = new Set<() => void>()
  #isStopped = false
  /** The server is being asked which revisions it speaks. */
  #isProbing = false
  /** The server knows no sessions, so it gets no notifications of a session and no responses. */
  isStateless = false
  /** Calls wait until these are answered; undefined when calls may be sent. */
  firstQuestions: FirstQuestions | undefined
  /** The subscription to changes of such a server; only the first connection of a lane has one. */
  listening: ServerSubscription | undefined
  #answers = 0

  constructor(dialed: Dialed, context: ServerContext, inbox: Inbox, worker: Worker) {
    const { limits, service } = context
    this.dialed = dialed
    this.service = service
    this.#inbox = inbox
    this.#worker = worker
    this.#context = context
    const frame = { ...limits.frame, names: messageNames }
    const options = { ...limits, frame, watch: context.watch(service) }
    const peer = new Peer<InflightCall>(dialed.connection, this, options)
    this.#peer = peer
    this.calls = new Calls(context, peer, this, worker, inbox.clients)
    this.#noise = new Noise(context, limits.noise, (what) => this.#giveUp(what))
    void dialed.ended.then((end) => this.#end(end))
  }

  /** The server has forgotten a session in which it had answered more than the handshake: that is no crash. */
  get isSpent(): boolean {
    return this.#closed?.how === 'forgotten' && this.#answers > 1
  }

  /** An answer has come, to a call or to a request of the proxy's own. */
  onAnswer(): void {
    this.#answers++
    this.#noise.message()
  }

  get isStopped(): boolean {
    return this.#closed?.how === 'stopped'
  }

  /** Whether calls may be sent; the end of the connection, or what follows on it, is known a little later. */
  get isConnected(): boolean {
    return this.#peer.open
  }

  /** Whether the connection takes calls. */
  get isOpen(): boolean {
    return this.#peer.open && this.#closed === undefined
  }

  /** Why the connection ended. */
  get failure(): UpstreamError {
    const { reason, message, details } =
      this.#closed ?? thatServer(this.service, 'closed', 'closed its connection')
    return new UpstreamError(this.service, reason, message, { details })
  }

  /** Why the connection takes nothing. */
  get refusal(): UpstreamError {
    return this.isOpen ? thatServer(this.service, 'overloaded', 'has too many in flight') : this.failure
  }

  /**
   * Begins to read and shakes hands, with the client's own request where that is to reach the server. @throws
   * UpstreamError
   */
  async start(declared: ClientCapabilities, opening?: Call): Promise<OpenedServer> {
    this.#peer.start()
    const opened = await this.#open(declared, opening)
    this.calls.writer = opened.writer
    this.isStateless = opened.facts.revision.era === 'stateless'
    if (!this.isStateless && !this.#context.questionsNameTheirCall && declared.names.has('roots'))
      this.#awaitQuestions()
    return opened
  }

  /** Makes the server ready for calls. @throws UpstreamError */
  async #open(declared: ClientCapabilities, opening?: Call): Promise<OpenedServer> {
    const patience = this.patience('startTimeoutMs')
    const opened = await this.#context.open({
      declared,
      request: opening,
      clientVersion: this.#inbox.clients.only?.profile.revision.version,
      ask: (method, params) => this.#ask(method, params, patience),
      probe: (method, params) => this.#probe(this.#ask(method, params, patience)),
      pass: (frame, edits) =>
        this.#answer(frame.method, this.#isStopped ? undefined : this.#peer.askFor(frame, edits), patience),
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
   * Waits for the answer to a question that the server may not know. @throws UpstreamError where what has happened says
   * nothing of what the server knows
   */
  async #probe(asked: Promise<ResponseFrame>): Promise<Probed> {
    const { probeMs, runtime } = this.#context
    this.#isProbing = true
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
    const { limits, runtime } = this.#context
    const ask = (frame: RequestFrame): void => this.request(frame, undefined)
    this.firstQuestions = new FirstQuestions(limits.firstQuestions, runtime, ask)
    void this.firstQuestions.over.then(() => {
      this.firstQuestions = undefined
    })
  }

  /** The first call that waits until the first questions are answered. */
  get waitingCall(): Call | undefined {
    return this.firstQuestions === undefined ? undefined : this.#worker.waitingCall
  }

  get #hasEndedWhileProbed(): boolean {
    return this.#isProbing && this.dialed.pid !== undefined && this.#closed?.how === 'ended'
  }

  /**
   * The server has ended on the question which revisions it speaks, so it is started anew immediately, and not asked. A server
   * that says on stderr why it could not start would only say it twice.
   */
  get endedOnProbe(): boolean {
    return (
      this.#hasEndedWhileProbed &&
      this.#context.startsAfterProbe &&
      endsOnQuestions.test(this.failure.message)
    )
  }

  /** Begins to wait; several requests may share one patience. */
  patience(of: Budget): Patience {
    const { runtime, times } = this.#context
    return { of, endsAt: runtime.now() + times[of] }
  }

  /** Asks something of the proxy's own; `params` is raw JSON. @throws UpstreamError */
  ask(
    method: string,
    params: string,
    patience: Patience = this.patience('timeoutMs'),
  ): Promise<ResponseFrame> {
    return this.#ask(method, this.calls.writer.params(params, method === 'tasks/cancel'), patience)
  }

  #ask(method: string, params: string, patience: Patience): Promise<ResponseFrame> {
    return this.#answer(method, this.#isStopped ? undefined : this.#peer.ask(method, params), patience)
  }

  /** Cancels a request that has no time limit. */
  giveUp(id: RequestId): void {
    this.#peer.retire(id)
    cancelRequest(this.#peer, id, 'nobody waits for it any more')
  }

  async #answer(
    method: string,
    asked: PendingAnswer | undefined,
    patience: Patience,
  ): Promise<ResponseFrame> {
    if (asked === undefined) throw this.refusal
    try {
      const answer = await this.#inTime(asked.answer, patience)
      if (answer === undefined) return this.#expired(asked.id, method, patience)
      this.onAnswer()
      return answer
    } catch (error) {
      if (error instanceof UpstreamError) throw error
      if (error instanceof TransportError && error.code === 'TRANSPORT_SESSION') this.#forgotten(error)
      if (error instanceof TransportError && this.#peer.open) throw fromTransport(this.service, error)
      await this.#explained()
      throw this.refusal
    }
  }

  /** Undefined when the time is over. @throws UpstreamError when the server is being stopped */
  async #inTime(answer: Promise<ResponseFrame>, { endsAt }: Patience): Promise<ResponseFrame | undefined> {
    const { runtime } = this.#context
    let stop = nothing
    const stopped = new Promise<never>((_resolve, reject) => {
      stop = () => reject(this.refusal)
    })
    this.#waits.add(stop)
    try {
      return await within(Promise.race([answer, stopped]), endsAt - runtime.now(), runtime)
    } finally {
      this.#waits.delete(stop)
    }
  }

  /** @throws UpstreamError always */
  #expired(id: RequestId, method: string, { of }: Patience): never {
    const ms = this.#context.times[of]
    // Only now: the id of an answered request may already belong to another request.
    this.#peer.retire(id)
    // A handshake is never cancelled (MCP, Utilities: cancellation); the connection ends instead.
    if (of !== 'startTimeoutMs') cancelRequest(this.#peer, id, 'the request timed out')
    if (of === 'listTimeoutMs') this.timedOut()
    const budget = of === 'listTimeoutMs' ? 'startTimeout' : of.replace(/Ms$/, '')
    const message = `'${this.service}' did not answer ${method} within ${ms} ms (${budget})`
    throw new UpstreamError(this.service, 'timeout', message, { details: { budget, ms } })
  }

  /** Finds out anew what the server has, or what it speaks. */
  async renew(what: 'lists' | 'era'): Promise<void> {
    const { lists } = this.#inbox
    if (what === 'lists') {
      lists.changed(this, ['tools'])
      await lists.reading('tools')
    } else this.restart('it refuses the revision that it spoke before')
  }

  /** Takes over a request to subscribe or unsubscribe where the server has no sessions, and so no such request; whether it has. */
  follows(call: Call): boolean {
    if (this.isStateless) void (this.listening?.follows(call) ?? call.fail(notFollowed(this.service, '')))
    return this.isStateless
  }

  pass(frame: NotificationFrame, edits: readonly Edit[]): void {
    if (!this.isStateless) this.#peer.pass(frame, edits)
  }

  /** Sends a request whose response ends the subscription; undefined when too many requests are in flight. */
  listen(params: string, isAboutTasks: boolean): PendingAnswer | undefined {
    return this.#peer.ask('subscriptions/listen', this.calls.writer.params(params, isAboutTasks))
  }

  /** Pauses or resumes reading; a connection that has failed is not read again. */
  read(on: boolean): void {
    if (!on || this.#closed?.how !== 'ended') this.dialed.connection.read(on)
  }

  /** `why` explains the error of the calls in flight, where the server is to come back. */
  async stop(why?: string): Promise<void> {
    const { limits, runtime } = this.#context
    const end =
      why === undefined
        ? thatServer(this.service, 'shutting-down', 'is being stopped')
        : thatServer(this.service, 'closed', `is being restarted: ${why}`)
    this.#because('stopped', end)
    this.#isStopped = true
    for (const stop of this.#waits) stop()
    // A server that is being stopped may still answer before it gets a signal, and these answers count.
    const drain = (): void => this.calls.drain([...this.#peer.waiting()], () => this.failure)
    this.#lastAnswers ??= runtime.setTimer(limits.ladder.stdinWaitMs, drain)
    await this.dialed.stop()
  }

  // Asker: a client's side of what this server asked.

  answered(frame: ResponseFrame, id: RequestId): void {
    this.firstQuestions?.answered(id)
    this.#peer.answer(frame, NO_EDITS, id)
  }

  refused(id: RequestId, error: ErrorBody): void {
    this.firstQuestions?.answered(id)
    this.#peer.refuse(id, error)
  }

  progressed(frame: NotificationFrame, edits: readonly Edit[]): void {
    this.#peer.pass(frame, edits)
  }

  // PeerOwner: what the server says.

  request(frame: RequestFrame, during: InflightCall | undefined, _reply?: unknown, stream?: RequestId): void {
    this.#noise.message()
    const row = serverRequests.get(frame.method)
    if (this.isStateless) this.#noise.request(frame.method)
    else if (row === undefined) this.#peer.refuse(frame.id, methodNotFound(frame.method))
    else if (row.capability === undefined) this.#peer.reply(frame.id, '{}')
    else if (stream !== undefined && this.calls.about.isAbandoned(stream)) {
      this.#peer.refuse(frame.id, methodNotFound(frame.method))
      this.#context.tell('debug', `${frame.method} was refused: nobody waits for the call that it is about`)
    } else {
      this.firstQuestions?.asked(frame.id)
      this.#inbox.onRequest(frame, row, this, during?.call)
    }
  }

  notification(frame: NotificationFrame, during: InflightCall | undefined): void {
    this.#noise.message()
    const row = serverNotifications.get(frame.method)
    if (this.isStateless && this.listening?.onNotification(frame, row) === true) return
    if (row?.does !== 'progress') this.#inbox.onNotification(frame, row, this, during?.call)
    else if (!this.calls.progressed(frame)) this.#context.tell('debug', 'progress that nobody waits for')
  }

  stray(frame: ResponseFrame): void {
    this.#noise.message()
    if (frame.id !== undefined) this.calls.about.answered(frame.id)
    this.#context.tell('debug', 'an answer that nobody waits for', { id: frame.id })
  }

  batch(): void {
    this.#noise.batch()
  }

  failed(flight: InflightCall | undefined, error: TransportError): void {
    if (error.code === 'TRANSPORT_SESSION') this.#forgotten(error)
    if (flight === undefined) return this.#context.tell('warn', error.message)
    const { body, message, reason } = fromTransport(this.#context.service, error)
    if (reason !== 'login-required') return this.calls.failed(flight, error)
    this.#inbox.lists.loginNeeded(this, { message, reason, body })
    this.calls.failed(flight, error, this.#context.logins?.tool?.refusal(flight.call))
  }

  malformed(error: FrameError, line: Uint8Array, bytes: number): void {
    this.#noise.line(line, bytes, error)
  }

  oversize(id: RequestId | undefined, flight: InflightCall | undefined, bytes: number): void {
    const what = `its answer of ${bytes} bytes or more is over the limit`
    if (flight !== undefined) this.calls.failUnusable(flight, 'too-large', what)
    else this.#noise.oversize(id, bytes)
  }

  missed(): void {
    this.#inbox.lists.missed(this)
  }

  ended(): void {
    void this.#peer.close()
  }

  closed(unanswered: readonly InflightCall[], cause: TransportError | undefined): void {
    this.#lastAnswers?.cancel()
    const deadline = Math.min(...unanswered.map(({ call }) => call.deadline.endsAt))
    // The exit says more than the end of the stream, and follows it closely.
    void this.#explained(deadline).then(() => {
      if (cause !== undefined) this.#context.tell('debug', cause.message)
      this.calls.drain(unanswered, () => this.failure)
      this.#worker.onConnectionEnded(this)
      this.#inbox.onClosed(this)
      void this.dialed.stop()
    })
    this.listening?.close()
    this.firstQuestions?.end()
  }

  /** An answer did not come in time. */
  timedOut(): void {
    if (this.#context.onTimeout === 'restart') this.restart('a call timed out')
  }

  restart(why: string): void {
    void this.#worker.restart(this, why)
  }

  /** Nothing more is read of it, and it ends like one that has closed its connection. */
  #giveUp(what: string): void {
    this.read(false)
    this.#end({ reason: 'invalid-answer', message: `'${this.service}' ${what}` })
  }

  #forgotten(error: TransportError): void {
    this.#because('forgotten', fromTransport(this.service, error))
  }

  #because(how: CloseReason['how'], { reason, message, details }: DialEnd): void {
    this.#closed ??= { how, reason, message, details }
  }

  /** Waits for the exit that explains the end of the connection, but not for long, and not past `deadline`. */
  async #explained(deadline: number = Infinity): Promise<void> {
    const { limits, runtime } = this.#context
    const leftMs = Math.max(0, deadline - runtime.now())
    if (this.#closed === undefined)
      await within(this.dialed.ended, Math.min(limits.exitWaitMs, leftMs), runtime)
  }

  #end(end: DialEnd): void {
    this.#because('ended', end)
    void this.#peer.close()
  }
}

/** How a process ends that cannot bear a question: without a word, or with words about the question. */
const endsOnQuestions = /exited (?:with code -?\d+|by \w+)$|discover|initiali[sz]|method|protocol/i

const nothing = (): void => {}

// A server over the network refuses a question that it does not know with a status (MCP 2026-07-28, Streamable HTTP,
// Backward Compatibility).

/** Of credentials, of time, of too many requests: these say nothing of what the server knows. */
const inconclusive: readonly unknown[] = [401, 403, 408, 429]

function refusesUnknown({ reason, details }: UpstreamError): boolean {
  const status = details?.['status']
  const isRefusal = typeof status === 'number' && status >= 400 && status < 500
  return reason === 'http-status' && isRefusal && !inconclusive.includes(status)
}
