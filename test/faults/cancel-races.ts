// Cancels that meet their answers: whichever comes first, a call has at most one end,
// nothing comes for it behind that, and its server hears of the cancel at most once.

import { setImmediate as turn, setTimeout as pause } from 'node:timers/promises'
import { createProxy } from '../../src/index.js'
import { at, numberAt, parsed, textAt } from '../integration/support/json.js'
import { program } from '../integration/support/programs.js'
import type { Scope } from '../integration/support/spawned.js'
import type { Scenario } from './scenario.js'
import { attachCaller } from './support/attached.js'
import { type Answer, type Caller, allMisses } from './support/caller.js'
import { measured } from './support/measured.js'
import { Random } from '../sim/random.js'
import { type Findings, Promises, type Run } from './support/run.js'

const CLIENTS = 4
/** Calls in flight of one client. */
const LANES = 4
/** Longer than a server takes for any call. */
const LATE_MS = 200

export const cancelRaces: Scenario = measured(
  'cancels that meet their answers: one end for each call, nothing behind it, one cancel at most for the server',
  10_000,
  run,
)

interface Tally {
  calls: number
  answered: number
  cancelled: number
  foreign: number
}

/** `count` is the number of calls that are cancelled. */
async function run(scope: Scope, { count, seed, say }: Run): Promise<Findings> {
  const random = new Random(seed)
  const server = { command: process.execPath, args: [program('cancels.mjs')], concurrency: 8 }
  const proxy = await createProxy({ mcpServers: { s: server } })
  scope.after(() => proxy.close(0))
  const clients = await Promise.all(Array.from({ length: CLIENTS }, () => attachCaller(proxy)))
  const callers = clients.map(({ caller }) => caller)
  await Promise.all(callers.map((caller) => caller.open()))
  const tally: Tally = { calls: 0, answered: 0, cancelled: 0, foreign: 0 }
  const lane = async (caller: Caller, name: string): Promise<void> => {
    while (tally.calls < count) {
      tally.calls++
      await race(caller, `${name}-${tally.calls}`, random, tally)
      if (tally.calls % 1000 === 0) say(`${tally.calls} of ${count}, ${tally.cancelled} without an answer`)
    }
  }
  const lanes = callers.flatMap((caller, at) =>
    Array.from({ length: LANES }, (_, of) => lane(caller, `${at}-${of}`)),
  )
  await Promise.all(lanes)
  await pause(LATE_MS)
  const [first] = callers
  const told: unknown = parsed(said(await first?.call('s__tally')))
  const [heard, strange, twice, again] = ['cancels', 'strange', 'twice', 'again'].map((what) =>
    numberAt(told, what),
  )
  const misses = allMisses(callers)
  const promises = new Promises()
  promises.equal(misses.twice + misses.stray + misses.invalid, 0, 'answers behind the end of a call')
  promises.equal(tally.foreign, 0, 'answers to somebody else')
  promises.equal(strange ?? NaN, 0, 'cancels of what the server was never asked')
  promises.equal(twice ?? NaN, 0, 'second cancels of a call')
  promises.equal(again ?? NaN, 0, 'second executions')
  promises.hold(tally.answered > 0 && tally.cancelled > 0, 'both sides win some races')
  return { figures: { ...tally, 'cancels heard': heard ?? NaN, ...misses }, broken: promises.broken }
}

/** One call and its cancel, which come as close as chance has it. */
async function race(caller: Caller, nonce: string, random: Random, tally: Tally): Promise<void> {
  const id = caller.nextId()
  const args = { nonce, ms: random.below(4), heeds: random.chance(0.5) }
  let answer: Answer | undefined
  const pending = caller.call('s__hit', args, undefined, id).then((value) => {
    answer = value
  })
  const turns = random.below(12)
  for (let left = turns; left > 0; left--) await turn()
  if (random.chance(0.5)) await pause(random.below(5))
  caller.notify('notifications/cancelled', { requestId: id, reason: 'no longer wanted' })
  // Behind the answer to a ping nothing may come for the call any more.
  await caller.request('ping')
  await Promise.race([pending, turn()])
  if (answer === undefined) {
    tally.cancelled++
    return caller.forget(id)
  }
  tally.answered++
  if (said(answer) !== nonce) tally.foreign++
}

function said(answer: Answer | undefined): string {
  return at(answer?.value, 'result') === undefined
    ? 'null'
    : textAt(answer?.value, 'result', 'content', 0, 'text')
}
