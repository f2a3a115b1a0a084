// The interface of a proxy to the program that embeds it.

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
   * `origin` contains the facts about the client that are known before its first message. A proxy that is
   * closing closes the connection immediately.
   */
  attach(connection: Connection, origin?: ClientOrigin): Promise<AttachedSession>
  /** Serves many clients, until the proxy is closed. */
  serve(listener: Listener): Promise<Serving>
  /**
   * Uses a server that was started elsewhere as the first process of a configured server.
   *
   * To end a server behind a plain `Connection`, the proxy closes the connection. A `ChildProcess` needs
   * pipes for stdin and stdout that no other code uses: the proxy reads stderr into the log, shows the pid,
   * reports the exit, and ends the process like its own: end of stdin, SIGTERM, SIGKILL. After the server has
   * ended, the proxy starts the next one as configured. Call this before the first client attaches.
   *
   * @returns false if it is too late, or if there is no such server
   * @throws UpstreamError if the streams of the process cannot be used
   */
  adopt(service: string, server: Connection | RunningProcess): boolean
  /**
   * Changes to another configuration while clients use the proxy, in one step for all clients.
   *
   * A server with the same resolved configuration keeps its processes and calls, also if only its `tools`,
   * `prefix`, `describe` or `argumentChecks` differ. Any other changed server starts anew: new calls go to
   * the new one, and calls on the old one may finish within the drain time, then fail with one error. The
   * proxy waits for a new server up to `startupGraceMs` (10 s by default). Each client gets at most one
   * `list_changed` of a kind, and none if its list is the same. Subscriptions and log levels pass to the new
   * servers.
   *
   * Of several concurrent calls the last one wins, and all of them resolve with its result. The proxy does
   * not apply `logging` and `server` of the configuration, but later clients see its `server.name`.
   *
   * @returns the changes; undefined if the proxy is closing, which is logged
   * @throws ConfigError with every problem of the configuration; nothing has changed then
   */
  reload(config: Configuration | ConfigurationJson): Promise<ServerChanges | undefined>
  /**
   * Starts a server anew, also a stopped one. The new process gets new calls as soon as its lists are read,
   * or after `startupGraceMs` (10 s by default). Calls on the old process may finish within the drain time,
   * then fail with one error. Resolves when the new process is in use.
   *
   * @throws UpstreamError if there is no such server, or the proxy is closing
   */
  restart(service: string): Promise<void>
  /**
   * Stops a server until `restart`, or until a reload changes it. Its items leave the lists, and calls to it
   * fail with an error that names the stop. Running calls may finish within the drain time, then fail with
   * one error. Resolves when no process of the server is left.
   *
   * @throws UpstreamError if there is no such server, or the proxy is closing
   */
  stop(service: string): Promise<void>
  /** The state of every configured server, in configuration order. */
  status(): UpstreamStatus[]
  /** Every attached client, the oldest first. */
  sessions(): SessionStatus[]
  /** Lets calls finish for up to `graceMs`, fails the others, and stops all servers. A later call can shorten this. */
  close(graceMs?: number): Promise<void>
}
