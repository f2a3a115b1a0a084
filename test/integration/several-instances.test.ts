// Gateways with one store and one key, and clients whose requests go now to one of them and now to another.

import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import type { Gateway } from '../../src/gateway/gateway.js'
import { openGateway } from '../../src/gateway/gateway.js'
import { realClock } from '../../src/runtime/deadline.js'
import { MemoryStore, SharedMemory } from '../support/memory-store.js'
import { suiteScope } from '../support/scope.js'
import { StoreAway } from '../../src/store/store.js'
import { defaultHttpServerLimits } from '../../src/transports/http-server/front-limits.js'
import { EventReader, listen, message, messageIn, open, send } from '../transports/support/http.js'
import { bearer, gatewayConfig, sendStateless, tokenOf } from './support/gateway.js'
import { claim } from './support/claim.js'
import { at, textAt } from './support/json.js'
import { itServer, nodeProgram, type ServerEntry } from './support/programs.js'
import { type Fields, ask, call, newId, opened, said } from './support/raw-sessions.js'
import type { Scope } from './support/spawned.js'
import { untilAnswered } from './support/waiting.js'

type Json = Readonly<Record<string, unknown>>

interface Instance {
  readonly gateway: Gateway
  readonly port: number
  readonly store: MemoryStore
  readonly log: string[]
}

interface Setup {
  readonly servers?: Readonly<Record<string, ServerEntry>>
  readonly server?: Json
  readonly more?: Json
}

async function instances(t: Scope, setup: Setup = {}): Promise<readonly [Instance, Instance]> {
  const { servers = { s: itServer() }, server = {}, more = {} } = setup
  const shared = new SharedMemory()
  const start = async (instance: string): Promise<Instance> => {
    const store = new MemoryStore(shared, realClock)
    const log: string[] = []
    const config = {
      ...more,
      mcpServers: servers,
      server: { stateKey: 'the key of both instances', instance, ...server },
    }
    const gateway = await openGateway(gatewayConfig(config), {
      store,
      log: ({ message: text }) => log.push(text),
    })
    t.after(() => gateway.close(0))
    return { gateway, port: gateway.port, store, log }
  }
  return [await start('one'), await start('two')]
}

const isolated = { s: itServer({}, { isolation: 'session' }) }

describe('a session that a server keeps in the memory of a process', () => {
  test('is served by its instance, to which the other one hands everything over', async (t) => {
    const [one, two] = await instances(t, { servers: isolated })
    const headers = await opened(one)
    const pid = at(await call(one, headers, 'pids'), 'pid')
    assert.equal(at(await call(two, headers, 'pids'), 'pid'), pid)
    const big = await call(two, headers, 'big', { n: 1, bytes: 3_000_000 })
    assert.equal(String(at(big, 'filler')).length, 3_000_000)
    const long = 'x'.repeat(3_000_000)
    assert.equal(at(await call(two, headers, 'nonce', { n: long }), 'n'), long)

    const stream = await listen(two.port, headers)
    assert.equal(stream.response.statusCode, 200)
    const updated = { method: 'notifications/resources/updated', params: { uri: 'it://server/a' } }
    await ask(two, headers, 'resources/subscribe', updated.params)
    await call(two, headers, 'tell', updated)
    await stream.having(updated.method)

    assert.equal((await send(two.port, { method: 'DELETE', headers })).status, 200)
    assert.equal((await ask(one, headers, 'ping')).status, 404)
    assert.equal((await ask(two, headers, 'ping')).status, 404)
  })

  test('gets the answer to a call that an instance has handed over, although that one ends', async (t) => {
    const [one, two] = await instances(t, { servers: isolated })
    const headers = await opened(one)
    const held = ask(two, headers, 'tools/call', { name: 's__never', arguments: {} })
    await untilAnswered(async () => (await said(one, headers, 'tools/call')).length > 1)
    const closed = two.gateway.close(60_000)
    // Longer than clients have to read their last answers.
    await delay(defaultHttpServerLimits.closeWaitMs + 1000)
    await one.gateway.proxies.get('default')?.stop('s')
    assert.match((await held).body, /"error"/)
    await closed
  })

  test('tells of a call whose instance does not answer that it may have been done', async (t) => {
    const [one, two] = await instances(t, { servers: isolated })
    const headers = await opened(one)
    await one.store.close()
    const { status, body } = await ask(two, headers, 'tools/call', { name: 's__nonce', arguments: {} })
    assert.deepEqual([status, at(messageIn(body), 'error', 'data', 'reason')], [200, 'instance-lost'])
  })
})

/** The response to a call whose server asks its client this. */
async function asked({ port }: Instance, headers: Fields, asking: object): Promise<EventReader> {
  const body = message('tools/call', newId(), { name: 's__ask', arguments: asking })
  return new EventReader(await open(port, { headers, body }))
}

describe('a client whose requests go to two instances', () => {
  const scope = suiteScope()
  let pair: readonly [Instance, Instance]
  before(async () => (pair = await instances(scope)))

  test('answers a question of the one, and tells of its progress, by requests to the other', async () => {
    const [one, two] = pair
    const headers = await opened(one, { capabilities: { sampling: {} } })
    const _meta = { progressToken: 'p' }
    const asking = { method: 'sampling/createMessage', params: { messages: [], maxTokens: 1, _meta } }
    const stream = await asked(one, headers, asking)
    const question = await stream.having('sampling/createMessage')
    const id = at(question, 'id')
    const progress = { progressToken: at(question, 'params', '_meta', 'progressToken'), progress: 1 }
    await send(two.port, { headers, body: message('notifications/progress', undefined, progress) })
    await untilAnswered(async () => (await said(one, headers, 'notifications/progress')).length > 0)
    const result = { model: 'm', role: 'assistant', content: { type: 'text', text: 'yes' } }
    const answer = JSON.stringify({ jsonrpc: '2.0', id, result })
    assert.equal((await send(two.port, { headers, body: answer })).status, 202)
    await stream.having('yes')
  })

  test('is asked by the one although it told the other that it is ready', async () => {
    const [one, two] = pair
    const headers = await opened(one, { capabilities: { roots: {} }, initialized: two })
    await (await asked(one, headers, { method: 'roots/list' })).having('"roots/list"')
  })

  test('has its log level and its subscriptions on both', async () => {
    const [one, two] = pair
    const headers = await opened(one, { capabilities: { sampling: {} } })
    await call(one, headers, 'nonce')
    await call(two, headers, 'nonce')
    await ask(two, headers, 'logging/setLevel', { level: 'error' })
    await ask(one, headers, 'resources/subscribe', { uri: 'it://server/a' })
    for (const each of [one, two]) {
      await untilAnswered(async () => (await said(each, headers, 'resources/subscribe')).length > 0)
      await untilAnswered(async () => (await said(each, headers, 'logging/setLevel')).length > 0)
    }
  })

  test('resumes a stream of one that has not the session open, by a request to the other', async (t) => {
    const [one, two] = await instances(t, { server: { tokens: [tokenOf('a', 'mcps_a')] } })
    const headers = await opened(two, { headers: bearer('mcps_a') })
    assert.equal((await listen(two.port, headers, 'one.000000.0-1')).response.statusCode, 200)
    assert.equal((await ask(one, headers, 'ping')).status, 200)
  })

  test('comes back without a session to the other one, and its call goes on', async () => {
    const [one, two] = pair
    const _meta = claim({ sampling: {} })
    const params = {
      name: 's__ask',
      arguments: { method: 'sampling/createMessage', params: { messages: [], maxTokens: 1 } },
      _meta,
    }
    const asked = messageIn((await sendStateless(one.port, { method: 'tools/call', params })).body)
    const requestState = textAt(asked, 'result', 'requestState')
    assert.match(requestState, /^mcps-proxy\.one\./)
    const answer = { model: 'm', role: 'assistant', content: { type: 'text', text: 'yes' } }
    const again = { ...params, requestState, inputResponses: { q1: answer } }
    const done = await sendStateless(two.port, { method: 'tools/call', params: again })
    assert.match(textAt(messageIn(done.body), 'result', 'content', 0, 'text'), /yes/)
  })

  test('asks the other one about a task, and gets its result', async (t) => {
    const [one, two] = await instances(t, { servers: { s: nodeProgram('task-server.mjs') } })
    const headers = await opened(one, { capabilities: { sampling: {} } })
    const params = { name: 's__work', arguments: { id: 'a' }, task: {} }
    const begun = messageIn((await ask(one, headers, 'tools/call', params)).body)
    const taskId = textAt(begun, 'result', 'task', 'taskId')
    const got = async (to: Instance): Promise<unknown> =>
      at(messageIn((await ask(to, headers, 'tasks/get', { taskId })).body), 'result', 'taskId')
    assert.deepEqual([await got(one), await got(two)], [taskId, taskId])
    const unknown = await ask(two, headers, 'tasks/get', { taskId: 'none' })
    assert.equal(at(messageIn(unknown.body), 'error', 'code'), -32602)
  })

  test('costs the store nothing for its calls', async (t) => {
    const [one, two] = await instances(t)
    const headers = await opened(one)
    await call(two, headers, 'nonce')
    let asked = 0
    for (const { store } of [one, two])
      for (const name of ['get', 'put', 'add', 'send'] as const)
        t.mock.method(store, name, (key: string, ...rest: unknown[]) => {
          if (!key.startsWith('instance:')) asked++
          return Reflect.apply(MemoryStore.prototype[name], store, [key, ...rest])
        })
    for (let count = 0; count < 5; count++) {
      await call(one, headers, 'nonce')
      await call(two, headers, 'nonce')
    }
    assert.equal(asked, 0)
    await ask(one, headers, 'logging/setLevel', { level: 'error' })
    assert.notEqual(asked, 0)
  })
})

describe('while the store is away', () => {
  test('calls go on, and no session begins or moves', async (t) => {
    const [one, two] = await instances(t)
    const headers = await opened(one)
    two.store.isAway = true
    one.store.isAway = true
    assert.equal(at(await call(one, headers, 'nonce', { n: 1 }), 'n'), 1)
    const moved = await ask(two, headers, 'ping')
    const begun = await send(one.port, {
      body: message('initialize', 0, { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: {} }),
    })
    for (const { status, headers: fields } of [moved, begun])
      assert.deepEqual([status, fields['retry-after']], [503, '5'])
    two.store.isAway = false
    assert.equal((await ask(two, headers, 'ping')).status, 200)
    const lines = two.log.filter((text) => text.includes('the store'))
    assert.deepEqual(lines, [
      'the store cannot be used: new sessions are refused until it can be',
      'the store can be reached again',
    ])
  })

  test('requests for which it goes away in the middle are told so, and not logged one by one', async (t) => {
    const [one, two] = await instances(t)
    const headers = await opened(one)
    two.store.get = () => {
      two.store.isAway = true
      return Promise.reject(new StoreAway())
    }
    assert.equal((await ask(two, headers, 'ping')).status, 503)
    assert.equal(two.log.filter((text) => text.includes('failed')).length, 0)
  })

  test('the end of a session cannot be promised, and it stays ended once the store is back', async (t) => {
    const [one, two] = await instances(t)
    const headers = await opened(one)
    one.store.isAway = true
    assert.equal((await send(one.port, { method: 'DELETE', headers })).status, 503)
    one.store.isAway = false
    await untilAnswered(async () => (await ask(two, headers, 'ping')).status === 404)
  })
})

/** Calls a tool: the HTTP status, the reason of an error and the field `Retry-After`. */
const outcome = async ({ port }: Instance): Promise<unknown[]> => {
  const params = { name: 's__nonce', arguments: { n: 'a' } }
  const { status, headers, body } = await sendStateless(port, { method: 'tools/call', params })
  return [status, at(messageIn(body), 'error', 'data', 'reason'), headers['retry-after']]
}

const passed = [200, undefined, undefined]

test('a limit of two gateways counts the calls of a principal together', async (t) => {
  const [one, two] = await instances(t, { more: { limits: [{ perMinute: 1, burst: 3 }] } })
  for (const each of [one, two, one]) assert.deepEqual(await outcome(each), passed)
  for (const each of [one, two]) assert.deepEqual(await outcome(each), [429, 'rate-limited', '60'])
})

test('a limit of two gateways lets through what they hold of it while the store is away', async (t) => {
  const [one, two] = await instances(t, { more: { limits: [{ perMinute: 20 }] } })
  assert.deepEqual(await outcome(one), passed)
  for (const { store } of [one, two]) store.isAway = true
  assert.deepEqual(await outcome(one), passed)
  for (const each of [one, two]) assert.deepEqual(await outcome(each), [503, 'store-away', '2'])
})
