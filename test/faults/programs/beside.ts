// A worker thread: calls the server `well` and pings the proxy by turns until it is told to end.

import { parentPort, workerData } from 'node:worker_threads'
import { at } from '../../integration/support/json.js'
import { HttpCaller, answerOf } from '../support/http-caller.js'

/** What it tells at its end. */
export interface BesideTold {
  readonly latencies: readonly number[]
  readonly failed: number
}

const TURNS_MIN = 3

const caller = new HttpCaller(Number(workerData))
await caller.open()
await caller.call('well__nonce', { nonce: 'warm' })
const rest = { turns: Infinity }
parentPort?.once('message', () => {
  rest.turns = TURNS_MIN
})
parentPort?.postMessage('begun', [])
const latencies: number[] = []
let failed = 0
for (let turn = 0; turn < rest.turns; turn++) {
  const from = performance.now()
  const posted = await (turn % 2 === 0
    ? caller.request('ping')
    : caller.call('well__nonce', { nonce: String(turn) }))
  latencies.push(performance.now() - from)
  if (at(answerOf(posted), 'result') === undefined) failed++
}
caller.close()
const told: BesideTold = { latencies, failed }
parentPort?.postMessage(told, [])
