// The neutral call, on which a client of any era meets a server of any era.
//
// A call carries its context with it and is settled once: whichever of answer,
// time-out, cancel, exit, close or overload comes first wins, and nothing else
// is ever said to the client for that id.

import type { ErrorBody } from '../jsonrpc/build.js'
import type { Reply } from '../jsonrpc/connection.js'
import type { NotificationFrame, RequestFrame, ResponseFrame, ResultFrame } from '../jsonrpc/frame.js'
import { type Line, toLine } from '../jsonrpc/line.js'
import type { RequestId } from '../jsonrpc/request-id.js'
import { quote } from '../jsonrpc/text.js'
import { type Edit, bothEdits, splice } from '../jsonrpc/splice.js'
import { type ApartUris, apartUriEdits } from '../mcp/apart-uris.js'
import type { CallContext } from '../mcp/client-context.js'
import { inputRefused } from '../mcp/error-codes.js'
import type { ListKind, RequestRow } from '../mcp/methods.js'
import type { Revision } from '../mcp/revisions.js'
import type { CallTrace } from '../mcp/meta-edits.js'
import type { CallDeadline } from './call-deadline.js'
import type { TaskKeeper } from './task.js'

/** How a call ends. `result` is raw JSON that the proxy made. */
export type Outcome =
  | {
      readonly kind: 'answered'
      readonly frame: ResponseFrame
      readonly edits: readonly Edit[]
      /** How the server writes its results. */
      readonly era: Revision['era']
      /** The call goes on as a task, which its client has now. */
      readonly isTask?: boolean
    }
  /** `refusal` says why, where the result tells the model that the call was not passed on. */
  | {
      readonly kind: 'result'
      readonly result: string | Uint8Array
      readonly refusal?: string
    }
  /** Its client is asked for input, and comes again: the result that asks, as the server wrote it or the proxy. */
  | { readonly kind: 'asked'; readonly frame: ResultFrame; readonly edits: readonly Edit[] }
  | { readonly kind: 'failed'; readonly error: ErrorBody }
  | { readonly kind: 'cancelled' }

/** Whether a call has ended with a result. */
export function isResult(outcome: Outcome): boolean {
  return outcome.kind === 'result' || (outcome.kind === 'answered' && outcome.frame.kind === 'result')
}

/** A server wants to know something before it goes on with a call (2026-07-28, Multi Round-Trip Requests). */
export interface InputNeeded {
  /** Its answer to the call: the result that says what it wants. */
  readonly frame: ResultFrame
  readonly service: string
  /** Sends a call to the server that has asked: the message of this one with further edits. */
  resume(call: Call, edits: readonly Edit[]): void
}

/** The state and the answers that a client returns to a server (2026-07-28, Multi Round-Trip Requests). */
export interface ReturnedInput {
  /** The server that wrote the state, where the state says it. */
  readonly service: string | undefined
  /** Remove what the proxy has added to the state. */
  readonly edits: readonly Edit[]
}

/** The server of a server's own request, which gets the answer. */
export interface Asker {
  readonly service: string
  /** Passes the client's answer on to the server, which knows its request as `id`. */
  answered(frame: ResponseFrame, id: RequestId): void
  /** Tells the server that its request will not be answered by a client. */
  refused(id: RequestId, error: ErrorBody): void
  /** Passes the client's progress on a server's request; the token is the server's own. */
  progressed(frame: NotificationFrame, edits: readonly Edit[]): void
}

/** A request from a server to a client. */
export interface ServerQuestion {
  readonly frame: RequestFrame
  readonly asker: Asker
  /** The call that it belongs to, where that is known. */
  readonly during: Call | undefined
  /** Remove the parts that the client must not see. */
  readonly edits?: readonly Edit[]
  /** Called when it is answered or given up: the time of the calls that it may be about goes on. */
  readonly onEnd: () => void
}

/** The requests of servers to one client. */
export interface Questions {
  /** A server asks; false when this client cannot be asked that. */
  ask(question: ServerQuestion): boolean
  /** A server withdraws its request. */
  withdraw(frame: NotificationFrame, asker: Asker): void
  /** Whether this server waits for an answer of the client. */
  owes(asker: Asker): boolean
  /** The server has ended, so its requests need no answers. */
  forget(asker: Asker): void
}

/** A client as servers see it. One whose revision has no sessions gets everything on the connections of its calls. */
export interface ClientPort {
  /** Tells it from all other clients of the proxy. */
  readonly serial: number
  readonly profile: CallContext
  readonly questions: Questions
  /** The request by which it has opened its session, where that is to reach the server; settled by the server's answer. */
  readonly opening?: Call | undefined
  /** It only makes servers start, so that nothing they say later can be about its business. */
  readonly asksNothing?: true
  /** A notification that belongs to this client and to no other, during a call where that is known. */
  tell(frame: NotificationFrame, edits: readonly Edit[], during: Call | undefined): void
  /** A log message; delivered when it is as severe as the client asked for. */
  log(frame: NotificationFrame, during: Call | undefined): void
  /** Whether it has a stream open, or waits for an answer, where its transport can tell. */
  readonly listens: boolean
  listsChanged(lists: readonly ListKind[]): void
}

/** Where a call is: in a queue, on a connection, or with a question to its client. The call notifies it when the client gives up. */
export interface CallHolder {
  /** The client needs no answer any more; `frame` is its notification, if it sent one. */
  cancel(frame: NotificationFrame | undefined, call: Call): void
  /** The call ends now: notes on it what only its holder knows. */
  settling?(call: Call): void
}

/** May refuse a call before anything is done for it. */
export interface CallGate {
  refusal(method: string): ErrorBody | undefined
}

/** The owner of a call, which gets its outcome. */
export interface CallOwner {
  /** Sends a server's notification about the call. */
  tell?(frame: NotificationFrame, edits: readonly Edit[], call: Call): void
  /** Sends a notification of the proxy about the call; `params` is raw JSON. */
  notify?(method: string, params: string, call: Call): void
  /** Splices one item of a list that the call gets; the forward tap sees it. */
  splice?(line: Line, edits: readonly Edit[]): Uint8Array
  /** It has ended; called once. */
  settled(call: Call, outcome: Outcome): void
  /** The server has questions about the call; absent for a client that cannot be asked, and for attempts that leave it to their call. */
  needsInput?(call: Call, needed: InputNeeded): void
  /** Another owner takes the call; this owner gets `by` in its place. */
  replaced?(call: Call, by: Call): void
}

export class Call implements CallHolder {
  /** The request of the client; a copy once the call is kept. */
  frame: RequestFrame
  readonly row: RequestRow
  readonly client: ClientPort
  context: CallContext
  /** The server that it is for, once that is known. */
  service: string | undefined
  /** The name of its tool or prompt at that server. */
  item: string | undefined
  #owner: CallOwner
  /** The way of its answer; undefined for a call of the proxy itself. */
  reply: Reply | undefined
  readonly deadline: CallDeadline
  #settled = false
  #isKept = false
  /** Whether its tool's structured results are shown as one member of an object to clients of a session. */
  isWrapped = false
  /** Addresses of its server that clients see otherwise. */
  apartUris: ApartUris | undefined
  /** Its principal, tool and arguments as one text, once a person has agreed to them. */
  confirmedAs: string | undefined
  trace: CallTrace | undefined
  /** How often it was given to another connection. */
  repeats = 0
  /** Orders the calls of one client that came at the same time. */
  serial = 0
  /** Keeps the task that it may begin; undefined if it begins none. */
  keeper: TaskKeeper | undefined
  /** It asks about a task, on the connection that has it: that is no work, and takes no slot. */
  isAboutTask = false
  /** Whether a session was opened anew because this call was refused in the one before. */
  hasRenewed = false
  /** Raw JSON of the client capabilities that its server needs and its client has not declared. */
  missingCapabilities: string | undefined
  #parent: Call | undefined
  /** The server without sessions to which it brings answers: no other server may get it. */
  pinnedTo: string | undefined
  /** It brings a server's state, or answers to its questions, back: only a server of 2026-07-28 may get it. */
  returned: ReturnedInput | undefined
  /** Its server has asked something, so it is never sent a second time. */
  wasAsked = false
  /** The greatest progress that its client got. */
  progress: number = Number.NEGATIVE_INFINITY
  /** The greatest progress of an earlier round; the client gets only greater ones. */
  progressFloor: number = Number.NEGATIVE_INFINITY
  /** Gets one `cancel` when the client needs no answer any more. */
  holder: CallHolder | undefined

  constructor(
    frame: RequestFrame,
    row: RequestRow,
    client: ClientPort,
    deadline: CallDeadline,
    owner: CallOwner,
    context: CallContext = client.profile,
  ) {
    this.context = context
    this.deadline = deadline
    this.frame = frame
    this.row = row
    this.client = client
    this.#owner = owner
  }

  get bytes(): number {
    return this.frame.line.length
  }

  get settled(): boolean {
    return this.#settled
  }

  /**
   * A call of the same request, for one server of several or for one round of several; a cancel of this call reaches it.
   *
   * A call could not be sent again itself: its outcome at one server, and what that server says of it late, must not be
   * taken for those of the next server.
   */
  attempt(owner: CallOwner): Call {
    const attempt = this.#twin(owner)
    attempt.#parent = this
    attempt.progressFloor = this.progress
    this.holder = attempt
    return attempt
  }

  /** The client's own call, of which this one may be an attempt. */
  get root(): Call {
    return this.#parent?.root ?? this
  }

  /** Gives the call to another owner; the one that it had gets a call of the same request, which is answered for itself. */
  handOver(owner: CallOwner): Call {
    const request = this.#twin(this.#owner)
    this.#owner.replaced?.(this, request)
    this.#owner = owner
    return request
  }

  #twin(owner: CallOwner): Call {
    const twin = new Call(this.frame, this.row, this.client, this.deadline, owner, this.context)
    twin.reply = this.reply
    twin.service = this.service
    twin.item = this.item
    twin.isWrapped = this.isWrapped
    twin.trace = this.trace
    twin.serial = this.serial
    return twin
  }

  /** Its server has asked for what its client has not declared; `capabilities` is raw JSON of what it would take. */
  noteMissing(capabilities: string): void {
    this.missingCapabilities ??= capabilities
    this.#parent?.noteMissing(capabilities)
  }

  /** Copies the message out of the chunk it came in, which can go then; for calls that wait. */
  keep(): void {
    if (this.#isKept) return
    this.#isKept = true
    this.frame = copied(this.frame)
  }

  settle(outcome: Outcome): void {
    if (this.#settled) return
    this.#settled = true
    this.holder?.settling?.(this)
    this.holder = undefined
    this.#owner.settled(this, this.apartUris === undefined ? outcome : withApart(outcome, this.apartUris))
  }

  /** Sends a server's notification about the call to its client. */
  tell(frame: NotificationFrame, edits: readonly Edit[]): void {
    const { root } = this
    root.#owner.tell?.(frame, edits, root)
  }

  /** Sends a notification of the proxy about the call; `params` is raw JSON. */
  notify(method: string, params: string): void {
    const { root } = this
    root.#owner.notify?.(method, params, root)
  }

  /** Splices one item of a list that the call gets. */
  splice(line: Line, edits: readonly Edit[]): Uint8Array {
    return this.root.#owner.splice?.(line, edits) ?? splice(line, edits).joined
  }

  /** Its server has questions before it goes on; the call has no holder until it is resumed. */
  needsInput(needed: InputNeeded): void {
    if (this.#settled) return
    this.holder = undefined
    if (this.#owner.needsInput !== undefined) this.#owner.needsInput(this, needed)
    else if (this.#parent !== undefined) this.#parent.needsInput(needed)
    else this.fail(inputRefused(needed.service))
  }

  fail(error: ErrorBody): void {
    this.settle({ kind: 'failed', error })
  }

  /** Ends a call of a tool with a result that says why (MCP, Tools: error handling); any other request with the error. */
  failTool(error: ErrorBody): void {
    const { route } = this.row
    if (route.to !== 'name' || route.list !== 'tools') return this.fail(error)
    this.settle({ kind: 'result', result: toolFailure(error.message), refusal: error.message })
  }

  /** The proxy gives up for the client, and tells both sides. */
  abandon(error: ErrorBody): void {
    const holder = this.holder
    this.fail(error)
    holder?.cancel(undefined, this)
  }

  /** The client gives up; `frame` is its notification, if it sent one. */
  cancel(frame: NotificationFrame | undefined): void {
    if (this.#settled) return
    const holder = this.holder
    this.settle({ kind: 'cancelled' })
    holder?.cancel(frame, this)
  }
}

/** The addresses in an answer, as clients see them. */
function withApart(outcome: Outcome, uris: ApartUris): Outcome {
  if (outcome.kind !== 'answered' || outcome.frame.kind !== 'result') return outcome
  const { line, result } = outcome.frame
  return { ...outcome, edits: bothEdits(outcome.edits, apartUriEdits(line, result, uris)) }
}

/** The request without the chunk that it came in. */
export function copied(frame: RequestFrame): RequestFrame {
  const { params } = frame
  const line = toLine(frame.line)
  const members = params.members.movedTo(line)
  const meta = members.inner('_meta') ?? params.meta
  return { ...frame, line, params: { ...params, members, meta } }
}

export function toolFailure(message: string): string {
  return `{"content":[{"type":"text","text":${quote(message)}}],"isError":true}`
}
