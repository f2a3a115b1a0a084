// What is sent to a collector, and that no collector, however slow, holds up anything but itself.

import { strict as assert } from 'node:assert'
import { describe, test } from 'node:test'
import { BATCH_MAX, OtlpExporter, type Post, QUEUE_MAX } from '../../src/metrics/otlp/exporter.js'
import { nanos } from '../../src/metrics/otlp/common-json.js'
import { metricsJson } from '../../src/metrics/otlp/metrics-json.js'
import { type OtlpOptions, otlpOptions } from '../../src/metrics/otlp/options.js'
import { Counter, Histogram, SeriesFamily } from '../../src/metrics/registry.js'
import { at, parsed } from '../integration/support/json.js'
import { FakeRuntime, settled } from '../upstream/support/fake-runtime.js'

const ENDPOINT = 'OTEL_EXPORTER_OTLP_ENDPOINT'

/** Variables, the endpoint of the configuration, where telemetry goes, and the beginnings of the warnings. */
const cases: readonly (readonly [
  string,
  Readonly<Record<string, string>>,
  string | undefined,
  Partial<OtlpOptions> | undefined,
  string[]?,
])[] = [
  ['nothing', {}, undefined, undefined],
  [
    'the configuration',
    {},
    'http://c:4318/',
    {
      metricsUrl: 'http://c:4318/v1/metrics',
      tracesUrl: 'http://c:4318/v1/traces',
      metricsIntervalMs: 60_000,
    },
  ],
  [
    'the environment above it',
    { [ENDPOINT]: 'https://e/x' },
    'http://c',
    { tracesUrl: 'https://e/x/v1/traces' },
  ],
  [
    'an endpoint of one signal, as it is written',
    { OTEL_EXPORTER_OTLP_METRICS_ENDPOINT: 'http://m/here' },
    undefined,
    { metricsUrl: 'http://m/here', tracesUrl: undefined },
  ],
  ['one signal without an exporter', { OTEL_TRACES_EXPORTER: 'none' }, 'http://c', { tracesUrl: undefined }],
  ['all of it switched off', { OTEL_SDK_DISABLED: 'TRUE', [ENDPOINT]: 'http://e' }, 'http://c', undefined],
  [
    'no address',
    { [ENDPOINT]: 'collector:4317' },
    undefined,
    undefined,
    ["telemetry is not sent to 'collector:4317/v1", 'telemetry'],
  ],
  [
    'headers, with escapes, of which none may be shown',
    { OTEL_EXPORTER_OTLP_HEADERS: 'authorization=Bearer%20k, broken,x=%zz' },
    'http://c',
    { headers: { authorization: 'Bearer k' } },
    [
      'a member of OTEL_EXPORTER_OTLP_HEADERS is left out: it is',
      'a member of OTEL_EXPORTER_OTLP_HEADERS is left out: URI',
    ],
  ],
  [
    'a sampler',
    { OTEL_TRACES_SAMPLER: 'parentbased_traceidratio', OTEL_TRACES_SAMPLER_ARG: '0.25' },
    'http://c',
    { sampler: { ratio: 0.25, followsParent: true } },
  ],
  [
    'no sampler',
    { OTEL_TRACES_SAMPLER: 'always_off' },
    'http://c',
    { sampler: { ratio: 0, followsParent: false } },
  ],
  [
    'what is none',
    { OTEL_TRACES_SAMPLER: 'x', OTEL_METRIC_EXPORT_INTERVAL: '0' },
    'http://c',
    { sampler: { ratio: 1, followsParent: true }, metricsIntervalMs: 60_000 },
    ["OTEL_TRACES_SAMPLER is 'x'", "OTEL_METRIC_EXPORT_INTERVAL is '0'"],
  ],
]

describe('the options of an export', () => {
  for (const [title, env, endpoint, wanted, warnings = []] of cases)
    test(`come from ${title}`, () => {
      const problems: string[] = []
      const options = otlpOptions({ endpoint, name: 'p' }, env, (message) => problems.push(message))
      assert.deepEqual(options && { ...options, ...wanted }, options)
      assert.equal(options === undefined, wanted === undefined)
      assert.equal(problems.length, warnings.length, problems.join('\n'))
      warnings.forEach((begin, index) => assert(problems[index]?.startsWith(begin), problems[index]))
      assert(!problems.join().includes('Bearer'))
    })

  test('name the sender', () => {
    const env = { OTEL_SERVICE_NAME: 'mine', OTEL_RESOURCE_ATTRIBUTES: 'service.name=no,deployment=a%2Cb' }
    const resource = otlpOptions({ endpoint: 'http://c', name: 'p' }, env, assert.fail)?.resource
    assert.deepEqual([resource?.['service.name'], resource?.['deployment']], ['mine', 'a,b'])
  })
})

test('times are nanoseconds, which no double holds', () => {
  assert.deepEqual([0, 1.5, 1_795_706_068_475.25].map(nanos), ['0', '1500000', '1795706068475250000'])
})

test('metrics have the names, the types and the texts of 64 bits that OTLP wants', () => {
  const labels = [
    { name: 'schema', otel: 'mcps.schema' },
    { name: 'server', otel: 'mcps.server' },
  ]
  const common = { name: 'n', unit: 's', help: 'h', labels }
  const histogram = new SeriesFamily(
    { ...common, otel: 'd', kind: 'histogram' },
    9,
    () => new Histogram([1, 2]),
  )
  const counter = new SeriesFamily({ ...common, otel: 'c', kind: 'counter' }, 9, () => new Counter())
  for (const value of [1, 1.5, 9]) histogram.series(['a', '']).observe(value)
  counter.series(['a', 'b']).add(7)
  const json = parsed(
    metricsJson([histogram, counter], { x: 'y' }, { startMs: 1, nowMs: 1_795_706_068_475.5 }),
  )
  const times = { startTimeUnixNano: '1000000', timeUnixNano: '1795706068475500000' }
  const a = { key: 'mcps.schema', value: { stringValue: 'a' } }
  const counts = { count: '3', sum: 11.5, bucketCounts: ['1', '1', '1'], explicitBounds: [1, 2] }
  const about = { description: 'h', unit: 's' }
  assert.deepEqual(at(json, 'resourceMetrics', 0, 'scopeMetrics', 0, 'metrics'), [
    {
      name: 'd',
      ...about,
      histogram: { dataPoints: [{ attributes: [a], ...times, ...counts }], aggregationTemporality: 2 },
    },
    {
      name: 'c',
      ...about,
      sum: {
        dataPoints: [
          { attributes: [a, { key: 'mcps.server', value: { stringValue: 'b' } }], ...times, asDouble: 7 },
        ],
        aggregationTemporality: 2,
        isMonotonic: true,
      },
    },
  ])
  assert.deepEqual(at(json, 'resourceMetrics', 0, 'resource', 'attributes'), [
    { key: 'x', value: { stringValue: 'y' } },
  ])
})

/** An exporter of numbers, whose collector answers as `post` says. */
function exporting(post: Post) {
  const runtime = new FakeRuntime()
  const log: string[] = []
  const sent: string[] = []
  const options = otlpOptions({ endpoint: 'http://user:key@c:4318', name: 'p' }, {}, assert.fail)
  assert(options !== undefined)
  const exporter = new OtlpExporter<number>(
    options,
    { metrics: () => 'metrics', spans: (spans) => `${spans[0]}+${spans.length}` },
    (url, body, signal) => {
      sent.push(body)
      return post(url, body, signal)
    },
    runtime,
    ({ message }) => void log.push(message),
  )
  return { runtime, log, sent, exporter }
}

const answers: Post = () => Promise.resolve(200)
const hangs: Post = (_url, _body, signal) =>
  new Promise((_, reject) => signal.addEventListener('abort', () => reject(new Error('aborted'))))

describe('an exporter', () => {
  test('sends spans when a batch is full, or after five seconds', async () => {
    const { exporter, runtime, sent } = exporting(answers)
    for (let n = 0; n <= BATCH_MAX; n++) exporter.add(n)
    await settled()
    assert.deepEqual(sent, [`0+${BATCH_MAX}`])
    await runtime.pass(4999)
    assert.equal(sent.length, 1)
    await runtime.pass(1)
    assert.deepEqual(sent.slice(1), [`${BATCH_MAX}+1`])
    await exporter.close(1)
    assert.equal(exporter.dropped, 0)
  })

  test('sends metrics every minute, and what there is at the end', async () => {
    const { exporter, runtime, sent } = exporting(answers)
    await runtime.pass(60_000)
    assert.deepEqual(sent, ['metrics'])
    for (let n = 0; n < 3; n++) exporter.add(n)
    await exporter.close(1000)
    assert.deepEqual(sent.sort(), ['0+3', 'metrics', 'metrics'])
  })

  test('keeps so many spans for a collector that hangs, has one request, and ends in time', async () => {
    const { exporter, runtime, sent, log } = exporting(hangs)
    for (let n = 0; n <= BATCH_MAX + QUEUE_MAX; n++) exporter.add(n)
    assert.deepEqual([sent.length, exporter.dropped], [1, 1])
    await runtime.pass(10_000)
    assert.equal(exporter.dropped, 1 + BATCH_MAX)
    assert.equal(sent.length, 2)
    assert.deepEqual(log, ['telemetry does not reach c:4318: no answer within 10000 ms'])
    await runtime.until(exporter.close(2000))
    await settled()
    assert.equal(exporter.dropped, 1 + BATCH_MAX + QUEUE_MAX)
    assert.equal(log.length, 1)
  })

  test('warns once of a collector that is away, and says when it is back', async () => {
    let status = 503
    const { exporter, runtime, log } = exporting(() => Promise.resolve(status))
    await runtime.pass(180_000)
    assert.deepEqual(log, ['telemetry does not reach c:4318: the status of the answer is 503'])
    status = 200
    await runtime.pass(60_000)
    assert.deepEqual(log.slice(1), ['telemetry reaches c:4318 again'])
    await exporter.close(1)
  })
})
