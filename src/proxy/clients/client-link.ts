// One attached client: its connection, its leg, and its requests.
//
// Every request that arrives here leaves here once: answered, refused, or
// cancelled by the client that sent it.

import { Replies, receiveBatch } from './replies.js'
import { Draining } from './draining.js'
import { Flow } from './flow.js'
import type { ErrorBody } from '../../jsonrpc/build.js'
import type { Connection, Reply } from '../../jsonrpc/connection.js'
import type { FrameError, TransportError } from '../../jsonrpc/jsonrpc-errors.js'
import type { NotificationFrame, RequestFrame, ResponseFrame } from '../../jsonrpc/frame.js'
import type { Line } from '../../jsonrpc/line.js'
import { Peer, type PeerOwner, type PeerWatch } from '../../jsonrpc/peer.js'
import { canonical, type RequestId } from '../../jsonrpc/request-id.js'
import { Call, type Outcome, type CallOwner, type InputNeeded, isResult } from '../../calls/call.js'
import { CallDeadline } from '../../calls/call-deadline.js'
import type { ClientLeg, Received } from '../../mcp/eras/client-leg.js'
import {
  clientUnreachable,
  idInUse,
  invalidRequest,
  malformed,
  needsLogin,
  sessionEnded,
  shuttingDown,
  tooLong,
  tooManyCalls,
} from '../../mcp/error-codes.js'
import { cancelledId, type RequestRow } from '../../mcp/methods.js'
import { Opening } from './opening.js'
import type { ClientContext, ClientDirectory, StatelessSender } from './client-directory.js'
import { type Question, SessionClient } from './session-client.js'
import type { CatalogView } from '../routing/catalog-view.js'
import type { SessionStatus } from '../routing/session-status.js'
import { ChurnMap } from '../../jsonrpc/fast/churn-map.js'
import { subscribed } from '../../mcp/subscription-edits.js'
import { traceparentOf } from '../../mcp/meta-edits.js'
import { askClient } from '../input/input-rounds.js'
import type { ClientReports } from './client-reports.js'

/** The connection of one client, or of many that have no session. */
export class ClientLink implements PeerOwner<Question> {
  readonly draining: Draining
  readonly #leg: ClientLeg
  readonly #directory: ClientDirectory
  readonly #context: ClientContext
  readonly #peer: Peer<Question>
  readonly #client: SessionClient
  readonly #calls: LinkCalls
  readonly #flow: Flow
  readonly #replies: Replies
  readonly #opening: Opening
  /** A call is routed, held until `initialize` is answered, or refused because the session ends. */
  #intake: 'route' | 'hold' | 'refuse' = 'route'
  /** Whether the server refused the client's own `initialize`, so that the client may try again. */
  #isRefused = false
  /** Whether a request without a session has come. */
  #hasStateless = false

  /** `view` is that of its client, and of each client whose requests come on it. */
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
    this.#leg = leg
    this.#directory = directory
    this.#context = context
    this.draining = new Draining(runtime, () => this.#giveUp())
    this.#peer = new Peer(connection, this, { ...limits.session, watch })
    this.#flow = new Flow(connection, this.#peer, context, (on) => this.#client.routes?.read(on))
    this.#opening = new Opening(runtime, limits.session)
    this.#replies = new Replies(this.#peer, leg, this.#flow, this.#opening)
    this.#client = new SessionClient(serial, leg, view, this.#peer, this.#replies, context)
    this.#calls = new LinkCalls(context, this.#client.reports, this.#replies, () => this.#closeIfIdle())
    this.#peer.start()
  }

  get view(): CatalogView {
    return this.#client.view
  }

  /** Undefined for a connection that has brought nothing but requests without a session: their clients are known elsewhere. */
  status(): SessionStatus | undefined {
    const { profile, routes } = this.#client
    const isStateless = this.#hasStateless && profile.info === undefined && routes === undefined
    return isStateless ? undefined : this.#client.status()
  }

  /** Lets calls finish for up to `graceMs`, answers all others with an error, and closes. */
  drain(exitCode = 0, graceMs: number = this.#context.limits.drainMs): void {
    this.#intake = 'refuse'
    this.draining.begin(exitCode, graceMs)
    this.#closeIfIdle()
  }

  request(frame: RequestFrame, _during: Question | undefined, reply: Reply): void {
    if (this.#calls.open.has(keyOf(frame.id, reply)))
      return this.#replies.inTurn(reply, 'error', this.#leg.refusal(frame.id, idInUse(frame.id)))
    const received = this.#leg.received(frame)
    switch (received.kind) {
      case 'call':
        return this.#call(frame, received.row, reply)
      case 'stateless':
        if (this.#intake === 'refuse') return this.#refuse(frame, this.#ending(), reply)
        return this.#beginStateless(frame, received, reply)
      case 'discover':
        if (this.#intake === 'refuse') return this.#refuse(frame, this.#ending(), reply)
        return this.#discover(frame.id, received, reply)
      case 'ping':
        return this.#replies.pong(reply, frame.id)
      case 'refused':
        return this.#refuse(frame, received.error, reply)
      case 'level':
        this.#client.setLevel(received.level)
        return this.#replies.result(reply, frame.id, '{}')
      case 'open':
        return this.#open(frame, received, reply)
      case 'shutdown':
        return this.#shutDown(frame.id, reply)
    }
  }

  notification(frame: NotificationFrame): void {
    const received = this.#leg.receivedNotification(frame)
    if (received.kind === 'exit') return this.#leave(received.exitCode)
    if (received.kind === 'unknown') return this.#log(`a notification '${frame.method}' was ignored`)
    switch (received.row.does) {
      case 'initialized':
        // MCP, Lifecycle: the client has had the answer to `initialize`.
        return this.#opening.behind(0, () => this.#client.ready())
      case 'cancel':
        return this.#opening.giveUp(this.#calls.cancel(frame))
      case 'progress':
        return this.#client.questions.progressed(frame)
      case 'news':
        return this.#client.routes?.rootsChanged(frame)
      case 'exit':
        return
    }
  }

  response(frame: ResponseFrame, question: Question): void {
    this.#client.questions.answered(frame, question)
  }

  gaveUp(reply: Reply): void {
    this.#calls.giveUp(reply)
  }

  stray(frame: ResponseFrame): void {
    this.#log(`an answer with id ${frame.id ?? 'null'} that nobody waits for`)
  }

  batch(line: Line, reply: Reply): void {
    const { frame: limits } = this.#context.limits.session
    receiveBatch(line, this.#leg, limits, this.#replies, reply, (frame, own) =>
      this.#peer.receive(frame, undefined, own),
    )
  }

  failed(question: Question | undefined, error: TransportError): void {
    this.#log(error.message)
    if (question !== undefined) this.#client.questions.refused(question, clientUnreachable())
  }

  malformed(error: FrameError): void {
    this.#replies.refuse(this.#peer.ownReply, error.id, malformed(error))
  }

  oversize(id: RequestId | undefined, question: Question | undefined, bytes: number): void {
    const error = tooLong(bytes, this.#context.limits.session.ndjson.lineBytesMax)
    if (question === undefined) this.#replies.refuse(this.#peer.ownReply, id, error)
    else this.#client.questions.refused(question, error)
  }

  drained(): void {
    this.#flow.drained()
  }

  ended(): void {
    this.#client.questions.left()
    this.#leave(0)
  }

  closed(unanswered: readonly Question[], cause: TransportError | undefined): void {
    this.#flow.ended()
    // Calls end before servers get the refusals of their questions, so that no call goes on.
    this.#calls.cancelAll()
    this.#client.questions.gone(unanswered)
    this.#intake = 'refuse'
    this.draining.finish()
    const over = (): void => {
      this.#directory.detached(this.#client.serial)
      this.#client.reports.gone()
      this.draining.end(cause)
    }
    const left = this.#client.routes?.leave()
    if (left === undefined) over()
    else void left.finally(over)
  }

  /** Answers `initialize` with what is behind the proxy, and only then what came after it. */
  #open(frame: RequestFrame, open: OpenRequest, to: Reply): void {
    const { passed } = open
    // A call before `initialize` has opened the server already.
    if (passed !== undefined && (this.#client.routes === undefined || this.#isRefused))
      return this.#pass(frame, open, passed, to)
    const { reply } = open
    const routes = this.#client.openRoutes()
    this.#hold(() => this.#replies.result(to, frame.id, reply(routes.describe())))
    if (routes.settled === undefined) this.#opened()
    else void routes.settled.then(() => this.#opened())
  }

  /**
   * Opens the server with the client's own request; its answer, or why there is none, is the client's. A server that wants a
   * login is described as one that says nothing yet, so that the client stays until there is a login.
   */
  #pass(
    frame: RequestFrame,
    { row, reply }: OpenRequest,
    passed: (outcome: Outcome) => void,
    to: Reply,
  ): void {
    let outcome: Outcome = { kind: 'failed', error: shuttingDown() }
    this.#isRefused = false
    const deadline = new CallDeadline(this.#context.runtime.now())
    const opening = new Call(frame, row, this.#client, deadline, {
      settled: (_opening, came) => {
        outcome =
          came.kind === 'failed' && needsLogin(came.error)
            ? { kind: 'result', result: reply(this.#client.openRoutes().describe()) }
            : came
        this.#isRefused = !isResult(outcome)
        passed(outcome)
        this.#opened()
      },
    })
    // Every later session with the server is opened with the same bytes.
    opening.keep()
    opening.reply = to
    this.#hold(() => this.#replies.settle(opening, outcome), true)
    void this.#client.routes?.leave()
    this.#client.routes = undefined
    this.#client.opening = opening
    this.#client.openRoutes()
  }

  /** One server describes itself; what is not known of several is presumed. */
  #discover(id: RequestId, { context, reply }: Received & { readonly kind: 'discover' }, to: Reply): void {
    const describe = (): void =>
      this.#replies.result(to, id, reply(this.#context.describe(this.#client.view)))
    const settled = this.#context.isTransparent()
      ? this.#directory.sender(context, this.view)?.client.settled
      : undefined
    if (settled === undefined || this.#opening.on) return this.#opening.behind(0, describe, id)
    this.#hold(describe)
    void settled.then(() => this.#opened())
  }

  /** Calls wait until `initialize` is answered. */
  #hold(answer: () => void, passes = false): void {
    if (this.#intake === 'route') this.#intake = 'hold'
    this.#opening.begin(answer, passes)
  }

  #endOpening(): void {
    if (this.#intake === 'hold') this.#intake = 'route'
    this.#opening.end()
  }

  #opened(): void {
    this.#endOpening()
    if (this.#intake === 'refuse') this.draining.wait(this.#context.limits.drainMs)
    this.#closeIfIdle()
  }

  /** The client leaves. A server that it opens answers first, within the time for that. */
  #leave(exitCode: number): void {
    if (this.#opening.passes) this.#opening.behind(0, () => this.drain(exitCode))
    else this.drain(exitCode)
  }

  #shutDown(id: RequestId, to: Reply): void {
    if (this.draining.owesAnswer)
      return this.#replies.refuse(to, id, invalidRequest('a shutdown is under way'))
    const graceMs = this.#opening.passes ? Infinity : this.#context.limits.drainMs
    this.#intake = 'refuse'
    this.draining.announce(graceMs, () => this.#replies.result(to, id, '{}'))
    this.#closeIfIdle()
  }

  #call(frame: RequestFrame, row: RequestRow, reply: Reply): void {
    if (this.#intake === 'refuse') return this.#refuse(frame, this.#ending(), reply)
    const { limits, runtime } = this.#context
    const { profile } = this.#leg
    const call = new Call(frame, row, this.#client, new CallDeadline(runtime.now()), this.#calls, profile)
    const isEarly = this.#intake === 'hold'
    const isFull =
      this.#calls.open.size >= limits.session.callsMax || (isEarly && !this.#opening.hasRoom(call.bytes))
    if (isFull) return this.#refuse(frame, tooManyCalls(), reply)
    this.#calls.add(call, reply)
    const { router } = this.#client.openRoutes()
    if (!isEarly) return router.route(call)
    this.#opening.hold(call, () => {
      call.beginAt(runtime.now())
      router.route(call)
    })
  }

  #beginStateless(
    frame: RequestFrame,
    { row, context, filter }: Received & { readonly kind: 'stateless' },
    reply: Reply,
  ): void {
    const { limits, runtime } = this.#context
    const isFull = this.#calls.open.size >= limits.session.callsMax
    const sender = isFull ? undefined : this.#directory.sender(context, this.view)
    if (sender === undefined) return this.#refuse(frame, tooManyCalls(), reply)
    const { client, seen } = sender
    this.#hasStateless = true
    seen.begun(context)
    const owner = new StatelessRequest(this.#calls, sender)
    const { field } = reply
    const withField = field === undefined ? context : { ...context, field }
    const call = new Call(frame, row, client, new CallDeadline(runtime.now()), owner, withField)
    this.#calls.add(call, reply)
    if (filter === undefined) client.route(call)
    else client.listen(call, filter)
  }

  #refuse(frame: RequestFrame, error: ErrorBody, reply: Reply): void {
    this.#replies.refuse(reply, frame.id, this.#client.reports.refused(frame, error, this.#leg.profile))
  }

  #giveUp(): void {
    this.#endOpening()
    this.#calls.abandonAll(this.#ending())
    this.#closeIfIdle()
  }

  /** Why a call is not answered while the session ends. */
  #ending(): ErrorBody {
    return this.#directory.isClosing ? shuttingDown() : sessionEnded()
  }

  /** The session ends, or its `shutdown` is answered, when nothing runs any more. */
  #closeIfIdle(): void {
    if (this.#intake !== 'refuse') return
    this.#calls.endListening()
    if (this.#calls.open.size > 0 || this.#opening.owes) return
    if (this.draining.rest()) void this.#peer.close()
  }

  #log(message: string): void {
    this.#context.log({ level: 'debug', message })
  }
}

type OpenRequest = Received & { readonly kind: 'open' }

/** The id of a call by which its client cancels it, in one spelling, or the response that the client closes for that. */
type CallKey = RequestId | Reply

function keyOf(id: RequestId, reply: Reply | undefined): CallKey {
  return reply?.isCancelledByClosing === true ? reply : canonical(id)
}

/** Holds the calls of one channel, and owns those of its session. */
class LinkCalls implements CallOwner {
  readonly channel: Replies
  readonly #calls = new ChurnMap<CallKey, Call>()
  readonly open: Pick<ChurnMap<CallKey, Call>, 'has' | 'size'> = this.#calls
  readonly #context: Pick<ClientContext, 'limits' | 'runtime' | 'tracer'>
  readonly #reports: ClientReports
  readonly #onAnswered: () => void
  #last = 0

  /** `onAnswered` is called when a call has ended. */
  constructor(
    context: Pick<ClientContext, 'limits' | 'runtime' | 'tracer'>,
    reports: ClientReports,
    replies: Replies,
    onAnswered: () => void,
  ) {
    this.#context = context
    this.#reports = reports
    this.channel = replies
    this.#onAnswered = onAnswered
  }

  add(call: Call, reply: Reply): void {
    call.reply = reply
    call.serial = ++this.#last
    const { tracer } = this.#context
    if (tracer !== undefined)
      call.trace = tracer.begin(traceparentOf(call.frame) ?? reply.field?.('traceparent'), call.frame.id)
    call.deadline.isTimed = this.#reports.heard.has('call')
    this.#calls.set(keyOf(call.frame.id, reply), call)
  }

  /** The request is answered by another call, which has the place of this one. */
  replaced(call: Call, by: Call): void {
    this.#calls.set(keyOf(call.frame.id, call.reply), by)
  }

  settled(call: Call, outcome: Outcome): void {
    this.#answer(call, outcome)
    const reports = this.#reports
    const isResult = outcome.kind === 'answered' && outcome.frame.kind === 'result'
    // Nearly all outcomes are results, and few programs listen to those.
    if (!isResult || reports.heard.has('call')) reports.settled(call, outcome)
    this.#onAnswered()
  }

  needsInput(call: Call, needed: InputNeeded): void {
    askClient(call, needed, this.#context.limits.session.input, this.#context.runtime)
  }

  /** Sends the answer of a call that has ended. */
  answer(call: Call, outcome: Outcome): void {
    this.#answer(call, outcome)
    this.#onAnswered()
  }

  /** The call that a cancellation names is not wanted any more; gives the id, canonical (MCP, Utilities: cancellation). */
  cancel(frame: NotificationFrame): RequestId | undefined {
    const id = cancelledId(frame)
    if (id !== undefined) this.#calls.get(id)?.cancel(frame)
    return id
  }

  /** The call that is answered there is not wanted any more. */
  giveUp(reply: Reply): void {
    this.#calls.get(reply)?.cancel(undefined)
  }

  /** Ends the requests that stay open. */
  endListening(): void {
    for (const call of this.#calls.values())
      if (call.row.stays === true) call.settle({ kind: 'result', result: subscribed(call.frame.id) })
  }

  /** The client is gone. */
  cancelAll(): void {
    for (const call of this.#calls.values()) call.cancel(undefined)
  }

  /** Each call is answered with this error, and its server gets a cancellation. */
  abandonAll(error: ErrorBody): void {
    for (const call of this.#calls.values()) call.abandon(error)
  }

  #answer(call: Call, outcome: Outcome): void {
    this.#calls.take(keyOf(call.frame.id, call.reply))
    this.channel.settle(call, outcome)
  }
}

/** The owner of one request without a session: its client may have others on other connections. */
class StatelessRequest implements CallOwner {
  readonly channel: Replies
  readonly #calls: LinkCalls
  readonly #sender: StatelessSender

  constructor(calls: LinkCalls, sender: StatelessSender) {
    this.channel = calls.channel
    this.#calls = calls
    this.#sender = sender
  }

  settled(call: Call, outcome: Outcome): void {
    const { client, seen } = this.#sender
    client.ended(call)
    seen.settled(call, outcome)
    this.#calls.answer(call, outcome)
  }

  needsInput(call: Call, needed: InputNeeded): void {
    this.#sender.client.needsInput(call, needed)
  }

  replaced(call: Call, by: Call): void {
    this.#calls.replaced(call, by)
  }
}
