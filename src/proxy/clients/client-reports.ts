// Emits the events `client`, `call` and `failure` of one client; without a listener none is made.

import type { Emitter } from '../../events/emitter.js'
import type { ErrorBody } from '../../jsonrpc/build.js'
import type { RequestFrame } from '../../jsonrpc/frame.js'
import type { Call, CallContext, Outcome } from '../../mcp/call.js'
import type { ProxyEvents } from '../../events/proxy-events.js'
import type { Runtime } from '../../runtime/runtime.js'
import { EndedCall, type EndedRequest } from './ended-call.js'

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
  attached({ info, revision }: CallContext): void {
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
    const { frame, context, service: server, item, deadline, trace, isConfirmed } = call
    const now = this.#runtime.now()
    const serverMs = deadline.sentAt === undefined ? undefined : now - deadline.sentAt
    const ms = now - deadline.arrivedAt
    this.#emit({ frame, context, server, item, ms, serverMs, trace, isConfirmed }, outcome)
  }

  /** A request of this client was refused before it became a call; returns that error. */
  refused(frame: RequestFrame, error: ErrorBody, context: CallContext): ErrorBody {
    if (this.heard.has('call') || this.heard.has('failure')) {
      this.#emit({ frame, context, ms: 0, ...neverSent }, { kind: 'failed', error })
    }
    return error
  }

  #emit(request: EndedRequest, outcome: Outcome): void {
    const event = new EndedCall({ schema: this.#schema, client: this.#client }, request, outcome)
    this.#events.emit('call', event)
    if (event.outcome !== 'answered' && event.outcome !== 'cancelled') this.#events.emit('failure', event)
    event.release()
  }
}

const neverSent = {
  server: undefined,
  item: undefined,
  serverMs: undefined,
  trace: undefined,
  isConfirmed: false,
} as const

function hasFailed(outcome: Outcome): boolean {
  if (outcome.kind === 'answered') return outcome.frame.kind === 'error'
  return outcome.kind === 'failed' || (outcome.kind === 'result' && outcome.refusal !== undefined)
}
