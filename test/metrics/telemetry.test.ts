// Metrics of running proxies: on a port, on the HTTP front and at a collector, of clients and servers of both eras.

import { strict as assert } from 'node:assert'
import { type IncomingMessage, createServer, request } from 'node:http'
import { describe, test } from 'node:test'
import { type ForwardEvent, type LogRecord, httpServer } from '../../src/index.js'
import { libraryProxy } from '../integration/support/library.js'
import { EXPOSITION_TYPE } from '../../src/metrics/registry.js'
import { serveMetrics } from '../../src/metrics/telemetry.js'
import { exportedSignals } from '../../src/metrics/opentelemetry.js'
import { type Telemetry, openTelemetry } from '../../src/metrics/telemetry.js'
import { at, listAt, parsed, textAt } from '../integration/support/json.js'
import { nodeProgram, program } from '../integration/support/programs.js'
import type { Scope } from '../integration/support/spawned.js'
import { handshake, message, send } from '../transports/support/http.js'
import { listening } from '../support/listening.js'
import { readExposition, samplesOf, sumOf } from './support/exposition.js'
import { callEvent } from '../proxy/support/call-event.js'
import { claim } from '../integration/support/claim.js'
import { openRuntime } from '../support/open-runtime.js'
import { gatewayConfig, gatewayOf, requestFields } from '../integration/support/gateway.js'

const servers = {
  old: { command: process.execPath, args: [program('reference.mjs')] },
  new: { command: process.execPath, args: [program('reference-stateless.mjs')] },
}

async function opened(t: Scope, server: object, env: NodeJS.ProcessEnv = {}, needsPort = true) {
  const log: string[] = []
  const around = { log: ({ message }: LogRecord) => void log.push(message), needsPort }
  const config = gatewayConfig({ server, mcpServers: servers })
  const telemetry = await openTelemetry(config, { ...around, runtime: openRuntime(t, env) })
  t.after(() => telemetry?.close())
  // Of the metrics.
  const [, port] = /:(\d+)\/metrics$/.exec(log.join('\n')) ?? []
  return { telemetry, log, port: Number(port) }
}

async function gatewayWith(t: Scope, telemetry: Telemetry | undefined, server: object = {}): Promise<number> {
  assert(telemetry !== undefined)
  const { listeners, tracer, page } = telemetry
  const options = { on: listeners, tracer, metrics: page }
  const gateway = await gatewayOf(t, { server, mcpServers: servers }, options)
  telemetry.watch(() => gateway.proxies)
  return gateway.port
}

/** One call of each server by a client of each era. */
async function callAll(port: number): Promise<void> {
  const session = await handshake(port)
  for (const name of ['old__test_simple_text', 'new__test_simple_text', 'new__test_error_handling'])
    for (const meta of [undefined, claim({}, 'new')]) {
      const params = { name, arguments: {}, ...(meta && { _meta: meta }) }
      const body = message('tools/call', 1, params)
      const modern = requestFields('tools/call', params)
      const { status } = await send(port, { body, headers: meta === undefined ? session : modern })
      assert.equal(status, 200)
    }
}

test('calls of both eras to servers of both are counted by what each side speaks', async (t) => {
  const { telemetry, port: own } = await opened(t, { metrics: { port: 0, tools: true } })
  const port = await gatewayWith(t, telemetry)
  await callAll(port)
  const page = await fetch(`http://127.0.0.1:${own}/metrics`)
  assert.equal(page.headers.get('content-type'), EXPOSITION_TYPE)
  const read = readExposition(await page.text())
  const FRONT = 'mcp_server_operation_duration_seconds_count'
  const UPSTREAM = 'mcp_client_operation_duration_seconds_count'
  for (const revision of ['2025-11-25', '2026-07-28']) {
    const of = { mcp_protocol_version: revision, network_transport: 'tcp', mcp_method_name: 'tools/call' }
    assert.equal(sumOf(read, FRONT, { ...of, error_type: '' }), 2)
    assert.equal(sumOf(read, FRONT, { ...of, error_type: 'tool_error' }), 1)
  }
  const spoken = (server: string) =>
    samplesOf(read, UPSTREAM, { server, gen_ai_tool_name: 'test_simple_text' }).map(({ labels, value }) => [
      labels.get('mcp_protocol_version'),
      labels.get('network_transport'),
      value,
    ])
  assert.deepEqual(spoken('old'), [['2025-11-25', 'pipe', 2]])
  assert.deepEqual(spoken('new'), [['2026-07-28', 'pipe', 2]])
  assert.equal(sumOf(read, 'mcps_sessions'), 2)
  assert.equal(sumOf(read, 'mcps_processes'), 2)
  assert.equal(sumOf(read, 'mcps_server_up'), 2)
})

test('the front shows them to those with its token, and only where they are configured', async (t) => {
  const { telemetry } = await opened(t, { metrics: {} })
  const port = await gatewayWith(t, telemetry, { token: 'secret' })
  const get = (headers = {}) => send(port, { method: 'GET', path: '/metrics', headers })
  assert.equal((await get()).status, 401)
  const { status, headers, body } = await get({ authorization: 'Bearer secret' })
  assert.deepEqual([status, headers['content-type']], [200, EXPOSITION_TYPE])
  assert.equal(samplesOf(readExposition(body), 'mcps_build_info').length, 1)

  const plain = await gatewayOf(t, { mcpServers: servers })
  assert.equal((await send(plain.port, { method: 'GET', path: '/metrics' })).status, 404)
})

describe('the port', () => {
  test('answers its own page alone, under names of this machine', async (t) => {
    const served = await serveMetrics('127.0.0.1', 0, () => 'page')
    const { port } = served
    t.after(() => served.close())
    const cases: readonly (readonly [string, string, string, number])[] = [
      ['GET', '/metrics', `127.0.0.1:${port}`, 200],
      ['GET', '/metrics?x', `localhost:${port}`, 200],
      ['POST', '/metrics', 'localhost', 405],
      ['GET', '/', 'localhost', 404],
      ['GET', '/metrics', 'evil.example', 403],
      ['GET', '/metrics', '127.0.0.1.evil.example', 403],
    ]
    for (const [method, path, host, wanted] of cases) {
      const response = await new Promise<IncomingMessage>((resolve, reject) => {
        request({ port, host: '127.0.0.1', method, path, headers: { host }, agent: false }, resolve)
          .on('error', reject)
          .end()
      })
      response.resume()
      assert.equal(response.statusCode, wanted, `${method} ${path} ${host}`)
    }
  })

  test('is open to other machines only where the configuration says so', () => {
    assert.throws(
      () => gatewayConfig({ server: { metrics: { port: 0, host: '0.0.0.0' } }, mcpServers: servers }),
      /server\.metrics\.host is "0\.0\.0\.0".*"open": true/s,
    )
    for (const metrics of [{ port: 0, host: '0.0.0.0', open: true }, { host: '0.0.0.0' }])
      gatewayConfig({ server: { metrics }, mcpServers: servers })
  })

  test('that is taken ends the start of a front, and is a warning on stdio', async (t) => {
    const { port } = await opened(t, { metrics: { port: 0 } })
    const taken = { metrics: { port } }
    await assert.rejects(
      opened(t, taken),
      /metrics cannot be served on 127\.0\.0\.1.*EADDRINUSE.*server\.metrics\.port, or start with --no-metrics/,
    )
    const { log, telemetry } = await opened(t, taken, {}, false)
    assert(telemetry !== undefined)
    assert.match(log.join(), /metrics cannot be served/)
  })
})

/** A collector that keeps what it gets, and the environment that names it. */
async function collector(
  t: Scope,
): Promise<{ env: Record<string, string>; got: { path: string; key: string; body: unknown }[] }> {
  const got: { path: string; key: string; body: unknown }[] = []
  const server = createServer((incoming, response) => {
    const chunks: Buffer[] = []
    incoming.on('data', (chunk: Buffer) => chunks.push(chunk))
    incoming.on('end', () => {
      const { url = '', headers } = incoming
      got.push({ path: url, key: String(headers['x-key']), body: parsed(Buffer.concat(chunks).toString()) })
      response.end('{}')
    })
  })
  const env = { OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${await listening(t, server)}` }
  return { env, got }
}

/** The packages of OpenTelemetry read the environment of the process. */
function setEnvironment(t: Scope, env: Record<string, string>): void {
  for (const [name, value] of Object.entries(env)) {
    process.env[name] = value
    t.after(() => void delete process.env[name])
  }
}

test('a collector gets the same, with headers and the name of the sender, at the latest when the proxy ends', async (t) => {
  const { env, got } = await collector(t)
  const all = { ...env, OTEL_EXPORTER_OTLP_HEADERS: 'x-key=k', OTEL_SERVICE_NAME: 'mine' }
  setEnvironment(t, all)
  const { telemetry } = await opened(t, {}, all)
  await callAll(await gatewayWith(t, telemetry))
  await telemetry?.close()
  const first = got.find(({ path }) => path === '/v1/metrics')
  assert.equal(first?.key, 'k')
  const resource = listAt(first?.body, 'resourceMetrics', 0, 'resource', 'attributes')
  const service = resource.find((each) => textAt(each, 'key') === 'service.name')
  assert.equal(textAt(service, 'value', 'stringValue'), 'mine')
  const metrics = listAt(first?.body, 'resourceMetrics', 0, 'scopeMetrics', 0, 'metrics')
  const named = (name: string): unknown => metrics.find((each) => textAt(each, 'name') === name)
  const counts = listAt(named('mcp.server.operation.duration'), 'histogram', 'dataPoints').map((point) =>
    Number(at(point, 'count')),
  )
  const sum = counts.reduce((sum, each) => sum + each, 0)
  assert.equal(sum, 6)
  assert.equal(listAt(named('mcps.processes'), 'gauge', 'dataPoints').length, 2)
  assert.equal(at(named('mcps.restarts'), 'sum', 'isMonotonic'), true)
})

/** The spans that a collector has got. */
function spansIn(got: readonly { path: string; body: unknown }[]): readonly unknown[] {
  return got
    .filter(({ path }) => path === '/v1/traces')
    .flatMap(({ body }) => listAt(body, 'resourceSpans', 0, 'scopeSpans', 0, 'spans'))
}

/** The digit of which the parent of a span is made. */
const parentOf = (span: unknown): string => {
  const id = at(span, 'parentSpanId')
  return typeof id === 'string' ? id.slice(0, 1) : ''
}

for (const file of ['reference.mjs', 'reference-stateless.mjs'])
  test(`a call of either era to ${file} is a span below that of its client, and its server gets the one below`, async (t) => {
    const { env, got } = await collector(t)
    setEnvironment(t, env)
    const { telemetry } = await opened(t, {}, env)
    const sent: string[] = []
    const forward = ({ to, output, edits }: ForwardEvent): void => {
      const message = parsed(Buffer.from(output).toString())
      if (to.hop === 'upstream' && at(message, 'method') === 'tools/call')
        sent.push(
          `${textAt(message, 'params', '_meta', 'traceparent')} ${edits.some(({ why }) => why === 'trace')}`,
        )
    }
    const options = { on: telemetry?.listeners ?? [], tracer: telemetry?.tracer, tap: { forward } }
    const { proxy } = await libraryProxy(t, { s: nodeProgram(file, {}, {}) }, options)
    const { port } = await proxy.serve(httpServer({ port: 0 }))
    const session = await handshake(port)
    const parents = ['1', '2', '3'].map((digit) => `00-${digit.repeat(32)}-${digit.repeat(16)}-01`)
    const [inMeta, inHeader, both] = parents
    const name = 's__test_simple_text'
    const modern = requestFields('tools/call', { name })
    for (const claims of [undefined, claim({}, 'new')])
      for (const [meta, header] of [
        [inMeta, undefined],
        [undefined, inHeader],
        [both, inHeader],
        [undefined, undefined],
      ]) {
        const _meta = { ...claims, ...(meta !== undefined && { traceparent: meta }) }
        const params = { name, arguments: {}, ...(Object.keys(_meta).length > 0 && { _meta }) }
        const body = message('tools/call', 1, params)
        const fields = {
          ...(claims === undefined ? session : modern),
          ...(header !== undefined && { traceparent: header }),
        }
        assert.equal((await send(port, { body, headers: fields })).status, 200)
      }
    await telemetry?.close()
    const spans = spansIn(got)
    const fronts = spans.filter((span) => at(span, 'kind') === 2)
    assert.deepEqual(fronts.map(parentOf), ['1', '2', '3', '', '1', '2', '3', ''])
    const isOfParent = fronts.map(
      (span) => textAt(span, 'traceId').slice(0, 1) === parentOf(span) || parentOf(span) === '',
    )
    assert.deepEqual(
      isOfParent,
      fronts.map(() => true),
    )
    const below = fronts.map((front) =>
      spans.find((span) => at(span, 'parentSpanId') === textAt(front, 'spanId')),
    )
    assert.deepEqual(
      sent,
      below.map((span) => `00-${textAt(span, 'traceId')}-${textAt(span, 'spanId')}-01 true`),
    )
    assert(below.every((span) => at(span, 'kind') === 3))
  })

const TRACE = '0af7651916cd43dd8448eb211c80319c'
const PARENT = 'b7ad6b7169203331'

/** Parent, sampler, and whether the call is sampled as part of the trace of the parent, of a new trace, or not. */
const traced: readonly (readonly [string | undefined, string, 'trace' | 'own' | undefined])[] = [
  [`00-${TRACE}-${PARENT}-01`, '', 'trace'],
  [`00-${TRACE}-${PARENT}-00`, '', undefined],
  [`00-${TRACE}-${PARENT}-00`, 'always_on', 'trace'],
  [`cc-${TRACE}-${PARENT}-01-what-the-future-brings`, '', 'trace'],
  [undefined, '', 'own'],
  [undefined, 'always_off', undefined],
  [`00-${TRACE}-${PARENT}-01-more`, '', 'own'],
  [`ff-${TRACE}-${PARENT}-01`, '', 'own'],
  [`00-${'0'.repeat(32)}-${PARENT}-01`, '', 'own'],
  [`00-${TRACE}-${'0'.repeat(16)}-01`, '', 'own'],
]

test('spans say what was called, whose child they are, and what came of it', async (t) => {
  for (const [parent, sampler, want] of traced) {
    const { env, got } = await collector(t)
    setEnvironment(t, { ...env, OTEL_TRACES_SAMPLER: sampler })
    const { telemetry } = await opened(t, {}, env)
    const trace = telemetry?.tracer?.begin(parent, '"é"')
    telemetry?.tracer?.ended(
      callEvent({ trace, item: 'own', outcome: 'failed', code: -32603, reason: 'timeout' }),
    )
    await telemetry?.close()
    const spans = spansIn(got)
    const front = spans.find((span) => at(span, 'kind') === 2)
    const below = spans.find((span) => at(span, 'kind') === 3)
    if (want === undefined) assert.deepEqual([trace, spans], [undefined, []])
    else {
      assert.equal(trace?.traceparent, `00-${textAt(front, 'traceId')}-${textAt(below, 'spanId')}-01`)
      assert.equal(at(front, 'parentSpanId'), want === 'trace' ? PARENT : undefined)
      assert.equal(textAt(front, 'traceId') === TRACE, want === 'trace')
      assert.deepEqual([at(front, 'name'), at(below, 'name')], ['tools/call own', 'tools/call own'])
      const errors = [front, below].map((span) =>
        listAt(span, 'attributes').find((each) => textAt(each, 'key') === 'error.type'),
      )
      const texts = errors.map((each) => textAt(each, 'value', 'stringValue'))
      assert.deepEqual(texts, ['-32603', 'timeout'])
    }
  }
})

test('nothing is opened where nothing asks for it, and one signal alone where one is named', async (t) => {
  assert.equal((await opened(t, {})).telemetry, undefined)
  const env = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:1' }
  assert.equal((await opened(t, {}, { ...env, OTEL_SDK_DISABLED: 'true' })).telemetry, undefined)
  for (const [more, want] of [
    [env, 'METRICS TRACES'],
    [{ ...env, OTEL_TRACES_EXPORTER: 'none' }, 'METRICS'],
    [{ OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'http://127.0.0.1:1' }, 'TRACES'],
    [{ OTEL_METRICS_EXPORTER: 'otlp' }, 'METRICS'],
  ] as const)
    assert.equal([...exportedSignals(more)].join(' '), want)
})
