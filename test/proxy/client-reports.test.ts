// Events about the calls of a client. Without listeners, no event is created.

import { strict as assert } from 'node:assert'
import { test } from 'node:test'
import { ClientReports } from '../../src/proxy/clients/client-reports.js'
import { readLong } from '../../src/jsonrpc/long-line.js'
import { Emitter } from '../../src/events/emitter.js'
import type { Outcome } from '../../src/calls/call.js'
import { tooManyCalls, toolNotFound, upstreamFailed } from '../../src/mcp/error-codes.js'
import type { CallEvent, ProxyEvents } from '../../src/events/proxy-events.js'
import { inTwoParts, requestOf, resultOf } from '../jsonrpc/support/frames.js'
import { callOf } from '../upstream/support/calls.js'

const answered: Outcome = { kind: 'result', result: '{}' }
const down: Outcome = { kind: 'failed', error: upstreamFailed('a', 'exited', 'gone', { status: 502 }) }

const cases: readonly (readonly [string, Outcome, Partial<CallEvent>])[] = [
  ['a result', answered, { outcome: 'answered' }],
  ['a refusal by a result', { ...answered, refusal: 'no' }, { outcome: 'refused', message: 'no' }],
  ['a failed server', down, { outcome: 'failed', reason: 'exited', status: 502, message: 'gone' }],
  ['an unknown tool', { kind: 'failed', error: toolNotFound('t', []) }, { outcome: 'refused', code: -32601 }],
  ['too many', { kind: 'failed', error: tooManyCalls() }, { outcome: 'refused', reason: 'overloaded' }],
  ['a cancel', { kind: 'cancelled' }, { outcome: 'cancelled' }],
]

/** Reports, and a count of clock readings, since creating an event begins with one. */
function reporting() {
  const events = new Emitter<ProxyEvents>(() => assert.fail('a listener failed'))
  let readings = 0
  const runtime = { now: () => ++readings }
  const reports = new ClientReports({ events, schema: 's', runtime }, 7)
  return { events, reports, readings: () => readings }
}

for (const [title, outcome, expected] of cases)
  test(`${title} is told of as ${expected.outcome}`, () => {
    const { events, reports } = reporting()
    const told: CallEvent[] = []
    const failures: CallEvent[] = []
    events.on('call', (event) => told.push(event))
    events.on('failure', (event) => failures.push(event))
    reports.settled(callOf('1', 0), outcome)
    const [event] = told
    assert.deepEqual({ ...event, ...expected }, { ...event })
    assert.deepEqual([event?.schema, event?.client, event?.method], ['s', 7, 'tools/call'])
    const isFailure = expected.outcome === 'refused' || expected.outcome === 'failed'
    assert.deepEqual(failures, isFailure ? told : [])
  })

test('the bytes of arguments and result are there while the event is emitted, and not after it', () => {
  const line = '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"arguments":{"a":"é"},"name":"t"}}'
  const answers: readonly (readonly [string, boolean])[] = [
    ['{"content":[],"isError":true}', true],
    ['{"content":[{"isError":true}],"isError":false}', false],
    ['[{"isError":true}]', false],
    ['{ "isError" : "true" }', false],
  ]
  for (const [result, isToolError] of answers) {
    const { events, reports } = reporting()
    const kept: CallEvent[] = []
    events.on('call', (event) => {
      kept.push(event)
      const texts = (['arguments', 'result'] as const).map((part) =>
        Buffer.from(event.bytes(part) ?? '').toString(),
      )
      assert.deepEqual(texts, ['{"a":"é"}', result])
    })
    const call = callOf('1', 0)
    const frame = resultOf(`{"jsonrpc":"2.0","id":1,"result":${result}}`)
    call.frame = requestOf(line)
    reports.settled(call, { kind: 'answered', frame, edits: [], era: 'session' })
    const [event] = kept
    assert.deepEqual([event?.argumentBytes, event?.resultBytes], [10, Buffer.byteLength(result)])
    const facts = [event?.isToolError, event?.bytes('arguments'), event?.bytes('result')]
    assert.deepEqual(facts, [isToolError, undefined, undefined])
  }
})

test('a long result is counted and read in its parts', () => {
  const result = `{"a":"${'x'.repeat(20_000)}"}`
  const long = inTwoParts(`{"jsonrpc":"2.0","id":1,"result":${result}}`)
  Object.defineProperty(long, 'line', { get: () => assert.fail('it was joined') })
  const frame = readLong(long)
  assert(frame.kind === 'result')
  const { events, reports } = reporting()
  const told: unknown[] = []
  events.on('call', (event) =>
    told.push(event.resultBytes, Buffer.from(event.bytes('result') ?? '').toString()),
  )
  reports.settled(callOf('1', 0), { kind: 'answered', frame, edits: [], era: 'session' })
  assert.deepEqual(told, [result.length, result])
})
