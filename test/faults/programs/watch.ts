// Preloaded into the program under test. It reports figures from within to the parent process. Turns of the event
// loop are measured in processor time of the main thread, since a busy machine delays every process.

import { openSync, readSync, readdirSync } from 'node:fs'

/** Times in milliseconds, memory in bytes. */
export interface Facts {
  /** The most processor time of one turn since the last `reset`. */
  readonly turnMaxMs: number
  readonly rss: number
  readonly descriptors: number
  /** The resources that keep the event loop alive, by Node's names. */
  readonly resources: readonly string[]
}

const TICK_MS = 5

const schedule = openSync('/proc/self/schedstat', 'r')
const line = Buffer.alloc(128)

function spentMs(): number {
  const length = readSync(schedule, line, 0, line.length, 0)
  return Number.parseInt(line.toString('latin1', 0, length), 10) / 1e6
}

let turnMaxMs = 0
let before = spentMs()
setInterval(() => {
  const now = spentMs()
  turnMaxMs = Math.max(turnMaxMs, now - before)
  before = now
}, TICK_MS).unref()

process.on('message', (asked) => {
  if (asked === 'gc') globalThis.gc?.()
  const facts: Facts = {
    turnMaxMs,
    rss: process.memoryUsage.rss(),
    descriptors: readdirSync('/proc/self/fd').length - 1,
    resources: process.getActiveResourcesInfo(),
  }
  process.send?.(facts)
  if (asked === 'reset') turnMaxMs = 0
})
process.channel?.unref()
