// A server that sends frames which are nearly right, as fast as it can. Clients of
// other servers notice nothing, and each call to it ends exactly once.

import { resolve } from 'node:path'
import { at, textAt } from '../integration/support/json.js'
import { program } from '../integration/support/programs.js'
import type { Scope } from '../integration/support/spawned.js'
import type { Scenario } from './scenario.js'
import { HttpCaller } from './support/http-caller.js'
import { measured } from './support/measured.js'
import { type Findings, Promises, type Run } from './support/run.js'
import { startUnderTest } from './support/under-test.js'

const CLIENTS = 4
const FRAMES_EACH = 50
/** A turn of the event loop, in processor time. */
const TURN_MS_MAX = 50

export const fuzzServer: Scenario = measured(
  'frames of a server that are nearly right: nothing crashes or stalls, and nobody else notices',
  1_000_000,
  run,
)

interface Tally {
  good: number
  mad: number
  answered: number
  foreign: number
  unanswered: number
}

function newTally(): Tally {
  return { good: 0, mad: 0, answered: 0, foreign: 0, unanswered: 0 }
}

/** `count` is the number of frames. */
async function run(scope: Scope, { count, seed, cli, say }: Run): Promise<Findings> {
  const mad = resolve(import.meta.dirname, 'programs/fuzz-server.js')
  const servers = {
    good: { command: process.execPath, args: [program('nonces.mjs')] },
    mad: {
      command: process.execPath,
      args: [mad, String(seed), String(FRAMES_EACH)],
      timeout: 5000,
      restartDelay: 1,
    },
  }
  const proxy = startUnderTest(scope, '--http', servers, { cli })
  const port = await proxy.port()
  const callers = await Promise.all(
    Array.from({ length: CLIENTS }, async () => {
      const caller = new HttpCaller(port, 2)
      scope.after(() => caller.close())
      await caller.open()
      return caller
    }),
  )
  // Whatever is loaded when it is first needed is loaded now.
  for (const caller of callers) await calls(caller, -1, CLIENTS * FRAMES_EACH, newTally())
  await proxy.facts('reset')
  const tally = newTally()
  const timer = setInterval(
    () => say(`${tally.mad * FRAMES_EACH} frames, ${tally.good} calls beside them`),
    2000,
  )
  await Promise.all(callers.map((caller, client) => calls(caller, client, count, tally)))
  clearInterval(timer)
  const facts = await proxy.facts()
  const promises = new Promises()
  promises.equal(tally.foreign, 0, 'answers of the good server that were not those to the call')
  promises.equal(tally.unanswered, 0, 'calls that did not get exactly one answer')
  promises.hold(tally.answered > tally.mad / 20, 'the mad server is heard at all')
  promises.below(facts.turnMaxMs, TURN_MS_MAX, 'ms of processor time of the longest turn')
  promises.hold(!/exited|uncaught/i.test(proxy.stderr), `nothing exits: ${proxy.stderr.slice(-500)}`)
  const { turnMaxMs, delayMaxMs } = facts
  const figures = {
    frames: tally.mad * FRAMES_EACH,
    ...tally,
    'longest turn ms': turnMaxMs,
    'longest delay ms': delayMaxMs,
  }
  return { figures, broken: promises.broken }
}

/** All clients use the same ids and nonces of their own. */
async function calls(caller: HttpCaller, client: number, count: number, tally: Tally): Promise<void> {
  const mine = Math.ceil(count / FRAMES_EACH / CLIENTS)
  for (let turn = 0; turn < mine; turn++) {
    const nonce = `${client}-${turn}`
    const [mad, good] = await Promise.all([
      caller.call('mad__hit', { nonce }).catch(() => undefined),
      caller.call('good__nonce', { nonce }).catch(() => undefined),
    ])
    tally.mad++
    tally.good++
    if (mad === undefined) tally.unanswered++
    if (good === undefined) tally.unanswered++
    if (mad === undefined || good === undefined) return
    for (const { messages } of [mad, good]) {
      const answers = messages.filter((message) => at(message, 'method') === undefined)
      if (answers.length !== 1) tally.unanswered++
    }
    if (textAt(good.messages.at(-1), 'result', 'content', 0, 'text') !== nonce) tally.foreign++
    if (at(mad.messages.at(-1), 'result') !== undefined) tally.answered++
  }
}
