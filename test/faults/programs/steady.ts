// A worker thread: requests at a steady rate to several proxies by turns, as those who are not slow
// send them, and how long each took.

import { setTimeout as delay } from 'node:timers/promises'
import { parentPort, workerData } from 'node:worker_threads'
import { HttpCaller } from '../support/http-caller.js'

export interface SteadyAsked {
  readonly ports: readonly number[]
  readonly seconds: number
}

/** Of each proxy, in the order in which they were named. */
export interface SteadyTold {
  readonly latencies: readonly (readonly number[])[]
  readonly failed: number
}

const PER_SECOND = 100

const { ports, seconds }: SteadyAsked = workerData
const callers = ports.map((port) => new HttpCaller(port, 8))
const latencies: number[][] = callers.map(() => [])
let failed = 0
for (const caller of callers) await caller.open()

async function one(of: number): Promise<void> {
  const startedAt = performance.now()
  try {
    const posted = await callers[of]?.call('s__hit', { nonce: 'n' })
    if (posted?.status !== 200) failed++
  } catch {
    failed++
  }
  latencies[of]?.push(performance.now() - startedAt)
}

const running: Promise<void>[] = []
const startedAt = performance.now()
for (let sent = 0; sent < seconds * PER_SECOND; sent++) {
  for (const of of callers.keys()) running.push(one(of))
  await delay(Math.max(0, startedAt + ((sent + 1) * 1000) / PER_SECOND - performance.now()))
}
await Promise.all(running)
for (const caller of callers) caller.close()
const told: SteadyTold = { latencies, failed }
parentPort?.postMessage(told, [])
