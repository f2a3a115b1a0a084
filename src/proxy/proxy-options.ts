// The options of a proxy, which are separate from its configuration.

import type { TapSwitch, WireTap } from '../jsonrpc/wire-tap.js'
import type { CallGate } from '../calls/call.js'
import type { CallTrace, CallTracer } from '../mcp/meta-edits.js'
import type { Limits } from '../limits.js'
import type { ProxyListeners } from '../events/proxy-events.js'
import type { LogSink, Runtime } from '../runtime/runtime.js'

export type { CallTrace, CallTracer }

/** The options of `createProxy`. The configuration is a separate argument. */
export interface ProxyOptions {
  /** The schema of the configuration to serve; `default` if absent. */
  readonly schema?: string
  /** `serverInfo.name` for clients; if absent, the name in the configuration. */
  readonly name?: string
  readonly log?: LogSink
  /** Listeners for all events from the start on. `proxy.on` is too late for the start of the first servers. */
  readonly on?: ProxyListeners | readonly ProxyListeners[]
  /** Logs every HTTP request to a server, and every fetch of a token, at level `debug`. */
  readonly verbose?: boolean
  readonly tap?: WireTap
  /** Receives the secrets that servers issue (session ids, cookies, login tokens), to redact them in logs. */
  readonly onSecrets?: (secrets: readonly string[], service: string) => void
  /**
   * Called once with a switch, which shows all connections to another tap while they are open. Without this
   * option the proxy keeps no connection for the switch.
   */
  readonly tapSwitch?: (taps: TapSwitch) => void
  /** Traces calls: the server of a traced call gets its `traceparent`, and the events of the call contain its trace. */
  readonly tracer?: CallTracer | undefined
  /** May refuse calls before the proxy does anything for them. */
  readonly gate?: CallGate | undefined
  /** Time, randomness and processes; if absent, the real ones, which end with the proxy. */
  readonly runtime?: Runtime
  readonly limits?: Limits
  /**
   * Keeps the lists of servers on disk, so that the proxy can show them at the next start before the servers
   * have started: in `~/.mcps-proxy/kept`, or in another folder, whose parent exists. Without this option the
   * proxy keeps the lists in memory, as long as it lives.
   */
  readonly keep?: boolean | { readonly folder: string }
  /**
   * When the proxy starts a process that only one client uses, because servers may ask that client: with the
   * client's first call, which is the default, or when the client attaches, which suits a proxy for one
   * client. To such a client the `requestState` of a server passes unchanged.
   */
  readonly ownStart?: 'with-call' | 'with-client'
  /**
   * The place of the person who can log in to remote servers. `here`: the proxy opens a browser when a server
   * requires a login, or lists a tool that begins the login if there is no desktop. `elsewhere`: the proxy
   * lists a tool that says what to run. Absent: the errors say that.
   */
  readonly person?: 'here' | 'elsewhere'
  /** Whether another process is installing the server's package; the start then waits, unless a call needs it. */
  readonly isInstalledElsewhere?: (server: string) => boolean
  /** Opens every server before the first client attaches, so that the status shows early which servers work. */
  readonly eager?: boolean
}
