// Emits the events `client`, `call` and `failure` of one client. Without a listener, no event is built.

import type { CallEvent } from '../../events/proxy-events.js'
import type { ErrorBody } from '../../jsonrpc/build.js'
import type { RequestFrame, ResponseFrame } from '../../jsonrpc/frame.js'
import { membersAt } from '../../jsonrpc/members.js'
import { parse, rawAt } from '../../jsonrpc/text.js'
import type { Call, Outcome } from '../../calls/call.js'
import type { CallContext } from '../../mcp/client-context.js'
import { namedVersion } from '../../mcp/eras/request-context.js'
import { traceIdIn, traceparentOf } from '../../mcp/meta-edits.js'
import { namesRevision } from '../../mcp/meta-keys.js'
import { bytesAt, saysError } from '../../mcp/result-type.js'
import { statelessRevision } from '../../mcp/revisions.js'
import type { ClientContext } from './client-directory.js'

/** A call that has ended, or a request that was refused before it became a call. */
type EndedRequest = Pick<Call, 'frame' | 'context'> &
  Partial<Pick<Call, 'service' | 'item' | 'trace' | 'confirmedAs'>>

type ReportsContext = Pick<ClientContext, 'events' | 'schema'> & {
  readonly runtime: Pick<ClientContext['runtime'], 'now'>
}

export class ClientReports {
  readonly #context: ReportsContext
  readonly #client: number
  #attachedAt: number | undefined
  #name: string | undefined

  constructor(context: ReportsContext, client: number) {
    this.#context = context
    this.#client = client
  }

  attached({ info, revision }: CallContext): void {
    // A client that its server refused may try again.
    if (this.#attachedAt !== undefined) return
    this.#attachedAt = this.#context.runtime.now()
    this.#name = info?.name
    const { schema, events } = this.#context
    const own = { schema, client: this.#client, name: info?.name }
    events.emit('client', { ...own, state: 'attached', version: info?.version, revision: revision.version })
  }

  gone(): void {
    if (this.#attachedAt === undefined) return
    const { schema, events, runtime } = this.#context
    const own = { schema, client: this.#client, name: this.#name }
    events.emit('client', { ...own, state: 'gone', ms: runtime.now() - this.#attachedAt })
  }

  settled(call: Call, outcome: Outcome): void {
    const { events } = this.#context
    if (!events.has('call') && !(events.has('failure') && isFailure(endOf(outcome)))) return
    const { arrivedAt, sentAt } = call.deadline
    const now = this.#context.runtime.now()
    this.#emit(call, outcome, now - arrivedAt, sentAt === undefined ? undefined : now - sentAt)
  }

  /** Reports a request that was refused before it became a call, and returns `error`. */
  refused(frame: RequestFrame, error: ErrorBody, context: CallContext): ErrorBody {
    if (this.#context.events.has('call') || this.#context.events.has('failure'))
      this.#emit({ frame, context }, { kind: 'failed', error }, 0, undefined)
    return error
  }

  #emit(request: EndedRequest, outcome: Outcome, ms: number, serverMs: number | undefined): void {
    // Cleared after the event, so that a listener which keeps the event does not keep the messages in memory.
    let messages: Messages | undefined = { arguments: argumentsOf(request.frame), result: resultOf(outcome) }
    const event: CallEvent = {
      schema: this.#context.schema,
      client: this.#client,
      ms,
      serverMs,
      ...requestMembers(request),
      isAsked: outcome.kind === 'asked',
      isToolError: request.frame.method === 'tools/call' && isToolError(outcome),
      argumentBytes: messages.arguments?.length ?? 0,
      resultBytes: messages.result?.length ?? 0,
      bytes: (part) => messages?.[part]?.bytes(),
      ...endOf(outcome),
    }
    this.#context.events.emit('call', event)
    if (isFailure(event)) this.#context.events.emit('failure', event)
    messages = undefined
  }
}

/** Raw JSON that is read only when a listener asks for it. */
interface Part {
  readonly length: number
  readonly bytes: () => Uint8Array
}

interface Messages {
  readonly arguments: Part | undefined
  readonly result: Part | undefined
}

function requestMembers(request: EndedRequest) {
  const { frame, context, trace } = request
  const { origin, info, revision } = context
  const { members } = frame.params
  return {
    clientName: info?.name,
    principal: origin?.principal,
    view: origin?.view,
    transport: origin?.transport,
    address: origin?.address,
    revision: revision.era === 'session' && namesRevision(frame) ? claimed(frame) : revision.version,
    method: frame.method,
    name: members.string('name') ?? members.string('uri'),
    server: request.service,
    item: request.item,
    trace,
    traceId: traceIdIn(trace?.traceparent ?? traceparentOf(frame)),
    isConfirmed: request.confirmedAs !== undefined,
  }
}

/** The version that a refused request names; undefined if the proxy does not support it. */
function claimed(frame: RequestFrame): string | undefined {
  return statelessRevision(namedVersion(frame))?.version
}

function argumentsOf({ line, params }: RequestFrame): Part | undefined {
  const span = params.members.span('arguments')
  return span && { length: span.end - span.start, bytes: () => line.subarray(span.start, span.end) }
}

function resultOf(outcome: Outcome): Part | undefined {
  if (outcome.kind === 'result') {
    const { result } = outcome
    return { length: Buffer.byteLength(result), bytes: () => Buffer.from(result) }
  }
  if (outcome.kind !== 'answered' && outcome.kind !== 'asked') return undefined
  const { frame } = outcome
  if (frame.kind !== 'result') return undefined
  const { result } = frame
  return { length: result.end - result.start, bytes: () => bytesAt(frame, result) }
}

/** Whether the proxy refused the tool call, or the tool's result reports an error. */
function isToolError(outcome: Outcome): boolean {
  if (outcome.kind === 'result') return outcome.refusal !== undefined
  return outcome.kind === 'answered' && outcome.frame.kind === 'result' && saysError(outcome.frame)
}

type End = Pick<CallEvent, 'outcome' | 'code' | 'message' | 'reason' | 'status'>

function isFailure({ outcome }: End): boolean {
  return outcome !== 'answered' && outcome !== 'cancelled'
}

function endOf(outcome: Outcome): End {
  switch (outcome.kind) {
    case 'answered':
      return endByServer(outcome.frame)
    case 'result':
      return outcome.refusal === undefined
        ? { outcome: 'answered' }
        : { outcome: 'refused', message: outcome.refusal }
    case 'asked':
      return { outcome: 'answered' }
    case 'failed':
      return endByError(outcome.error)
    case 'cancelled':
      return { outcome: 'cancelled' }
  }
}

function endByServer(frame: ResponseFrame): End {
  if (frame.kind === 'result') return { outcome: 'answered' }
  const { line, error } = frame
  const members = membersAt(line, error)
  const span = members?.span('code')
  const code = span === undefined ? undefined : Number(parse(rawAt(line, span)))
  return { outcome: 'error', code, message: members?.string('message') }
}

/** The end of a call with an error of the proxy. If the error names a server, that server has failed. */
function endByError({ code, message, data }: ErrorBody): End {
  const said: unknown = data === undefined ? {} : parse(data)
  const details = typeof said === 'object' && said !== null ? said : {}
  const isOfServer = 'service' in details
  const reason = 'reason' in details && typeof details.reason === 'string' ? details.reason : undefined
  const status = 'status' in details && typeof details.status === 'number' ? details.status : undefined
  return {
    outcome: isOfServer ? 'failed' : 'refused',
    code,
    message,
    // An error about credentials has no reason on the wire.
    reason: reason ?? (isOfServer ? 'unauthorized' : undefined),
    status,
  }
}
