// Children are killed with -9, again and again, while many clients with equal ids
// call them. Every call is answered once, by its own server and to its own client,
// and the ledgers of the children show that none was executed twice.

import { type McpProxy, type ServerEvent, createProxy, limits } from '../../src/index.js'
import { realRuntime } from '../../src/real-runtime.js'
import { within } from '../../src/runtime/deadline.js'
import { at, textAt } from '../integration/support/json.js'
import { type Scope, scratch } from '../integration/support/spawned.js'
import { HANG_MS } from '../integration/support/waiting.js'
import { type AttachedCaller, attachCaller } from './support/attached.js'
import { type Caller, allMisses } from './support/caller.js'
import { Random } from '../sim/random.js'
import { SwiftServers } from './support/swift.js'
import { type Findings, Promises, type Run, type Scenario, measured, percentile } from './support/scenario.js'

const SERVERS = 8
const CLIENTS = 32
const INFLIGHT = 16
/** Between two kills, so that the children get to work. */
const PAUSE_MS = 12
/** Longer than any call may take. */
const SETTLE_MS = HANG_MS

/** Children come back at once, however often they are killed: what is tested is not their rest. */
const restless = {
  ...limits,
  upstream: {
    ...limits.upstream,
    restart: { delayMsMax: 5, crashesMax: Infinity, windowMs: 1, holdMs: 1, healthyMs: 0 },
  },
}

const names = Array.from({ length: SERVERS }, (_, at) => `s${at}`)

export const killChildren: Scenario = measured(
  'children are killed under load: every call is answered once, by its own server, and none is executed twice',
  1000,
  run,
)

/** `count` is the number of kills. */
async function run(scope: Scope, { count, seed, say }: Run): Promise<Findings> {
  const swift = new SwiftServers(scratch(scope))
  const servers = Object.fromEntries(names.map((name) => [name, swift.entry(name, { restartDelay: 1 })]))
  const returns = new Returns()
  const on = { server: (event: ServerEvent) => returns.take(event) }
  const proxy = await createProxy({ mcpServers: servers }, { limits: restless, on })
  scope.after(() => proxy.close(0))
  const attached = await Promise.all(Array.from({ length: CLIENTS }, () => attachCaller(proxy)))
  await Promise.all(attached.map(({ caller }) => caller.open()))

  const tally = new Tally()
  const load = attached.map(({ caller }, client) => calls(caller, client, tally, seed))
  await kill(proxy, count, seed, (kills) =>
    say(`${kills} kills, ${tally.answered.size + tally.failed.size} calls`),
  )
  tally.stopped = true
  const settled = await within(Promise.all(load), SETTLE_MS, realRuntime())
  const isSettled = settled !== undefined
  const found = findings(attached, tally, swift, count, isSettled)
  return { ...found, figures: { ...found.figures, ...returns.figures } }
}

/** How long servers are away, from the end of a process until its successor is ready. */
class Returns {
  readonly #endedAt = new Map<string, number>()
  readonly #times: number[] = []

  take({ server, state }: ServerEvent): void {
    const endedAt = this.#endedAt.get(server)
    if (state === 'failed') this.#endedAt.set(server, endedAt ?? performance.now())
    if (state !== 'ready' || endedAt === undefined) return
    this.#endedAt.delete(server)
    this.#times.push(performance.now() - endedAt)
  }

  get figures(): Record<string, number> {
    return { 'back p50 ms': percentile(this.#times, 0.5), 'back p99 ms': percentile(this.#times, 0.99) }
  }
}

/** What the clients know. */
class Tally {
  stopped = false
  /** Server of each nonce that was answered with a result. */
  readonly answered = new Map<string, string>()
  /** Reason of each nonce that was answered with an error. */
  readonly failed = new Map<string, string>()
  misrouted = 0
}

/** Calls until it is stopped; the ids are those of every other client. */
function calls(caller: Caller, client: number, tally: Tally, seed: number): Promise<unknown> {
  const random = new Random(seed * CLIENTS + client)
  const one = async (): Promise<void> => {
    while (!tally.stopped) {
      const id = caller.nextId()
      const nonce = `${client}-${id}`
      const server = random.pick(['s0', ...names])
      const { value, text } = await caller.call(`${server}__hit`, { nonce }, undefined, id)
      const said = textAt(value, 'result', 'content', 0, 'text')
      if (at(value, 'error') === undefined) tally.answered.set(nonce, server)
      else tally.failed.set(nonce, textAt(value, 'error', 'data', 'reason'))
      if (said !== '' && said !== nonce) tally.misrouted++
      if (said === '' && !text.includes(`"service":"${server}"`)) tally.misrouted++
    }
  }
  return Promise.all(Array.from({ length: INFLIGHT }, one))
}

/** Kills so many children, each once. */
async function kill(
  proxy: McpProxy,
  count: number,
  seed: number,
  say: (kills: number) => void,
): Promise<void> {
  const random = new Random(seed)
  const killed = new Set<number>()
  while (killed.size < count) {
    await new Promise((resolve) => setTimeout(resolve, PAUSE_MS * random.next() * 2))
    const pids = proxy.status().flatMap((status) => status.pids ?? [])
    const pid = pids[random.below(pids.length)]
    if (pid === undefined || killed.has(pid)) continue
    killed.add(pid)
    process.kill(pid, 'SIGKILL')
    if (killed.size % 100 === 0) say(killed.size)
  }
}

function findings(
  attached: readonly AttachedCaller[],
  tally: Tally,
  swift: SwiftServers,
  kills: number,
  isSettled: boolean,
): Findings {
  const callers = attached.map(({ caller }) => caller)
  const { lost, twice, stray, invalid } = allMisses(callers)
  const waiting = callers.reduce((sum, caller) => sum + caller.waiting, 0)
  const { executed, again, unexecuted } = ledger(tally, swift)
  const promises = new Promises()
  promises.hold(isSettled, `every call ends within ${SETTLE_MS} ms of the last kill`)
  promises.equal(lost + waiting, 0, 'calls without an answer')
  promises.equal(twice, 0, 'second answers to a call')
  promises.equal(stray + tally.misrouted, 0, 'answers that went astray')
  promises.equal(invalid, 0, 'lines that are no messages')
  promises.equal(again, 0, 'calls that were executed more than once')
  promises.equal(unexecuted, 0, 'results of calls that were not executed')
  promises.hold(tally.failed.size > 0, 'some calls meet a kill')
  const calls = tally.answered.size + tally.failed.size
  const figures = { kills, calls, executed, errors: tally.failed.size, reasons: reasons(tally) }
  const misses = { lost: lost + waiting, duplicated: twice, misrouted: stray + tally.misrouted, twice: again }
  return { figures: { ...figures, ...misses }, broken: promises.broken }
}

function ledger(tally: Tally, swift: SwiftServers): { executed: number; again: number; unexecuted: number } {
  let executed = 0
  let again = 0
  const known = new Set<string>()
  for (const name of names) {
    for (const [nonce, times] of swift.executions(name)) {
      executed++
      if (times > 1 || known.has(nonce)) again++
      known.add(nonce)
    }
  }
  const unexecuted = [...tally.answered.keys()].filter((nonce) => !known.has(nonce)).length
  return { executed, again, unexecuted }
}

function reasons({ failed }: Tally): string {
  const counts = new Map<string, number>()
  for (const reason of failed.values()) counts.set(reason, (counts.get(reason) ?? 0) + 1)
  return [...counts].map(([reason, times]) => `${reason} ${times}`).join(', ')
}
