// Preloaded into the program under test: tells its parent how it fares from within.
//
// A turn of the event loop is measured by the processor time of the main thread,
// since a busy machine may keep anybody waiting. The wall-clock delay is told too.

import { openSync, readSync, readdirSync } from 'node:fs'
import { monitorEventLoopDelay } from 'node:perf_hooks'

/** How the program fares; times in milliseconds, memory in bytes. */
export interface Facts {
  /** The longest delay of the event loop since the last `reset`. */
  readonly delayMaxMs: number
  /** The most processor time that one turn took since then. */
  readonly turnMaxMs: number
  readonly rss: number
  readonly heapUsed: number
  readonly external: number
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

const delay = monitorEventLoopDelay({ resolution: TICK_MS })
delay.enable()
let turnMaxMs = 0
let before = spentMs()
setInterval(() => {
  const now = spentMs()
  turnMaxMs = Math.max(turnMaxMs, now - before)
  before = now
}, TICK_MS).unref()

process.on('message', (asked) => {
  if (asked === 'gc') globalThis.gc?.()
  const { rss, heapUsed, external } = process.memoryUsage()
  const facts: Facts = {
    delayMaxMs: delay.max / 1e6 - TICK_MS,
    turnMaxMs,
    rss,
    heapUsed,
    external,
    descriptors: readdirSync('/proc/self/fd').length - 1,
    resources: process.getActiveResourcesInfo(),
  }
  process.send?.(facts)
  if (asked !== 'reset') return
  delay.reset()
  turnMaxMs = 0
})
process.channel?.unref()
