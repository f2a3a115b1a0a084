// One client without a session asks for more than there is, of the program that a user starts, over HTTP. Each limit is
// met with its error, clients beside it have every answer, and nothing is left when it does not come back.

import { strict as assert } from 'node:assert'
import { randomBytes } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { resolve } from 'node:path'
import { test } from 'node:test'
import { limits } from '../../src/limits.js'
import { at, numberAt, textAt } from '../integration/support/json.js'
import { modularCli } from '../integration/support/programs.js'
import { type Scope, scratch } from '../integration/support/spawned.js'
import { until } from '../integration/support/waiting.js'
import { AskingHttp } from './support/asking-http.js'
import { HttpCaller, answerOf } from './support/http-caller.js'
import { MiB } from './support/run.js'
import { StatelessCaller, few } from './support/stateless-caller.js'
import { SwiftServers } from './support/swift.js'
import { type UnderTest, startUnderTest } from './support/under-test.js'

const GROWTH_BYTES_MAX = 16 * MiB
const { guestsOfOneMax, listensMax } = limits.guests
const { parkedMax, parkedOfOneMax } = limits.stateless
const processesOfGuests = guestsOfOneMax * limits.upstream.guestProcessesMax

const nonceIn = (value: unknown): string => textAt(value, 'result', 'content', 0, 'text')
const isOverloaded = (value: unknown): boolean =>
  numberAt(value, 'error', 'code') === -32603 && textAt(value, 'error', 'data', 'reason') === 'overloaded'

/** Two clients that call without a pause: one with a session, one without. */
class Beside {
  answered = 0
  readonly wrong: string[] = []
  readonly #caller: HttpCaller
  readonly #runs: Promise<unknown>
  #isOver = false

  constructor(caller: HttpCaller, port: number) {
    this.#caller = caller
    const stateless = new StatelessCaller(port)
    this.#runs = Promise.all([
      this.#run('with', async (nonce) => answerOf(await caller.call('quick__hit', { nonce }))),
      this.#run('without', (nonce) => stateless.call('quick__hit', { nonce })),
    ])
  }

  async end(): Promise<void> {
    // Whoever is done before the others have begun has shown nothing.
    const answered = this.answered
    await until(() => this.answered >= answered + 10 || this.wrong.length > 0)
    this.#isOver = true
    await this.#runs
    this.#caller.close()
    assert.deepEqual(this.wrong, [])
  }

  async #run(kind: string, call: (nonce: string) => Promise<unknown>): Promise<void> {
    for (let count = 0; !this.#isOver && this.wrong.length === 0; count++) {
      const nonce = `${kind}-${count}`
      const value = await call(nonce)
      if (nonceIn(value) === nonce) this.answered++
      else this.wrong.push(JSON.stringify(value))
    }
  }
}

interface Stage {
  readonly proxy: UnderTest
  readonly port: number
  readonly hostile: StatelessCaller
  readonly asking: AskingHttp
  readonly swift: SwiftServers
  /** The most processes that were seen. */
  readonly most: () => number
  /** Ends the others, and waits until everything is as it was. */
  readonly over: () => Promise<void>
}

async function stage(t: Scope): Promise<Stage> {
  const [asking, swift] = [new AskingHttp(), new SwiftServers(scratch(t))]
  const servers = { quick: swift.entry('quick'), asking: { type: 'http', url: await asking.listen(t) } }
  const preloaded = resolve(import.meta.dirname, 'programs/brief.js')
  const proxy = startUnderTest(t, '--http', servers, {
    cli: modularCli,
    preloaded,
    args: ['--no-kept-lists'],
  })
  const port = await proxy.port()
  const good = new HttpCaller(port)
  await good.open()
  const hostile = new StatelessCaller(port)
  const warm = [
    answerOf(await good.call('quick__hit', { nonce: 'warm' })),
    await hostile.call('quick__hit', { nonce: 'warm' }),
  ]
  assert.deepEqual(warm.map(nonceIn), ['warm', 'warm'])
  await few(300, 4, async () => void (await hostile.request('tools/list', {})))
  const before = {
    ...(await proxy.facts('gc')),
    children: proxy.children().length,
    sessions: asking.sessions.size,
  }
  const beside = new Beside(good, port)
  let most = 0
  const watching = setInterval(() => (most = Math.max(most, proxy.children().length)), 20)
  t.after(() => clearInterval(watching))
  const over = async (): Promise<void> => {
    await beside.end()
    clearInterval(watching)
    await until(() => proxy.children().length <= before.children && asking.open.size === 0)
    let now = await proxy.facts('gc')
    const isLeft = (): boolean =>
      now.descriptors > before.descriptors || asking.sessions.size > before.sessions
    for (let looks = 0; looks < 600 && isLeft(); looks++) {
      await new Promise((done) => setTimeout(done, 100))
      now = await proxy.facts('gc')
    }
    assert.ok(
      now.descriptors <= before.descriptors,
      `${now.descriptors} descriptors, ${before.descriptors} before`,
    )
    assert.equal(asking.sessions.size, before.sessions, 'sessions at the server')
    assert.ok(
      now.heapUsed - before.heapUsed < GROWTH_BYTES_MAX,
      `${now.heapUsed - before.heapUsed} bytes are left`,
    )
    assert.equal(proxy.running, true)
  }
  return { proxy, port, hostile, asking, swift, most: () => most, over }
}

const partsOf = (names: readonly string[], which: number): object | undefined =>
  which === 0
    ? undefined
    : Object.fromEntries(names.filter((_, bit) => ((which - 1) >> bit) & 1).map((name) => [name, {}]))

/** Whatever a client can be asked, in one of fifty ways. */
function kind(index: number): object {
  const elicitation = partsOf(['form', 'url'], index % 5)
  const sampling = partsOf(['context', 'tools'], Math.floor(index / 5) % 5)
  return {
    ...(elicitation && { elicitation }),
    ...(sampling && { sampling }),
    ...(Math.floor(index / 25) % 2 === 1 && { roots: {} }),
  }
}

/** What no request before has said. */
const another = (index: number): object => ({
  capabilities: { ...kind(index), extensions: { [`com.example/${index}`]: { at: index } } },
  clientInfo: { name: `client ${index}`, version: String(index), title: 'x'.repeat(500) },
})

const asked = (index: number): object => ({ capabilities: { ...kind(index), elicitation: { form: {} } } })

test('thousands of sets of capabilities are a few kinds of clients', async (t) => {
  const { hostile, most, over } = await stage(t)
  await few(3000, 8, async (index) => {
    const value = await hostile.request('tools/list', {}, another(index))
    assert.ok(isOverloaded(value) || Array.isArray(at(value, 'result', 'tools')), JSON.stringify(value))
  })
  let answered = 0
  await few(200, 8, async (index) => {
    const value = await hostile.call('quick__hit', { nonce: `n${index}` }, another(index))
    if (nonceIn(value) === `n${index}`) answered++
    else assert.ok(isOverloaded(value), JSON.stringify(value))
  })
  assert.ok(answered > 0)
  assert.ok(most() <= processesOfGuests, `${most()} processes`)
  await over()
})

test('streams that nobody reads are refused from a half of all on', async (t) => {
  const { hostile, over } = await stage(t)
  const streams: IncomingMessage[] = []
  const filter = { notifications: { toolsListChanged: true } }
  let refused: unknown
  while (refused === undefined && streams.length <= listensMax) {
    const { response, isStream } = await hostile.open('subscriptions/listen', filter, {
      capabilities: kind(1 + (streams.length % guestsOfOneMax)),
    })
    if (isStream) streams.push(response)
    else
      refused = await new Promise((done) => response.once('data', (chunk) => done(JSON.parse(String(chunk)))))
  }
  assert.equal(streams.length, listensMax / 2)
  assert.ok(isOverloaded(refused), JSON.stringify(refused))
  for (const stream of streams) stream.destroy()
  await over()
})

test('calls that wait are so many of one kind, and half of all; questions beyond are refused', async (t) => {
  const { hostile, asking, over } = await stage(t)
  const kinds = 6
  const waiting = Array.from({ length: kinds }, () => 0)
  let refused = 0
  const callsOfKind = parkedOfOneMax + 8
  await few(kinds * callsOfKind, 8, async (index) => {
    // One kind after the other, so that the first has its own limit before there are too many of all.
    const which = Math.floor(index / callsOfKind)
    const value = await hostile.call('asking__ask', {}, asked(which * 5))
    if (at(value, 'result', 'resultType') === 'input_required') waiting[which] = (waiting[which] ?? 0) + 1
    else if (nonceIn(value) === 'refused') refused++
    else assert.fail(JSON.stringify(value))
  })
  assert.equal(waiting[0], parkedOfOneMax, waiting.join())
  assert.equal(Math.max(...waiting), parkedOfOneMax, waiting.join())
  const all = waiting.reduce((sum, each) => sum + each)
  assert.equal(all, parkedMax / 2)
  assert.deepEqual([asking.open.size, asking.refused], [all, refused])
  await over()
})

test('invented states reach no server', async (t) => {
  const { hostile, asking, over } = await stage(t)
  const said = { capabilities: { elicitation: { form: {} } } }
  const first = await hostile.call('asking__ask', {}, said)
  const real = textAt(first, 'result', 'requestState')
  const inputResponses = { q1: { action: 'accept', content: {} } }
  const invented = [
    (): string => randomBytes(110).toString('base64url'),
    (): string => real.slice(0, 6) + randomBytes(110).toString('base64url'),
    (): string => real.slice(0, -20) + randomBytes(15).toString('base64url'),
    (): string => 'A'.repeat(4000),
    (): string => '',
  ]
  await few(2000, 8, async (index) => {
    const requestState = invented[index % invented.length]?.()
    const value = await hostile.request(
      'tools/call',
      { name: 'asking__ask', arguments: {}, requestState, inputResponses },
      said,
    )
    assert.equal(numberAt(value, 'error', 'code'), -32602, JSON.stringify(value))
    assert.equal(textAt(value, 'error', 'data', 'reason'), 'state-unknown')
  })
  assert.deepEqual([asking.calls, asking.open.size], [1, 1])
  const back = { name: 'asking__ask', arguments: {}, requestState: real, inputResponses }
  assert.equal(nonceIn(await hostile.request('tools/call', back, said)), 'answered')
  await over()
})

test('calls whose responses are closed at once end at their servers', async (t) => {
  const { hostile, asking, most, over } = await stage(t)
  const names = ['asking__hold', 'asking__ask', 'quick__hit']
  await few(600, 8, async (index) => {
    const name = names[index % names.length] ?? ''
    const said = { capabilities: index % 2 === 0 ? {} : kind(1 + (index % guestsOfOneMax)) }
    const before = asking.calls
    const opened = hostile.open('tools/call', { name, arguments: { nonce: `n${index}` } }, said)
    if (name === 'quick__hit') return void (await opened).response.destroy()
    await until(() => asking.calls > before)
    const { response } = await opened
    response.destroy()
  })
  assert.ok(most() <= processesOfGuests, `${most()} processes`)
  await over()
})
