// The neutral call, with which a client of any era reaches a server of any era.
//
// A call carries its context and is settled once: the first of answer, time-out, cancellation, exit, close
// and overload wins, and the client gets nothing else for that id.

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
      /** The era of the server, which decides the form of its results. */
      readonly era: Revision['era']
      /** Whether the call continues as a task, which the client has now. */
      readonly isTask?: boolean
    }
  /** `refusal` is the reason, if the result tells the model that the proxy did not pass the call. */
  | {
      readonly kind: 'result'
      readonly result: string | Uint8Array
      readonly refusal?: string
    }
  /** The client is asked for input, and sends the request again. The server or the proxy wrote the result that asks. */
  | { readonly kind: 'asked'; readonly frame: ResultFrame; readonly edits: readonly Edit[] }
  | { readonly kind: 'failed'; readonly error: ErrorBody }
  | { readonly kind: 'cancelled' }

export function isResult(outcome: Outcome): boolean {
  return outcome.kind === 'result' || (outcome.kind === 'answered' && outcome.frame.kind === 'result')
}

/** A server needs input before it continues a call (2026-07-28, Multi Round-Trip Requests). */
export interface InputNeeded {
  /** The server's answer to the call, which contains the questions. */
  readonly frame: ResultFrame
  readonly service: string
  /** Sends `call` to the server that asked: the message of the first call, with further edits. */
  resume(call: Call, edits: readonly Edit[]): void
}

/** The state and the answers that a client returns to a server (2026-07-28, Multi Round-Trip Requests). */
export interface ReturnedInput {
  /** The server that wrote the state; undefined if the state does not name it. */
  readonly service: string | undefined
  /** Edits that remove the additions of the proxy from the state. */
  readonly edits: readonly Edit[]
}

/** The server that sent a request to a client, and gets the answer. */
export interface Asker {
  readonly service: string
  /** Passes the client's answer to the server, which knows its request as `id`. */
  onAnswer(frame: ResponseFrame, id: RequestId): void
  /** Tells the server that no client will answer its request. */
  onRefusal(id: RequestId, error: ErrorBody): void
  /** Passes the client's progress on a server's request; the token is the server's own. */
  onProgress(frame: NotificationFrame, edits: readonly Edit[]): void
}

/** A request from a server to a client. */
export interface ServerQuestion {
  readonly frame: RequestFrame
  readonly asker: Asker
  /** The call to which the request belongs, if that is known. */
  readonly during: Call | undefined
  /** Edits that remove the parts that the client must not see. */
  readonly edits?: readonly Edit[]
  /** Called when the question is answered or given up: the time of the calls that it may concern continues. */
  readonly onEnd: () => void
}

/** The requests of servers to one client. */
export interface Questions {
  /** Asks the client; false if this client cannot be asked that. */
  ask(question: ServerQuestion): boolean
  /** Withdraws a request of a server. */
  withdraw(frame: NotificationFrame, asker: Asker): void
  /** Whether this server waits for an answer of the client. */
  isAwaitedBy(asker: Asker): boolean
  /** Drops the requests of a server that has ended. */
  forget(asker: Asker): void
}

/** A client as servers see it. A client without a session gets everything on the connections of its calls. */
export interface ClientPort {
  /** Distinguishes the client from all other clients of the proxy. */
  readonly serial: number
  readonly profile: CallContext
  readonly questions: Questions
  /** The client's `initialize`, if it must reach the server; the server's answer settles it. */
  readonly opening?: Call | undefined
  /** Set for a client that only starts servers, so that no later message of a server can be about it. */
  readonly isWarmUp?: true
  /** Sends a notification that belongs only to this client; `during` is its call, if that is known. */
  tell(frame: NotificationFrame, edits: readonly Edit[], during: Call | undefined): void
  /** Sends a log message, if it is as severe as the client asked for. */
  log(frame: NotificationFrame, during: Call | undefined): void
  /** Whether the client has a stream open, or waits for an answer, if its transport can tell. */
  readonly listens: boolean
  listsChanged(lists: readonly ListKind[]): void
}

/** The place of a call: a queue, a connection, or a question. The call notifies it when the client gives up. */
export interface CallHolder {
  /** Called when the client needs no answer any more; `frame` is the client's notification, if it sent one. */
  cancel(frame: NotificationFrame | undefined, call: Call): void
  /** Called when the call ends; copies to the call the facts that only the holder has. */
  onSettling?(call: Call): void
}

/** May refuse a call before the proxy does anything for it. */
export interface CallGate {
  refusal(method: string): ErrorBody | undefined
}

/** The owner of a call, which gets the outcome. */
export interface CallOwner {
  /** Sends a server's notification about the call. */
  tell?(frame: NotificationFrame, edits: readonly Edit[], call: Call): void
  /** Sends a notification of the proxy about the call; `params` is raw JSON. */
  notify?(method: string, params: string, call: Call): void
  /** Splices one item of a list for the call; the forward tap sees it. */
  splice?(line: Line, edits: readonly Edit[]): Uint8Array
  /** Called once, when the call has ended. */
  onSettled(call: Call, outcome: Outcome): void
  /** Called when the server has questions. Absent if the client cannot be asked, and for attempts of a parent call. */
  onInputNeeded?(call: Call, needed: InputNeeded): void
  /** Called when another owner gets the call; this owner gets `by` in its place. */
  onReplaced?(call: Call, by: Call): void
}

export class Call implements CallHolder {
  /** The request of the client; a copy once the call is kept. */
  frame: RequestFrame
  readonly row: RequestRow
  readonly client: ClientPort
  context: CallContext
  /** The server of the call, once that is known. */
  service: string | undefined
  /** The server's own name of the tool or prompt. */
  item: string | undefined
  #owner: CallOwner
  /** Carries the answer to the client; undefined for a call of the proxy itself. */
  reply: Reply | undefined
  readonly deadline: CallDeadline
  #settled = false
  #isKept = false
  /** Whether clients with a session get the tool's structured results wrapped in an object. */
  isWrapped = false
  /** The addresses of the server that clients see differently. */
  apartUris: ApartUris | undefined
  /** The principal, the tool and the arguments as one text, once a person has confirmed them. */
  confirmedAs: string | undefined
  trace: CallTrace | undefined
  /** How often the call was moved to another connection. */
  repeats = 0
  /** Orders the calls of one client that arrived at the same time. */
  serial = 0
  /** Keeps the task that the call may begin; undefined if the call begins none. */
  keeper: TaskKeeper | undefined
  /** Whether the call asks about a task, on the connection that has the task. Such a call takes no slot. */
  isAboutTask = false
  /** Whether the proxy opened a new session because the server refused this call in the old one. */
  hasRenewed = false
  /** Raw JSON of the client capabilities that the server needs and the client has not declared. */
  missingCapabilities: string | undefined
  #parent: Call | undefined
  /** The server without sessions whose questions the call answers. No other server may get the call. */
  pinnedTo: string | undefined
  /** The state or the answers that the call returns to a server. Only a server of 2026-07-28 may get the call. */
  returned: ReturnedInput | undefined
  /** Whether the server has asked something, so that the call is never sent a second time. */
  wasAsked = false
  /** The greatest progress that the client got. */
  progress: number = Number.NEGATIVE_INFINITY
  /** The greatest progress of an earlier round. The client gets only greater values. */
  progressFloor: number = Number.NEGATIVE_INFINITY
  /** The current holder, which gets one `cancel` when the client needs no answer any more. */
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

  get isSettled(): boolean {
    return this.#settled
  }

  /**
   * Creates a call of the same request, for one of several servers or rounds; a cancel reaches it too.
   *
   * The call itself is never sent again: a late message of one server must not count for the next server.
   */
  attempt(owner: CallOwner): Call {
    const attempt = this.#twin(owner)
    attempt.#parent = this
    attempt.progressFloor = this.progress
    this.holder = attempt
    return attempt
  }

  /** The client's original call, of which this call may be an attempt. */
  get root(): Call {
    return this.#parent?.root ?? this
  }

  /** Gives the call to another owner. The old owner gets a call of the same request, which ends separately. */
  handOver(owner: CallOwner): Call {
    const request = this.#twin(this.#owner)
    this.#owner.onReplaced?.(this, request)
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

  /** Notes that the server asked for undeclared capabilities; `capabilities` is raw JSON of what the question needs. */
  noteMissing(capabilities: string): void {
    this.missingCapabilities ??= capabilities
    this.#parent?.noteMissing(capabilities)
  }

  /** Copies the message out of its chunk, so that a waiting call does not keep the whole chunk in memory. */
  keep(): void {
    if (this.#isKept) return
    this.#isKept = true
    this.frame = copied(this.frame)
  }

  settle(outcome: Outcome): void {
    if (this.#settled) return
    this.#settled = true
    this.holder?.onSettling?.(this)
    this.holder = undefined
    this.#owner.onSettled(this, this.apartUris === undefined ? outcome : withApart(outcome, this.apartUris))
  }

  tell(frame: NotificationFrame, edits: readonly Edit[]): void {
    const { root } = this
    root.#owner.tell?.(frame, edits, root)
  }

  notify(method: string, params: string): void {
    const { root } = this
    root.#owner.notify?.(method, params, root)
  }

  splice(line: Line, edits: readonly Edit[]): Uint8Array {
    return this.root.#owner.splice?.(line, edits) ?? splice(line, edits).joined
  }

  /** Handles the questions of the server. The call has no holder until it is resumed. */
  requestInput(needed: InputNeeded): void {
    if (this.#settled) return
    this.holder = undefined
    if (this.#owner.onInputNeeded !== undefined) this.#owner.onInputNeeded(this, needed)
    else if (this.#parent !== undefined) this.#parent.requestInput(needed)
    else this.fail(inputRefused(needed.service))
  }

  fail(error: ErrorBody): void {
    this.settle({ kind: 'failed', error })
  }

  /** Ends a tool call with a result that gives the reason (MCP, Tools: error handling), others with the error. */
  failTool(error: ErrorBody): void {
    const { route } = this.row
    if (route.to !== 'name' || route.list !== 'tools') return this.fail(error)
    this.settle({ kind: 'result', result: toolFailure(error.message), refusal: error.message })
  }

  /** Ends the call with an error, and cancels it at its holder. */
  abandon(error: ErrorBody): void {
    const holder = this.holder
    this.fail(error)
    holder?.cancel(undefined, this)
  }

  /** Called when the client gives up; `frame` is the client's notification, if it sent one. */
  cancel(frame: NotificationFrame | undefined): void {
    if (this.#settled) return
    const holder = this.holder
    this.settle({ kind: 'cancelled' })
    holder?.cancel(frame, this)
  }
}

function withApart(outcome: Outcome, uris: ApartUris): Outcome {
  if (outcome.kind !== 'answered' || outcome.frame.kind !== 'result') return outcome
  const { line, result } = outcome.frame
  return { ...outcome, edits: bothEdits(outcome.edits, apartUriEdits(line, result, uris)) }
}

/** Copies the request out of the chunk in which it arrived. */
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
