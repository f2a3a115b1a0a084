// One initialised connection to one server.

import type { ErrorBody } from '../../jsonrpc/build.js'
import type { FrameError, TransportError } from '../../jsonrpc/errors.js'
import type { NotificationFrame, RequestFrame, ResponseFrame } from '../../jsonrpc/frame.js'
import { Peer, type PeerOwner, type PendingAnswer } from '../../jsonrpc/peer.js'
import { type RequestId, canonicalAt } from '../../jsonrpc/request-id.js'
import type { Edit } from '../../jsonrpc/splice.js'
import type { Asker, Call, ClientPort } from '../../mcp/call.js'
import type { ClientCapabilities } from '../../mcp/capabilities.js'
import type { OpenedServer, ServerLeg } from '../../mcp/eras/leg.js'
import { methodNotFound, notFollowed } from '../../mcp/error-codes.js'
import { serverNotifications, serverRequests } from '../../mcp/methods.js'
import type { ServerNotificationRow, ServerRequestRow } from '../../mcp/methods/method-row.js'
import { resultNames } from '../../mcp/result-type.js'
import type { DialEnd, Dialed } from '../contracts/dial.js'
import { Ending } from './ending.js'
import { FirstQuestions } from './first-questions.js'
import { type UpstreamError, thatServer } from '../contracts/errors.js'
import type { InflightCall } from './inflight-call.js'
import { ALIVE_MS, InflightCalls } from './inflight-calls.js'
import { LinkOpening } from './link-opening.js'
import type { LogRecord } from '../../runtime/runtime.js'
import { Noise } from './noise.js'
import { OwnRequests, type Patience } from './own-requests.js'
import type { ServerParts } from './pool-parts.js'
import type { ServerListen } from './server-listen.js'

/** The lane of a link, which gets all that its server sends except answers. */
export interface LinkOwner {
  /** Of the clients of the connection: where there is one, its ids and tokens may stay as they are. */
  readonly audience: { readonly only: ClientPort | undefined }
  /** The server asks something that only a client can answer, during a call where the transport tells. */
  asked(frame: RequestFrame, row: ServerRequestRow, link: Link, during: Call | undefined): void
  /** `row` is undefined for a notification that no revision has. */
  told(
    frame: NotificationFrame,
    row: ServerNotificationRow | undefined,
    link: Link,
    during: Call | undefined,
  ): void
  /** What the server said unasked until now may be lost. */
  missed(link: Link): void
  /** Resolves when its tools have been read again, or could not be. */
  relist(link: Link): Promise<void>
  closed(link: Link): void
}

/** The process of a link, which gave it its calls. */
export interface LinkMember {
  /** A call has ended, and its slot is free. */
  ended(call: Call): void
  /** Takes a call for the link that is there then. */
  call(call: Call, edits: readonly Edit[]): void
  /** Takes back a call for the link that follows this one. */
  again(call: Call, edits: readonly Edit[], link: Link): void
  /** The first call that waits for the link, and during which its server may ask. */
  readonly waitingCall: Call | undefined
  /** The server is to be started anew. */
  replace(link: Link, why: string): void
  /** The link has ended. */
  lost(link: Link): void
}

/** A server as the proxy talks to it. */
export class Link implements PeerOwner<InflightCall>, Asker {
  readonly service: string
  readonly dialed: Dialed
  /** The calls that are this link's to settle. */
  readonly inflight: InflightCalls
  /** The requests of the proxy's own. */
  readonly own: OwnRequests
  readonly #lane: LinkOwner
  readonly #member: LinkMember
  readonly #leg: ServerLeg
  readonly #parts: ServerParts
  readonly #peer: Peer<InflightCall>
  readonly #noise: Noise
  readonly #ending: Ending
  readonly #opening: LinkOpening
  /** The server knows no sessions: it is told nothing that only a session has, and is given no answers. */
  isTyped = false
  /** Resolves when calls may be sent; undefined when they may. */
  settling: Promise<void> | undefined
  #firstQuestions: FirstQuestions | undefined
  /** What such a server is listened to for; undefined of all but the first of a lane. */
  listening: ServerListen | undefined
  /** Messages that are no answers to calls, and those of them that answer the proxy's own requests. */
  #messages = 0
  #ownAnswers = 0

  constructor(dialed: Dialed, parts: ServerParts, lane: LinkOwner, member: LinkMember) {
    const { limits, service } = parts
    const leg = parts.leg()
    this.dialed = dialed
    this.service = service
    this.#leg = leg
    this.#lane = lane
    this.#member = member
    this.#parts = parts
    const options = { ...limits, frame: { ...limits.frame, resultNames }, ...parts.watch(service) }
    const peer = new Peer<InflightCall>(dialed.connection, this, options)
    this.#peer = peer
    const own = {
      peer,
      refusal: () => this.#refusal(),
      timedOut: () => this.#timedOut(),
      isAlive: () => this.#isAlive(),
      heard: () => {
        this.#messages++
        this.#ownAnswers++
      },
      forgotten: (error: TransportError) => this.#ending.forgotten(error),
      explained: () => this.#ending.explained(),
    }
    const ending = new Ending(dialed, parts)
    this.#ending = ending
    this.own = new OwnRequests(parts, own)
    this.#opening = new LinkOpening({ parts, dialed, leg, own: this.own, ending, peer })
    this.inflight = new InflightCalls(parts, {
      ...own,
      leg,
      traffic: dialed.connection.traffic,
      audience: lane.audience,
      member,
      again: (call, edits) => member.again(call, edits, this),
      ask: (method, params) => this.ask(method, params),
      follows: (call) => this.#follows(call),
      renew: (what) => this.#renew(what),
    })
    this.#noise = new Noise(
      parts,
      () => this.#messages + this.inflight.answers,
      (what) => this.#giveUp(what),
    )
    void dialed.ended.then((end) => this.#end(end))
  }

  /** More than the handshake was answered in this session, which is now forgotten: the server has not failed. */
  get isSpent(): boolean {
    return this.#ending.isForgotten && this.#answers > 1
  }

  get #answers(): number {
    return this.#ownAnswers + this.inflight.answers
  }

  get isStopped(): boolean {
    return this.#ending.isStopped
  }

  /** Whether the connection takes calls. */
  get isOpen(): boolean {
    return this.#peer.open && !this.#ending.isKnown
  }

  /** Why the link ended, for whoever asks afterwards. */
  get failure(): UpstreamError {
    return this.#ending.failure
  }

  /** Begins to read and shakes hands, with the client's own request where that is to reach the server. @throws UpstreamError */
  async start(declared: ClientCapabilities, opening?: Call): Promise<OpenedServer> {
    this.#peer.start()
    const opened = await this.#opening.open(declared, opening)
    this.isTyped = opened.facts.revision.form === 'typed'
    if (!this.isTyped && !this.#parts.namesCalls && declared.names.has('roots')) this.#awaitQuestions()
    return opened
  }

  #awaitQuestions(): void {
    const first = new FirstQuestions(this.#parts.limits.firstQuestions, this.#parts.runtime)
    this.#firstQuestions = first
    this.settling = first.over.then(() => {
      this.settling = undefined
      this.#firstQuestions = undefined
    })
  }

  /** Keeps a question that came before any call until the next one; false when that is not possible. */
  hold(frame: RequestFrame): boolean {
    return this.#firstQuestions?.hold(frame) ?? false
  }

  /** Asks what was kept, now that a call waits. */
  askHeld(): void {
    for (const frame of this.#firstQuestions?.release() ?? []) this.request(frame, undefined)
  }

  /** The first call that waits until the first questions are answered. */
  get waitingCall(): Call | undefined {
    return this.settling === undefined ? undefined : this.#member.waitingCall
  }

  /** The server has taken a question back. */
  withdrawn(frame: NotificationFrame): void {
    this.inflight.asked.withdrawn(frame)
    const span = frame.params.members.span('requestId')
    const id = span && canonicalAt(frame.line, span.start, span.end)
    if (id !== undefined) this.#firstQuestions?.answered(id)
  }

  get endedOnProbe(): boolean {
    return this.#opening.endedOnProbe
  }

  /** Asks something of the proxy's own; `params` is raw JSON. @throws UpstreamError */
  ask(method: string, params: string, patience?: Patience): Promise<ResponseFrame> {
    const own = this.#leg.speech.params(params, method === 'tasks/cancel')
    return this.own.ask(method, own, patience ?? this.own.patience('timeoutMs'))
  }

  async #renew(what: 'lists' | 'era'): Promise<void> {
    if (what === 'lists') await this.#lane.relist(this)
    else this.#member.replace(this, 'it refuses the revision that it spoke before')
  }

  /** A server without sessions knows no such request. */
  #follows(call: Call): boolean {
    if (this.isTyped) void (this.listening?.follows(call) ?? call.fail(notFollowed(this.service, '')))
    return this.isTyped
  }

  pass(frame: NotificationFrame, edits: readonly Edit[]): void {
    if (!this.isTyped) this.#peer.pass(frame, edits)
  }

  /** A request whose answer comes when nobody wants to hear of changes any more; undefined when too many are out. */
  listen(params: string, isAboutTasks: boolean): PendingAnswer | undefined {
    return this.#peer.ask('subscriptions/listen', this.#leg.speech.params(params, isAboutTasks))
  }

  /** Finds out whether its session is still known: what every server answers tells, and begins another one. */
  checkSession(): void {
    if (!this.isTyped) void this.ask('ping', '{}').catch(() => {})
  }

  /** Stops or resumes reading what the server says; one that has failed is not heard again. */
  read(on: boolean): void {
    if (!on || this.#ending.isHeard) this.dialed.connection.read(on)
  }

  /** `why` is what calls in flight are told, where that is not the end of everything. */
  async stop(why?: string): Promise<void> {
    this.#ending.stopped(why)
    this.own.stop()
    this.#ending.awaitAnswers(
      why !== undefined,
      () => this.#answers,
      () => this.inflight.drain([...this.#peer.waiting()], () => this.failure),
    )
    await this.dialed.stop()
  }

  // Asker: a client's side of what this server asked.

  answered(frame: ResponseFrame, id: RequestId): void {
    this.#firstQuestions?.answered(id)
    this.#peer.answer(frame, this.inflight.asked.answered(frame, id), id)
  }

  refused(id: RequestId, error: ErrorBody): void {
    this.#firstQuestions?.answered(id)
    this.inflight.asked.over(id)
    this.#peer.refuse(id, error)
  }

  progressed(frame: NotificationFrame, edits: readonly Edit[]): void {
    this.#peer.pass(frame, edits)
  }

  // PeerOwner: what the server says.

  request(frame: RequestFrame, during: InflightCall | undefined): void {
    this.#messages++
    const row = serverRequests.get(frame.method)
    if (this.isTyped) this.#noise.request(frame.method)
    else if (row === undefined) this.#peer.refuse(frame.id, methodNotFound(frame.method))
    else if (row.capability === undefined) this.#peer.reply(frame.id, '{}')
    else {
      this.#firstQuestions?.asked(frame.id)
      this.#lane.asked(frame, row, this, during?.call)
    }
  }

  notification(frame: NotificationFrame, during: InflightCall | undefined): void {
    this.#messages++
    const row = serverNotifications.get(frame.method)
    if (this.isTyped && this.listening?.told(frame, row) === true) return
    if (row?.does !== 'progress') this.#lane.told(frame, row, this, during?.call)
    else if (!this.inflight.progressed(frame)) this.#log('debug', 'progress that nobody waits for')
  }

  stray(frame: ResponseFrame): void {
    this.#messages++
    if (frame.id !== undefined) this.inflight.late(frame.id)
    this.#log('debug', 'an answer that nobody waits for', { id: frame.id })
  }

  batch(): void {
    this.#noise.batch()
  }

  failed(flight: InflightCall | undefined, error: TransportError): void {
    if (error.code === 'TRANSPORT_SESSION') this.#ending.forgotten(error)
    if (flight === undefined) this.#log('warn', error.message)
    else this.inflight.failed(flight, error)
  }

  malformed(error: FrameError, line: Uint8Array, bytes: number): void {
    const flights = this.inflight.addressees(error, line)
    const what = `its answer is invalid: ${error.message}`
    if (flights.length === 0) return this.#noise.line(line, bytes, error)
    for (const flight of flights) this.inflight.spoilt(flight, 'invalid-answer', what)
  }

  oversize(id: RequestId | undefined, flight: InflightCall | undefined, bytes: number): void {
    const what = `its answer of ${bytes} bytes or more is over the limit`
    if (flight !== undefined) this.inflight.spoilt(flight, 'too-large', what)
    this.#noise.oversize(id, bytes, flight !== undefined)
  }

  missed(): void {
    this.#lane.missed(this)
  }

  ended(): void {
    void this.#peer.close()
  }

  closed(unanswered: readonly InflightCall[], cause: TransportError | undefined): void {
    this.#ending.closed()
    const deadline = Math.min(...unanswered.map(({ call }) => call.deadline.endsAt))
    // The exit says more than the end of the stream, and follows it closely.
    void this.#ending.explained(deadline).then(() => {
      if (cause !== undefined) this.#log('debug', cause.message)
      this.inflight.drain(unanswered, () => this.failure)
      this.#member.lost(this)
      this.#lane.closed(this)
      void this.dialed.stop()
    })
    this.listening?.close()
    this.#firstQuestions?.end()
  }

  /** Why the peer takes nothing. */
  #refusal(): UpstreamError {
    return this.#peer.open && !this.#ending.isKnown
      ? thatServer(this.service, 'overloaded', 'has too many in flight')
      : this.failure
  }

  /** Whether the server answers a request that costs it nothing; an error is an answer too. */
  async #isAlive(): Promise<boolean> {
    const endsAt = this.#parts.runtime.now() + ALIVE_MS
    try {
      await this.ask(this.isTyped ? 'server/discover' : 'ping', '{}', { of: 'timeoutMs', endsAt })
      return true
    } catch {
      return false
    }
  }

  #timedOut(): void {
    if (this.#parts.onTimeout === 'restart') this.#member.replace(this, 'a call timed out')
  }

  /** Nothing more is read of it, and it ends like one that has closed its connection. */
  #giveUp(what: string): void {
    this.read(false)
    this.#end({ reason: 'invalid-answer', message: `'${this.service}' ${what}` })
  }

  #end(end: DialEnd): void {
    this.#ending.because(end)
    void this.#peer.close()
  }

  #log(level: LogRecord['level'], message: string, details?: Readonly<Record<string, unknown>>): void {
    this.#parts.log({ level, service: this.service, message, ...(details && { details }) })
  }
}
