// Many clients use the same ids, the same progress tokens, and cancel the same ids.
// Nobody gets anything of anybody else, and no progress comes after its answer.

import { type McpProxy, createProxy } from '../../src/index.js'
import { at, numberAt, textAt } from '../integration/support/json.js'
import { program } from '../integration/support/programs.js'
import type { Scope } from '../integration/support/spawned.js'
import { attachCaller } from './support/attached.js'
import { type Caller, allMisses } from './support/caller.js'
import { Random } from '../sim/random.js'
import { type Findings, Promises, type Run, type Scenario, measured } from './support/scenario.js'

const CLIENTS = 64
const INFLIGHT = 8
const SERVERS = ['a', 'b', 'c'] as const
/** Every so many calls of a client ask for progress, or are cancelled. */
const PROGRESS_EVERY = 8
const CANCEL_EVERY = 64
const STEPS = 10

/** What no client may see. */
interface Tally {
  calls: number
  cancelled: number
  progress: number
  foreign: number
  /** Progress out of its order, or after the answer. */
  disorderly: number
}

export const identicalIds: Scenario = measured(
  'clients that use the same ids and tokens get nothing of each other, and progress in its order',
  1_000_000,
  run,
)

/** `count` is the number of calls. */
async function run(scope: Scope, { count, seed, say }: Run): Promise<Findings> {
  const entry = { command: process.execPath, args: [program('nonces.mjs')] }
  const proxy = await createProxy({ mcpServers: Object.fromEntries(SERVERS.map((name) => [name, entry])) })
  scope.after(() => proxy.close(0))
  const tally: Tally = { calls: 0, cancelled: 0, progress: 0, foreign: 0, disorderly: 0 }
  const each = Math.ceil(count / CLIENTS)
  const clients = await Promise.all(Array.from({ length: CLIENTS }, (_, at) => join(proxy, at, seed, tally)))
  const timer = setInterval(() => say(`${tally.calls} calls`), 2000)
  await Promise.all(clients.map((client) => client.run(each)))
  clearInterval(timer)
  return findings(
    clients.map(({ caller }) => caller),
    tally,
  )
}

async function join(proxy: McpProxy, at: number, seed: number, tally: Tally): Promise<Client> {
  const { caller } = await attachCaller(proxy)
  await caller.open()
  return new Client(caller, `c${at}-`, seed * CLIENTS + at, tally)
}

/** One of the clients; all use the ids from one up, and their numbers as tokens. */
class Client {
  readonly caller: Caller
  readonly #name: string
  readonly #random: Random
  readonly #tally: Tally
  /** Progress of each token so far; gone with the answer. */
  readonly #steps = new Map<unknown, number>()

  constructor(caller: Caller, name: string, seed: number, tally: Tally) {
    this.caller = caller
    this.#name = name
    this.#random = new Random(seed)
    this.#tally = tally
    caller.onNotification = (value) => this.#progressed(value)
  }

  async run(times: number): Promise<void> {
    let left = times
    const one = async (): Promise<void> => {
      while (left-- > 0) await this.#call(left)
    }
    await Promise.all(Array.from({ length: INFLIGHT }, one))
  }

  async #call(turn: number): Promise<void> {
    const id = this.caller.nextId()
    const nonce = `${this.#name}${id}`
    const withProgress = turn % PROGRESS_EVERY === 0
    if (withProgress) this.#steps.set(id, 0)
    const name = `${this.#random.pick(SERVERS)}__nonce`
    const meta = withProgress ? { progressToken: id } : undefined
    const answer = this.caller.call(name, { nonce, steps: withProgress ? STEPS : 0 }, meta, id)
    this.#tally.calls++
    if (turn % CANCEL_EVERY === 1) return this.#cancel(id)
    const { value } = await answer
    if (textAt(value, 'result', 'content', 0, 'text') !== nonce) this.#tally.foreign++
    if (withProgress && this.#steps.get(id) !== STEPS) this.#tally.disorderly++
    this.#steps.delete(id)
  }

  /** Its answer may still be on the way; another client's must not be touched. */
  async #cancel(id: number): Promise<void> {
    this.#tally.cancelled++
    this.caller.notify('notifications/cancelled', { requestId: id })
    await this.caller.request('ping')
    this.caller.forget(id)
  }

  #progressed(value: unknown): void {
    const token = at(value, 'params', 'progressToken')
    const before = this.#steps.get(token)
    this.#tally.progress++
    if (before === undefined || numberAt(value, 'params', 'progress') !== before + 1) this.#tally.disorderly++
    if (textAt(value, 'params', 'message') !== `${this.#name}${String(token)}`) this.#tally.foreign++
    this.#steps.set(token, (before ?? 0) + 1)
  }
}

function findings(callers: readonly Caller[], tally: Tally): Findings {
  const { lost, twice, stray, invalid } = allMisses(callers)
  const waiting = callers.reduce((sum, caller) => sum + caller.waiting, 0)
  const promises = new Promises()
  promises.equal(tally.foreign, 0, 'messages of others')
  promises.equal(tally.disorderly, 0, 'progress out of order or after the answer')
  promises.equal(lost + waiting, 0, 'calls without an answer')
  promises.equal(twice + stray, 0, 'answers that nobody asked for')
  promises.equal(invalid, 0, 'lines that are no messages')
  return {
    figures: { clients: CLIENTS, ...tally, lost: lost + waiting, stray: twice + stray },
    broken: promises.broken,
  }
}
