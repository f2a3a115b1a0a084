// One attached client: its connection, its protocol leg, its session and its requests.
//
// Every request that arrives on the connection leaves it once: answered, refused, or cancelled by its client.
// Requests without a session also arrive here. Their clients (`StatelessClient`) outlive the connection.

import { buildResult, type ErrorBody } from '../../jsonrpc/build.js'
import type { AnswerKind, Connection, Reply } from '../../jsonrpc/connection.js'
import { ChurnMap } from '../../jsonrpc/churn-map.js'
import type { FrameError, TransportError } from '../../jsonrpc/jsonrpc-errors.js'
import type { NotificationFrame, RequestFrame, ResponseFrame } from '../../jsonrpc/frame.js'
import { type Line, toLine } from '../../jsonrpc/line.js'
import { Peer, type PeerOwner, type PeerWatch } from '../../jsonrpc/peer.js'
import { canonical, type RequestId } from '../../jsonrpc/request-id.js'
import type { Edit, Message } from '../../jsonrpc/splice.js'
import { Call, type CallOwner, copied, type InputNeeded, type Outcome } from '../../calls/call.js'
import { CallDeadline } from '../../calls/call-deadline.js'
import type { CallContext, StatelessContext } from '../../mcp/client-context.js'
import { type ClientLeg, listenFilter } from '../../mcp/eras/client-leg.js'
import {
  clientUnreachable,
  idInUse,
  malformed,
  needsLogin,
  sessionEnded,
  shuttingDown,
  tooLong,
  tooManyCalls,
} from '../../mcp/error-codes.js'
import { answerOf } from '../../mcp/eras/results.js'
import { traceparentOf } from '../../mcp/meta-edits.js'
import { namesRevision } from '../../mcp/meta-keys.js'
import {
  cancelledId,
  clientNotifications,
  type ListKind,
  type RequestRow,
  severity,
} from '../../mcp/methods.js'
import { isFilter, subscribed } from '../../mcp/subscription-edits.js'
import { askClient } from '../input/input-rounds.js'
import type { CatalogView } from '../routing/views.js'
import type { RoutedClient, Router } from '../routing/router.js'
import type { SessionStatus } from '../routing/session-status.js'
import type { ClientContext, ClientDirectory } from './client-directory.js'
import { ClientReports } from './client-reports.js'
import { receiveBatch } from './batch.js'
import { type CallKey, Session } from './session.js'
import { type Question, SessionQuestions } from './session-questions.js'
import { StatelessClient } from './stateless-client.js'

function keyOf(id: RequestId, reply: Reply | undefined): CallKey {
  return reply?.isCancelledByClosing === true ? reply : canonical(id)
}

/** A client with a connection. The connection may also carry the requests of many clients without a session. */
export class AttachedClient implements CallOwner, PeerOwner<Question>, RoutedClient {
  readonly serial: number
  readonly view: CatalogView
  readonly session: Session
  readonly questions: SessionQuestions
  /** The `initialize` that the proxy passed to its one server. */
  opening: Call | undefined
  readonly #connection: Connection
  readonly #leg: ClientLeg
  readonly #directory: ClientDirectory
  readonly #context: ClientContext
  readonly #peer: Peer<Question>
  readonly #reports: ClientReports
  readonly #calls = new ChurnMap<CallKey, Call>()
  #lastCall = 0
  readonly #attachedAtMs: number
  /** Routes to the servers of the session; undefined until a request needs a server. */
  #router: Router | undefined
  #hasStateless = false

  /** `view` applies to every client whose requests arrive on the connection. */
  constructor(
    connection: Connection,
    serial: number,
    leg: ClientLeg,
    view: CatalogView,
    directory: ClientDirectory,
    watch: PeerWatch,
  ) {
    const { context } = directory
    const { runtime, limits } = context
    this.serial = serial
    this.view = view
    this.#connection = connection
    this.#leg = leg
    this.#directory = directory
    this.#context = context
    this.#attachedAtMs = runtime.wallNow()
    this.#reports = new ClientReports(context, serial)
    this.#peer = new Peer(connection, this, { ...limits.session, watch })
    this.session = new Session(context, () => this.#giveUp())
    this.questions = new SessionQuestions(this.#peer, this, limits.session.earlyMax)
    this.#peer.start()
  }

  /** Undefined if the connection has carried only stateless requests: their clients have a separate status. */
  status(): SessionStatus | undefined {
    const { info: client, revision } = this.profile
    if (this.#hasStateless && client === undefined && this.#router === undefined) return undefined
    return {
      client,
      view: this.view.name || undefined,
      tools: this.#router?.shown('tools').length,
      revision: revision.version,
      connectedAtMs: this.#attachedAtMs,
      processes: this.#router?.processes ?? [],
      unreadBytes: this.backlogBytes,
    }
  }

  /** Lets running calls finish for up to `graceMs`, answers the others with an error, and closes the connection. */
  drain(exitCode = 0, graceMs: number = this.#context.limits.drainMs): void {
    this.session.drain(exitCode, graceMs)
    this.#closeIfIdle()
  }

  get profile(): CallContext {
    return this.#leg.profile
  }

  get isReady(): boolean {
    return this.questions.isReady
  }

  get listens(): boolean {
    return this.#connection.busy ?? false
  }

  listsChanged(kinds: readonly ListKind[]): void {
    this.#router?.onListsChanged(kinds)
  }

  notifyChanges(methods: ReadonlySet<string>): void {
    for (const method of methods) this.notify(method)
  }

  log(frame: NotificationFrame, during: Call | undefined): void {
    const level = severity(frame.params.members.string('level'))
    if (level < 0 || level >= severity(this.profile.logLevel)) this.tell(frame, [], during)
  }

  request(frame: RequestFrame, _during: Question | undefined, reply: Reply): void {
    // MCP, Lifecycle: a client may send a ping before the proxy answers `initialize`.
    if (this.session.isOpening && frame.method !== 'ping' && !namesRevision(frame)) {
      const kept = copied(frame)
      const run = (): void => this.request(kept, undefined, reply)
      if (this.session.defer(run, frame.line.length, reply, keyOf(frame.id, reply))) return
    }
    if (this.#calls.get(keyOf(frame.id, reply))) return this.refuse(reply, frame.id, idInUse(frame.id))
    const received = this.#leg.received(frame)
    if ('code' in received) return this.#refuse(frame, received, reply)
    const { row, context } = received
    if (context === undefined) this.#inSession(frame, row, reply)
    else if (this.session.isEnding) this.#refuse(frame, this.#ending(), reply)
    else if (row.method === 'server/discover') this.#discover(frame, context, reply)
    else this.#callStateless(frame, row, context, reply)
  }

  notification(frame: NotificationFrame): void {
    switch (clientNotifications.get(frame.method)?.does) {
      case 'initialized':
        // MCP, Lifecycle: the client has received the answer to `initialize`.
        return this.#inTurn(() => this.#ready())
      case 'cancel':
        return this.#cancel(cancelledId(frame), frame)
      case 'progress':
        return this.questions.progressed(frame)
      case 'news':
        return this.#router?.rootsChanged(frame)
      case 'exit':
        return this.#inTurn(() => this.drain(this.session.exitCode))
      case undefined:
        return this.#log(`a notification '${frame.method}' was ignored`)
    }
  }

  response(frame: ResponseFrame, question: Question): void {
    this.questions.answered(frame, question)
  }

  gaveUp(reply: Reply): void {
    this.#cancel(reply, undefined)
  }

  #cancel(key: CallKey | undefined, frame: NotificationFrame | undefined): void {
    if (key === undefined) return
    const call = this.#calls.get(key)
    if (call !== undefined) call.cancel(frame)
    // If the request is in a deferred batch, cancel it after the batch is read.
    else if (!this.session.cancelDeferred(key))
      this.session.defer(() => this.#calls.get(key)?.cancel(undefined))
  }

  /** Calls `run` after `initialize` is answered, or now if no `initialize` is pending or the queue is full. */
  #inTurn(run: () => void): void {
    if (!this.session.defer(run)) run()
  }

  stray(frame: ResponseFrame): void {
    this.#log(`an answer with id ${frame.id ?? 'null'} that belongs to no open request`)
  }

  batch(line: Line, reply: Reply): void {
    if (this.session.isOpening) {
      const kept = toLine(line)
      if (this.session.defer(() => this.batch(kept, reply), line.length, reply)) return
    }
    // If the queue of deferred messages is full, the proxy refuses each call of the batch.
    receiveBatch(line, this.#leg, reply, this.#send, (message, own) =>
      this.#peer.receive(message, undefined, own),
    )
  }

  failed(question: Question | undefined, error: TransportError): void {
    this.#log(error.message)
    if (question !== undefined) this.questions.refused(question, clientUnreachable())
  }

  malformed(error: FrameError): void {
    this.#inTurn(() => this.refuse(this.#peer.ownReply, error.id, malformed(error)))
  }

  oversize(id: RequestId | undefined, question: Question | undefined, bytes: number): void {
    const error = tooLong(bytes, this.#context.limits.session.ndjson.lineBytesMax)
    if (question === undefined) this.#inTurn(() => this.refuse(this.#peer.ownReply, id, error))
    else this.questions.refused(question, error)
  }

  drained(): void {
    this.#context.unread.remove(this)
    this.#router?.setReading(true)
  }

  ended(): void {
    this.questions.refuseAll()
    // A client may close its output after its last request, and still gets the answers.
    this.#inTurn(() => this.drain())
  }

  closed(cause: TransportError | undefined): void {
    this.#context.unread.remove(this)
    // Cancel the calls first: a server must not continue a call because its question was refused.
    for (const call of this.#calls.values()) call.cancel(undefined)
    this.questions.refuseAll()
    this.session.finish()
    const over = (): void => {
      this.#directory.detached(this.serial)
      this.#reports.gone()
      this.session.close(cause)
    }
    const left = this.#router?.leave()
    if (left === undefined) over()
    else void left.finally(over)
  }

  tell(frame: NotificationFrame, edits: readonly Edit[], call: Call | undefined): void {
    this.#peer.pass(frame, edits, { reply: call?.reply })
    this.sent()
  }

  /** Sends a notification of the proxy itself, which may be about a call; `params` is raw JSON. */
  notify(method: string, params?: string, call?: Call): void {
    this.#peer.notify(method, params, { reply: call?.reply })
    this.sent()
  }

  splice(line: Line, edits: readonly Edit[]): Uint8Array {
    return this.#peer.item(line, edits)
  }

  refuse(to: Reply, id: RequestId | undefined, error: ErrorBody): void {
    this.#send(to, 'error', this.#leg.refusal(id, error))
  }

  /** `result` is raw JSON. */
  #result(to: Reply, id: RequestId, result: string): void {
    this.#send(to, 'result', buildResult(id, result))
  }

  /** Every answer to the client leaves through this function. */
  readonly #send = (to: Reply, kind: AnswerKind, answer: Message): void => {
    to.answer(answer, kind)
    this.sent()
  }

  /** Call this after each message to the client: it handles a client that reads too slowly. */
  sent(): void {
    if (!this.#connection.congested) return
    this.#router?.setReading(false)
    if (this.backlogBytes > this.#context.limits.session.backlogBytesMax)
      this.disconnectSlow(this.backlogBytes)
    else this.#context.unread.add(this)
  }

  get backlogBytes(): number {
    return this.#connection.backlogBytes
  }

  /** Disconnects the client, or the slowest of its streams, and returns how many of `bytes` that frees. */
  disconnectSlow(bytes: number): number {
    const cut = this.#connection.cutSlowest?.() ?? 0
    const message =
      cut > 0
        ? `a client without a session leaves ${cut} bytes of an answer unread: its connection is cut`
        : `the client leaves ${bytes} bytes unread and is disconnected`
    this.#context.log({ level: 'error', message })
    if (cut > 0) return cut
    void this.#peer.close(true)
    return bytes
  }

  /** Returns the router. The first call creates it, and reports the client as attached. */
  #openRouter(): Router {
    if (this.#router === undefined) {
      this.#reports.attached(this.profile)
      this.#router = this.#context.openRouter(this)
    }
    return this.#router
  }

  #inSession(frame: RequestFrame, row: RequestRow, reply: Reply): void {
    if (row.route.to !== 'proxy') return this.#call(frame, row, reply)
    switch (row.method) {
      case 'initialize':
        return this.#initialize(frame, row, reply)
      case 'logging/setLevel':
        return this.#setLevel(frame, reply)
      case 'shutdown':
        this.session.announceEnd()
        return this.#result(reply, frame.id, '{}')
      default:
        return this.#result(reply, frame.id, '{}')
    }
  }

  #initialize(frame: RequestFrame, row: RequestRow, to: Reply): void {
    const fault = this.#leg.initialize(frame)
    if (fault !== undefined) return this.#refuse(frame, fault, to)
    // A call before `initialize` has opened the server already. After a refusal, the client may try again.
    const isFirst = this.#router === undefined || this.opening !== undefined
    if (this.#context.isTransparent() && isFirst) return this.#pass(frame, row, to)
    this.session.open(() => this.#result(to, frame.id, this.#described()))
    const { settled } = this.#openRouter()
    if (settled === undefined) this.#opened()
    else void settled.then(() => this.#opened())
  }

  /** The proxy's own result of `initialize`, as raw JSON. */
  #described(): string {
    return this.#leg.initializeResult(this.#openRouter().describe())
  }

  /**
   * Opens the server with the client's own request, and passes the response to the client. If the server
   * requires a login, the proxy answers instead, so that the client stays until a person has logged in.
   */
  #pass(frame: RequestFrame, row: RequestRow, to: Reply): void {
    let outcome: Outcome = { kind: 'failed', error: shuttingDown() }
    const onSettled = (_opening: Call, came: Outcome): void => {
      const wantsLogin = came.kind === 'failed' && needsLogin(came.error)
      outcome = wantsLogin ? { kind: 'result', result: this.#described() } : came
      this.#leg.passed(outcome)
      this.#opened()
    }
    const opening = new Call(frame, row, this, new CallDeadline(this.#context.runtime.now()), {
      onSettled,
    })
    // Every later session with the server is opened with the same bytes.
    opening.keep()
    opening.reply = to
    this.session.open(() => this.#answer(opening, outcome))
    void this.#router?.leave()
    this.#router = undefined
    this.opening = opening
    this.#openRouter()
  }

  #setLevel(frame: RequestFrame, to: Reply): void {
    const level = this.#leg.setLevel(frame)
    if (typeof level !== 'string') return this.#refuse(frame, level, to)
    this.#openRouter().setLogLevel(level)
    this.#result(to, frame.id, '{}')
  }

  #opened(): void {
    this.session.opened()
    this.#closeIfIdle()
  }

  #ready(): void {
    this.questions.ready()
    this.#router?.clientIsReady()
  }

  onSettled(call: Call, outcome: Outcome): void {
    this.#calls.take(keyOf(call.frame.id, call.reply))
    this.#answer(call, outcome)
    if (call.client instanceof StatelessClient) call.client.ended(call, outcome)
    else this.#reports.settled(call, outcome)
    this.#closeIfIdle()
  }

  onInputNeeded(call: Call, needed: InputNeeded): void {
    const context = this.#context
    if (!(call.client instanceof StatelessClient))
      return askClient(call, needed, context.limits.session.input, context.runtime)
    context.policy()?.continues(call)
    context.pending.relay(call, needed)
  }

  onReplaced(_call: Call, by: Call): void {
    this.#calls.set(keyOf(by.frame.id, by.reply), by)
  }

  #call(frame: RequestFrame, row: RequestRow, reply: Reply): void {
    if (this.session.isEnding) return this.#refuse(frame, this.#ending(), reply)
    // `initialize` is still pending only if the session could not defer the call.
    if (this.#isFull || this.session.isOpening) return this.#refuse(frame, tooManyCalls(), reply)
    const call = new Call(frame, row, this, new CallDeadline(this.#context.runtime.now()), this)
    this.#begin(call, reply)
    this.#openRouter().route(call)
  }

  #callStateless(frame: RequestFrame, row: RequestRow, context: StatelessContext, reply: Reply): void {
    const filter = row.staysOpen === true ? listenFilter(frame, context) : undefined
    if (filter !== undefined && !isFilter(filter)) return this.#refuse(frame, filter, reply)
    const client = this.#isFull ? undefined : this.#directory.stateless(context, this.view)
    if (client === undefined) return this.#refuse(frame, tooManyCalls(), reply)
    this.#hasStateless = true
    const deadline = new CallDeadline(this.#context.runtime.now())
    const call = new Call(frame, row, client, deadline, this, context)
    this.#begin(call, reply)
    if (filter === undefined) client.route(call)
    else client.listen(call, filter)
  }

  /** A single server describes itself. For several servers, the proxy presumes the facts that it does not know yet. */
  #discover({ id }: RequestFrame, context: StatelessContext, to: Reply): void {
    const describe = (): void =>
      this.#result(to, id, this.#leg.discoverResult(this.#context.describe(this.view)))
    const settled = this.#context.isTransparent()
      ? this.#directory.stateless(context, this.view)?.settled
      : undefined
    if (settled === undefined || this.session.isOpening) return this.#inTurn(describe)
    this.session.open(describe)
    void settled.then(() => this.#opened())
  }

  #begin(call: Call, reply: Reply): void {
    const { frame } = call
    const { tracer } = this.#context
    if (tracer !== undefined)
      call.trace = tracer.begin(traceparentOf(frame) ?? reply.field?.('traceparent'), frame.id)
    call.reply = reply
    call.serial = ++this.#lastCall
    this.#calls.set(keyOf(frame.id, reply), call)
  }

  get #isFull(): boolean {
    return this.#calls.size >= this.#context.limits.session.callsMax
  }

  #answer(call: Call, outcome: Outcome): void {
    const answer = answerOf(call, outcome, this.#peer)
    if (answer === undefined) call.reply?.drop()
    else if (call.reply !== undefined) this.#send(call.reply, answer.kind, answer.message)
  }

  #refuse(frame: RequestFrame, error: ErrorBody, reply: Reply): void {
    this.refuse(reply, frame.id, this.#reports.refused(frame, error, this.#leg.profile))
  }

  #giveUp(): void {
    this.session.opened()
    for (const call of this.#calls.values()) call.abandon(this.#ending())
    this.#closeIfIdle()
  }

  #ending(): ErrorBody {
    return this.#directory.isClosing ? shuttingDown() : sessionEnded()
  }

  #closeIfIdle(): void {
    if (!this.session.isDraining) return
    for (const call of this.#calls.values())
      if (call.row.staysOpen === true) call.settle({ kind: 'result', result: subscribed(call.frame.id) })
    if (this.#calls.size > 0 || this.session.hasPendingAnswers) return
    this.session.finish()
    void this.#peer.close()
  }

  #log(message: string): void {
    this.#context.log({ level: 'debug', message })
  }
}
