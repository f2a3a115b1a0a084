// The events of a proxy.

import type { EventListeners } from './emitter.js'
import type { TransportName } from '../jsonrpc/connection.js'
import type { CallTrace } from '../mcp/meta-edits.js'
import type { ListsNews, ServerNews } from '../upstream/server/reports.js'

/** Every event names its schema. */
interface OfSchema {
  readonly schema: string
}

/** The names of the servers that a change of the configuration affected. */
export interface ServerChanges {
  readonly added: readonly string[]
  /** Servers that start again, because more changed than the way clients see them. */
  readonly replaced: readonly string[]
  readonly removed: readonly string[]
  /** Servers that keep their processes. */
  readonly kept: readonly string[]
}

/** A process of a server, or a session with a remote server, has changed its state. */
export type ServerEvent = OfSchema & ServerNews

/** The lists of a server have changed, or were read for the first time. */
export type ListsEvent = OfSchema & ListsNews

/** One call of one client has ended. */
export interface CallEvent extends OfSchema {
  /** The number of the client, as in `client` events; unique in the schema. */
  readonly client: number
  /** The name that the client reports, cut to 200 characters. */
  readonly clientName: string | undefined
  /** The identity that the HTTP front has found, which is no secret; undefined without a front. */
  readonly principal: string | undefined
  /** The view of the client, as in `profile:review` or `server:github`; undefined is everything. */
  readonly view: string | undefined
  /** How the client is connected; undefined for a connection of another program. */
  readonly transport: TransportName | undefined
  /** The protocol version of the client; undefined for a refused request with an unsupported version. */
  readonly revision: string | undefined
  readonly method: string
  /** The tool, prompt or URI as the client named it; undefined if the method names none. */
  readonly name: string | undefined
  /** Undefined if no server was chosen. */
  readonly server: string | undefined
  /** The server's name for the tool or prompt; undefined if none was found. */
  readonly item: string | undefined
  /**
   * - `answered`: with a result, even if the tool failed.
   * - `error`: with an error of the server, which the proxy passed unchanged.
   * - `failed`: the server could not answer, and `reason` says why (`timeout`, `exited`, …).
   * - `refused`: the proxy did not forward the call.
   * - `cancelled`: the client cancelled the call.
   */
  readonly outcome: 'answered' | 'error' | 'failed' | 'refused' | 'cancelled'
  /** Whether the result asks the client for input and to repeat the call. `outcome` is then `answered`. */
  readonly isAsked: boolean
  /** Milliseconds from the request to its end. */
  readonly ms: number
  /** Milliseconds since the last send to the server; undefined if none got the call, or `call` has no listener. */
  readonly serverMs: number | undefined
  /** The length of `params.arguments` in the bytes of the client; 0 without arguments. */
  readonly argumentBytes: number
  /** The length of the result in the bytes of the server; 0 without a result. */
  readonly resultBytes: number
  /** Whether the result of `tools/call` has `isError: true`. */
  readonly isToolError: boolean
  /** Whether a person has confirmed the call, if the configuration requires that. */
  readonly isConfirmed: boolean
  /** The address of an HTTP client, if its connection or a trusted proxy names it. */
  readonly address: string | undefined
  /** The trace id (W3C Trace Context) that the proxy sends on, or that the client has sent. */
  readonly traceId: string | undefined
  /** The result of the option `tracer`; undefined if the call is not traced. */
  readonly trace: CallTrace | undefined
  /**
   * `params.arguments` or the result as raw JSON; undefined if the call has none.
   *
   * The bytes are a view of the message; the first read joins a long result. They are valid only while the
   * listeners of the event run, so a listener that needs them later copies them.
   */
  bytes(part: 'arguments' | 'result'): Uint8Array | undefined
  /** The code of the error. An error of the server has the code that clients of its era see. */
  readonly code?: number | undefined
  readonly message?: string | undefined
  /** The same text as `data.reason` of the error. */
  readonly reason?: string | undefined
  /** The status of the HTTP response that failed the call. */
  readonly status?: number | undefined
}

/** A client is attached, or has left. */
export type ClientEvent = OfSchema & {
  readonly client: number
  /** The name that the client reports, cut to 200 characters; undefined for a client without `initialize`. */
  readonly name: string | undefined
} & (
    | {
        readonly state: 'attached'
        readonly version: string | undefined
        /** The negotiated or assumed protocol version. */
        readonly revision: string
      }
    | {
        readonly state: 'gone'
        /** Milliseconds since it was attached. */
        readonly ms: number
      }
  )

/** Another configuration is in force. */
export type ReloadEvent = OfSchema & ServerChanges

/** The proxy is closed, and nothing of it runs. */
export type CloseEvent = OfSchema

/** The events of a proxy, by name. */
export interface ProxyEvents {
  readonly server: ServerEvent
  readonly lists: ListsEvent
  readonly call: CallEvent
  /** The same event, only for calls that ended as `error`, `failed` or `refused`. */
  readonly failure: CallEvent
  readonly client: ClientEvent
  readonly reload: ReloadEvent
  readonly close: CloseEvent
}

/** Listeners by event name. */
export type ProxyListeners = EventListeners<ProxyEvents>
