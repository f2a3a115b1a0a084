// Thousands of sessions, one after the other, leave nothing behind: no memory, no
// descriptor, no timer, no process.

import { textAt } from '../integration/support/json.js'
import { type Scope, scratch } from '../integration/support/spawned.js'
import { HANG_MS } from '../integration/support/waiting.js'
import { HttpCaller, answerOf } from './support/http-caller.js'
import { SwiftServers } from './support/swift.js'
import { settled, startUnderTest } from './support/under-test.js'
import type { Facts } from './programs/watch.js'
import { type Findings, MiB, Promises, type Run, type Scenario, measured } from './support/scenario.js'

/**
 * Sessions before the first look, where there are as many: by then code is compiled,
 * and the young generation has the size at which it stays.
 */
const WARM_MAX = 4000
const GROWTH_BYTES_MAX = 20 * MiB

export const sessions: Scenario = measured(
  'sessions that come and go leave no memory, descriptor, timer or process behind',
  10_000,
  run,
)

/** `count` is the number of sessions. */
async function run(scope: Scope, { count, cli, say }: Run): Promise<Findings> {
  const servers = { s: new SwiftServers(scratch(scope)).entry('s') }
  const proxy = startUnderTest(scope, '--http', servers, { cli })
  const port = await proxy.port()
  let failed = 0
  const open = async (times: number): Promise<void> => {
    for (let done = 0; done < times; done++) {
      if (!(await session(port))) failed++
      if (done % 1000 === 999) say(`${done + 1} sessions`)
    }
  }
  await open(Math.min(count, WARM_MAX))
  const look = async (): Promise<Look> => {
    const facts = await settled(() => proxy.facts('gc'))
    return { ...facts, children: proxy.children().length }
  }
  const before = await look()
  await open(count)
  const after = await atRest(look, before)
  const promises = new Promises()
  promises.equal(failed, 0, 'sessions that failed')
  const figures = compare(before, after, promises)
  return { figures: { sessions: count, ...figures }, broken: promises.broken }
}

/** One whole session on a socket of its own, as a client that comes and goes. */
async function session(port: number): Promise<boolean> {
  const caller = new HttpCaller(port)
  try {
    await caller.open()
    const called = answerOf(await caller.call('s__hit', { nonce: 'n' }))
    const { status } = await caller.leave()
    return textAt(called, 'result', 'content', 0, 'text') === 'n' && status === 200
  } finally {
    caller.close()
  }
}

interface Look extends Facts {
  readonly children: number
}

/** Looks until nothing is left that was not there before; a timer that is soon over may be there at any look. */
async function atRest(look: () => Promise<Look>, before: Look): Promise<Look> {
  const endsAt = performance.now() + HANG_MS
  let after = await look()
  while (leftOf(before, after).length > 0 && performance.now() < endsAt) after = await look()
  return after
}

/** What the process holds that it did not hold before. */
function leftOf(before: Look, after: Look): string[] {
  const left = [...after.resources]
  for (const resource of before.resources) {
    const at = left.indexOf(resource)
    if (at >= 0) left.splice(at, 1)
  }
  return left
}

function compare(before: Look, after: Look, promises: Promises): Record<string, number> {
  const growth = after.rss - before.rss
  const descriptors = after.descriptors - before.descriptors
  const children = after.children - before.children
  const left = leftOf(before, after)
  promises.below(growth, GROWTH_BYTES_MAX, `bytes that sessions leave`)
  promises.equal(descriptors, 0, `descriptors that sessions leave`)
  promises.equal(children, 0, `processes that sessions leave`)
  promises.hold(left.length === 0, `${left.join(' ')} is left beside ${before.resources.join(' ')}`)
  return {
    'MB grown': growth / MiB,
    'heap MB grown': (after.heapUsed - before.heapUsed) / MiB,
    'descriptors left': descriptors,
    'processes left': children,
    'resources left': left.length,
  }
}
