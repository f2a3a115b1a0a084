// The events of a proxy.

import type { EventListeners } from './emitter.js'
import type { TransportName } from '../jsonrpc/connection.js'
import type { CallTrace } from '../mcp/meta-edits.js'
import type { ListsNews, ServerNews } from '../upstream/server/reports.js'

/** Every event names the schema that it is of. */
interface OfSchema {
  readonly schema: string
}

/** The servers that a change of the configuration affected, by name. */
export interface ServerChanges {
  readonly added: readonly string[]
  /** Started anew, since something else than what is shown of them differs. */
  readonly replaced: readonly string[]
  readonly removed: readonly string[]
  /** The same processes as before. */
  readonly kept: readonly string[]
}

/** A change of state of one process of a server, or of one session with a remote one. */
export type ServerEvent = OfSchema & ServerNews

/** The lists of a server have changed, or were read for the first time. */
export type ListsEvent = OfSchema & ListsNews

/** One call of one client has ended. */
export interface CallEvent extends OfSchema {
  /** Tells the client from all others of the schema, as in `client` events. */
  readonly client: number
  /** As the client says of itself, cut to 200 characters. */
  readonly clientName: string | undefined
  /** The identity that the HTTP front has found, which is no secret; undefined without a front. */
  readonly principal: string | undefined
  /** The view of the client, as in `profile:review` or `server:github`; undefined is everything. */
  readonly view: string | undefined
  /** How the client is connected; undefined for a connection of another program. */
  readonly transport: TransportName | undefined
  /** The protocol version of the client; undefined where a refused request names none that the proxy speaks. */
  readonly revision: string | undefined
  readonly method: string
  /** The tool, prompt or URI as the client named it; undefined where the method names none. */
  readonly name: string | undefined
  /** Undefined where no server was chosen. */
  readonly server: string | undefined
  /** The server's own name of the tool or prompt; undefined where none was found. */
  readonly item: string | undefined
  /**
   * - `answered`: by a result, which may be that of a tool which failed.
   * - `error`: by the server's own error, passed unchanged.
   * - `failed`: the server could not answer, and `reason` says why (`timeout`, `exited`, …).
   * - `refused`: the proxy did not pass it on.
   * - `cancelled`: the client gave it up.
   */
  readonly outcome: 'answered' | 'error' | 'failed' | 'refused' | 'cancelled'
  /** The client was asked for input, and comes again: `outcome` is `answered`. */
  readonly isAsked: boolean
  /** Milliseconds from the request to its end. */
  readonly ms: number
  /** Those since it was last sent to its server; undefined where no server got it, and while `call` has no listener. */
  readonly serverMs: number | undefined
  /** The length of `params.arguments`, as the client wrote them; 0 where there are none. */
  readonly argumentBytes: number
  /** The length of the result, as the server wrote it; 0 where there is none. */
  readonly resultBytes: number
  /** Whether the result of `tools/call` has `isError: true`. */
  readonly isToolError: boolean
  /** Whether a person has agreed to it, where the configuration asks for that. */
  readonly isConfirmed: boolean
  /** The address of a client over HTTP, where its connection or a trusted proxy names it. */
  readonly address: string | undefined
  /** Of W3C Trace Context: the id that the proxy sends on, or that the client has sent. */
  readonly traceId: string | undefined
  /** Of the option `tracer`; undefined where the call is not traced. */
  readonly trace: CallTrace | undefined
  /**
   * `params.arguments` or the result as raw JSON; undefined where there is none.
   *
   * A view on the memory of the message, which a long result joins when it is first read. It is there only while the
   * listeners of the event are called, so a listener that needs the bytes later copies them.
   */
  bytes(part: 'arguments' | 'result'): Uint8Array | undefined
  /** Of the error; where it is the server's own, as the server wrote it for clients of its era. */
  readonly code?: number | undefined
  readonly message?: string | undefined
  /** Stands in `data.reason` of the error too. */
  readonly reason?: string | undefined
  /** Of the HTTP response that failed the call. */
  readonly status?: number | undefined
}

/** A client comes or goes. */
export type ClientEvent = OfSchema & {
  readonly client: number
  /** As the client says of itself, cut to 200 characters; undefined for one that calls without `initialize`. */
  readonly name: string | undefined
} & (
    | {
        readonly state: 'attached'
        readonly version: string | undefined
        /** The protocol version that was negotiated, or is assumed. */
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

/** The proxy is closed: nothing of it runs any more. */
export type CloseEvent = OfSchema

/** The events of a proxy, by their names. */
export interface ProxyEvents {
  readonly server: ServerEvent
  readonly lists: ListsEvent
  readonly call: CallEvent
  /** The same for calls that ended as `error`, `failed` or `refused`, for who wants no others. */
  readonly failure: CallEvent
  readonly client: ClientEvent
  readonly reload: ReloadEvent
  readonly close: CloseEvent
}

/** Listeners by the names of their events. */
export type ProxyListeners = EventListeners<ProxyEvents>
