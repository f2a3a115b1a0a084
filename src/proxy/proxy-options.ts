// The options of a proxy. Its configuration is apart.

import type { TapSwitch, WireTap } from '../jsonrpc/wire-tap.js'
import type { CallGate } from '../calls/call.js'
import type { CallTrace, CallTracer } from '../mcp/meta-edits.js'
import type { Limits } from '../limits.js'
import type { ProxyListeners } from '../events/proxy-events.js'
import type { LogSink, Runtime } from '../runtime/runtime.js'

export type { CallTrace, CallTracer }

export interface ProxyOptions {
  /** Which schema of the configuration is served; `default` unless given. */
  readonly schema?: string
  /** `serverInfo.name` towards clients; the configuration's unless given. */
  readonly name?: string
  readonly log?: LogSink
  /** Listeners for all events from the start on; `proxy.on` comes later than the start of the first servers. */
  readonly on?: ProxyListeners | readonly ProxyListeners[]
  /** Logs every HTTP request to a server, and every token that is fetched, at level `debug`. */
  readonly verbose?: boolean
  readonly tap?: WireTap
  /** Is given the secrets that a server hands out, such as session ids and cookies, and tokens of its login, for what logs or keeps messages. */
  readonly onSecrets?: (secrets: readonly string[], service: string) => void
  /**
   * Is given a switch, once, with which another tap can be shown all connections while they are open. Without this
   * option no connection is kept for it.
   */
  readonly tapSwitch?: (taps: TapSwitch) => void
  /** Traces calls: the server of a call that is traced gets its `traceparent`, and the events of the call have its trace. */
  readonly tracer?: CallTracer | undefined
  /** May refuse calls before anything is done for them. */
  readonly gate?: CallGate | undefined
  /** Time, randomness and processes; the real ones, which end with the proxy, unless given. */
  readonly runtime?: Runtime
  readonly limits?: Limits
  /**
   * Keeps what servers list on disk, so that it can be shown the next time before they have started: in
   * `~/.mcps-proxy/kept`, or in another folder, whose parent exists. Without it nothing is read or written;
   * it is remembered as long as the proxy lives.
   */
  readonly keep?: boolean | { readonly folder: string }
  /**
   * When a process starts that only one client uses, since that client can be asked something: with its first call, which
   * is the default, or as soon as it comes, which is right where there is one client. The `requestState` of a server
   * passes such a client as the server wrote it.
   */
  readonly ownStart?: 'with-call' | 'with-client'
  /**
   * The place of the person who can log in to remote servers. `here` opens a browser of this machine when a server wants a login, or lists a
   * tool that begins one where there is no desktop; `elsewhere` lists a tool that says what to run. Absent: the errors say that.
   */
  readonly person?: 'here' | 'elsewhere'
  /** Whether another process installs the package of a server now; its start waits until then, unless a call needs it. */
  readonly isInstalledElsewhere?: (server: string) => boolean
  /** Opens every server before the first client comes, so that the status shows early what works. */
  readonly eager?: boolean
}
