// The interface between the HTTP front and the layers above.

import type { Connection } from '../../jsonrpc/connection.js'
import type { ClientOrigin } from '../../mcp/client-context.js'
import type { Revision } from '../../mcp/revisions.js'
import type { Runtime } from '../../runtime/runtime.js'
import type { HttpServerLimits } from './front-limits.js'
import type { HttpRequest } from '../http1/server.js'
import type { Peers } from './peers.js'
import type { Refusal, ServeResult } from './refusal.js'
import type { SessionBook, SessionIds } from './session-ids.js'
import type { Accepts, Sender } from './access.js'

export interface HttpAttached {
  /** The negotiated revision, or the assumed one before. */
  readonly revision: Revision
}

/** One MCP endpoint. Its clients share nothing with the clients of another endpoint. */
export interface HttpEndpoint {
  readonly name: string
  /** Starts the connection synchronously. */
  attach(connection: Connection, caller: ClientOrigin): Promise<HttpAttached>
  /** Returns the status as raw JSON, for people and monitoring. */
  status(): string
  /** Whether one of its servers keeps a session in the memory of a process, so that no other process can continue it. */
  isBound(): boolean
}

export interface Owner {
  readonly endpoint: HttpEndpoint
  readonly principal: string
  readonly credential?: string | undefined
  /** The address of the sender. */
  readonly address?: string | undefined
  /** Called when the response becomes a stream that only its client or the proxy ends. */
  readonly onStream?: () => void
}

/** The parts of a request that its handler needs. Only a body in pieces needs the connection. */
export interface ReadableRequest extends Omit<HttpRequest, 'wire'> {
  readonly wire?: HttpRequest['wire'] | undefined
}

/** A request to an endpoint, with its response, its sender and the accepted media types. */
export interface EndpointRequest extends ReadableRequest, Owner {
  readonly sender: Sender
  /** Whether another instance has forwarded the request. */
  readonly isForwarded: boolean
  readonly accepts: Accepts
  readonly query: string
}

export type HttpRoute =
  /** Streamable HTTP. */
  | { readonly kind: 'mcp'; readonly endpoint: HttpEndpoint }
  /** HTTP with SSE: the stream of events. Messages go to `messagePath`. */
  | { readonly kind: 'events'; readonly endpoint: HttpEndpoint; readonly messagePath: string }
  | { readonly kind: 'messages'; readonly endpoint: HttpEndpoint }
  /** A page, `open` to all or only with the token. The body is JSON, or the media type `type`. */
  | { readonly kind: 'page'; readonly open: boolean; readonly type?: string; body(): string }
  /** No page. With `isForAll` every client gets this refusal, else only a client with the token. */
  | { readonly kind: 'nothing'; readonly refusal: Refusal; readonly isForAll?: boolean }

/** Whether the answer is the same for all clients. */
export function isOpen(route: HttpRoute): boolean {
  return route.kind === 'page' ? route.open : route.kind === 'nothing' && route.isForAll === true
}

/** Serves a request that the guard has admitted. It checks credentials itself. */
export type RequestHandler = (request: HttpRequest) => ServeResult

export interface HttpRoutes {
  /** The handler of a path that ignores the token of the front. */
  handlerOf?(path: string): RequestHandler | undefined
  /** Whether pages of other origins may lead a browser to this path. */
  isVisited?(path: string): boolean
  /** The route for this sender, or for a client without a token. `path` is as sent, without the query. */
  find(path: string, sender?: Sender): HttpRoute
}

export type SessionTransport = 'streamable-http' | 'http+sse'

/** Called when a session begins or continues here. The result is called at its end, with the milliseconds since then. */
export type SessionWatch = (
  endpoint: string,
  transport: SessionTransport,
  isRevived: boolean,
) => (ms: number) => void

/** The limits of a front, and its time, sockets, ids and logs. */
export interface HttpEnvironment extends Pick<Runtime, 'now' | 'wallNow' | 'setTimer' | 'listen'> {
  readonly limits: HttpServerLimits
  /** Returns an unguessable session id of visible ASCII characters. */
  readonly newId: (owner: Owner) => string
  /** Absent if the front is the only instance. */
  readonly peers?: Peers | undefined
  /** Absent if sessions end with the process. */
  readonly sessions?: { readonly ids: SessionIds; readonly book: SessionBook } | undefined
  /** Free descriptors: `enough` for sessions and connections, `little` for connections only, `none` for neither. */
  readonly room: () => 'enough' | 'little' | 'none'
  readonly watch: SessionWatch
  /** Logs a message for the operator. */
  readonly warn: (message: string) => void
  /** Logs a fault of the proxy itself. */
  readonly failed: (error: unknown) => void
}
