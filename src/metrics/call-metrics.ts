// Counts the calls of all schemas, and decides the labels of a call in metrics and spans.

import type { CallEvent, ProxyListeners, ServerEvent } from '../events/proxy-events.js'
import { isClientMistake } from '../mcp/error-codes.js'
import { requests, statelessRequests } from '../mcp/methods.js'
import { Family, OTHER } from './registry.js'

/** The protocol version and the transport of a server, in the terms of OpenTelemetry. */
export interface ServerLabels {
  readonly revision: string
  readonly transport: string
}

/** The bucket bounds of the OpenTelemetry conventions for MCP, in seconds. */
const operationBounds = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300]

const overheadBounds = [0.001, 0.002, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10, 30, 60]

/** Reasons with a series from the start: a rate ignores the first value of a series, so the series begins at zero. */
const refusedFromStart = ['overloaded', 'rate-limited', 'not-confirmed', 'audit-failed']
const failedFromStart = ['timeout', 'exited', 'unavailable']

/** The most error codes and tool names in labels. Servers choose both, so all further ones share one label. */
export const CODES_MAX = 64
export const TOOLS_MAX = 500

export class CallMetrics {
  readonly #hasTools: boolean
  readonly #codes = new Set<string>()
  readonly #tools = new Set<string>()
  readonly #front = new Family('mcp_server_operation_duration_seconds', operationBounds)
  readonly #upstream = new Family('mcp_client_operation_duration_seconds', operationBounds)
  readonly #overhead = new Family('mcps_overhead_seconds', overheadBounds)
  readonly #failed = new Family('mcps_failed_total')
  readonly #refused = new Family('mcps_refused_total')
  readonly #argumentBytes = new Family('mcps_argument_bytes_total')
  readonly #resultBytes = new Family('mcps_result_bytes_total')
  readonly families: readonly Family[] = [
    this.#front,
    this.#upstream,
    this.#overhead,
    this.#failed,
    this.#refused,
    this.#argumentBytes,
    this.#resultBytes,
  ]
  /** The labels by schema and server, for every server that was ever configured. */
  readonly #servers = new Map<string, ServerLabels>()
  readonly listeners: ProxyListeners = {
    call: (event) => this.observe(event),
    server: (event) => this.#noteServer(event),
  }

  /** `hasTools` adds the label of the tool to operations. */
  constructor(hasTools: boolean) {
    this.#hasTools = hasTools
  }

  serverLabelsOf(schema: string, server: string): ServerLabels | undefined {
    return this.#servers.get(`${schema}\0${server}`)
  }

  /** An empty `server` stands for requests that reached no server. */
  startAtZero(schema: string, server: string): void {
    for (const reason of refusedFromStart) this.#refused.observe([schema, server, reason], 0)
    for (const reason of server === '' ? [] : failedFromStart)
      this.#failed.observe([schema, server, reason], 0)
  }

  observe(event: CallEvent): void {
    const { schema, server = '', method, item, revision = '', ms, serverMs, outcome } = event
    const named = [schema, server, isKnownMethod(method) ? method : OTHER]
    const tool = this.#hasTools && method === 'tools/call' ? (item ?? '') : ''
    const shownTool = tool === '' || admits(this.#tools, tool, TOOLS_MAX) ? tool : OTHER
    const error = this.#error(frontError(event))
    this.#front.observe([...named, error, revision, transportOf(event), shownTool], ms / 1000)
    if (serverMs !== undefined) {
      const own = this.serverLabelsOf(schema, server) ?? { revision: '', transport: '' }
      this.#upstream.observe(
        [...named, this.#error(upstreamError(event)), own.revision, own.transport, shownTool],
        serverMs / 1000,
      )
      this.#overhead.observe([schema, server], (ms - serverMs) / 1000)
    }
    const reason = event.reason ?? (event.code === undefined ? 'arguments' : this.#error(String(event.code)))
    if (outcome === 'failed') this.#failed.observe([schema, server, reason], 1)
    if (outcome === 'refused') this.#refused.observe([schema, server, reason], 1)
    this.#argumentBytes.observe(named, event.argumentBytes)
    this.#resultBytes.observe(named, event.resultBytes)
  }

  /** Servers choose error codes, which are numbers. All other errors are one of a few words of the proxy. */
  #error(error: string): string {
    return !/^-?\d/.test(error) || admits(this.#codes, error, CODES_MAX) ? error : '_OTHER'
  }

  #noteServer(event: ServerEvent): void {
    if (event.state !== 'ready') return
    const { schema, server, kind, revision } = event
    const transport = kind === 'http' || kind === 'sse' ? 'tcp' : 'pipe'
    this.#servers.set(`${schema}\0${server}`, { revision, transport })
  }
}

function admits(labels: Set<string>, label: string, max: number): boolean {
  if (labels.size < max) labels.add(label)
  return labels.has(label)
}

export function isKnownMethod(method: string): boolean {
  return requests.get(method) !== undefined || statelessRequests.get(method) !== undefined
}

type Ended = Pick<CallEvent, 'outcome' | 'code' | 'reason' | 'isToolError'>

/**
 * Returns the error of a call towards its client; empty without an error.
 *
 * A mistake of the client is no error of the proxy (OpenTelemetry semantic conventions, RPC: server spans).
 */
export function frontError({ outcome, code, isToolError }: Ended): string {
  if (isToolError) return 'tool_error'
  if (outcome === 'cancelled') return 'cancelled'
  return code === undefined || isClientMistake(code) ? '' : String(code)
}

/** Returns the error of the server, or why the server did not answer; empty without an error. */
export function upstreamError({ outcome, code, reason, isToolError }: Ended): string {
  if (isToolError) return 'tool_error'
  if (outcome === 'cancelled') return 'cancelled'
  return reason ?? (code === undefined ? '' : String(code))
}

/** Returns an empty text for a connection inside the process. */
export function transportOf({ transport }: Pick<CallEvent, 'transport'>): string {
  if (transport === 'stdio') return 'pipe'
  return transport === 'http' || transport === 'sse' ? 'tcp' : ''
}
