// Emits the events `client`, `call` and `failure` of one client; without a listener none is made.

import type { Emitter } from '../../events/emitter.js'
import type { ErrorBody } from '../../jsonrpc/build.js'
import type { RequestFrame, ResponseFrame } from '../../jsonrpc/frame.js'
import { membersAt } from '../../jsonrpc/members.js'
import { parse, rawAt } from '../../jsonrpc/text.js'
import type { Call, ClientProfile, Outcome } from '../../mcp/call.js'
import type { CallEvent, ProxyEvents } from '../../events/proxy-events.js'
import type { Runtime } from '../../runtime/runtime.js'

/** The end of a call. */
type End = Pick<CallEvent, 'outcome' | 'code' | 'message' | 'reason' | 'status'>

/** Emits the events of one client. */
export class ClientReports {
  /** The names of the events that have a listener. */
  readonly heard: Emitter<ProxyEvents>['heard']
  readonly #events: Emitter<ProxyEvents>
  readonly #schema: string
  readonly #client: number
  readonly #runtime: Pick<Runtime, 'now'>
  #attachedAt: number | undefined
  #name: string | undefined

  /** `client` tells the client from all others of the proxy. */
  constructor(events: Emitter<ProxyEvents>, schema: string, client: number, runtime: Pick<Runtime, 'now'>) {
    this.#events = events
    this.#schema = schema
    this.#client = client
    this.#runtime = runtime
    this.heard = events.heard
  }

  /** The client has said who it is, or calls without saying it. */
  attached({ info, revision }: ClientProfile): void {
    // One that was refused by its server may try again.
    if (this.#attachedAt !== undefined) return
    this.#attachedAt = this.#runtime.now()
    this.#name = info?.name
    if (!this.heard.has('client')) return
    const { name, version } = info ?? { name: undefined, version: undefined }
    const own = { schema: this.#schema, client: this.#client, name }
    this.#events.emit('client', { ...own, state: 'attached', version, revision: revision.version })
  }

  gone(): void {
    if (this.#attachedAt === undefined || !this.heard.has('client')) return
    const ms = this.#runtime.now() - this.#attachedAt
    const own = { schema: this.#schema, client: this.#client, name: this.#name }
    this.#events.emit('client', { ...own, state: 'gone', ms })
  }

  settled(call: Call, outcome: Outcome): void {
    if (!this.heard.has('call') && !(this.heard.has('failure') && hasFailed(outcome))) return
    const { frame, service } = call
    this.#tell(frame, service, this.#runtime.now() - call.deadline.arrivedAt, endOf(outcome))
  }

  /** A request was refused before it became a call; returns that error. */
  refused(frame: RequestFrame, error: ErrorBody): ErrorBody {
    if (this.heard.has('call') || this.heard.has('failure'))
      this.#tell(frame, undefined, 0, endByError(error))
    return error
  }

  #tell(frame: RequestFrame, server: string | undefined, ms: number, end: End): void {
    const { method, params } = frame
    const name = params.members.string('name') ?? params.members.string('uri')
    const own = { schema: this.#schema, client: this.#client }
    const event: CallEvent = { ...own, method, name, server, ms, ...end }
    this.#events.emit('call', event)
    if (end.outcome !== 'answered' && end.outcome !== 'cancelled') this.#events.emit('failure', event)
  }
}

function hasFailed(outcome: Outcome): boolean {
  if (outcome.kind === 'answered') return outcome.frame.kind === 'error'
  return outcome.kind === 'failed' || (outcome.kind === 'result' && outcome.refusal !== undefined)
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
