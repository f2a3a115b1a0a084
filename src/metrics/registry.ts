// Counters, gauges and histograms with labels, and their text for Prometheus (version 0.0.4).
//
// The number of series of a metric has a limit. All further series share the labels `other`, so that no client
// and no server can make the memory of the proxy grow.

export const EXPOSITION_TYPE = 'text/plain; version=0.0.4; charset=utf-8'

/** The labels of the series beyond the limit, and the label of unknown methods. */
export const OTHER = 'other'

export const SERIES_MAX = 2000

/** The name, kind, UCUM unit, labels and meaning of every metric. */
const table = `
mcp_server_operation_duration_seconds | histogram | s | OPERATION | Time from a request of a client to its answer.
mcp_client_operation_duration_seconds | histogram | s | OPERATION | Time from a request to a server to its answer.
mcps_overhead_seconds | histogram | s | schema server | Time from a request of a client until it is sent to its server.
mcps_failed_total | counter | {call} | schema server reason | Calls that a server could not answer, by the reason.
mcps_refused_total | counter | {call} | schema server reason | Requests that the proxy refused, by the reason or code.
mcps_argument_bytes_total | counter | By | schema server mcp_method_name | Length of the arguments of calls.
mcps_result_bytes_total | counter | By | schema server mcp_method_name | Length of results, those of lists included.
mcps_server_up | gauge | {server} | schema server | 0 while the last start has failed, or a login is missing.
mcps_server_tools | gauge | {tool} | schema server | Tools of the server.
mcps_list_bytes | gauge | By | schema server list | Length of what the server lists, before filters.
mcps_queue_depth | gauge | {call} | schema server | Calls that wait for a process or for a slot of one.
mcps_inflight | gauge | {call} | schema server | Calls that the server works on.
mcps_processes | gauge | {process} | schema server | Processes of the server that run.
mcps_restarts_total | counter | {start} | schema server | Starts of the server after a crash.
mcps_child_memory_bytes | gauge | By | schema server | Resident memory of its processes, where memoryLimitMB is set.
mcps_sessions | gauge | {client} | schema | Clients that are attached.
mcps_unread_bytes | gauge | By | schema | Bytes that clients with a session have not read yet.
mcps_store_up | gauge | {store} | | 1 while the store that instances share can be asked, 0 while it cannot.
mcps_store_commands_total | counter | {command} | | Commands that the store has answered.
mcps_store_seconds_total | counter | s | | Time that these commands took.
mcps_forwards_total | counter | {request} | | Requests that this instance has handed over to others.
mcps_sessions_revived_total | counter | {session} | | Sessions that go on after a restart, a pause or on another instance.
mcps_draining | gauge | {instance} | | 1 from the signal to end until the end.
mcps_audit_lost_lines_total | counter | {line} | | Lines of the audit that no file has.
mcps_eventloop_delay_seconds | gauge | s | quantile | Delay of the event loop since the last scrape.
mcps_memory_bytes | gauge | By | | Resident memory of the proxy.
mcps_cpu_seconds_total | counter | s | | Processor time of the proxy.
mcps_start_time_seconds | gauge | s | | When the proxy started, in seconds since 1970.
mcps_build_info | gauge | {build} | version node platform | Always 1.
`

const OPERATION =
  'schema server mcp_method_name error_type mcp_protocol_version network_transport gen_ai_tool_name'

const attributes: Readonly<Record<string, string>> = {
  schema: 'mcps.schema',
  server: 'mcps.server',
  mcp_method_name: 'mcp.method.name',
  error_type: 'error.type',
  mcp_protocol_version: 'mcp.protocol.version',
  network_transport: 'network.transport',
  gen_ai_tool_name: 'gen_ai.tool.name',
  reason: 'mcps.reason',
  quantile: 'mcps.quantile',
  list: 'mcps.list',
  version: 'service.version',
  node: 'process.runtime.version',
  platform: 'os.type',
}

interface Description {
  readonly name: string
  readonly otel: string
  readonly kind: string
  readonly unit: string
  readonly help: string
  readonly labels: readonly { readonly name: string; readonly otel: string }[]
}

export const descriptions: ReadonlyMap<string, Description> = new Map(
  table
    .trim()
    .split('\n')
    .map((row) => {
      const [name = '', kind = '', unit = '', labels = '', help = ''] = row
        .split('|')
        .map((cell) => cell.trim())
      const names = (labels === 'OPERATION' ? OPERATION : labels).split(' ').filter((label) => label !== '')
      return [name, { name, otel: otelName(name), kind, unit, help, labels: names.map(labelOf) }]
    }),
)

/** The first two metrics have names of the OpenTelemetry conventions, with a dot for every underscore. */
function otelName(name: string): string {
  const base = name.replace(/_(?:total|seconds|bytes)$/, '')
  return base.startsWith('mcps_') ? base.replace('_', '.') : base.replaceAll('_', '.')
}

function labelOf(name: string): Description['labels'][number] {
  return { name, otel: attributes[name] ?? name }
}

/** One series: a sum, the value of a gauge, or a histogram. The series does not have a label that is empty. */
export interface Point {
  readonly labels: readonly string[]
  value: number | Histogram
}

/** A bucket counts values up to its bound and above the previous one. The last bucket has no upper bound. */
export interface Histogram {
  readonly bounds: readonly number[]
  readonly buckets: number[]
  sum: number
}

export function countOf({ buckets }: Histogram): number {
  return buckets.reduce((sum, each) => sum + each, 0)
}

export class Family {
  readonly description: Description
  readonly #bounds: readonly number[] | undefined
  readonly #series = new Map<string, Point>()

  /** `bounds` makes the metric a histogram. */
  constructor(name: string, bounds?: readonly number[]) {
    const description = descriptions.get(name)
    if (description === undefined) throw new Error(`the metric ${name} has no row in its table`)
    this.description = description
    this.#bounds = bounds
  }

  /** Adds a value to the series with these labels. Beyond `SERIES_MAX`, all further labels share one series. */
  observe(labels: readonly string[], value: number): void {
    const key = labels.join('\0')
    const point = this.#series.get(key)
    if (point !== undefined) return add(point, value)
    const other = labels.map(() => OTHER)
    if (this.#series.size >= SERIES_MAX && key !== other.join('\0')) return this.observe(other, value)
    const bounds = this.#bounds
    const empty = bounds && { bounds, buckets: [...bounds, Infinity].map(() => 0), sum: 0 }
    const added: Point = { labels, value: empty ?? 0 }
    this.#series.set(key, added)
    add(added, value)
  }

  points(): readonly Point[] {
    return [...this.#series.values()]
  }
}

function add(point: Point, value: number): void {
  if (typeof point.value === 'number') {
    point.value += value
    return
  }
  const { bounds, buckets } = point.value
  const above = bounds.findIndex((bound) => value <= bound)
  const at = above === -1 ? bounds.length : above
  buckets[at] = (buckets[at] ?? 0) + 1
  point.value.sum += value
}

/** Makes a family with one value of each row. A row whose value is undefined has no series. */
export function familyOf<Row extends { readonly labels: readonly string[] }>(
  name: string,
  rows: readonly Row[],
  valueOf: (row: Row) => number | undefined,
): Family {
  const family = new Family(name)
  for (const row of rows) {
    const value = valueOf(row)
    if (value !== undefined) family.observe(row.labels, value)
  }
  return family
}

export function exposition(families: readonly Family[]): string {
  return families.flatMap(linesOf).join('')
}

function linesOf(family: Family): string[] {
  const { name, kind, help, labels } = family.description
  const points = family.points()
  if (points.length === 0) return []
  const lines = points.flatMap(({ labels: values, value }) => {
    const pairs = labels.map((label, at) => `${label.name}="${escaped(values[at] ?? '')}"`)
    return typeof value === 'number'
      ? [`${name}${braces(pairs)} ${value}\n`]
      : histogramLines(name, pairs, value)
  })
  return [`# HELP ${name} ${help}\n`, `# TYPE ${name} ${kind}\n`, ...lines]
}

function histogramLines(name: string, pairs: readonly string[], value: Histogram): string[] {
  let count = 0
  const buckets = [...value.bounds, '+Inf'].map((bound, at) => {
    count += value.buckets[at] ?? 0
    return `${name}_bucket${braces([...pairs, `le="${bound}"`])} ${count}\n`
  })
  return [
    ...buckets,
    `${name}_sum${braces(pairs)} ${value.sum}\n`,
    `${name}_count${braces(pairs)} ${count}\n`,
  ]
}

function braces(pairs: readonly string[]): string {
  return pairs.length === 0 ? '' : `{${pairs.join(',')}}`
}

function escaped(text: string): string {
  return text.replaceAll('\\', '\\\\').replaceAll('\n', '\\n').replaceAll('"', '\\"')
}
