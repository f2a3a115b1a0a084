// The interface between a proxy and a front, which listens for clients.

import type { EventSource } from '../events/emitter.js'
import type { Connection } from '../jsonrpc/connection.js'
import type { ClientOrigin } from '../mcp/client-context.js'
import type { SessionStatus } from './routing/session-status.js'
import type { ServingEvents } from '../events/serving-events.js'
import type { HttpAttached } from '../transports/http-server/endpoint.js'
import type { LogSink, Runtime } from '../runtime/runtime.js'
import type { UpstreamStatus } from '../upstream/contracts/upstream.js'

/** The proxy as its HTTP front sees it. */
export interface ServedProxy {
  attach(connection: Connection, origin?: ClientOrigin): Promise<HttpAttached>
  status(): UpstreamStatus[]
  sessions(): SessionStatus[]
  /** Whether a client of this view has a separate server process, which keeps the session in its memory. */
  isBound(view?: string): boolean
}

/** The dependencies that a front shares with its proxy. */
export interface ServingContext {
  readonly name: string
  readonly log: LogSink
  readonly runtime: Runtime
}

/** A front that listens; `on('session', …)` reports the sessions of its clients. */
export interface Serving extends EventSource<ServingEvents> {
  readonly host: string
  readonly port: number
  /** Scheme, host and port. */
  readonly origin: string
  /** The address for clients: Streamable HTTP, of the schema `default` if there are several. */
  readonly url: string
  /** Refuses new requests; running requests may finish. */
  stop(): void
  /** Ends every session and every connection. */
  close(): Promise<void>
}

/** A front that serves a proxy to many clients; `httpServer` creates one. */
export interface Listener {
  serve(proxy: ServedProxy, context: ServingContext): Promise<Serving>
}
