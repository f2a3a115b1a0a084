// One initialised connection to one server, and the calls in flight on it.
//
// The link settles every call that it accepts exactly once: by the answer, by
// its deadline, by the client's cancel, or by the end of the connection.

import type { ErrorBody } from '../jsonrpc/build.js'
import type { FrameError, TransportError } from '../jsonrpc/errors.js'
import type { NotificationFrame, RequestFrame, ResponseFrame } from '../jsonrpc/frame.js'
import { IdFinder } from '../jsonrpc/id-finder.js'
import { type Asked, Peer, type PeerOptions, type PeerOwner } from '../jsonrpc/peer.js'
import type { RequestId } from '../jsonrpc/request-id.js'
import type { Edit } from '../jsonrpc/splice.js'
import { quote } from '../jsonrpc/text.js'
import type { Asker, Call } from '../mcp/call.js'
import type { ClientCapabilities } from '../mcp/capabilities.js'
import type { ServerFacts, ServerLeg } from '../mcp/eras/leg.js'
import { type FailureReason, methodNotFound, upstreamFailed } from '../mcp/error-codes.js'
import type { ServerNotificationRow, ServerRequestRow } from '../mcp/method-row.js'
import { serverNotifications, serverRequests } from '../mcp/methods.js'
import { ProgressTokens } from '../mcp/progress-tokens.js'
import type { Dialed } from './dial.js'
import { UpstreamError } from './errors.js'
import { Flight } from './flight.js'
import type { LogRecord, Runtime } from './host.js'

/** Who owns a link: what its server says that is not an answer. */
export interface LinkOwner {
  /** The connection carries one client, whose ids and tokens may stay as they are. */
  readonly carriesOneClient: boolean
  /** The server asks something that only a client can answer. */
  asked(frame: RequestFrame, row: ServerRequestRow, link: Link): void
  /** `row` is undefined for a notification that no revision has. */
  told(frame: NotificationFrame, row: ServerNotificationRow | undefined, link: Link): void
  /** A call has ended, and its slot is free. */
  ended(call: Call, link: Link): void
  /** A call took too long. */
  timedOut(link: Link): void
  drained(link: Link): void
  closed(link: Link): void
}

export interface LinkOptions {
  readonly service: string
  readonly runtime: Runtime
  readonly log: (record: LogRecord) => void
  readonly peer: PeerOptions
  /** From a call to its answer, extended by progress. */
  readonly timeoutMs: number
  /** From a call to its answer, whatever its progress. */
  readonly totalTimeoutMs: number
  /** For the proxy's own requests: the handshake, lists, levels. */
  readonly ownTimeoutMs: number
}

/** A server as the proxy talks to it. */
export class Link implements PeerOwner<Flight>, Asker {
  readonly service: string
  readonly dialed: Dialed
  readonly #owner: LinkOwner
  readonly #leg: ServerLeg
  readonly #options: LinkOptions
  readonly #peer: Peer<Flight>
  readonly #tokens = new ProgressTokens<Flight>()
  #facts: ServerFacts | undefined
  #failure: UpstreamError | undefined
  #junkLines = 0

  constructor(dialed: Dialed, leg: ServerLeg, owner: LinkOwner, options: LinkOptions) {
    this.dialed = dialed
    this.service = options.service
    this.#leg = leg
    this.#owner = owner
    this.#options = options
    this.#peer = new Peer(dialed.connection, this, options.peer)
    void dialed.ended.then(({ reason, message }) => {
      this.#failure ??= new UpstreamError(this.service, reason, message)
      return this.#peer.close()
    })
  }

  get open(): boolean {
    return this.#peer.open && this.#facts !== undefined
  }

  get inflight(): number {
    return this.#peer.inflight
  }

  get congested(): boolean {
    return this.dialed.connection.congested
  }

  /** Bytes that the server has not taken yet. */
  get backlogBytes(): number {
    return this.dialed.connection.backlogBytes
  }

  /** Why the link ended, for whoever asks afterwards. */
  get failure(): UpstreamError {
    return this.#failure ?? new UpstreamError(this.service, 'closed', `'${this.service}' closed its connection`)
  }

  /** Begins to read and shakes hands. @throws UpstreamError */
  async start(declared: ClientCapabilities): Promise<ServerFacts> {
    this.#peer.start()
    const voice = {
      ask: (method: string, params: string) => this.ask(method, params),
      notify: (method: string) => this.#peer.notify(method),
    }
    const opened = await this.#leg.open(voice, declared)
    if (opened.kind === 'refused') {
      throw new UpstreamError(this.service, 'handshake-failed', `'${this.service}' refuses: ${opened.why}`)
    }
    this.#facts = opened.facts
    return opened.facts
  }

  /** Asks something of the proxy's own; `params` is raw JSON. @throws UpstreamError */
  async ask(method: string, params?: string): Promise<ResponseFrame> {
    const asked = this.#peer.ask(method, params)
    if (asked === undefined) throw this.#overloaded()
    try {
      return await this.#inTime(asked, method)
    } catch (error) {
      if (error instanceof UpstreamError) throw error
      await this.#explained()
      throw this.failure
    }
  }

  notify(method: string, params?: string): void {
    this.#peer.notify(method, params)
  }

  /** Passes a client's notification on. */
  pass(frame: NotificationFrame, edits: readonly Edit[]): void {
    this.#peer.pass(frame, edits)
  }

  /** Forwards a call; it is this link's to settle from now on. */
  call(call: Call, edits: readonly Edit[]): void {
    const flight = new Flight(call, this.#options.runtime, (why) => this.#expired(flight, why))
    const own = call.frame.params.meta.span('progressToken')
    const id = this.#peer.forward(call.frame, this.#withToken(edits, flight, own), flight, this.#owner.carriesOneClient)
    if (id === undefined) {
      this.#tokens.release(flight.token)
      call.fail(this.#overloaded().body)
      return this.#owner.ended(call, this)
    }
    flight.start(id, this.#options.timeoutMs, this.#options.totalTimeoutMs)
    call.onCancel = (frame) => this.#cancelled(flight, frame)
  }

  /** The calls that wait for this server. */
  *calls(): IterableIterator<Call> {
    for (const flight of this.#peer.waiting()) yield flight.call
  }

  /** Stops or resumes reading what the server says. */
  read(on: boolean): void {
    this.dialed.connection.read(on)
  }

  async stop(): Promise<void> {
    this.#failure ??= new UpstreamError(this.service, 'shutting-down', `'${this.service}' is being stopped`)
    await this.dialed.stop()
  }

  // Asker: a client's side of what this server asked.

  answered(frame: ResponseFrame, id: RequestId): void {
    this.#peer.answer(frame, [], id)
  }

  refused(id: RequestId, error: ErrorBody): void {
    this.#peer.refuse(id, error)
  }

  progressed(frame: NotificationFrame, edits: readonly Edit[]): void {
    this.#peer.pass(frame, edits)
  }

  // PeerOwner: what the server says.

  request(frame: RequestFrame): void {
    const row = serverRequests.row(frame.method)
    if (row === undefined) this.#peer.refuse(frame.id, methodNotFound(frame.method))
    else if (row.capability === undefined) this.#peer.reply(frame.id, '{}')
    else this.#owner.asked(frame, row, this)
  }

  notification(frame: NotificationFrame): void {
    const row = serverNotifications.row(frame.method)
    if (row?.does === 'progress') this.#progress(frame)
    else this.#owner.told(frame, row, this)
  }

  response(frame: ResponseFrame, flight: Flight): void {
    this.#leave(flight)
    flight.call.settle(this.#leg.outcome(flight.call, frame))
    this.#owner.ended(flight.call, this)
  }

  stray(frame: ResponseFrame): void {
    this.#log('debug', 'an answer that nobody waits for', { id: frame.id })
  }

  batch(): void {
    this.#log('warn', 'a batch was ignored: servers answer one by one')
  }

  malformed(error: FrameError, line: Uint8Array): void {
    const flight = this.#addressee(error, line)
    if (flight !== undefined) return this.#spoilt(flight, 'invalid-answer', `its answer is invalid: ${error.message}`)
    this.#junkLines++
    const start = Buffer.from(line.subarray(0, 200)).toString('utf8')
    this.#log(this.#junkLines === 1 ? 'warn' : 'debug', `a line on stdout is no message: ${start}`, {
      problem: error.message,
      lines: this.#junkLines,
    })
  }

  oversize(id: RequestId | undefined, flight: Flight | undefined, bytes: number): void {
    if (flight === undefined) this.#log('error', 'a message over the limit was dropped', { id, bytes })
    else this.#spoilt(flight, 'too-large', `its answer of ${bytes} bytes is over the limit`)
  }

  drained(): void {
    this.#owner.drained(this)
  }

  ended(): void {
    void this.#peer.close()
  }

  closed(unanswered: readonly Flight[], cause: TransportError | undefined): void {
    // The exit says more than the end of the stream, and follows it closely.
    void this.#explained().then(() => {
      if (cause !== undefined) this.#log('debug', cause.message)
      for (const flight of unanswered) {
        this.#leave(flight)
        flight.call.fail(this.failure.body)
        this.#owner.ended(flight.call, this)
      }
      this.#owner.closed(this)
      void this.dialed.stop()
    })
  }

  /** Waits for the exit that explains the end of the connection, but not for long. */
  #explained(): Promise<unknown> {
    const soon = new Promise<void>((resolve) => {
      this.#options.runtime.setTimer(EXIT_WAIT_MS, resolve)
    })
    return Promise.race([this.dialed.ended, soon])
  }

  #withToken(edits: readonly Edit[], flight: Flight, own: { start: number; end: number } | undefined): readonly Edit[] {
    if (own === undefined) return edits
    const text = flight.call.frame.line.toString('utf8', own.start, own.end)
    flight.token = this.#tokens.lend(text, flight, this.#owner.carriesOneClient)
    if (flight.token === text) return edits
    return [...edits, { ...own, bytes: Buffer.from(flight.token), why: 'progress-token' }]
  }

  #progress(frame: NotificationFrame): void {
    const span = frame.params.members.span('progressToken')
    const token = span === undefined ? '' : frame.line.toString('utf8', span.start, span.end)
    const flight = this.#tokens.find(token)
    const own = flight?.call.frame.params.meta.span('progressToken')
    if (flight === undefined || own === undefined || span === undefined) {
      return this.#log('debug', 'progress that nobody waits for', { token })
    }
    flight.extend()
    const bytes = flight.call.frame.line.subarray(own.start, own.end)
    const edits: Edit[] = bytes.toString() === token ? [] : [{ ...span, bytes, why: 'progress-token' }]
    flight.call.client.tell(frame, edits)
  }

  #expired(flight: Flight, why: string): void {
    this.#spoilt(flight, 'timeout', `${why} for ${flight.call.frame.method}`)
    this.#cancelUpstream(flight, 'the request timed out')
    this.#owner.timedOut(this)
  }

  #cancelled(flight: Flight, frame: NotificationFrame | undefined): void {
    this.#leave(flight)
    this.#peer.retire(flight.id)
    const span = frame?.params.members.span('requestId')
    if (frame === undefined || span === undefined) this.#cancelUpstream(flight, 'the client is gone')
    else if (frame.line.toString('utf8', span.start, span.end) === flight.id) this.#peer.pass(frame, [])
    else this.#peer.pass(frame, [{ ...span, bytes: Buffer.from(flight.id), why: 'id' }])
    this.#owner.ended(flight.call, this)
  }

  #cancelUpstream(flight: Flight, reason: string): void {
    this.#peer.notify('notifications/cancelled', `{"requestId":${flight.id},"reason":${quote(reason)}}`)
  }

  #spoilt(flight: Flight, reason: FailureReason, what: string): void {
    this.#leave(flight)
    this.#peer.retire(flight.id)
    flight.call.fail(upstreamFailed(this.service, reason, `'${this.service}': ${what}`))
    this.#owner.ended(flight.call, this)
  }

  #leave(flight: Flight): void {
    flight.stop()
    this.#tokens.release(flight.token)
  }

  #addressee(error: FrameError, line: Uint8Array): Flight | undefined {
    if (error.unreadable) return undefined
    const finder = new IdFinder()
    finder.push(line)
    const id = error.id ?? finder.id
    return id === undefined ? undefined : this.#peer.entry(id)
  }

  async #inTime(asked: Asked, method: string): Promise<ResponseFrame> {
    const { runtime, ownTimeoutMs } = this.#options
    let cancel = (): void => {}
    const late = new Promise<never>((_resolve, reject) => {
      const what = `'${this.service}' did not answer ${method} within ${ownTimeoutMs} ms`
      const timer = runtime.setTimer(ownTimeoutMs, () => reject(new UpstreamError(this.service, 'timeout', what)))
      cancel = () => timer.cancel()
    })
    try {
      return await Promise.race([asked.answer, late])
    } finally {
      cancel()
      this.#peer.retire(asked.id)
    }
  }

  #overloaded(): UpstreamError {
    return new UpstreamError(this.service, 'overloaded', `'${this.service}' has too many requests in flight`)
  }

  #log(level: LogRecord['level'], message: string, details?: Readonly<Record<string, unknown>>): void {
    const record = { level, service: this.service, message }
    this.#options.log(details === undefined ? record : { ...record, details })
  }
}

/** How long the end of a connection waits for the exit that explains it. */
const EXIT_WAIT_MS = 300
