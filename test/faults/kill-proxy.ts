// `kill -9` of the proxy: nobody has asked the servers to stop, and these would not listen.

import type { Spawned } from '../integration/support/spawned.js'
import { HANG_MS } from '../integration/support/waiting.js'
import { leftAfter, marked } from './support/marked.js'
import { tree, withProxy } from './support/trees.js'
import type { FaultFigure, FaultSettings, Scenario } from './support/scenario.js'

/** Longest time from the first answers to the kill; every fourth kill comes before them. */
const UNDER_CALLS_MS_MAX = 500
const EARLY_EVERY = 4

/** For the start of a process on a busy machine. */
const SETTLE_MS = 1000

/** Calls in flight of one client. */
const CALLS = 16

const services = ['a', 'b', 'c']

export const killProxy: Scenario = {
  promise: 'no process of a server survives the kill -9 of the proxy',
  countDefault: 100,
  run,
}

interface Outcome {
  readonly processes: number
  readonly survivors: readonly string[]
  readonly answers: number
  /** How long the start took; undefined when it was not waited for. */
  readonly startMs: number | undefined
}

async function run({ count, cli, say }: FaultSettings): Promise<FaultFigure> {
  const outcomes: Outcome[] = []
  const total = (pick: (outcome: Outcome) => number): number =>
    outcomes.reduce((sum, outcome) => sum + pick(outcome), 0)
  let startMs = 500
  for (let at = 1; at <= count; at++) {
    const earlyMs = at % EARLY_EVERY === 0 ? Math.random() * startMs : undefined
    const outcome = await kill(cli, `kill-proxy-${process.pid}-${at}`, earlyMs)
    startMs = outcome.startMs ?? startMs
    outcomes.push(outcome)
    const survivors = total((each) => each.survivors.length)
    say(`kill ${at} of ${count}: ${outcome.processes} processes, ${survivors} survivors so far`)
    for (const survivor of outcome.survivors) say(`survived: ${survivor}`)
  }
  const [processes, survivors] = [total((each) => each.processes), total((each) => each.survivors.length)]
  const answers = total((each) => each.answers)
  const line = `${count} kills, ${answers} calls answered before, ${processes} processes of servers, ${survivors} survivors`
  const underCalls = count - Math.floor(count / EARLY_EVERY)
  return { line, holds: survivors === 0 && processes >= 3 * services.length * underCalls }
}

/** One proxy from its start to its end: while it starts, or under calls. */
async function kill(cli: string, mark: string, earlyMs: number | undefined): Promise<Outcome> {
  const servers = Object.fromEntries(services.map((name) => [name, tree(mark)]))
  return withProxy({ cli, mark }, servers, async (proxy) => {
    const startedAt = performance.now()
    const answers = callAll(proxy)
    if (earlyMs === undefined) await answers.first
    const startMs = earlyMs === undefined ? performance.now() - startedAt : undefined
    await pause(earlyMs ?? Math.random() * UNDER_CALLS_MS_MAX)
    const processes = marked(mark).length
    proxy.child.kill('SIGKILL')
    // A process that is being started does not carry the mark yet.
    if (earlyMs !== undefined) await pause(SETTLE_MS)
    const survivors = await leftAfter(mark, HANG_MS)
    await proxy.exited
    return {
      startMs,
      processes,
      answers: answers.count(),
      survivors: survivors.map(({ pid, command }) => `${pid} ${command}`),
    }
  })
}

async function pause(ms: number): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, ms))
}

/** Keeps calls to every server in flight until the proxy is gone; `first` resolves when each has answered once. */
function callAll({ client }: Spawned): { first: Promise<unknown>; count: () => number } {
  let answered = 0
  const keepCalling = async (service: string): Promise<void> => {
    await client.call(`${service}__nonce`, { n: '1' })
    for (;;) {
      answered++
      await client.call(`${service}__nonce`, { n: '1' })
    }
  }
  const opened = client.open()
  const first = opened.then(() =>
    Promise.all(services.map((service) => client.call(`${service}__nonce`, { n: '0' }))),
  )
  const lanes = Array.from({ length: CALLS }, (_, at) => services[at % services.length] ?? '')
  void first.then(() => Promise.all(lanes.map(keepCalling))).catch(() => undefined)
  return { first, count: () => answered }
}
