// Single crashes, at whatever the server is doing: it is back within a second and what a start
// takes, knows what it was told before, and nobody is ever shown that it has nothing.

import { spawn } from 'node:child_process'
import { createProxy, limits } from '../../src/index.js'
import { at, listAt, textAt } from '../integration/support/json.js'
import { itServer, program } from '../integration/support/programs.js'
import type { Scope } from '../integration/support/spawned.js'
import type { Scenario } from './scenario.js'
import { attachCaller } from './support/attached.js'
import { type Caller, allMisses } from './support/caller.js'
import { measured } from './support/measured.js'
import { Random } from '../sim/random.js'
import { type Findings, Promises, type Run, percentile } from './support/run.js'

const SERVERS = 2
/** Besides the start of the process. */
const BACK_MS_MAX = 1000

export const crashes: Scenario = measured(
  'single crashes: a server is back within a second and its start, knows what it was told, and its list never empties',
  500,
  run,
)

interface Tally {
  crashes: number
  empty: number
  forgotten: number
  readonly backMs: number[]
}

/** `count` is the number of crashes. */
async function run(scope: Scope, { count, seed, say }: Run): Promise<Findings> {
  const names = Array.from({ length: SERVERS }, (_, at) => `s${at}`)
  const servers = Object.fromEntries(names.map((name) => [name, itServer({ IT_NAME: name })]))
  // Each crash is to count as a single one.
  const restart = { ...limits.upstream.restart, crashesMax: count + 1, delayMsMax: 250 }
  const options = { limits: { ...limits, upstream: { ...limits.upstream, restart } } }
  const proxy = await createProxy({ mcpServers: servers }, options)
  scope.after(() => proxy.close(0))
  const tally: Tally = { crashes: 0, empty: 0, forgotten: 0, backMs: [] }
  const random = new Random(seed)
  const clients = await Promise.all(names.map(() => attachCaller(proxy)))
  const lane = async (name: string, caller: Caller): Promise<void> => {
    await settle(caller, name)
    while (tally.crashes < count) {
      tally.crashes++
      const pids = proxy.status().find((status) => status.name === name)?.pids ?? []
      await crash(caller, { name, pids, random, tally })
      if (tally.crashes % 20 === 0) say(`${tally.crashes} crashes of ${count}`)
    }
  }
  const beside = new StartsBeside()
  await Promise.all(clients.map(({ caller }, at) => lane(names[at] ?? '', caller)))
  const startMs = await beside.longest()
  const misses = allMisses(clients.map(({ caller }) => caller))
  const promises = new Promises()
  promises.equal(tally.empty, 0, 'lists that were empty')
  promises.equal(tally.forgotten, 0, 'servers that were not told the level or the subscription again')
  promises.equal(misses.lost + misses.twice + misses.stray + misses.invalid, 0, 'answers lost or too many')
  const longest = percentile(tally.backMs, 1)
  promises.below(longest, BACK_MS_MAX + startMs, 'ms until a server was back')
  const figures = {
    crashes: tally.crashes,
    'median ms': percentile(tally.backMs, 0.5),
    'longest ms': longest,
    'longest start alone ms': startMs,
    'empty lists': tally.empty,
    forgotten: tally.forgotten,
  }
  return { figures, broken: promises.broken }
}

/** What a client says once, and a server that comes back has to hear again. */
async function settle(caller: Caller, name: string): Promise<void> {
  await caller.open()
  await caller.call(`${name}__nonce`, { n: 'first' })
  await caller.request('logging/setLevel', { level: 'warning' })
  await caller.request('resources/subscribe', { uri: `it://${name}/a` })
}

interface Crash {
  readonly name: string
  readonly pids: readonly number[]
  readonly random: Random
  readonly tally: Tally
}

async function crash(caller: Caller, { name, pids, random, tally }: Crash): Promise<void> {
  // Idle, at a call, or between two pieces of progress.
  const args = { steps: random.below(3), everyMs: 10, n: 'x' }
  const running = random.chance(0.6) ? caller.call(`${name}__slow`, args, { progressToken: 1 }) : undefined
  await new Promise((resolve) => setTimeout(resolve, random.below(40)))
  for (const pid of pids) process.kill(pid, 'SIGKILL')
  const from = performance.now()
  const listed = caller.request('tools/list')
  while (at((await caller.call(`${name}__nonce`, { n: 'x' })).value, 'result') === undefined)
    await new Promise((resolve) => setTimeout(resolve, 5))
  tally.backMs.push(performance.now() - from)
  await running
  const tools = listAt((await listed).value, 'result', 'tools')
  if (!tools.some((tool) => textAt(tool, 'name').startsWith(name))) tally.empty++
  const { text } = await caller.call(`${name}__seen`)
  const lines = (text.match(/[\w+/]{40,}=*/g) ?? []).map((line) => Buffer.from(line, 'base64').toString())
  const isTold = (what: string): boolean => lines.some((line) => line.includes(what))
  if (!isTold('"logging/setLevel"') || !isTold(`"it://${name}/a"`)) tally.forgotten++
}

/** Starts of the program by itself, at the same time as those of the proxy. */
class StartsBeside {
  readonly #times: number[] = []
  readonly #running: Promise<void>
  #isOver = false

  constructor() {
    this.#running = this.#run()
  }

  /** How long the slowest of them took. */
  async longest(): Promise<number> {
    this.#isOver = true
    await this.#running
    return percentile(this.#times, 1)
  }

  async #run(): Promise<void> {
    do this.#times.push(await startAlone())
    while (!this.#isOver)
  }
}

async function startAlone(): Promise<number> {
  const from = performance.now()
  const child = spawn(process.execPath, [program('it-server.mjs')], { stdio: ['pipe', 'pipe', 'ignore'] })
  child.stdin.write('{"jsonrpc":"2.0","id":1,"method":"ping"}\n')
  await new Promise((resolve) => child.stdout.once('data', resolve))
  const ms = performance.now() - from
  child.stdin.end()
  await new Promise((resolve) => child.once('close', resolve))
  return ms
}
