// The time of day jumps by days while calls run: no call ends early, none ends late, no session
// is forgotten, and servers are neither stopped nor started for it.

import { resolve } from 'node:path'
import { at } from '../integration/support/json.js'
import { itServer } from '../integration/support/programs.js'
import type { Scope } from '../integration/support/spawned.js'
import { HANG_MS } from '../integration/support/waiting.js'
import { HttpCaller, answerOf } from './support/http-caller.js'
import { type UnderTest, startUnderTest } from './support/under-test.js'
import { type Findings, Promises, type Run, type Scenario, measured } from './support/scenario.js'

const clock = resolve(import.meta.dirname, 'programs/clock.js')
const TIMEOUT_MS = 1000
/** Calls at a time; each second one is never answered. */
const AT_ONCE = 20

export const clockJumps: Scenario = measured(
  'the time of day jumps by days: calls end when they should, sessions and servers stay',
  20,
  run,
)

/** `count` is the number of rounds, each of a second and twenty jumps. */
async function run(scope: Scope, { count, cli, say }: Run): Promise<Findings> {
  const servers = {
    s: itServer({}, { timeout: TIMEOUT_MS, idleTimeout: 60_000 }),
  }
  const under = ['env', `NODE_OPTIONS=--import=${clock}`]
  const proxy = startUnderTest(scope, '--http', servers, { cli, under })
  const caller = new HttpCaller(await proxy.port(), AT_ONCE)
  scope.after(() => caller.close())
  await caller.open()
  await caller.call('s__nonce', { n: 'first' })
  const before = idsOf(proxy)
  const times: number[] = []
  let [calls, wrong] = [0, 0]
  const timed = async (): Promise<void> => {
    const from = performance.now()
    const reason = at(answerOf(await caller.call('s__never')), 'error', 'data', 'reason')
    times.push(performance.now() - from)
    if (reason !== 'timeout') wrong++
  }
  const answered = async (): Promise<void> => {
    const args = { steps: 8, everyMs: 100 }
    if (at(answerOf(await caller.call('s__slow', args)), 'result') === undefined) wrong++
  }
  for (let round = 1; round <= count; round++) {
    await Promise.all(Array.from({ length: AT_ONCE }, (_, of) => (of % 2 === 0 ? timed() : answered())))
    calls += AT_ONCE
    say(`${round} rounds of ${count}, ${wrong} wrong`)
  }
  const promises = new Promises()
  const [earliest, latest] = [Math.min(...times), Math.max(...times)]
  promises.equal(wrong, 0, 'calls that did not end as they should')
  promises.hold(earliest >= TIMEOUT_MS - 5, `no time-out comes early: ${earliest} ms`)
  // A jump is of days.
  promises.below(latest, HANG_MS, 'ms of the latest time-out')
  promises.hold(idsOf(proxy) === before, 'the servers are the same processes')
  return { figures: { calls, wrong, 'earliest ms': earliest, 'latest ms': latest }, broken: promises.broken }
}

function idsOf(proxy: UnderTest): string {
  return proxy
    .children()
    .toSorted((a, b) => a - b)
    .join()
}
