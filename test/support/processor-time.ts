// What work costs, however busy the machine is: processor time, and of this thread alone where the system tells.

import { readFileSync } from 'node:fs'
import process from 'node:process'

/** Milliseconds for which the thread that runs the tests has had the processor. */
export function processorMs(): number {
  // Asking for this brings the other figure up to date.
  const { user, system } = process.cpuUsage()
  return ownMs() ?? (user + system) / 1000
}

/** Without what other threads of this process use to compile code and to collect garbage. */
function ownMs(): number | undefined {
  try {
    const [ns = ''] = readFileSync(`/proc/self/task/${process.pid}/schedstat`, 'latin1').split(' ')
    return Number(ns) / 1e6
  } catch {
    return undefined
  }
}

/** What it costs to run something once. */
function costMs(run: () => void): number {
  const before = processorMs()
  run()
  return processorMs() - before
}

/** How many times more the first costs than the second, each at its best of some runs, in turn: code gets faster while it runs. */
export function costRatio(first: () => void, second: () => void, runs: number): number {
  let least: readonly [number, number] = [Infinity, Infinity]
  for (let i = 0; i < runs; i++)
    least = [Math.min(least[0], costMs(first)), Math.min(least[1], costMs(second))]
  return least[0] / least[1]
}

/** A piece of work that every machine can do; 5 ms where the limits were measured. */
const work = JSON.stringify(
  Array.from({ length: 13_000 }, (_, id) => ({ id, name: `name ${id}`, tags: ['a', 'b'], on: true })),
)

/** The longest that nothing else may run: 50 ms, and more where everything takes longer just now. */
export function turnBoundMs(): number {
  return Math.max(50, 10 * costMs(() => JSON.parse(work)))
}
