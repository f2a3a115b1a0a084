// A server that is stopped, with its pipe full: every call ends when its time is over, and
// not long after, whatever else is going on.

import { monitorEventLoopDelay } from 'node:perf_hooks'
import { createProxy } from '../../src/index.js'
import { at } from '../integration/support/json.js'
import { itServer } from '../integration/support/programs.js'
import type { Scope } from '../integration/support/spawned.js'
import type { Scenario } from './scenario.js'
import { attachCaller } from './support/attached.js'
import { allMisses } from './support/caller.js'
import { measured } from './support/measured.js'
import { Random } from '../sim/random.js'
import { type Findings, Promises, type Run, percentile } from './support/run.js'

const TIMEOUT_MS = 1000
const LATE_MS_MAX = 100
/** More than a pipe takes: most of them never get to the server. */
const FILLER = 'x'.repeat(1000)
/** Time between two calls. */
const APART_MS = 3

export const deadlines: Scenario = measured(
  'a stopped server whose pipe is full: 99.9 % of the calls end within 100 ms after their time-out',
  1000,
  run,
)

/** `count` is the number of calls. */
async function run(scope: Scope, { count, seed, say }: Run): Promise<Findings> {
  const entry = itServer({}, { timeout: TIMEOUT_MS, concurrency: 1024 })
  const proxy = await createProxy({ mcpServers: { s: entry } })
  scope.after(() => proxy.close(0))
  const { caller } = await attachCaller(proxy)
  await caller.open()
  await caller.call('s__nonce', { n: 'first' })
  const [pid] = proxy.status()[0]?.pids ?? []
  if (pid === undefined) throw new Error('the server does not run')
  process.kill(pid, 'SIGSTOP')
  scope.after(() => void process.kill(pid, 'SIGCONT'))
  const random = new Random(seed)
  const delay = monitorEventLoopDelay({ resolution: 1 })
  delay.enable()
  const late: number[] = []
  let wrong = 0
  const calls: Promise<void>[] = []
  for (let made = 0; made < count; made++) {
    const from = performance.now()
    const call = caller.call('s__nonce', { n: String(made), filler: FILLER }).then(({ value }) => {
      late.push(performance.now() - from - TIMEOUT_MS)
      if (at(value, 'error', 'data', 'reason') !== 'timeout') wrong++
    })
    calls.push(call)
    if (made % 100 === 99) say(`${made + 1} calls of ${count}`)
    await new Promise((resolve) => setTimeout(resolve, 2 * APART_MS * random.next()))
  }
  await Promise.all(calls)
  const ownMs = delay.percentile(100) / 1e6
  delay.disable()
  const { lost, twice, stray } = allMisses([caller])
  const promises = new Promises()
  const p999 = percentile(late, 0.999)
  promises.equal(wrong, 0, 'calls that did not end with a time-out')
  promises.equal(lost + twice + stray, 0, 'answers lost or too many')
  promises.hold(Math.min(...late) > -5, `none ends early: ${Math.min(...late)} ms`)
  // What keeps this very process from running keeps its timers too.
  promises.below(p999, LATE_MS_MAX + ownMs, 'ms by which 99.9 % are late at most')
  const figures = { calls: count, 'p50 ms late': percentile(late, 0.5), 'p99.9 ms late': p999 }
  return { figures: { ...figures, 'longest own delay ms': ownMs }, broken: promises.broken }
}
