// Counts calls: a listener of the events of a proxy.
//
// The series of the latest kinds of calls are kept together, so that a call costs a few comparisons and additions.

import type { CallEvent, ListsEvent, ProxyListeners, ServerEvent } from '../events/proxy-events.js'
import { type ServerLabels, frontError, isKnownMethod, transportOf, upstreamError } from './call-labels.js'
import { perCall, operations } from './families.js'
import {
  Counter,
  type Family,
  Histogram,
  LimitedValues,
  OTHER,
  SeriesFamily,
  operationBounds,
} from './registry.js'

/** Series of one family. */
export const SERIES_MAX = 2000

/** Tools of all servers that have series of their own. */
export const TOOLS_MAX = 500

/** Error numbers are chosen by servers. */
export const ERROR_TYPES_MAX = 64

/** Kinds of calls that are compared before any is looked up. */
const RECENT_MAX = 8

/** The error type that stands for every further one (OpenTelemetry, error.type). */
const OTHER_ERROR = '_OTHER'

/** From a millisecond to a minute. */
const overheadBounds: readonly number[] = [0.001, 0.002, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10, 30, 60]

/** The facts of a call that choose its series. */
type Likeness = Pick<
  CallEvent,
  'schema' | 'server' | 'method' | 'outcome' | 'isToolError' | 'code' | 'reason' | 'revision' | 'transport'
> & { readonly wasSent: boolean; readonly tool: string }

/** The series of calls that differ in nothing but time and lengths. */
interface CallSeries {
  readonly like: Likeness
  readonly front: Histogram
  readonly upstream: Histogram | undefined
  readonly overhead: Histogram | undefined
  readonly ended: Counter | undefined
  readonly argumentBytes: Counter
  readonly resultBytes: Counter
}

/** Counts the calls of all schemas. */
export class CallMetrics {
  readonly #hasTools: boolean
  readonly #front: SeriesFamily<Histogram>
  readonly #upstream: SeriesFamily<Histogram>
  readonly #overhead = histograms(perCall.overhead, overheadBounds)
  readonly #failed = counters(perCall.failed)
  readonly #refused = counters(perCall.refused)
  readonly #argumentBytes = counters(perCall.argumentBytes)
  readonly resultBytes: SeriesFamily<Counter> = counters(perCall.resultBytes)
  /** By server, and by method or tool. */
  readonly #known = new Map<string | undefined, Map<string, CallSeries[]>>()
  #knownCount = 0
  /** Of the latest kinds of calls, each in the place of an earlier one. */
  readonly #recent: CallSeries[] = []
  #replaced = 0
  readonly #errorTypes = new LimitedValues(ERROR_TYPES_MAX, OTHER_ERROR)
  readonly #tools = new LimitedValues(TOOLS_MAX, OTHER)
  /** By schema and server; there are as many as were ever configured. */
  readonly #serverLabels = new Map<string, ServerLabels>()
  /** The same: the length of each list. */
  readonly #lists = new Map<string, ListsEvent['bytes']>()
  /** Of the events of a proxy. */
  readonly listeners: ProxyListeners

  /** With `hasTools` the operations have the label of the tool. */
  constructor(hasTools: boolean) {
    const { front, upstream } = operations(hasTools)
    this.#hasTools = hasTools
    this.#front = histograms(front, operationBounds)
    this.#upstream = histograms(upstream, operationBounds)
    this.listeners = {
      call: (event) => this.#count(event),
      server: (event) => this.#speaks(event),
      lists: ({ schema, server, bytes }) => void this.#lists.set(`${schema}\0${server}`, bytes),
    }
  }

  /** Undefined before the server is ready. */
  serverLabelsOf(schema: string, server: string): ServerLabels | undefined {
    return this.#serverLabels.get(`${schema}\0${server}`)
  }

  /** Undefined before the lists are read. */
  listsOf(schema: string, server: string): ListsEvent['bytes'] | undefined {
    return this.#lists.get(`${schema}\0${server}`)
  }

  get families(): readonly Family[] {
    const counts = [this.#failed, this.#refused, this.#argumentBytes, this.resultBytes]
    return [this.#front, this.#upstream, this.#overhead, ...counts]
  }

  #count(event: CallEvent): void {
    const series = this.#recentLike(event) ?? this.#seriesOf(event)
    const { ms, serverMs, argumentBytes, resultBytes } = event
    series.front.observe(ms / 1000)
    if (serverMs !== undefined) {
      series.upstream?.observe(serverMs / 1000)
      series.overhead?.observe((ms - serverMs) / 1000)
    }
    series.ended?.add(1)
    if (argumentBytes > 0) series.argumentBytes.add(argumentBytes)
    if (resultBytes > 0) series.resultBytes.add(resultBytes)
  }

  #recentLike(event: CallEvent): CallSeries | undefined {
    const recent = this.#recent
    for (let at = 0; at < recent.length; at++) {
      const each = recent[at]
      if (each !== undefined && this.#isLike(event, each)) return each
    }
    return undefined
  }

  #isLike(event: CallEvent, { like }: CallSeries): boolean {
    return (
      event.method === like.method &&
      event.server === like.server &&
      event.outcome === like.outcome &&
      event.isToolError === like.isToolError &&
      event.code === like.code &&
      event.reason === like.reason &&
      event.revision === like.revision &&
      event.transport === like.transport &&
      event.schema === like.schema &&
      (event.serverMs !== undefined) === like.wasSent &&
      (!this.#hasTools || this.#toolOf(event) === like.tool)
    )
  }

  #seriesOf(event: CallEvent): CallSeries {
    const known = this.#known.get(event.server)?.get(this.#keyOf(event))
    const found = known?.find((each) => this.#isLike(event, each))
    const series = found ?? this.#newSeries(event)
    if (found === undefined) this.#keep(series, event)
    this.#recent[this.#replaced++ % RECENT_MAX] = series
    return series
  }

  /** Few calls have the same key and other series. */
  #keyOf(event: CallEvent): string {
    const tool = this.#toolOf(event)
    return tool === '' ? event.method : tool
  }

  /** The cache only saves time, so it is emptied when clients bring too many kinds of calls. */
  #keep(series: CallSeries, event: CallEvent): void {
    const { server } = event
    if (++this.#knownCount > SERIES_MAX) {
      this.#known.clear()
      this.#knownCount = 1
    }
    const ofServer = this.#known.get(server) ?? new Map<string, CallSeries[]>()
    this.#known.set(server, ofServer)
    const key = this.#keyOf(event)
    ofServer.set(key, [...(ofServer.get(key) ?? []), series])
  }

  #newSeries(event: CallEvent): CallSeries {
    const { schema, server = '', revision = '', serverMs } = event
    const method = isKnownMethod(event.method) ? event.method : OTHER
    const tool = this.#toolOf(event)
    const tools = this.#hasTools ? [tool] : []
    const named = [schema, server, method]
    const speech = this.serverLabelsOf(schema, server)
    const front = [...named, this.#errorType(event, frontError(event)), revision, transportOf(event)]
    const upstream = [
      ...named,
      this.#errorType(event, upstreamError(event)),
      speech?.revision ?? '',
      speech?.transport ?? '',
    ]
    const wasSent = serverMs !== undefined
    return {
      like: { ...likenessOf(event), wasSent, tool },
      front: this.#front.series([...front, ...tools]),
      upstream: wasSent ? this.#upstream.series([...upstream, ...tools]) : undefined,
      overhead: wasSent ? this.#overhead.series([schema, server]) : undefined,
      ended: this.#endedOf(event),
      argumentBytes: this.#argumentBytes.series(named),
      resultBytes: this.resultBytes.series(named),
    }
  }

  #endedOf(event: CallEvent): Counter | undefined {
    const { schema, server = '', outcome, reason, code } = event
    if (outcome !== 'failed' && outcome !== 'refused') return undefined
    const family = outcome === 'failed' ? this.#failed : this.#refused
    return family.series([
      schema,
      server,
      this.#errorTypes.of(reason ?? (code === undefined ? 'arguments' : String(code))),
    ])
  }

  #errorType({ isToolError }: CallEvent, type: string): string {
    if (isToolError) return 'tool_error'
    return type === '' ? '' : this.#errorTypes.of(type)
  }

  /** The name that the server has for it: a client cannot make one up. */
  #toolOf({ method, item }: CallEvent): string {
    return this.#hasTools && method === 'tools/call' && item !== undefined ? this.#tools.of(item) : ''
  }

  #speaks(event: ServerEvent): void {
    if (event.state !== 'ready') return
    const { schema, server, kind, revision } = event
    const key = `${schema}\0${server}`
    if (this.#serverLabels.get(key)?.revision === revision) return
    this.#serverLabels.set(key, { revision, transport: kind === 'http' || kind === 'sse' ? 'tcp' : 'pipe' })
    // Those that are kept have the labels of before.
    this.#known.delete(server)
    this.#recent.length = 0
    this.#replaced = 0
  }
}

function likenessOf(event: CallEvent): Omit<Likeness, 'wasSent' | 'tool'> {
  const { schema, server, method, outcome, isToolError, code, reason, revision, transport } = event
  return { schema, server, method, outcome, isToolError, code, reason, revision, transport }
}

function histograms(
  description: SeriesFamily<Histogram>['description'],
  bounds: readonly number[],
): SeriesFamily<Histogram> {
  return new SeriesFamily(description, SERIES_MAX, () => new Histogram(bounds))
}

function counters(description: SeriesFamily<Counter>['description']): SeriesFamily<Counter> {
  return new SeriesFamily(description, SERIES_MAX, () => new Counter())
}
