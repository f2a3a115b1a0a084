// Every metric of the proxy: its names, its meaning, and its labels. docs/metrics.md prints this table.

import type { Description, Label } from './registry.js'

const label = (name: string, otel: string): Label => ({ name, otel })

const schema = label('schema', 'mcps.schema')
const server = label('server', 'mcps.server')
const method = label('mcp_method_name', 'mcp.method.name')
const errorType = label('error_type', 'error.type')
const revision = label('mcp_protocol_version', 'mcp.protocol.version')
const transport = label('network_transport', 'network.transport')
const tool = label('gen_ai_tool_name', 'gen_ai.tool.name')
const reason = label('reason', 'mcps.reason')
const quantile = label('quantile', 'mcps.quantile')
const list = label('list', 'mcps.list')

const operation = [schema, server, method, errorType, revision, transport]

function own(
  name: string,
  kind: Description['kind'],
  unit: string,
  help: string,
  ...labels: readonly Label[]
): Description {
  const otel = name.replace('_', '.').replace(/_(?:total|seconds|bytes)$/, '')
  return { name, otel, kind, unit, help, labels }
}

/** The labels of the operations end with the tool where that is configured. */
export function operations(hasTools: boolean): Readonly<Record<'front' | 'upstream', Description>> {
  const labels = hasTools ? [...operation, tool] : operation
  const common = { kind: 'histogram', unit: 's', labels } as const
  return {
    front: {
      ...common,
      name: 'mcp_server_operation_duration_seconds',
      otel: 'mcp.server.operation.duration',
      help: 'Time from a request of a client to its answer.',
    },
    upstream: {
      ...common,
      name: 'mcp_client_operation_duration_seconds',
      otel: 'mcp.client.operation.duration',
      help: 'Time from a request to a server to its answer.',
    },
  }
}

type Counted = 'overhead' | 'failed' | 'refused' | 'argumentBytes' | 'resultBytes'

/** Those that are counted with each call. */
export const perCall: Readonly<Record<Counted, Description>> = {
  overhead: own(
    'mcps_overhead_seconds',
    'histogram',
    's',
    'Time from a request of a client until it is sent to its server: checks, queue and starts.',
    schema,
    server,
  ),
  failed: own(
    'mcps_failed_total',
    'counter',
    '{call}',
    'Calls that a server could not answer, by the reason of the error.',
    schema,
    server,
    reason,
  ),
  refused: own(
    'mcps_refused_total',
    'counter',
    '{call}',
    'Requests that the proxy refused, by the reason or the code of the error.',
    schema,
    server,
    reason,
  ),
  argumentBytes: own(
    'mcps_argument_bytes_total',
    'counter',
    'By',
    'Length of the arguments of calls.',
    schema,
    server,
    method,
  ),
  resultBytes: own(
    'mcps_result_bytes_total',
    'counter',
    'By',
    'Length of results, those of lists included.',
    schema,
    server,
    method,
  ),
}

type Read =
  | 'resultTokens'
  | 'up'
  | 'tools'
  | 'listBytes'
  | 'listTokens'
  | 'queueDepth'
  | 'inflight'
  | 'processes'
  | 'restarts'
  | 'childMemory'
  | 'sessions'
  | 'unread'
  | 'eventLoopDelay'
  | 'memory'
  | 'cpu'
  | 'started'
  | 'spansDropped'
  | 'buildInfo'

/** Those that are read for each scrape. */
export const read: Readonly<Record<Read, Description>> = {
  resultTokens: own(
    'mcps_result_tokens_total',
    'counter',
    '{token}',
    'Tokens that the results cost a model, estimated as a quarter of their bytes.',
    schema,
    server,
    method,
  ),
  up: own(
    'mcps_server_up',
    'gauge',
    '{server}',
    '0 while the server cannot be used: its last start has failed, or it lacks a login.',
    schema,
    server,
  ),
  tools: own('mcps_server_tools', 'gauge', '{tool}', 'Tools of the server.', schema, server),
  listBytes: own(
    'mcps_list_bytes',
    'gauge',
    'By',
    'Length of what the server lists, before filters.',
    schema,
    server,
    list,
  ),
  listTokens: own(
    'mcps_list_tokens',
    'gauge',
    '{token}',
    'Tokens that the lists cost a model, estimated as a quarter of their bytes.',
    schema,
    server,
    list,
  ),
  queueDepth: own(
    'mcps_queue_depth',
    'gauge',
    '{call}',
    'Calls that wait for a process or for a slot of one.',
    schema,
    server,
  ),
  inflight: own('mcps_inflight', 'gauge', '{call}', 'Calls that the server works on.', schema, server),
  processes: own('mcps_processes', 'gauge', '{process}', 'Processes of the server that run.', schema, server),
  restarts: own(
    'mcps_restarts_total',
    'counter',
    '{start}',
    'Starts of the server after a crash.',
    schema,
    server,
  ),
  childMemory: own(
    'mcps_child_memory_bytes',
    'gauge',
    'By',
    'Resident memory of the processes of the server, where memoryLimitMB is set.',
    schema,
    server,
  ),
  sessions: own('mcps_sessions', 'gauge', '{client}', 'Clients that are attached.', schema),
  unread: own(
    'mcps_unread_bytes',
    'gauge',
    'By',
    'Bytes that clients with a session have not read yet.',
    schema,
  ),
  eventLoopDelay: own(
    'mcps_eventloop_delay_seconds',
    'gauge',
    's',
    'Delay of the event loop since the last scrape, by quantile.',
    quantile,
  ),
  memory: own('mcps_memory_bytes', 'gauge', 'By', 'Resident memory of the proxy.'),
  cpu: own('mcps_cpu_seconds_total', 'counter', 's', 'Processor time of the proxy.'),
  started: own('mcps_start_time_seconds', 'gauge', 's', 'When the proxy started, in seconds since 1970.'),
  spansDropped: own(
    'mcps_spans_dropped_total',
    'counter',
    '{span}',
    'Spans that did not reach the collector.',
  ),
  buildInfo: own(
    'mcps_build_info',
    'gauge',
    '{build}',
    'Always 1.',
    label('version', 'service.version'),
    label('node', 'process.runtime.version'),
    label('platform', 'os.type'),
  ),
}
