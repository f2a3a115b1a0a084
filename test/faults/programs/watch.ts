// Preloaded into the program under test: tells its parent how it fares from within. A turn of the event loop is measured by
// the processor time of the main thread, since a busy machine delays every process.

import { openSync, readSync, readdirSync } from 'node:fs'

/** How the program fares; times in milliseconds, memory in bytes. */
export interface Facts {
  /** The most processor time that one turn took since the last `reset`. */
  readonly turnMaxMs: number
  readonly rss: number
  readonly descriptors: number
  /** What keeps the event loop alive, as Node names it. */
  readonly resources: readonly string[]
}

const TICK_MS = 5

const schedule = openSync('/proc/self/schedstat', 'r')
const line = Buffer.alloc(128)

/** Processor time of the main thread so far. */
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
