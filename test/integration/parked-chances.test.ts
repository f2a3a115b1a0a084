// Chains of requests of clients without a session, drawn by chance, at servers that ask, stop and die.

import { strict as assert } from 'node:assert'
import { test } from 'node:test'
import { type FakeChild, settled } from '../upstream/support/fake-runtime.js'
import type { RawClient } from './support/client.js'
import { claim, forms } from './support/asking.js'
import { at, numberAt } from './support/json.js'
import type { Attached } from './support/library.js'
import { type Scripted, closed, handshake, scripted } from './support/scripted.js'
import type { Scope } from './support/spawned.js'

const SEEDS = 5
const STEPS = 120
const form = '"method":"elicitation/create","params":{"message":"?","requestedSchema":{}}'

/** A sequence of numbers that looks like chance. */
class Dice {
  #state: number

  constructor(seed: number) {
    this.#state = seed * 2654435761 + 1
  }

  below(max: number): number {
    this.#state = (Math.imul(this.#state, 1664525) + 1013904223) >>> 0
    return Math.floor((this.#state / 2 ** 32) * max)
  }

  pick<T>(items: readonly T[]): T | undefined {
    return items[this.below(items.length)]
  }
}

/** One call and all that follows from it. */
interface Chain {
  readonly n: number
  readonly of: number
  /** What the client was given last. */
  state: string | undefined
  keys: readonly string[]
  last: object | undefined
}

class Play {
  readonly chains: Chain[] = []
  readonly executions = new Map<number, number>()
  /** The chain of each question. */
  readonly asked = new Map<string, number>()
  readonly answers = new Map<string, unknown[]>()
  readonly parties: Attached[] = []
  /** Requests that are owed an answer, by client and id. */
  readonly owed = new Map<string, Chain>()
  readonly faults: string[] = []
  readonly #dice: Dice
  readonly #running = new Map<FakeChild, { readonly n: number; readonly id: string; open: Set<string> }>()
  #requests = 0
  it: Scripted | undefined

  constructor(seed: number) {
    this.#dice = new Dice(seed)
  }

  readonly act = (method: string, child: FakeChild, params: unknown): string | undefined => {
    if (method === 'initialize') return handshake('s', '{"tools":{},"resources":{}}')
    if (method === 'tools/list') return '{"tools":[{"name":"t","inputSchema":{"type":"object"}}]}'
    if (method === 'resources/list') return '{"resources":[]}'
    if (method === 'notifications/cancelled') return void this.#running.delete(child)
    if (method !== 'tools/call' && method !== 'resources/read') return '{}'
    const n =
      method === 'tools/call'
        ? numberAt(params, 'arguments', 'n')
        : Number(String(at(params, 'uri')).slice(5))
    if ([...this.asked.values()].includes(n)) this.faults.push(`call ${n} was made again after questions`)
    this.executions.set(n, (this.executions.get(n) ?? 0) + 1)
    this.#running.set(child, { n, id: child.lastId, open: new Set() })
    child.answered = (message) => this.#heard(child, message)
    this.#goOn(child)
    return undefined
  }

  /** One thing happens. */
  async step(): Promise<void> {
    const { it } = this
    assert(it !== undefined)
    const dice = this.#dice
    const known = dice.pick(this.chains.filter(({ state }) => state !== undefined))
    switch (dice.below(16)) {
      case 0:
      case 1:
      case 2:
        this.#begin()
        break
      case 3:
      case 4:
      case 5:
      case 6:
        if (known !== undefined) this.#come(known, this.#answersOf(known, known.keys))
        break
      case 7:
        if (known !== undefined) this.#come(known, this.#answersOf(known, known.keys.slice(1)))
        break
      case 8:
        // In the same words, at once.
        if (known?.last !== undefined) {
          this.#come(known, known.last)
          this.#come(known, known.last)
        }
        break
      case 9:
        if (known !== undefined) this.#come(known, { q1: { action: 'decline' } })
        break
      case 10:
        if (known !== undefined) this.#come(known, this.#answersOf(known, known.keys), (known.of + 1) % 3)
        break
      case 11: {
        const child = dice.pick([...this.#running.keys()])
        if (child !== undefined && dice.below(2) === 0) child.end(1)
        else if (child !== undefined) this.#finish(child)
        break
      }
      case 12: {
        const child = dice.pick([...this.#running.keys()])
        const open = child && this.#running.get(child)?.open
        const question = dice.pick([...(open ?? [])])
        if (child !== undefined && question !== undefined) {
          open?.delete(question)
          child.say(
            `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"${question}"}}`,
          )
          if (dice.below(2) === 0) this.#goOn(child)
        }
        break
      }
      case 13: {
        const [key, owed] = dice.pick([...this.owed]) ?? []
        if (key === undefined || owed === undefined) break
        const [of = 0, id = 0] = key.split(':').map(Number)
        this.parties[of]?.client.notify('notifications/cancelled', { requestId: id })
        this.owed.delete(key)
        await settled()
        if (owed.last !== undefined) this.#come(owed, owed.last)
        break
      }
      case 14:
        await it.runtime.pass(dice.below(4) === 0 ? 70_000 : 5000, 1000)
        break
      default:
        await it.runtime.pass(40, 10)
    }
    if (dice.below(3) > 0) await it.runtime.pass(dice.below(50), 10)
  }

  hear(of: number, client: RawClient): void {
    for (const { value } of client.heard.splice(0)) {
      const key = `${of}:${String(at(value, 'id'))}`
      const chain = this.owed.get(key)
      if (chain === undefined || at(value, 'method') !== undefined) continue
      this.owed.delete(key)
      const state = at(value, 'result', 'requestState')
      if (typeof state !== 'string') continue
      chain.state = state
      chain.keys = Object.keys(Object(at(value, 'result', 'inputRequests')))
    }
  }

  #begin(): void {
    const chain: Chain = {
      n: this.chains.length,
      of: this.#dice.below(3),
      state: undefined,
      keys: [],
      last: undefined,
    }
    this.chains.push(chain)
    this.#send(chain, {}, chain.of)
  }

  #answersOf({ n, of }: Chain, keys: readonly string[]): object {
    const answer = { action: 'accept', content: { of, n } }
    return Object.fromEntries(keys.map((key) => [key, answer]))
  }

  #come(chain: Chain, inputResponses: object, of = chain.of): void {
    if (of === chain.of) chain.last = inputResponses
    this.#send(chain, { requestState: chain.state, inputResponses }, of)
  }

  #send(chain: Chain, more: object, of: number): void {
    const id = ++this.#requests
    this.owed.set(`${of}:${id}`, chain)
    const isRead = chain.n % 4 === 3
    const what = isRead ? { uri: `it://${chain.n}` } : { name: 's__t', arguments: { n: chain.n } }
    const method = isRead ? 'resources/read' : 'tools/call'
    const params = { ...what, ...more, _meta: claim(forms) }
    this.parties[of]?.client.send(JSON.stringify({ jsonrpc: '2.0', id, method, params }))
  }

  #heard(child: FakeChild, message: unknown): void {
    const id = String(at(message, 'id'))
    this.answers.set(id, [...(this.answers.get(id) ?? []), message])
    const run = this.#running.get(child)
    if (run?.open.delete(id) !== true || run.open.size > 0) return
    this.#goOn(child)
  }

  /** Asks some things, or is done. */
  #goOn(child: FakeChild): void {
    const run = this.#running.get(child)
    if (run === undefined) return
    const count = this.#dice.below(4)
    if (count === 0 && run.open.size === 0) return this.#finish(child)
    for (let index = 0; index < count; index++) {
      const id = `q${this.asked.size}`
      this.asked.set(id, run.n)
      run.open.add(id)
      child.say(`{"jsonrpc":"2.0","id":"${id}",${form}}`)
    }
  }

  #finish(child: FakeChild): void {
    const run = this.#running.get(child)
    this.#running.delete(child)
    if (run !== undefined) child.say(`{"jsonrpc":"2.0","id":${run.id},"result":{"content":[],"contents":[]}}`)
  }
}

async function played(t: Scope, seed: number): Promise<void> {
  const play = new Play(seed)
  const it = await scripted(t, { s: { argumentErrors: 'off' } }, play.act)
  play.it = it
  for (let count = 0; count < 3; count++) play.parties.push(await it.attach())
  const hear = (): void => play.parties.forEach(({ client }, of) => play.hear(of, client))
  for (let step = 0; step < STEPS; step++) {
    await play.step()
    await settled()
    hear()
  }
  await it.runtime.pass(700_000, 1000)
  hear()
  const what = `seed ${seed}`
  assert.deepEqual([...play.owed.keys()], [], `${what}: every request is answered`)
  assert.deepEqual(play.faults, [], what)
  for (const [n, times] of play.executions)
    // A read of which nothing was asked may be repeated when its server dies.
    assert(times === 1 || (n % 4 === 3 && times === 2), `${what}: call ${n} was made ${times} times`)
  for (const [id, answers] of play.answers) {
    assert.equal(answers.length, 1, `${what}: ${id} is answered once`)
    const content = at(answers[0], 'result', 'content')
    if (content !== undefined) {
      const n = play.asked.get(id)
      assert.equal(numberAt(content, 'of'), play.chains[n ?? -1]?.of, `${what}: by its client`)
      assert.equal(numberAt(content, 'n'), n, `${what}: about its call`)
    }
  }
  await closed(it)
  assert.equal(it.runtime.clock.timers, 0, `${what}: no timer is left`)
}

test('whatever clients and servers do, a call is made once, a question is answered once, and nothing is left', async (t) => {
  for (let seed = 1; seed <= SEEDS; seed++) await played(t, seed)
})
