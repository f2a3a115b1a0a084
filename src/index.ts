/**
 * mcps-proxy: many MCP servers as one, forwarded byte for byte.
 *
 * @packageDocumentation
 */
export { ConfigError, type ConfigProblem, type Configuration } from './config.js'
export type {
  ConfigurationJson,
  HttpServerJson,
  SchemaJson,
  ServerJson,
  SseServerJson,
  StdioServerJson,
} from './config.js'
export type { ServerChanges } from './fleet.js'
export type { EventListener, EventListeners, EventSource } from './emitter.js'
export { FrameError, RpcError, TransportError } from './jsonrpc/errors.js'
export { type HttpServerOptions, httpServer } from './http.js'
export type { Connection, Sink } from './jsonrpc/connection.js'
export { type Edit, type EditReason, editReasons } from './jsonrpc/splice.js'
export type { ForwardEvent, Hop, WireEvent, WireTap } from './jsonrpc/wire-tap.js'
export { type Limits, limits } from './limits.js'
export type { Listener, ServedProxy, Serving } from './listener.js'
export type { AttachedSession } from './attached.js'
export { createProxy } from './proxy.js'
export type {
  CallEvent,
  ClientEvent,
  CloseEvent,
  ListsEvent,
  ProxyEvents,
  ProxyListeners,
  ReloadEvent,
  ServerEvent,
} from './proxy-events.js'
export type { Proxy } from './proxy-interface.js'
export type { ProxyOptions } from './proxy-options.js'
export { type RealRuntime, realRuntime } from './runtime.js'
export type { SessionEnd } from './session-parts.js'
export type { ServingEvents, SessionEvent } from './serving-events.js'
export type { SessionProcess, SessionStatus } from './session-status.js'
export { memoryPair } from './transports/memory.js'
export { stdio } from './transports/stdio.js'
export { UpstreamError } from './upstream/errors.js'
export type { LogLevel, LogRecord, LogSink, Runtime, Timer } from './upstream/host.js'
export type { RunningProcess } from './upstream/running-process.js'
export type { UpstreamStatus } from './upstream/upstream.js'
export { version } from './version.js'
