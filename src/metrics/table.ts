// Every metric of the proxy: its name, its kind, its unit of UCUM, its labels, and its meaning. docs/metrics.md prints this table.

const table = `
mcp_server_operation_duration_seconds | histogram | s | OPERATION | Time from a request of a client to its answer.
mcp_client_operation_duration_seconds | histogram | s | OPERATION | Time from a request to a server to its answer.
mcps_overhead_seconds | histogram | s | schema server | Time from a request of a client until it is sent to its server.
mcps_failed_total | counter | {call} | schema server reason | Calls that a server could not answer, by the reason.
mcps_refused_total | counter | {call} | schema server reason | Requests that the proxy refused, by the reason or code.
mcps_argument_bytes_total | counter | By | schema server mcp_method_name | Length of the arguments of calls.
mcps_result_bytes_total | counter | By | schema server mcp_method_name | Length of results, those of lists included.
mcps_result_tokens_total | counter | {token} | schema server mcp_method_name | Tokens of results: a quarter of their bytes.
mcps_server_up | gauge | {server} | schema server | 0 while the last start has failed, or a login is missing.
mcps_server_tools | gauge | {tool} | schema server | Tools of the server.
mcps_list_bytes | gauge | By | schema server list | Length of what the server lists, before filters.
mcps_list_tokens | gauge | {token} | schema server list | Tokens of the lists: a quarter of their bytes.
mcps_queue_depth | gauge | {call} | schema server | Calls that wait for a process or for a slot of one.
mcps_inflight | gauge | {call} | schema server | Calls that the server works on.
mcps_processes | gauge | {process} | schema server | Processes of the server that run.
mcps_restarts_total | counter | {start} | schema server | Starts of the server after a crash.
mcps_child_memory_bytes | gauge | By | schema server | Resident memory of its processes, where memoryLimitMB is set.
mcps_sessions | gauge | {client} | schema | Clients that are attached.
mcps_unread_bytes | gauge | By | schema | Bytes that clients with a session have not read yet.
mcps_audit_lost_lines_total | counter | {line} | | Lines of the audit that no file has.
mcps_eventloop_delay_seconds | gauge | s | quantile | Delay of the event loop since the last scrape.
mcps_memory_bytes | gauge | By | | Resident memory of the proxy.
mcps_cpu_seconds_total | counter | s | | Processor time of the proxy.
mcps_start_time_seconds | gauge | s | | When the proxy started, in seconds since 1970.
mcps_build_info | gauge | {build} | version node platform | Always 1.
`

const OPERATION =
  'schema server mcp_method_name error_type mcp_protocol_version network_transport gen_ai_tool_name'

/** The names of labels for OpenTelemetry. */
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

/** The name, the meaning and the labels of a metric. */
export interface Description {
  /** For Prometheus. */
  readonly name: string
  /** For OpenTelemetry. */
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

/** The conventions of OpenTelemetry have the first two names with dots alone. */
function otelName(name: string): string {
  const base = name.replace(/_(?:total|seconds|bytes)$/, '')
  return base.startsWith('mcps_') ? base.replace('_', '.') : base.replaceAll('_', '.')
}

function labelOf(name: string): Description['labels'][number] {
  return { name, otel: attributes[name] ?? name }
}
