/**
 * mcps-proxy: many MCP servers as one, forwarded byte for byte.
 *
 * @packageDocumentation
 */
export type { Configuration } from './config/configuration.js'
export type { ConfigurationJson, SchemaJson } from './config/keys.js'
export { ConfigError, type ConfigProblem } from './config/problems.js'
export type {
  HttpServerJson,
  SandboxServerJson,
  ServerJson,
  SseServerJson,
  StdioServerJson,
} from './config/server-keys.js'
export type { ServerChanges } from './events/proxy-events.js'
export type { EventListener, EventListeners, EventSource } from './events/emitter.js'
export { FrameError, TransportError } from './jsonrpc/jsonrpc-errors.js'
export { type HttpServerOptions, httpServer } from './gateway/http.js'
export type { Connection, Sink, TransportName } from './jsonrpc/connection.js'
export { type Edit, type EditReason, editReasons } from './jsonrpc/splice.js'
export type { ForwardEvent, Hop, LiveTap, TapSwitch, WireEvent, WireTap } from './jsonrpc/wire-tap.js'
export { type Limits, limits } from './limits.js'
export type { Listener, ServedProxy, Serving } from './proxy/listener.js'
export type { AttachedSession } from './proxy/clients/session.js'
export { createProxy } from './proxy/proxy.js'
export type {
  CallEvent,
  ClientEvent,
  CloseEvent,
  ListsEvent,
  ProxyEvents,
  ProxyListeners,
  ReloadEvent,
  ServerEvent,
} from './events/proxy-events.js'
export type { McpProxy } from './proxy/proxy-interface.js'
export type { CallTrace, CallTracer, ProxyOptions } from './proxy/proxy-options.js'
export { type RealRuntime, realRuntime } from './real-runtime.js'
export type { SessionEnd } from './proxy/clients/session.js'
export type { ServingEvents, SessionEvent } from './events/serving-events.js'
export type { SessionProcess, SessionStatus } from './proxy/routing/session-status.js'
export { type MemoryConnection, memoryPair } from './transports/memory.js'
export { stdio } from './transports/stdio/ndjson.js'
export { UpstreamError } from './upstream/contracts/upstream-error.js'
export type { LogLevel, LogRecord, LogSink, Runtime, Timer } from './runtime/runtime.js'
export type { RunningProcess } from './upstream/contracts/upstream.js'
export type { UpstreamStatus } from './upstream/contracts/upstream.js'
export { version } from './version.js'
