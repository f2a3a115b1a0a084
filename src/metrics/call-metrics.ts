// Counts the calls of all schemas, and says what metrics and spans say of a call.

import type { CallEvent, ProxyListeners, ServerEvent } from '../events/proxy-events.js'
import { isClientMistake } from '../mcp/error-codes.js'
import { requests, statelessRequests } from '../mcp/methods.js'
import { Family, OTHER } from './registry.js'

/** The protocol version and the transport of a server, as OpenTelemetry names them. */
export interface ServerLabels {
  readonly revision: string
  readonly transport: string
}

/** The most tools of all servers with separate series. */
export const TOOLS_MAX = 500

/** Error numbers are chosen by servers. */
export const ERROR_TYPES_MAX = 64

/** The error type that stands for every further one (OpenTelemetry, error.type). */
const OTHER_ERROR = '_OTHER'

/** The bounds of the OpenTelemetry conventions for MCP, in seconds. */
const operationBounds = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300]

/** From a millisecond to a minute. */
const overheadBounds = [0.001, 0.002, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10, 30, 60]

/** Reasons that have a series from the start, so that a rate sees the first calls too. */
const refusedFromStart = ['overloaded', 'rate-limited', 'not-confirmed', 'audit-failed']
const failedFromStart = ['timeout', 'exited', 'unavailable']

export class CallMetrics {
  readonly #hasTools: boolean
  readonly #front = new Family('mcp_server_operation_duration_seconds', operationBounds)
  readonly #upstream = new Family('mcp_client_operation_duration_seconds', operationBounds)
  readonly #overhead = new Family('mcps_overhead_seconds', overheadBounds)
  readonly #failed = new Family('mcps_failed_total')
  readonly #refused = new Family('mcps_refused_total')
  readonly #argumentBytes = new Family('mcps_argument_bytes_total')
  readonly resultBytes: Family = new Family('mcps_result_bytes_total')
  readonly families: readonly Family[] = [
    this.#front,
    this.#upstream,
    this.#overhead,
    this.#failed,
    this.#refused,
    this.#argumentBytes,
    this.resultBytes,
  ]
  readonly #errorTypes = new LimitedValues(ERROR_TYPES_MAX, OTHER_ERROR)
  readonly #tools = new LimitedValues(TOOLS_MAX, OTHER)
  /** By schema and server; there are as many as were ever configured. */
  readonly #servers = new Map<string, ServerLabels>()
  /** Of the events of a proxy. */
  readonly listeners: ProxyListeners = {
    call: (event) => this.observe(event),
    server: (event) => this.#noteServer(event),
  }

  /** With `hasTools` the operations have the label of the tool. */
  constructor(hasTools: boolean) {
    this.#hasTools = hasTools
  }

  /** Undefined before the server is ready. */
  serverLabelsOf(schema: string, server: string): ServerLabels | undefined {
    return this.#servers.get(`${schema}\0${server}`)
  }

  /** A server without a name stands for requests for which none was chosen. */
  startAtZero(schema: string, server: string): void {
    for (const reason of refusedFromStart) this.#refused.observe([schema, server, reason], 0)
    for (const reason of server === '' ? [] : failedFromStart)
      this.#failed.observe([schema, server, reason], 0)
  }

  observe(event: CallEvent): void {
    const { schema, server = '', method, item, revision = '', ms, serverMs, outcome } = event
    const named = [schema, server, isKnownMethod(method) ? method : OTHER]
    const hasTool = this.#hasTools && method === 'tools/call' && item !== undefined
    const tool = hasTool ? this.#tools.of(item) : ''
    const front = [...named, this.#errorType(event, frontError(event)), revision, transportOf(event), tool]
    this.#front.observe(front, ms / 1000)
    if (serverMs !== undefined) {
      const own = this.serverLabelsOf(schema, server) ?? { revision: '', transport: '' }
      const error = this.#errorType(event, upstreamError(event))
      this.#upstream.observe([...named, error, own.revision, own.transport, tool], serverMs / 1000)
      this.#overhead.observe([schema, server], (ms - serverMs) / 1000)
    }
    if (outcome === 'failed') this.#failed.observe([schema, server, this.#reasonOf(event)], 1)
    if (outcome === 'refused') this.#refused.observe([schema, server, this.#reasonOf(event)], 1)
    this.#argumentBytes.observe(named, event.argumentBytes)
    this.resultBytes.observe(named, event.resultBytes)
  }

  #reasonOf({ reason, code }: CallEvent): string {
    return this.#errorTypes.of(reason ?? (code === undefined ? 'arguments' : String(code)))
  }

  #errorType({ isToolError }: CallEvent, type: string): string {
    if (isToolError) return 'tool_error'
    return type === '' ? '' : this.#errorTypes.of(type)
  }

  #noteServer(event: ServerEvent): void {
    if (event.state !== 'ready') return
    const { schema, server, kind, revision } = event
    const transport = kind === 'http' || kind === 'sse' ? 'tcp' : 'pipe'
    this.#servers.set(`${schema}\0${server}`, { revision, transport })
  }
}

/** At most so many different values; every further one is `other`. */
class LimitedValues {
  readonly #valuesMax: number
  readonly #other: string
  readonly #known = new Set<string>()

  constructor(valuesMax: number, other: string) {
    this.#valuesMax = valuesMax
    this.#other = other
  }

  of(value: string): string {
    if (this.#known.has(value)) return value
    if (this.#known.size >= this.#valuesMax) return this.#other
    this.#known.add(value)
    return value
  }
}

export function isKnownMethod(method: string): boolean {
  return requests.get(method) !== undefined || statelessRequests.get(method) !== undefined
}

/**
 * The error of a call towards its client, but for that of a tool; empty where there is none.
 *
 * A mistake of the client is no error of the side that was asked (OpenTelemetry, RPC: server spans).
 */
export function frontError({ outcome, code }: Pick<CallEvent, 'outcome' | 'code'>): string {
  if (outcome === 'cancelled') return 'cancelled'
  return code === undefined || isClientMistake(code) ? '' : String(code)
}

/** The server's own error, or why there was no answer; empty where there is none. */
export function upstreamError({
  outcome,
  code,
  reason,
}: Pick<CallEvent, 'outcome' | 'code' | 'reason'>): string {
  if (outcome === 'cancelled') return 'cancelled'
  return reason ?? (code === undefined ? '' : String(code))
}

/** Empty for a connection inside the process. */
export function transportOf({ transport }: Pick<CallEvent, 'transport'>): string {
  if (transport === 'stdio') return 'pipe'
  return transport === 'http' || transport === 'sse' ? 'tcp' : ''
}
