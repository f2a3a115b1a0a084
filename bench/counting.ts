// What counting costs a call: the event of its end, which every listener needs, and beyond it the counting itself.
//
// usage: npm run compile && node build/bench/counting.js
// The ways alternate within one run, so that their ratio holds on a busy machine too.

import { Emitter } from '../src/events/emitter.js'
import type { CallEvent, ProxyEvents } from '../src/events/proxy-events.js'
import { defaultFrameLimits, readFrame } from '../src/jsonrpc/frame.js'
import { toLine } from '../src/jsonrpc/line.js'
import type { Call, Outcome } from '../src/calls/call.js'
import { messageNames } from '../src/mcp/result-type.js'
import { CallMetrics } from '../src/metrics/call-metrics.js'
import { ClientReports } from '../src/proxy/clients/client-reports.js'
import { callOf } from '../test/upstream/support/calls.js'

const CALLS = 200_000
const ROUNDS = 15

const limits = { ...defaultFrameLimits, names: messageNames }
const result = '{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"hi"}]}}'
const frame = readFrame(toLine(result), limits)
if (frame.kind !== 'result') throw new Error('it is a result')
const outcome: Outcome = { kind: 'answered', frame, edits: [], era: 'session' }

function callTo(service: string): Call {
  const call = callOf('1', 0)
  call.service = service
  call.item = 't'
  call.deadline.sentAt = 0
  return call
}

/** Four calls by turns. */
const ofOne = Array.from({ length: 4 }, () => callTo('a'))
const ofFour = ['a', 'b', 'c', 'd'].map(callTo)

function reportsFor(listener?: (event: CallEvent) => void): ClientReports {
  const events = new Emitter<ProxyEvents>(() => {})
  if (listener !== undefined) events.on('call', listener)
  return new ClientReports({ events, schema: 's', runtime: { now: () => 5 } }, 1)
}

function settling(reports: ClientReports): (turn: number) => void {
  return (turn) => {
    const call = ofFour[turn & 3]
    if (call !== undefined) reports.settled(call, outcome)
  }
}

/** Counts events that are made already. */
function counting(calls: readonly Call[], hasTools: boolean): (turn: number) => void {
  const made: CallEvent[] = []
  const reports = reportsFor((event) => made.push(event))
  for (const call of calls) reports.settled(call, outcome)
  const { call: count } = new CallMetrics(hasTools).listeners
  return (turn) => {
    const event = made[turn & 3]
    if (event !== undefined) count?.(event)
  }
}

const ways: Readonly<Record<string, (turn: number) => void>> = {
  'no listener': settling(reportsFor()),
  'the event': settling(reportsFor(() => {})),
  'counting, one server': counting(ofOne, false),
  'counting, four servers by turns': counting(ofFour, false),
  'counting tools, four servers by turns': counting(ofFour, true),
}

function nanosOf(way: (turn: number) => void): number {
  const from = process.hrtime.bigint()
  for (let turn = 0; turn < CALLS; turn++) way(turn)
  return Number(process.hrtime.bigint() - from) / CALLS
}

const measured = new Map(Object.keys(ways).map((name): [string, number[]] => [name, []]))
for (let round = 0; round <= ROUNDS; round++)
  for (const [name, way] of Object.entries(ways)) {
    const nanos = nanosOf(way)
    // The first round compiles.
    if (round > 0) measured.get(name)?.push(nanos)
  }

function median(values: readonly number[]): number {
  return [...values].sort((one, other) => one - other)[values.length >> 1] ?? 0
}

const base = median(measured.get('the event') ?? [])
for (const [name, values] of measured)
  console.log(
    `${name.padEnd(38)} ${median(values).toFixed(0).padStart(5)} ns   ${(median(values) / base).toFixed(2)} of the event`,
  )
