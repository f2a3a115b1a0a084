// Sends metrics and spans to a collector through the packages of OpenTelemetry, which a person installs beside the proxy.
// The packages read the standard environment variables.
//
// Each sampled call has two spans: one for the client's request, and a child of it for the request to the server
// (OpenTelemetry semantic conventions for MCP; W3C Trace Context, level 1).

import process from 'node:process'
import type { Attributes, Context, Span, Tracer } from '@opentelemetry/api'
import type { CollectionResult, DataPoint, HistogramMetricData, MetricData } from '@opentelemetry/sdk-metrics'
import type { BasicTracerProvider } from '@opentelemetry/sdk-trace-base'
import type { CallEvent } from '../events/proxy-events.js'
import type { CallTrace, CallTracer } from '../mcp/meta-edits.js'
import type { LogSink, Runtime } from '../runtime/runtime.js'
import { errorText } from '../text/error-text.js'
import { version } from '../version.js'
import { type CallMetrics, frontError, isKnownMethod, transportOf, upstreamError } from './call-metrics.js'
import type { Metrics } from './metrics.js'
import { countOf, type Family, OTHER } from './registry.js'

type Environment = Readonly<Record<string, string | undefined>>
type Resource = CollectionResult['resourceMetrics']['resource']
type Clock = Pick<Runtime, 'env' | 'wallNow'>
type Packages = Awaited<ReturnType<typeof loadPackages>>

const METRICS_INTERVAL_MS = 60_000

/** Node turns a longer delay of a timer into 1 ms. */
const TIMER_MS_MAX = 2 ** 31 - 1

const EXPORT_MS_MAX = 30_000

/** Returns the signals that the OpenTelemetry environment variables enable. */
export function exportedSignals(env: Environment): ReadonlySet<'METRICS' | 'TRACES'> {
  const isOff = env['OTEL_SDK_DISABLED']?.toLowerCase() === 'true'
  const signals = (['METRICS', 'TRACES'] as const).filter((signal) => {
    const exporter = env[`OTEL_${signal}_EXPORTER`] ?? ''
    const places = [`OTEL_EXPORTER_OTLP_${signal}_ENDPOINT`, 'OTEL_EXPORTER_OTLP_ENDPOINT']
    return exporter === 'otlp' || (exporter === '' && places.some((name) => (env[name] ?? '') !== ''))
  })
  return new Set(isOff ? [] : signals)
}

export interface Collector {
  /** Undefined if the collector gets no spans. */
  readonly tracer: (CallTracer & { ended(event: CallEvent): void }) | undefined
  close(): Promise<void>
}

/** If a package is missing, rejects with the command that installs the packages. */
export async function openCollector(
  metrics: Metrics,
  name: string,
  runtime: Clock,
  log: LogSink,
): Promise<Collector> {
  const packages = await loadPackages()
  const { api, resources } = packages
  const report = reporter(log)
  const logger = { error: report, warn: report, info: ignore, debug: ignore, verbose: ignore }
  api.diag.setLogger(logger, api.DiagLogLevel.WARN)
  const signals = exportedSignals(runtime.env)
  const resource = resources
    .resourceFromAttributes({ 'service.name': name, 'service.version': version })
    .merge(resources.detectResources({ detectors: [resources.envDetector] }))
  const meters = signals.has('METRICS') ? metersOf(packages, metrics, resource, runtime) : undefined
  const tracer = signals.has('TRACES') ? new CallTraces(packages, metrics.calls, resource) : undefined
  return {
    tracer,
    close: async () => void (await Promise.allSettled([meters?.shutdown(), tracer?.provider.shutdown()])),
  }
}

/** Logs a message once, however often it repeats: an unreachable collector fails every export. */
function reporter(log: LogSink): (text: string) => void {
  let last: string | undefined
  return (text) => {
    const [, message = text] = /"message":"([^"]*)"/.exec(text) ?? []
    if (message !== last) log({ level: 'warn', message: `telemetry: ${message}` })
    last = message
  }
}

function metersOf(
  packages: Packages,
  metrics: Metrics,
  resource: Resource,
  clock: Clock,
): { shutdown(): Promise<void> } {
  const { sdkMetrics, metricsExporter } = packages
  const askedMs = Number(clock.env['OTEL_METRIC_EXPORT_INTERVAL'])
  const intervalMs = askedMs >= 1 && askedMs <= TIMER_MS_MAX ? askedMs : METRICS_INTERVAL_MS
  const startTime = hrTime(clock.wallNow())
  const collect = (): Promise<CollectionResult> => {
    const filled = metrics.families().filter((family) => family.points().length > 0)
    const data = filled.map((family) =>
      dataOf(family, packages, { startTime, endTime: hrTime(clock.wallNow()) }),
    )
    const scopeMetrics = [{ scope: { name: 'mcps-proxy', version }, metrics: data }]
    return Promise.resolve({ resourceMetrics: { resource, scopeMetrics }, errors: [] })
  }
  const reader = new sdkMetrics.PeriodicExportingMetricReader({
    exporter: new metricsExporter.OTLPMetricExporter(exporterOptions()),
    exportIntervalMillis: intervalMs,
    exportTimeoutMillis: Math.min(intervalMs, EXPORT_MS_MAX),
    metricProducers: [{ collect }],
  })
  return new sdkMetrics.MeterProvider({ resource, readers: [reader] })
}

/** From Node 22.21 on, HTTPS_PROXY and similar variables apply to the collector too. */
function exporterOptions(): { httpAgentOptions: { keepAlive: boolean } } {
  const httpAgentOptions = { keepAlive: true, proxyEnv: process.env }
  return { httpAgentOptions }
}

async function loadPackages() {
  try {
    const [api, resources, sdkMetrics, sdkTraces, metricsExporter, tracesExporter] = await Promise.all([
      import('@opentelemetry/api'),
      import('@opentelemetry/resources'),
      import('@opentelemetry/sdk-metrics'),
      import('@opentelemetry/sdk-trace-base'),
      import('@opentelemetry/exporter-metrics-otlp-http'),
      import('@opentelemetry/exporter-trace-otlp-http'),
    ])
    return { api, resources, sdkMetrics, sdkTraces, metricsExporter, tracesExporter }
  } catch (error) {
    throw new Error(`${missingPackages} (${errorText(error)})`, { cause: error })
  }
}

const missingPackages =
  'variables of OpenTelemetry ask for an export, and its packages are not installed: npm install --global ' +
  '@opentelemetry/api@1 @opentelemetry/resources@2 @opentelemetry/sdk-metrics@2 @opentelemetry/sdk-trace-base@2 ' +
  '@opentelemetry/exporter-metrics-otlp-http@0.223 @opentelemetry/exporter-trace-otlp-http@0.223'

/** Converts a family into the form of OpenTelemetry, with sums from the start of the process on. */
function dataOf(
  family: Family,
  { api, sdkMetrics }: Packages,
  times: Pick<DataPoint<number>, 'startTime' | 'endTime'>,
): MetricData {
  const { otel, help, unit, kind, labels } = family.description
  const { AggregationTemporality, DataPointType } = sdkMetrics
  const numbers: DataPoint<number>[] = []
  const histograms: HistogramMetricData['dataPoints'] = []
  for (const { labels: values, value } of family.points()) {
    // A series does not have a label whose value is empty.
    const pairs = labels.map(({ otel: label }, at) => [label, values[at] ?? ''] as const)
    const point = { ...times, attributes: Object.fromEntries(pairs.filter(([, text]) => text !== '')) }
    if (typeof value === 'number') numbers.push({ ...point, value })
    else {
      const buckets = { boundaries: [...value.bounds], counts: [...value.buckets] }
      histograms.push({ ...point, value: { buckets, sum: value.sum, count: countOf(value) } })
    }
  }
  const common = {
    descriptor: { name: otel, description: help, unit, valueType: api.ValueType.DOUBLE },
    aggregationTemporality: AggregationTemporality.CUMULATIVE,
  }
  if (kind === 'gauge') return { ...common, dataPointType: DataPointType.GAUGE, dataPoints: numbers }
  if (kind === 'histogram')
    return { ...common, dataPointType: DataPointType.HISTOGRAM, dataPoints: histograms }
  return { ...common, dataPointType: DataPointType.SUM, isMonotonic: true, dataPoints: numbers }
}

function ignore(): void {}

function hrTime(ms: number): [number, number] {
  return [Math.floor(ms / 1000), (ms % 1000) * 1e6]
}

/** The span of a client's request, and its child, which begins when the proxy sends the call to its server. */
class SampledCall implements CallTrace {
  readonly front: Span
  /** Raw JSON of the request id. */
  readonly id: string
  readonly #begin: () => Span
  #upstream: Span | undefined

  constructor(front: Span, id: string, begin: () => Span) {
    this.front = front
    this.id = id
    this.#begin = begin
  }

  get upstream(): Span {
    this.#upstream ??= this.#begin()
    return this.#upstream
  }

  get traceparent(): string {
    const { traceId, spanId } = this.upstream.spanContext()
    return `00-${traceId}-${spanId}-01`
  }
}

class CallTraces implements CallTracer {
  readonly provider: BasicTracerProvider
  readonly #api: Packages['api']
  readonly #tracer: Tracer
  readonly #calls: CallMetrics

  constructor({ api, sdkTraces, tracesExporter }: Packages, calls: CallMetrics, resource: Resource) {
    this.#api = api
    this.#calls = calls
    const exporter = new tracesExporter.OTLPTraceExporter(exporterOptions())
    const spanProcessors = [new sdkTraces.BatchSpanProcessor(exporter)]
    this.provider = new sdkTraces.BasicTracerProvider({ resource, spanProcessors })
    this.#tracer = this.provider.getTracer('mcps-proxy', version)
  }

  begin(parent: string | undefined, id: string): CallTrace | undefined {
    const { ROOT_CONTEXT, SpanKind, trace } = this.#api
    const front = this.#tracer.startSpan('call', { kind: SpanKind.SERVER }, this.#contextOf(parent))
    const below = trace.setSpan(ROOT_CONTEXT, front)
    const begin = (): Span => this.#tracer.startSpan('call', { kind: SpanKind.CLIENT }, below)
    return front.isRecording() ? new SampledCall(front, id, begin) : undefined
  }

  ended(event: CallEvent): void {
    const { trace, serverMs, server, schema, outcome, revision } = event
    if (!(trace instanceof SampledCall)) return
    if (serverMs !== undefined && server !== undefined) {
      // Without an answer of the server, the code is a code of the proxy, which says nothing about the server.
      const own = outcome === 'failed' ? { ...event, code: undefined } : event
      const labels = this.#calls.serverLabelsOf(schema, server)
      this.#end(trace.upstream, trace.id, own, upstreamError(event), labels)
    }
    this.#end(trace.front, trace.id, event, frontError(event), { revision, transport: transportOf(event) })
  }

  #end(span: Span, id: string, event: CallEvent, error: string, labels: ProtocolLabels | undefined): void {
    span.updateName(nameOf(event))
    span.setAttributes(attributesOf(event, id, error, labels))
    if (error !== '') span.setStatus({ code: this.#api.SpanStatusCode.ERROR })
    span.end()
  }

  /** Returns a context without a parent if the `traceparent` is invalid (W3C Trace Context, section 3.2.2.3). */
  #contextOf(text: string | undefined): Context {
    const { ROOT_CONTEXT, trace } = this.#api
    const [, head, traceId = '', spanId = '', flags = '', more] =
      /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/.exec(text ?? '') ?? []
    const isUnknown = head === undefined || head === 'ff' || (head === '00' && more !== undefined)
    const parent = { traceId, spanId, traceFlags: Number.parseInt(flags, 16) & 1, isRemote: true }
    if (isUnknown || !trace.isSpanContextValid(parent)) return ROOT_CONTEXT
    return trace.setSpanContext(ROOT_CONTEXT, parent)
  }
}

/** Names a span by the method and the tool or prompt. A URI would make too many names. */
function nameOf({ method, item }: CallEvent): string {
  const known = isKnownMethod(method) ? method : OTHER
  return item === undefined ? known : `${known} ${item}`
}

interface ProtocolLabels {
  readonly revision: string | undefined
  readonly transport: string
}

function attributesOf(
  { method, item, code, schema, server }: CallEvent,
  id: string,
  error: string,
  labels: ProtocolLabels | undefined,
): Attributes {
  const isTool = method === 'tools/call'
  const all = {
    'mcp.method.name': method,
    'gen_ai.operation.name': isTool ? 'execute_tool' : undefined,
    'gen_ai.tool.name': isTool ? item : undefined,
    'gen_ai.prompt.name': method === 'prompts/get' ? item : undefined,
    'jsonrpc.request.id': id.replace(/^"|"$/g, ''),
    'rpc.response.status_code': code === undefined ? undefined : String(code),
    'error.type': error,
    'mcp.protocol.version': labels?.revision,
    'network.transport': labels?.transport,
    'mcps.schema': schema,
    'mcps.server': server,
  }
  return Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined && value !== ''))
}
