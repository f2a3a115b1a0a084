// One thread of many: its share of the seeds.

import { parentPort, workerData } from 'node:worker_threads'
import { drawKind, runKind } from './draw-kind.js'
import { inTurn } from './in-turn.js'
import { at, numberAt, textAt } from './json.js'
import type { Told } from './many.js'
import type { Outcome } from './outcome.js'
import { simulate } from './simulate.js'
import { warm } from './warm.js'

/** Runs after which a thread says how far it is. */
const TELL_EVERY = 50

const share: unknown = workerData
const from = numberAt(share, 'from') ?? 1
const step = numberAt(share, 'step') ?? 1
const ops = numberAt(share, 'ops') ?? 1
const twice = at(share, 'twice') === true
const kind = runKind(textAt(share, 'kind'))
const first = from - ((from - 1) % step)
const end = first + (numberAt(share, 'seeds') ?? 0)

function tell(message: Told): void {
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a port of a thread has no origin
  parentPort?.postMessage(message)
}

// Errors are told by what they say; where they were made can be had by repeating one seed.
Error.stackTraceLimit = 0
await warm()
let runs = 0
let requests = 0
let events = 0
const report = (): void => {
  tell({ kind: 'done', runs, requests, events })
  runs = 0
  requests = 0
  events = 0
}
function run(seed: number): Promise<Outcome> {
  return inTurn(() => simulate(drawKind(kind, seed, ops)))
}
async function again(seed: number): Promise<string> {
  return (await run(seed)).hash()
}
for (let seed = from; seed < end; seed += step) {
  const outcome = await run(seed)
  if (twice && (await again(seed)) !== outcome.hash()) tell({ kind: 'differs', seed })
  runs++
  requests += outcome.requests
  events += outcome.events
  if (outcome.failures.length > 0) tell({ kind: 'failed', seed, failures: outcome.failures })
  if (runs === TELL_EVERY) report()
}
report()
