// Processor time, which does not depend on the load of the machine. On Linux it is that of the main thread alone.

import { readFileSync } from 'node:fs'
import process from 'node:process'

/** Processor time of this thread in milliseconds. */
export function processorMs(): number {
  // This call updates `schedstat` as well.
  const { user, system } = process.cpuUsage()
  return ownMs() ?? (user + system) / 1000
}

/** Without the threads that compile code and collect garbage. */
function ownMs(): number | undefined {
  try {
    const [ns = ''] = readFileSync(`/proc/self/task/${process.pid}/schedstat`, 'latin1').split(' ')
    return Number(ns) / 1e6
  } catch {
    return undefined
  }
}

function costMs(run: () => void): number {
  const before = processorMs()
  run()
  return processorMs() - before
}

/** The ratio of the costs, each the minimum of several alternating runs, since code gets faster while it runs. */
export function costRatio(first: () => void, second: () => void, runs: number): number {
  let least: readonly [number, number] = [Infinity, Infinity]
  for (let i = 0; i < runs; i++)
    least = [Math.min(least[0], costMs(first)), Math.min(least[1], costMs(second))]
  return least[0] / least[1]
}

/** Some work for every machine. It took 5 ms where the limits were measured. */
const work = JSON.stringify(
  Array.from({ length: 13_000 }, (_, id) => ({ id, name: `name ${id}`, tags: ['a', 'b'], on: true })),
)

/** The longest allowed turn of the event loop: 50 ms, and more on a slow or busy machine. */
export function turnBoundMs(): number {
  return Math.max(50, 10 * costMs(() => JSON.parse(work)))
}
