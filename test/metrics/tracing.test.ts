// Spans of calls: whose child each is, which calls have any, and what is said of them.

import { strict as assert } from 'node:assert'
import { test } from 'node:test'
import type { CallEvent } from '../../src/index.js'
import type { Sampler } from '../../src/metrics/otlp/options.js'
import { type CallSpan, Tracing } from '../../src/metrics/tracing.js'
import { callEvent } from '../proxy/support/call-event.js'

const TRACE = '0af7651916cd43dd8448eb211c80319c'
const PARENT = 'b7ad6b7169203331'
const always: Sampler = { ratio: 1, followsParent: true }

function tracing(sampler: Sampler = always): { tracer: Tracing; spans: CallSpan[] } {
  const spans: CallSpan[] = []
  const speech = { revision: '2025-06-18', transport: 'tcp' }
  const tracer = new Tracing(
    sampler,
    () => speech,
    () => 10_000,
    (span) => spans.push(span),
  )
  return { tracer, spans }
}

/** Parent, sampler, and whether the call is sampled as part of the parent's trace (`trace`), of its own, or not. */
const cases: readonly (readonly [string | undefined, Sampler, 'trace' | 'own' | undefined])[] = [
  [`00-${TRACE}-${PARENT}-01`, always, 'trace'],
  [`00-${TRACE}-${PARENT}-00`, always, undefined],
  [`00-${TRACE}-${PARENT}-00`, { ratio: 1, followsParent: false }, 'trace'],
  [`00-${TRACE}-${PARENT}-01`, { ratio: 0, followsParent: true }, 'trace'],
  [`00-${TRACE}-${PARENT}-01`, { ratio: 0, followsParent: false }, undefined],
  [`cc-${TRACE}-${PARENT}-01-what-the-future-brings`, always, 'trace'],
  [undefined, always, 'own'],
  [undefined, { ratio: 0, followsParent: true }, undefined],
  [`00-${TRACE}-${PARENT}-01-more`, always, 'own'],
  [`ff-${TRACE}-${PARENT}-01`, always, 'own'],
  [`00-${TRACE.toUpperCase()}-${PARENT}-01`, always, 'own'],
  [`00-${'0'.repeat(32)}-${PARENT}-01`, always, 'own'],
  [`00-${TRACE}-${'0'.repeat(16)}-01`, always, 'own'],
]

for (const [parent, sampler, wanted] of cases)
  test(`of ${parent ?? 'no parent'} with ${JSON.stringify(sampler)}: ${wanted ?? 'nothing'}`, () => {
    const { tracer, spans } = tracing(sampler)
    const trace = tracer.begin(parent, '1')
    tracer.ended(callEvent({ trace }))
    if (wanted === undefined) return assert.deepEqual([trace, spans], [undefined, []])
    const [front, upstream] = spans
    assert.match(trace?.traceparent ?? '', /^00-[0-9a-f]{32}-[0-9a-f]{16}-01$/)
    assert.equal(trace?.traceparent, `00-${front?.traceId}-${upstream?.spanId}-01`)
    assert.equal(front?.traceId === TRACE, wanted === 'trace')
    assert.equal(front?.parentSpanId, wanted === 'trace' ? PARENT : undefined)
    assert.deepEqual([upstream?.traceId, upstream?.parentSpanId], [front?.traceId, front?.spanId])
  })

test('a part of the traces is taken by the ratio, and the same part by every proxy', () => {
  const { tracer } = tracing({ ratio: 0.25, followsParent: false })
  const sampled = (digits: string): boolean =>
    tracer.begin(`00-0af765191${'0'.repeat(10)}${digits}-${PARENT}-01`, '1') !== undefined
  assert.deepEqual(['c000000000000', 'ffffffffffff0', 'bffffffffffff', '0000000000000'].map(sampled), [
    true,
    true,
    false,
    false,
  ])
})

const described = (span: CallSpan | undefined): Record<string, string | undefined> =>
  Object.fromEntries(span?.attributes.filter(([, value]) => value !== undefined) ?? [])

test('spans say what was called, over what, and what came of it', () => {
  const { tracer, spans } = tracing()
  const end = (members: Partial<CallEvent>, id = '1') =>
    tracer.ended(callEvent({ trace: tracer.begin(undefined, id), ...members }))
  end({ item: 'own', name: 's__own', isToolError: true, ms: 7, serverMs: 5 }, '"é"')
  end({ outcome: 'failed', code: -32603, reason: 'timeout' })
  end({ outcome: 'error', code: -32602, method: 'prompts/get', item: 'p' })
  end({ method: 'resources/read', name: 'file:///secret', item: undefined })
  end({
    method: 'what/ever',
    item: undefined,
    serverMs: undefined,
    server: undefined,
    outcome: 'refused',
    code: -32601,
  })
  const rows = spans.map(({ name, kind, startMs, endMs, isError, attributes }) => [
    name,
    kind,
    endMs - startMs,
    isError,
    new Map(attributes).get('error.type'),
    new Map(attributes).get('rpc.response.status_code'),
  ])
  assert.deepEqual(rows, [
    ['tools/call own', 'server', 7, true, 'tool_error', undefined],
    ['tools/call own', 'client', 5, true, 'tool_error', undefined],
    ['tools/call a', 'server', 7, true, '-32603', '-32603'],
    ['tools/call a', 'client', 5, true, 'timeout', undefined],
    ['prompts/get p', 'server', 7, false, undefined, '-32602'],
    ['prompts/get p', 'client', 5, true, '-32602', '-32602'],
    ['resources/read', 'server', 7, false, undefined, undefined],
    ['resources/read', 'client', 5, false, undefined, undefined],
    ['other', 'server', 7, false, undefined, '-32601'],
  ])
  assert(!JSON.stringify(spans).includes('secret'))
  assert.deepEqual(described(spans[0]), {
    'mcp.method.name': 'tools/call',
    'gen_ai.operation.name': 'execute_tool',
    'gen_ai.tool.name': 'own',
    'jsonrpc.request.id': 'é',
    'error.type': 'tool_error',
    'mcp.protocol.version': '2025-11-25',
    'network.transport': 'pipe',
    'mcps.schema': 'default',
    'mcps.server': 's',
  })
  const { 'mcp.protocol.version': revision, 'network.transport': transport } = described(spans[1])
  assert.deepEqual([revision, transport], ['2025-06-18', 'tcp'])
})
