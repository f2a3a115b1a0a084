// Clients that use the same ids, progress tokens and cancel ids at the same time,
// and must never hear anything that belongs to another.

import { strict as assert } from 'node:assert'
import { describe, test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import type { WireTap } from '../../src/index.js'
import { type RawClient, said } from './support/client.js'
import { at, listAt, numberAt, parsed, textAt } from './support/json.js'
import { type TestProxy, libraryProxy } from './support/library.js'
import { itServer } from './support/programs.js'
import { until } from './support/waiting.js'

/** A small generator, so that a failing run can be repeated. */
class Random {
  #state: number

  constructor(seed: number) {
    this.#state = seed
  }

  below(limit: number): number {
    this.#state = (Math.imul(this.#state, 1664525) + 1013904223) >>> 0
    return Math.floor((this.#state / 2 ** 32) * limit)
  }
}

const seed = Number(process.env['IT_SEED'] ?? Date.now() % 1e9)

/** One client whose every message carries its own name. */
class Party {
  readonly client: RawClient
  readonly name: string
  readonly random: Random
  readonly asked: string[] = []
  mayBeRefused = false
  #round = 0

  constructor(client: RawClient, name: string, random: Random) {
    this.client = client
    this.name = name
    this.random = random
    client.onRequest = (method, params) => {
      if (method !== 'sampling/createMessage') return undefined
      const nonce = textAt(params, 'systemPrompt')
      this.asked.push(nonce)
      return JSON.stringify({
        role: 'assistant',
        model: 'm',
        content: { type: 'text', text: `${nonce}:${name}` },
      })
    }
  }

  /** One call with the id and token that everybody uses; some are cancelled. */
  async once(ask: boolean): Promise<void> {
    const n = `${this.name}:${this.#round++}`
    const id = 1 + this.random.below(3)
    if (this.#busy.has(id)) return
    this.#busy.add(id)
    const args = { n, steps: this.random.below(3), ticks: this.random.below(6), logs: true, ask }
    const answer = this.client.call(
      's__work',
      args,
      { progressToken: this.random.below(2) === 0 ? id : String(id) },
      id,
    )
    if (this.random.below(4) === 0) {
      for (let i = this.random.below(8); i > 0; i--) await turn()
      this.client.notify('notifications/cancelled', { requestId: id })
      const pong = this.client.request('ping', {}, `ping-${n}`)
      // Whether it was answered or cancelled is settled when the ping is.
      await Promise.race([answer, pong])
      await pong
      answer.catch(() => undefined)
    } else this.#check(n, await answer, ask)
    this.#busy.delete(id)
  }

  readonly #busy = new Set<number>()

  #check(n: string, heard: { value: unknown; text: string }, ask: boolean): void {
    const answer = said({ ...heard })
    assert.equal(textAt(answer, 'n'), n, heard.text)
    const answered = at(answer, 'answer')
    // Where a process is shared, nobody is asked while a call that was given up may be meant.
    if (!ask || (this.mayBeRefused && numberAt(answered, 'error', 'code') === -32601)) return
    const text = textAt(answered, 'result', 'content', 'text')
    assert.equal(text, `${n}:${this.name}`, heard.text)
  }

  /** Everything that came names this client, and no other. */
  assertOwn(): void {
    for (const { text } of this.client.heard) {
      for (const nonce of text.match(/client-\d+/g) ?? []) assert.equal(nonce, this.name, text)
    }
    for (const nonce of this.asked) assert(nonce.startsWith(`${this.name}:`), nonce)
  }
}

async function parties(t: TestProxy, count: number, capabilities: unknown): Promise<Party[]> {
  const made: Party[] = []
  for (let i = 0; i < count; i++) {
    const { client } = await t.attach()
    made.push(new Party(client, `client-${i}`, new Random(seed + i)))
    await client.open(capabilities)
    await client.call('s__nonce', { n: 'known' })
  }
  return made
}

async function play(all: readonly Party[], rounds: number, ask: boolean): Promise<void> {
  await Promise.all(
    all.map(async (party) => {
      const calls: Promise<void>[] = []
      for (let round = 0; round < rounds; round++) {
        calls.push(party.once(ask))
        if (party.random.below(3) === 0) await turn()
        if (calls.length > 6) await Promise.all(calls.splice(0))
      }
      await Promise.all(calls)
    }),
  )
  for (const party of all) party.assertOwn()
}

const askable = { sampling: {}, roots: {}, elicitation: {} }

describe(`clients with the same ids (IT_SEED=${seed})`, () => {
  const cases: [string, 'auto' | 'shared' | 'session', number, number, boolean][] = [
    ['auto, askable', 'auto', 8, 20, true],
    ['shared, plain', 'shared', 20, 25, false],
    ['shared, askable', 'shared', 20, 15, true],
    ['session, askable', 'session', 3, 30, true],
  ]
  for (const [title, isolation, count, rounds, asks] of cases) {
    test(`${title}: ${count} clients`, async (t) => {
      const proxy = await libraryProxy(t, { s: itServer({}, { isolation }) })
      const all = await parties(proxy, count, asks ? askable : {})
      for (const party of all) party.mayBeRefused = isolation === 'shared'
      await play(all, rounds, asks)
      const pids = await Promise.all(
        all.map(async ({ client }) => numberAt(said(await client.call('s__nonce', { n: '' })), 'pid')),
      )
      const processes = new Set(pids).size
      assert.equal(processes, isolation === 'session' || (isolation === 'auto' && asks) ? count : 1)
    })
  }

  test('shared: what is asked after a cancel goes to the client that has cancelled, and to no other', async (t) => {
    const proxy = await libraryProxy(t, { s: itServer({}, { isolation: 'shared' }) })
    const [one, two] = await parties(proxy, 2, askable)
    assert(one !== undefined && two !== undefined)
    stash(one.client, 'client-0')
    await one.client.request('ping')
    one.client.notify('notifications/cancelled', { requestId: 1 })
    await one.client.request('ping')
    const own = await one.client.call('s__spill')
    assert.equal(textAt(said(own), 'answers', 0, 'result', 'content', 'text'), 'client-0:client-0')
    const heard = await two.client.call('s__spill', {}, { progressToken: 'token' }, 1)
    assert.deepEqual(listAt(said(heard), 'answers'), [], 'another process has it')
    assert.deepEqual(two.asked, [])
    two.assertOwn()
  })
})

test('shared: a server that asked a client which has left is told so', async (t) => {
  const answers: string[] = []
  const wire: WireTap['wire'] = ({ hop, direction, bytes }) => {
    if (hop !== 'upstream' || direction !== 'out') return
    const lines = Buffer.from(bytes).toString().split('\n')
    answers.push(...lines.filter((line) => line !== '' && !line.includes('"method"')))
  }
  const proxy = await libraryProxy(t, { s: itServer({}, { isolation: 'shared' }) }, { tap: { wire } })
  const [one, two] = [await proxy.attach(), await proxy.attach()]
  for (const { client } of [one, two]) await client.open(askable)
  one.client.onRequest = () => undefined
  const asked = one.client.next(
    'a question',
    ({ value }) => textAt(value, 'method') === 'sampling/createMessage',
  )
  one.client.send(
    '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"s__ask","arguments":{"method":"sampling/createMessage","params":{"n":1}}}}',
  )
  await asked
  await one.connection.close()
  await one.session.ended
  await two.client.call('s__nonce', { n: 'x' })
  assert.deepEqual(
    answers.map((line) => at(parsed(line), 'error', 'code')),
    [-32603],
  )
})

describe('clients that come and go on one process', () => {
  test('what comes late for a call of one that left does not reach the next', async (t) => {
    const proxy = await libraryProxy(t, { s: itServer() })
    const first = await proxy.attach()
    await first.client.open()
    await first.client.call('s__nonce', { n: 'known' })
    // The proxy counts its own tokens, and comes to 5 as well.
    stash(first.client, 'client-0', '5')
    await first.client.request('ping')
    await first.connection.close()
    await first.session.ended
    const second = await proxy.attach()
    await second.client.open()
    const party = new Party(second.client, 'client-1', new Random(seed))
    for (let i = 0; i < 20; i++) {
      await second.client.call('s__spill', {}, { progressToken: i === 0 ? 'token' : i }, i + 1)
    }
    party.assertOwn()
  })

  test('a late answer to a call of one that left is not an answer to another', async (t) => {
    const proxy = await libraryProxy(t, { s: itServer() })
    const first = await proxy.attach()
    await first.client.open()
    await first.client.call('s__nonce', { n: 'known' })
    first.client.send(
      '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"s__hold","arguments":{"key":"client-0"}}}',
    )
    await first.client.request('ping', {}, 'p')
    await first.connection.close()
    await first.session.ended
    const second = await proxy.attach()
    await second.client.open()
    const mine = second.client.call('s__hold', { key: 'client-1' }, undefined, 1)
    await second.client.request('ping')
    await second.client.call('s__release', { key: 'client-0' })
    await second.client.call('s__release', { key: 'client-1' })
    assert.equal(textAt(said(await mine), 'n'), 'client-1')
  })

  test('a question that is taken back is taken back where it was asked', async (t) => {
    const proxy = await libraryProxy(t, { s: itServer(), o: itServer() })
    const { client } = await proxy.attach()
    await client.open(askable)
    // Both servers call their question 0.
    await client.call('s__ask-and-cancel', { method: 'sampling/createMessage', params: { of: 's' } })
    await client.call('o__ask-and-cancel', { method: 'sampling/createMessage', params: { of: 'o' } })
    const questions = client.heard.filter(({ value }) => textAt(value, 'method') === 'sampling/createMessage')
    const cancels = client.heard.filter(({ value }) => textAt(value, 'method') === 'notifications/cancelled')
    assert.deepEqual(
      cancels.map(({ value }) => at(value, 'params', 'requestId')),
      questions.map(({ value }) => at(value, 'id')),
    )
    assert.equal(questions.length, 2)
    // An answer that comes all the same is no answer to anything.
    for (const { value } of questions) {
      client.send(`{"jsonrpc":"2.0","id":${JSON.stringify(at(value, 'id'))},"result":{}}`)
    }
    const lines = await received(client)
    assert.equal(
      lines.filter((line) => textAt(line, 'method') === '' && at(line, 'result') !== undefined).length,
      0,
    )
  })
})

/** A call that is never answered, and whose server may say anything later. */
function stash(client: RawClient, n: string, token = '"token"'): void {
  const params = `{"name":"s__stash","arguments":{"n":"${n}"},"_meta":{"progressToken":${token}}}`
  client.send(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":${params}}`)
}

async function received(client: RawClient): Promise<unknown[]> {
  const seen = said(await client.call('s__seen'))
  return listAt(seen, 'lines').map((line) => parsed(Buffer.from(String(line), 'base64').toString()))
}

test('a server of which each client has its own process starts for nobody when nobody is there', async (t) => {
  const servers = { s: itServer({}, { isolation: 'session' }) }
  const { proxy, attach } = await libraryProxy(t, servers, { ownStart: 'with-client' })
  const { client, connection } = await attach()
  await client.open()
  await client.call('s__nonce', { n: '1' })
  assert.equal(proxy.status()[0]?.state, 'connected')
  await connection.close()
  await until(() => proxy.status()[0]?.pids.length === 0)
  assert.equal(proxy.status()[0]?.state, 'disconnected')
})
