// `kill -9` of the proxy: nobody has asked the servers to stop, and these would not listen.

import type { Spawned } from '../integration/support/spawned.js'
import type { FaultFigure, FaultSettings, Scenario } from './scenario.js'
import { leftAfter, marked } from './support/marked.js'
import { tree, withProxy } from './support/trees.js'

/** How long survivors have. */
const WAIT_MS = 5000

/** Longest time from the first answer to the kill. */
const UNDER_CALLS_MS_MAX = 500

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
}

async function run({ count, cli, progress }: FaultSettings): Promise<FaultFigure> {
  const outcomes: Outcome[] = []
  const total = (pick: (outcome: Outcome) => number): number =>
    outcomes.reduce((sum, outcome) => sum + pick(outcome), 0)
  for (let at = 1; at <= count; at++) {
    const outcome = await kill(cli, `kill-proxy-${process.pid}-${at}`)
    outcomes.push(outcome)
    const survivors = total((each) => each.survivors.length)
    progress(`kill ${at} of ${count}: ${outcome.processes} processes, ${survivors} survivors so far`)
    for (const survivor of outcome.survivors) progress(`survived: ${survivor}`)
  }
  const [processes, survivors] = [total((each) => each.processes), total((each) => each.survivors.length)]
  const answers = total((each) => each.answers)
  const line = `${count} kills, ${answers} calls answered before, ${processes} processes of servers, ${survivors} survivors after ${WAIT_MS / 1000} s`
  return { line, holds: survivors === 0 && processes >= 3 * services.length * count }
}

/** One proxy from its start to its end. */
async function kill(cli: string, mark: string): Promise<Outcome> {
  const servers = Object.fromEntries(services.map((name) => [name, tree(mark)]))
  return withProxy({ cli, mark }, servers, async (proxy) => {
    const answers = callAll(proxy)
    await answers.first
    await new Promise((resolve) => setTimeout(resolve, Math.random() * UNDER_CALLS_MS_MAX))
    const processes = marked(mark).length
    proxy.child.kill('SIGKILL')
    const survivors = await leftAfter(mark, WAIT_MS)
    await proxy.exited
    return {
      processes,
      answers: answers.count(),
      survivors: survivors.map(({ pid, command }) => `${pid} ${command}`),
    }
  })
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
