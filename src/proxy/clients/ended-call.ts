// The event of a call that has ended. Its plain members are read when it is made; the bytes of the messages are read on demand.

import type { TransportName } from '../../jsonrpc/connection.js'
import type { ErrorBody } from '../../jsonrpc/build.js'
import type { RequestFrame, ResponseFrame, ResultFrame } from '../../jsonrpc/frame.js'
import { membersAt } from '../../jsonrpc/members.js'
import type { Span } from '../../jsonrpc/scan.js'
import { parse, rawAt } from '../../jsonrpc/text.js'
import type { CallContext, Outcome } from '../../mcp/call.js'
import { namedVersion } from '../../mcp/eras/request-context.js'
import { namesRevision } from '../../mcp/meta-keys.js'
import { type CallTrace, traceIdIn, traceparentOf } from '../../mcp/meta-edits.js'
import { saysError } from '../../mcp/result-type.js'
import { statelessRevision } from '../../mcp/revisions.js'
import type { CallEvent } from '../../events/proxy-events.js'

/** The client of a call, as events name it. */
export interface ReportedClient {
  readonly schema: string
  readonly client: number
}

/** A request whose call has ended. */
export interface EndedRequest {
  readonly frame: RequestFrame
  readonly context: CallContext
  readonly server: string | undefined
  readonly item: string | undefined
  readonly ms: number
  readonly serverMs: number | undefined
  readonly trace: CallTrace | undefined
  readonly isConfirmed: boolean
}

/** The messages stay readable until `release`. */
export class EndedCall implements CallEvent {
  readonly schema: string
  readonly client: number
  readonly clientName: string | undefined
  readonly principal: string | undefined
  readonly view: string | undefined
  readonly transport: TransportName | undefined
  readonly revision: string | undefined
  readonly method: string
  readonly name: string | undefined
  readonly server: string | undefined
  readonly item: string | undefined
  readonly isAsked: boolean
  readonly outcome: CallEvent['outcome']
  readonly ms: number
  readonly serverMs: number | undefined
  readonly argumentBytes: number
  readonly resultBytes: number
  readonly isToolError: boolean
  readonly trace: CallTrace | undefined
  readonly traceId: string | undefined
  readonly isConfirmed: boolean
  readonly address: string | undefined
  readonly code: number | undefined
  readonly message: string | undefined
  readonly reason: string | undefined
  readonly status: number | undefined
  #frame: RequestFrame | undefined
  #result: Result | undefined

  constructor({ schema, client }: ReportedClient, request: EndedRequest, outcome: Outcome) {
    const { frame, context, server, item, ms, serverMs } = request
    const { origin, info, revision } = context
    const { members } = frame.params
    const { outcome: end, code, message, reason, status } = endOf(outcome)
    const result = resultOf(outcome)
    this.schema = schema
    this.client = client
    this.clientName = info?.name
    this.principal = origin?.principal
    this.view = origin?.view
    this.transport = origin?.transport
    this.revision = revision.era === 'session' && namesRevision(frame) ? claimed(frame) : revision.version
    this.method = frame.method
    this.name = members.string('name') ?? members.string('uri')
    this.server = server
    this.item = item
    this.isAsked = outcome.kind === 'asked'
    this.outcome = end
    this.ms = ms
    this.serverMs = serverMs
    this.argumentBytes = lengthOf(members.span('arguments'))
    this.resultBytes = result === undefined ? 0 : bytesIn(result)
    this.isToolError = frame.method === 'tools/call' && isToolError(outcome)
    this.trace = request.trace
    this.traceId = traceIdIn(this.trace?.traceparent ?? traceparentOf(frame))
    this.isConfirmed = request.isConfirmed
    this.address = origin?.address
    this.code = code
    this.message = message
    this.reason = reason
    this.status = status
    this.#frame = frame
    this.#result = result
  }

  bytes(part: 'arguments' | 'result'): Uint8Array | undefined {
    if (part === 'result') return this.#result === undefined ? undefined : viewOf(this.#result)
    const span = this.#frame?.params.members.span('arguments')
    return span && this.#frame?.line.subarray(span.start, span.end)
  }

  /** Lets go of the messages: a listener that keeps the event does not keep their memory. */
  release(): void {
    this.#frame = undefined
    this.#result = undefined
  }
}

/** Of a server, or raw JSON of the proxy itself. */
type Result = ResultFrame | string | Uint8Array

function resultOf(outcome: Outcome): Result | undefined {
  if (outcome.kind === 'result') return outcome.result
  if (outcome.kind !== 'answered' && outcome.kind !== 'asked') return undefined
  return outcome.frame.kind === 'result' ? outcome.frame : undefined
}

function isFrame(result: Result): result is ResultFrame {
  return typeof result !== 'string' && 'kind' in result
}

function bytesIn(result: Result): number {
  return isFrame(result) ? lengthOf(result.result) : Buffer.byteLength(result)
}

function viewOf(result: Result): Uint8Array {
  if (!isFrame(result)) return typeof result === 'string' ? Buffer.from(result) : result
  const { start, end } = result.result
  return result.long?.slice(start, end) ?? result.line.subarray(start, end)
}

function lengthOf(span: Span | undefined): number {
  return span === undefined ? 0 : span.end - span.start
}

/** A request that was refused before its own claim was read; undefined where it names no version that the proxy speaks. */
function claimed(frame: RequestFrame): string | undefined {
  return statelessRevision(namedVersion(frame))?.version
}

/** Whether a tool was refused, or its result says that it has failed. */
function isToolError(outcome: Outcome): boolean {
  if (outcome.kind === 'result') return outcome.refusal !== undefined
  return outcome.kind === 'answered' && outcome.frame.kind === 'result' && saysError(outcome.frame)
}

/** The end of a call. */
interface End {
  readonly outcome: CallEvent['outcome']
  readonly code?: number | undefined
  readonly message?: string | undefined
  readonly reason?: string | undefined
  readonly status?: number | undefined
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

/** The proxy's own error; one that names a server is about what the server did. */
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
