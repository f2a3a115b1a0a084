// A server that says frames which are nearly right, as fast as it is listened to.
// Clients of other servers notice nothing, and each call to it ends exactly once.

import { readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { at, textAt } from '../integration/support/json.js'
import { program } from '../integration/support/programs.js'
import { type Scope, scratch } from '../integration/support/spawned.js'
import { turnBoundMs } from '../support/processor-time.js'
import { HttpCaller } from './support/http-caller.js'
import { startUnderTest } from './support/under-test.js'
import { type Findings, Promises, type Run, type Scenario, measured } from './support/scenario.js'

const CLIENTS = 4
/** A turn of the event loop, in processor time. */
const LOOK_EVERY_MS = 1000
/** It says nothing for so long only when something is wrong. */
const SILENCE_MS_MAX = 60_000

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

/** `count` is the number of frames. */
const CALLS_MIN = 20

async function run(scope: Scope, { count, seed, cli, say }: Run): Promise<Findings> {
  const file = join(scratch(scope), 'said')
  writeFileSync(file, '0')
  const mad = [resolve(import.meta.dirname, 'programs/fuzz-server.js'), String(seed), String(count), file]
  const servers = {
    good: { command: process.execPath, args: [program('nonces.mjs')] },
    mad: { command: process.execPath, args: mad, timeout: 5000, restartDelay: 1 },
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
  for (const caller of callers) await call(caller, 'warm', newTally())
  await proxy.facts('reset')
  const tally = newTally()
  let frames = 0
  const watch = watchFile(file, count, (said) => {
    frames = said
    say(`${said} frames, ${tally.good} calls beside them`)
  })
  await Promise.all(callers.map((caller, client) => calls(caller, client, watch.isOver, tally)))
  const facts = await proxy.facts()
  const promises = new Promises()
  promises.hold(frames >= count, `the mad server has said ${frames} of ${count} frames`)
  promises.equal(tally.foreign, 0, 'answers of the good server that were not those to the call')
  promises.equal(tally.unanswered, 0, 'calls that did not get exactly one answer')
  // A short run may be over before anybody has called.
  const isJudged = tally.mad >= CALLS_MIN
  promises.hold(
    !isJudged || tally.answered > tally.mad / 20,
    `the mad server is heard: ${tally.answered} of ${tally.mad}`,
  )
  promises.below(facts.turnMaxMs, turnBoundMs(), 'ms of processor time of the longest turn')
  promises.hold(!/exited|uncaught/i.test(proxy.stderr), `nothing exits: ${proxy.stderr.slice(-500)}`)
  const { turnMaxMs, delayMaxMs } = facts
  const figures = { frames, ...tally, 'longest turn ms': turnMaxMs, 'longest delay ms': delayMaxMs }
  return { figures, broken: promises.broken }
}

function newTally(): Tally {
  return { good: 0, mad: 0, answered: 0, foreign: 0, unanswered: 0 }
}

/** Over when all has been said, or when nothing has been for long. */
function watchFile(file: string, count: number, told: (said: number) => void): { isOver: () => boolean } {
  let [last, at, lookAt] = [0, performance.now(), 0]
  let hasEnded = false
  const look = (now: number): void => {
    lookAt = now + LOOK_EVERY_MS
    // It may just be being written.
    const said = Number(readFileSync(file, 'utf8'))
    if (said > last) [last, at] = [said, now]
    told(last)
    hasEnded = last >= count || now - at > SILENCE_MS_MAX
  }
  const isOver = (): boolean => {
    const now = performance.now()
    if (!hasEnded && now >= lookAt) look(now)
    return hasEnded
  }
  return { isOver }
}

/** All clients use the same ids, and nonces of their own. */
async function calls(caller: HttpCaller, client: number, isOver: () => boolean, tally: Tally): Promise<void> {
  for (let turn = 0; !isOver(); turn++) await call(caller, `${client}-${turn}`, tally)
}

async function call(caller: HttpCaller, nonce: string, tally: Tally): Promise<void> {
  const [mad, good] = await Promise.all([
    caller.call('mad__hit', { nonce }).catch(() => undefined),
    caller.call('good__nonce', { nonce }).catch(() => undefined),
  ])
  tally.mad++
  tally.good++
  for (const posted of [mad, good]) {
    const answers = posted?.messages.filter((message) => at(message, 'method') === undefined)
    if (answers?.length !== 1) tally.unanswered++
  }
  if (textAt(good?.messages.at(-1), 'result', 'content', 0, 'text') !== nonce) tally.foreign++
  if (at(mad?.messages.at(-1), 'result') !== undefined) tally.answered++
}
