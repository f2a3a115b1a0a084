// Which series a call counts in, that no client and no server can make more of them than there may be, and how they are written.

import { strict as assert } from 'node:assert'
import { describe, test } from 'node:test'
import type { CallEvent } from '../../src/index.js'
import { CODES_MAX, CallMetrics, TOOLS_MAX } from '../../src/metrics/call-metrics.js'
import { Metrics } from '../../src/metrics/metrics.js'
import { Family, SERIES_MAX, countOf, exposition } from '../../src/metrics/registry.js'
import { callEvent } from '../proxy/support/call-event.js'
import { readExposition, samplesOf, sumOf } from './support/exposition.js'

const FRONT = 'mcp_server_operation_duration_seconds'
const UPSTREAM = 'mcp_client_operation_duration_seconds'

function counting(hasTools = false) {
  const metrics = new CallMetrics(hasTools)
  return {
    metrics,
    count: (members?: Partial<CallEvent>) => void metrics.listeners.call?.(callEvent(members)),
    page: () => readExposition(exposition(metrics.families)),
  }
}

const failed = { outcome: 'failed', code: -32603, resultBytes: 0 } as const
const lost = { ...failed, serverMs: undefined }
const refused = { outcome: 'refused', serverMs: undefined } as const

/** An event, the `error_type` for the client and at the server (undefined: it did not get there), and the counter of its reason. */
const cases: readonly (readonly [string, Partial<CallEvent>, string, string | undefined, string?])[] = [
  ['a result', {}, '', ''],
  ['a tool that fails', { isToolError: true }, 'tool_error', 'tool_error'],
  ["a server's own error", { outcome: 'error', code: -32000 }, '-32000', '-32000'],
  ['invalid params at a server', { outcome: 'error', code: -32602 }, '', '-32602'],
  ['no such resource at a server', { outcome: 'error', code: -32002 }, '', '-32002'],
  ['a time-out', { ...failed, reason: 'timeout' }, '-32603', 'timeout', 'mcps_failed_total timeout'],
  ['a server that is away', { ...lost, reason: 'exited' }, '-32603', undefined, 'mcps_failed_total exited'],
  ['an unknown tool', { ...refused, code: -32601 }, '', undefined, 'mcps_refused_total -32601'],
  [
    'wrong arguments',
    { ...refused, isToolError: true },
    'tool_error',
    undefined,
    'mcps_refused_total arguments',
  ],
  ['a cancelled call', { outcome: 'cancelled' }, 'cancelled', 'cancelled'],
]

for (const [title, members, front, upstream, own] of cases)
  test(`a call: ${title} counts once at each side`, () => {
    const { count, page } = counting()
    // The second one of a kind takes a shorter way.
    for (const each of [members, {}, members]) count(each)
    count({ ...members, schema: 'b' })
    const read = page()
    const plain = front === '' ? 1 : 0
    assert.equal(sumOf(read, `${FRONT}_count`, { error_type: front, schema: 'default' }), 2 + plain)
    assert.equal(sumOf(read, `${FRONT}_count`), 4)
    const sent = upstream === undefined ? 0 : 2
    const found = sumOf(read, `${UPSTREAM}_count`, { error_type: upstream ?? 'none', schema: 'default' })
    assert.equal(found, sent + (upstream === '' ? 1 : 0))
    assert.equal(sumOf(read, `${UPSTREAM}_count`), upstream === undefined ? 1 : 4)
    const [name = '', reason = ''] = own?.split(' ') ?? []
    assert.equal(sumOf(read, name, { reason }), own === undefined ? 0 : 3)
  })

test('a call has its time in the bucket of the bound that it does not exceed', () => {
  const { count, page } = counting()
  for (const ms of [0, 10, 10.1, 300_000, 300_001]) count({ ms, serverMs: 0 })
  const buckets = new Map(
    samplesOf(page(), `${FRONT}_bucket`).map(({ labels, value }) => [labels.get('le'), value]),
  )
  const counts = ['0.01', '0.02', '120', '300', '+Inf'].map((bound) => buckets.get(bound))
  assert.deepEqual(counts, [2, 3, 3, 4, 5])
  assert.equal(Math.round(sumOf(page(), 'mcps_overhead_seconds_sum') * 10_000), 6_000_211)
})

describe('labels', () => {
  test('name no method that the proxy does not know', () => {
    const { count, page } = counting()
    for (const method of ['tools/call', 'a{}="', 'b']) count({ method, serverMs: undefined })
    const methods = samplesOf(page(), `${FRONT}_count`).map(({ labels }) => labels.get('mcp_method_name'))
    assert.deepEqual(methods, ['tools/call', 'other'])
  })

  test('name tools only where that is configured, that were passed on', () => {
    const without = counting()
    without.count()
    assert.deepEqual(samplesOf(without.page(), `${FRONT}_count`, { gen_ai_tool_name: 'a' }), [])
    const { count, page } = counting(true)
    count({ name: 'guessed', item: undefined })
    for (let twice = 0; twice < 2; twice++) count({ item: 't' })
    const tools = samplesOf(page(), `${FRONT}_count`).map(({ labels, value }) => [
      labels.get('gen_ai_tool_name'),
      value,
    ])
    assert.deepEqual(tools, [
      ['', 1],
      ['t', 2],
    ])
  })

  test('of a series too many are other', () => {
    const { count, metrics } = counting()
    for (let n = 0; n <= SERIES_MAX + 1; n++) count({ server: `s${n}` })
    const series = metrics.families[0]?.points() ?? []
    const last = series.at(-1)
    assert.equal(series.length, SERIES_MAX + 1)
    assert(last !== undefined && typeof last.value !== 'number')
    assert.deepEqual([last.labels[1], countOf(last.value)], ['other', 2])
  })

  test('that a server makes too many of are one, and leave the others as they are', () => {
    const { count, metrics } = counting(true)
    for (let n = 0; n <= SERIES_MAX; n++) count({ outcome: 'error', code: -1 - n, item: `t${n}` })
    count({ ...failed, code: -1, reason: 'timeout', item: 't0', server: 'new' })
    const labels = metrics.families[1]?.points().map((each) => each.labels) ?? []
    const sizes = [new Set(labels.map((each) => each[3])).size, labels.length]
    assert.deepEqual(sizes, [CODES_MAX + 2, TOOLS_MAX + 2])
    assert.deepEqual([labels.at(-2)?.[3], labels.at(-2)?.[6]], ['_OTHER', 'other'])
    assert.deepEqual([labels.at(-1)?.[1], labels.at(-1)?.[3]], ['new', 'timeout'])
  })

  test('are escaped, and those of two series never become one', () => {
    const counters = new Family('mcps_inflight')
    const odd = 'a"b\\n\nc{},=é'
    for (const values of [
      [odd, ''],
      ['', odd],
      ['a', 'b'],
    ])
      counters.observe(values, 1)
    const read = readExposition(exposition([counters, new Family('mcps_processes')]))
    const labelled = samplesOf(read, 'mcps_inflight').map((sample) => [...sample.labels.values()])
    assert.deepEqual(labelled, [
      [odd, ''],
      ['', odd],
      ['a', 'b'],
    ])
  })
})

test('servers and clients are read when the page is', () => {
  const gauges = { inFlight: 1, queued: 2, slots: 4, restarts: 3, memoryBytes: undefined }
  const status = {
    name: 's',
    kind: 'stdio',
    state: 'error',
    error: undefined,
    connectedAtMs: 1,
    pids: [7, 8],
    revision: undefined,
    evidence: undefined,
    tools: 4,
    gauges,
  } as const
  const session = { client: undefined, revision: '', connectedAtMs: 0, processes: [], unreadBytes: 5 }
  const proxy = {
    status: () => [status, { ...status, name: 'm', gauges: { ...gauges, memoryBytes: 6 } }],
    sessions: () => [session, session],
  }
  const metrics = new Metrics(false, Date.now(), () => 8)
  metrics.watch(() => new Map([['default', proxy]]))
  const sizes = { tools: 9, prompts: 0, resources: 0, templates: 0 }
  const lists = { schema: 'default', client: undefined, changed: [], counts: sizes, bytes: sizes }
  for (const server of ['s', 'gone']) void metrics.listeners.lists?.({ ...lists, server })
  const read = readExposition(metrics.text())
  metrics.close()
  const zero = (name: string): number[] => samplesOf(read, name, { server: 's' }).map(({ value }) => value)
  assert.deepEqual(
    [zero('mcps_refused_total'), zero('mcps_failed_total')],
    [
      [0, 0, 0, 0],
      [0, 0, 0],
    ],
    'from the start',
  )
  assert.equal(samplesOf(read, 'mcps_refused_total', { server: '', reason: 'overloaded' }).length, 1)
  assert.equal(sumOf(read, 'mcps_audit_lost_lines_total'), 8)
  const values = [
    'server_up',
    'server_tools',
    'queue_depth',
    'inflight',
    'processes',
    'restarts_total',
    'child_memory_bytes',
    'sessions',
    'unread_bytes',
  ]
  const lengths = samplesOf(read, 'mcps_list_bytes').map(({ labels, value }) => [
    labels.get('server'),
    labels.get('list'),
    value,
  ])
  assert.deepEqual(lengths, [
    ['s', 'tools', 9],
    ['s', 'prompts', 0],
    ['s', 'resources', 0],
    ['s', 'templates', 0],
  ])
  const found = values.map((name) => samplesOf(read, `mcps_${name}`).map(({ value }) => value))
  assert.deepEqual(found, [[0, 0], [4, 4], [2, 2], [1, 1], [2, 2], [3, 3], [6], [2], [10]])
})
