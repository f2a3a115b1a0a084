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

/** A client that has been attached. */
export interface HttpAttached {
  /** The one that was negotiated, or that is assumed until then. */
  readonly revision: Revision
}

/** One MCP endpoint: its clients share nothing with those of another. */
export interface HttpEndpoint {
  readonly name: string
  /** Starts the connection synchronously. */
  attach(connection: Connection, caller: ClientOrigin): Promise<HttpAttached>
  /** Raw JSON, for people and for machines that watch. */
  status(): string
  /** Whether a server of it keeps a session in the memory of a process, so that no other process can go on with the session. */
  isBound(): boolean
}

/** The endpoint and the principal of a session. */
export interface Owner {
  readonly endpoint: HttpEndpoint
  readonly principal: string
  readonly credential?: string | undefined
  /** The address that the request came from. */
  readonly address?: string | undefined
  /** Is called when the response of a request becomes a stream that only its client or the proxy ends. */
  readonly onStream?: () => void
}

/** The parts of a request that its handler needs; only a body that comes in pieces needs the connection. */
export interface ReadableRequest extends Omit<HttpRequest, 'wire'> {
  readonly wire?: HttpRequest['wire'] | undefined
}

/** A request to an endpoint: its message and its response, whose it is, and which answers its client takes. */
export interface EndpointRequest extends ReadableRequest, Owner {
  readonly sender: Sender
  /** Whether another instance has handed it over. */
  readonly isForwarded: boolean
  readonly accepts: Accepts
  readonly query: string
}

/** The handler of a path. */
export type HttpRoute =
  /** Streamable HTTP. */
  | { readonly kind: 'mcp'; readonly endpoint: HttpEndpoint }
  /** The older pair: events here, messages to `messagePath`. */
  | { readonly kind: 'events'; readonly endpoint: HttpEndpoint; readonly messagePath: string }
  | { readonly kind: 'messages'; readonly endpoint: HttpEndpoint }
  /** A page; `open` to everybody, or only with the token. JSON unless it has another media `type`. */
  | { readonly kind: 'page'; readonly open: boolean; readonly type?: string; body(): string }
  /** There is no page. With `isForAll` the refusal says so to every client, else only to clients with the token. */
  | { readonly kind: 'nothing'; readonly refusal: Refusal; readonly isForAll?: boolean }

/** Whether the answer is the same for everybody. */
export function isOpen(route: HttpRoute): boolean {
  return route.kind === 'page' ? route.open : route.kind === 'nothing' && route.isForAll === true
}

/** Serves a request that the guard has let in. It asks for a credential itself, where one is needed. */
export type RequestHandler = (request: HttpRequest) => ServeResult

/** The table of paths. */
export interface HttpRoutes {
  /** The handler of a path at which no token of the front counts. */
  handlerOf?(path: string): RequestHandler | undefined
  /** Whether pages of other origins may lead a browser to this path. */
  isVisited?(path: string): boolean
  /** The handler for this sender, or for a client without a token; `path` is as it was sent, without the query. */
  find(path: string, sender?: Sender): HttpRoute
}

/** The transport of a session. */
export type SessionTransport = 'streamable-http' | 'http+sse'

/** Is called when a session begins here, or goes on here; the result is called when it ends, with the milliseconds since then. */
export type SessionWatch = (
  endpoint: string,
  transport: SessionTransport,
  isRevived: boolean,
) => (ms: number) => void

/** The limits of a front, and what it does not make by itself: time, chance, sockets and log lines. */
export interface HttpEnvironment extends Pick<Runtime, 'now' | 'wallNow' | 'setTimer' | 'listen'> {
  readonly limits: HttpServerLimits
  /** An unguessable session id of visible ASCII characters. */
  readonly newId: (owner: Owner) => string
  /** Absent for a front that is the only one. */
  readonly peers?: Peers | undefined
  /** Absent where sessions end with the process. */
  readonly sessions?: { readonly ids: SessionIds; readonly book: SessionBook } | undefined
  /** The room that the system has in descriptors: `enough` for sessions and connections, `little` for connections, `none` for neither. */
  readonly room: () => 'enough' | 'little' | 'none'
  readonly watch: SessionWatch
  /** Logs what an operator should know. */
  readonly warn: (message: string) => void
  /** Logs a fault of the proxy itself. */
  readonly failed: (error: unknown) => void
}
