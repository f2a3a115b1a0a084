// Counts the calls of all schemas, and says what metrics and spans say of a call.

import type { CallEvent, ProxyListeners, ServerEvent } from '../events/proxy-events.js'
import { isClientMistake } from '../mcp/error-codes.js'
import { requests, statelessRequests } from '../mcp/methods.js'
import { Counter, Histogram, SeriesFamily, OTHER, SERIES_MAX } from './registry.js'

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

/** The series of calls that differ in nothing but time and lengths. */
interface CallSeries {
  readonly front: Histogram
  readonly upstream: Histogram | undefined
  readonly overhead: Histogram | undefined
  readonly ended: Counter | undefined
  readonly argumentBytes: Counter
  readonly resultBytes: Counter
}

export class CallMetrics {
  readonly #hasTools: boolean
  readonly #front = histograms('mcp_server_operation_duration_seconds', operationBounds)
  readonly #upstream = histograms('mcp_client_operation_duration_seconds', operationBounds)
  readonly #overhead = histograms('mcps_overhead_seconds', overheadBounds)
  readonly #failed = counters('mcps_failed_total')
  readonly #refused = counters('mcps_refused_total')
  readonly #argumentBytes = counters('mcps_argument_bytes_total')
  readonly resultBytes: SeriesFamily<Counter> = counters('mcps_result_bytes_total')
  /** By everything that chooses them. */
  readonly #known = new Map<string, CallSeries>()
  readonly #errorTypes = new LimitedValues(ERROR_TYPES_MAX, OTHER_ERROR)
  readonly #tools = new LimitedValues(TOOLS_MAX, OTHER)
  /** By schema and server; there are as many as were ever configured. */
  readonly #servers = new Map<string, ServerLabels>()
  /** Of the events of a proxy. */
  readonly listeners: ProxyListeners = {
    call: (event) => this.observe(event),
    server: (event) => this.#speaks(event),
  }

  /** With `hasTools` the operations have the label of the tool. */
  constructor(hasTools: boolean) {
    this.#hasTools = hasTools
  }

  get families(): readonly SeriesFamily<Counter | Histogram>[] {
    const counts = [this.#failed, this.#refused, this.#argumentBytes, this.resultBytes]
    return [this.#front, this.#upstream, this.#overhead, ...counts]
  }

  /** Undefined before the server is ready. */
  serverLabelsOf(schema: string, server: string): ServerLabels | undefined {
    return this.#servers.get(`${schema}\0${server}`)
  }

  /** A server without a name stands for requests for which none was chosen. */
  startAtZero(schema: string, server: string): void {
    for (const reason of refusedFromStart) this.#refused.of([schema, server, reason])
    for (const reason of server === '' ? [] : failedFromStart) this.#failed.of([schema, server, reason])
  }

  observe(event: CallEvent): void {
    const series = this.#seriesOf(event)
    const { ms, serverMs = ms, argumentBytes, resultBytes } = event
    series.front.observe(ms / 1000)
    series.upstream?.observe(serverMs / 1000)
    series.overhead?.observe((ms - serverMs) / 1000)
    if (series.ended !== undefined) series.ended.value += 1
    series.argumentBytes.value += argumentBytes
    series.resultBytes.value += resultBytes
  }

  /** The cache only saves time, so it is emptied when clients bring too many kinds of calls. */
  #seriesOf(event: CallEvent): CallSeries {
    const { schema, server, method, item, outcome, isToolError, code, reason, revision, transport } = event
    const tool = this.#hasTools ? item : undefined
    const sent = event.serverMs === undefined ? 0 : 1
    const key = `${schema}\0${server}\0${method}\0${tool}\0${outcome}\0${isToolError}\0${code}\0${reason}\0${revision}\0${transport}\0${sent}`
    const known = this.#known.get(key)
    if (known !== undefined) return known
    if (this.#known.size >= SERIES_MAX) this.#known.clear()
    const series = this.#newSeries(event)
    this.#known.set(key, series)
    return series
  }

  #newSeries(event: CallEvent): CallSeries {
    const { schema, server = '', revision = '', serverMs, item } = event
    const named = [schema, server, isKnownMethod(event.method) ? event.method : OTHER]
    const hasTool = this.#hasTools && event.method === 'tools/call' && item !== undefined
    const tool = hasTool ? this.#tools.of(item) : ''
    const speech = this.serverLabelsOf(schema, server)
    const front = [...named, this.#errorType(event, frontError(event)), revision, transportOf(event), tool]
    const upstream = [...named, this.#errorType(event, upstreamError(event)), speech?.revision ?? '', speech?.transport ?? '', tool] // prettier-ignore
    const wasSent = serverMs !== undefined
    return {
      front: this.#front.of(front),
      upstream: wasSent ? this.#upstream.of(upstream) : undefined,
      overhead: wasSent ? this.#overhead.of([schema, server]) : undefined,
      ended: this.#endedOf(event),
      argumentBytes: this.#argumentBytes.of(named),
      resultBytes: this.resultBytes.of(named),
    }
  }

  #endedOf({ schema, server = '', outcome, reason, code }: CallEvent): Counter | undefined {
    if (outcome !== 'failed' && outcome !== 'refused') return undefined
    const why = this.#errorTypes.of(reason ?? (code === undefined ? 'arguments' : String(code)))
    return (outcome === 'failed' ? this.#failed : this.#refused).of([schema, server, why])
  }

  #errorType({ isToolError }: CallEvent, type: string): string {
    if (isToolError) return 'tool_error'
    return type === '' ? '' : this.#errorTypes.of(type)
  }

  #speaks(event: ServerEvent): void {
    if (event.state !== 'ready') return
    const { schema, server, kind, revision } = event
    if (this.serverLabelsOf(schema, server)?.revision === revision) return
    const transport = kind === 'http' || kind === 'sse' ? 'tcp' : 'pipe'
    this.#servers.set(`${schema}\0${server}`, { revision, transport })
    // Those that are kept have the labels of before.
    this.#known.clear()
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

function histograms(name: string, bounds: readonly number[]): SeriesFamily<Histogram> {
  return new SeriesFamily(name, () => new Histogram(bounds))
}

function counters(name: string): SeriesFamily<Counter> {
  return new SeriesFamily(name, () => new Counter())
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
