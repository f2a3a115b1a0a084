// A proxy, for the program that embeds it.

import type { AttachedSession } from './clients/session.js'
import type { Configuration } from '../config/configuration.js'
import type { ConfigurationJson } from '../config/keys.js'
import type { EventSource } from '../events/emitter.js'
import type { Connection } from '../jsonrpc/connection.js'
import type { ClientOrigin } from '../mcp/client-context.js'
import type { Listener, Serving } from './listener.js'
import type { ProxyEvents, ServerChanges } from '../events/proxy-events.js'
import type { SessionStatus } from './routing/session-status.js'
import type { RunningProcess, UpstreamStatus } from '../upstream/contracts/upstream.js'

/** Many MCP servers that look like one. */
export interface McpProxy extends EventSource<ProxyEvents> {
  /**
   * Serves one client on a connection that has not been started.
   *
   * `origin` is what is known of the client before it has said anything. A proxy that is being closed closes the
   * connection immediately.
   */
  attach(connection: Connection, origin?: ClientOrigin): Promise<AttachedSession>
  /** Serves many clients, until the proxy is closed. */
  serve(listener: Listener): Promise<Serving>
  /**
   * Uses a server that was started elsewhere as the first process of a configured one.
   *
   * A connection is all that the proxy knows of it, and closing it all that it does to end it. Of a `ChildProcess`, with
   * pipes for stdin and stdout that no other code uses, it reads stderr into the log, shows the pid, says how it exited,
   * and ends it like its own processes: end of stdin, SIGTERM, SIGKILL. When it has ended, the next one is started as
   * configured. Call it before the first client is attached; gives false when it is too late or there is no such server.
   *
   * @throws UpstreamError when the streams of the process cannot be used
   */
  adopt(service: string, server: Connection | RunningProcess): boolean
  /**
   * Changes to another configuration while clients use the proxy, in one step for all of them.
   *
   * A server whose resolved configuration is the same keeps its processes and its calls, also when only its `tools`,
   * `prefix`, `describe` or `argumentChecks` differ. One that differs otherwise is started anew: the new one takes
   * the calls that come, those on the old one may finish for the drain time and then get one error. A new server is
   * waited for up to `startupGraceMs`, which is 10 s by default. Each client gets at most one `list_changed` of a kind, and none
   * when what it sees is the same. Subscriptions and log levels go over to the new servers.
   *
   * Of several calls at the same time the last one wins, and all of them resolve with what it did. The `logging` and
   * `server` of the configuration are not this proxy's; its `server.name` is what later clients see.
   *
   * @returns what was done; undefined when the proxy is being closed, which is logged
   * @throws ConfigError with every problem of the configuration; nothing has changed then
   */
  reload(config: Configuration | ConfigurationJson): Promise<ServerChanges | undefined>
  /**
   * Starts a server anew: a new process takes the calls that come as soon as its lists are read, or after
   * `startupGraceMs` (10 s by default); calls on the old one may finish for the drain time and then get one error. A server that was
   * stopped runs again. Resolves when the new one has taken over.
   *
   * @throws UpstreamError when there is no such server, or the proxy is being closed
   */
  restart(service: string): Promise<void>
  /**
   * Stops a server until `restart`, or until a reload changes it: what it has leaves the lists, and calls for it are
   * refused with an error that names this. Calls that run may finish for the drain time and then get one error. Resolves
   * when no process of it is left.
   *
   * @throws UpstreamError when there is no such server, or the proxy is being closed
   */
  stop(service: string): Promise<void>
  /** The state of every configured server, in configuration order. */
  status(): UpstreamStatus[]
  /** Every client that is attached, the oldest first. */
  sessions(): SessionStatus[]
  /** Lets calls finish for up to `graceMs`, answers the rest, and stops every server; again, with less patience. */
  close(graceMs?: number): Promise<void>
}
