// Each limit that an operator may change, as far as it goes and one further.

import { strict as assert } from 'node:assert'
import { describe, test } from 'node:test'
import { limits } from '../../src/index.js'
import type { Limits } from '../../src/limits.js'
import type { LogRecord } from '../../src/runtime/runtime.js'
import { type RawClient, failure, said, toolNames } from './support/client.js'
import { at, listAt, textAt } from './support/json.js'
import { type Attached, libraryProxy } from './support/library.js'
import { itServer } from './support/programs.js'
import {
  type Act,
  type Scripted,
  enter,
  handshake,
  opening,
  scripted,
  simple,
  timed,
} from './support/scripted.js'
import type { Scope, Servers } from './support/spawned.js'
import { answerOf, json, scripted as scriptedHttp } from '../transports/support/scripted.js'

type Some<T> = { readonly [K in keyof T]?: T[K] }

async function attached(
  t: Scope,
  servers: Servers,
  { session, upstream }: { session?: Some<Limits['session']>; upstream?: Some<Limits['upstream']> },
  more = {},
): Promise<Attached & { readonly log: readonly LogRecord[] }> {
  const some = {
    ...limits,
    session: { ...limits.session, ...session },
    upstream: { ...limits.upstream, ...upstream },
  }
  const { attach, log } = await libraryProxy(t, servers, { limits: some }, more)
  return { ...(await attach()), log }
}

const hold = (client: RawClient, key: string): void =>
  client.post('tools/call', { name: 's__hold', arguments: { key } }, key)

describe('limits of a client', () => {
  test('callsMax', async (t) => {
    const { client } = await attached(t, { s: itServer() }, { session: { callsMax: 3 } })
    await client.open()
    for (const key of ['a', 'b']) hold(client, key)
    assert.equal(textAt(said(await client.call('s__nonce', { n: '3' })), 'n'), '3')
    hold(client, 'c')
    const refused = await client.call('s__nonce', { n: '4' })
    assert.equal(textAt(refused.value, 'error', 'data', 'reason'), 'overloaded')
    client.notify('notifications/cancelled', { requestId: 'c' })
    assert.equal(textAt(said(await client.call('s__nonce', { n: '5' })), 'n'), '5')
  })

  test('inflightMax: questions that wait for its answer', async (t) => {
    const servers = { s: itServer(), o: itServer() }
    const { client } = await attached(t, servers, { session: { inflightMax: 1 } })
    await client.open({ sampling: {} })
    const asked = client.next(
      'a question',
      ({ value }) => textAt(value, 'method') === 'sampling/createMessage',
    )
    const first = client.call('s__ask', { method: 'sampling/createMessage', params: {} })
    const question = await asked
    const second = said(await client.call('o__ask', { method: 'sampling/createMessage', params: {} }))
    assert.notEqual(at(second, 'error'), undefined)
    client.respond(question, {})
    assert.notEqual(at(said(await first), 'result'), undefined)
  })

  test('listPageBytesMax: a list goes on on another page', async (t) => {
    const some = { ...limits, session: { ...limits.session, listPageBytesMax: 60 } }
    const tools = ['a', 'b', 'c'].map((name) => ({ name, inputSchema: { type: 'object' } }))
    const act: Act = (method, child) =>
      method === 'tools/list' ? JSON.stringify({ tools }) : simple(method, child)
    const it = await scripted(t, { s: {} }, act, { limits: some })
    const { client } = await enter(it)
    const pages: string[][] = []
    let cursor: string | undefined
    do {
      const { heard } = await timed(it, client.request('tools/list', cursor === undefined ? {} : { cursor }))
      pages.push(toolNames(heard))
      cursor = textAt(heard.value, 'result', 'nextCursor') || undefined
    } while (cursor !== undefined)
    assert.deepEqual(pages, [['s__a', 's__b'], ['s__c']])
  })
})

describe('limits of a server', () => {
  test('queueMax: calls that wait for a process to come back', async (t) => {
    const some = { ...limits, upstream: { ...limits.upstream, queueMax: 2 } }
    const act: Act = (method, child) => {
      if (it.runtime.children.length === 1 && method === 'tools/call') {
        child.end(3)
        return undefined
      }
      const result = simple(method, child)
      return method === 'initialize' ? { afterMs: 1000, result } : result
    }
    const it: Scripted = await scripted(t, { s: { concurrency: 1 } }, act, { limits: some })
    const { client } = await enter(it)
    await timed(it, client.call('s__t'))
    const calls = [1, 2, 3, 4].map(() => client.call('s__t'))
    assert.deepEqual(failure(await Promise.race(calls)), [-32603, 's', 'overloaded'])
    for (const call of calls.slice(0, 3))
      assert.equal(at((await timed(it, call)).heard.value, 'error'), undefined)
  })

  test('inflightMax: requests that it has not answered', async (t) => {
    const { client } = await attached(t, { s: itServer() }, { upstream: { inflightMax: 6 } })
    await client.open()
    await client.request('tools/list')
    for (let i = 0; i < 6; i++) hold(client, `h${i}`)
    assert.deepEqual(failure(await client.call('s__nonce', { n: 'x' })), [-32603, 's', 'overloaded'])
    client.notify('notifications/cancelled', { requestId: 'h0' })
    assert.equal(textAt(said(await client.call('s__nonce', { n: 'x' })), 'n'), 'x')
  })

  test('outgoingBytesMax: what it has not read', { skip: process.platform === 'win32' }, async (t) => {
    const { client } = await attached(t, { s: itServer() }, { upstream: { outgoingBytesMax: 2 ** 20 } })
    await client.open()
    const pid = Number(at(said(await client.call('s__nonce', { n: 'x' })), 'pid'))
    process.kill(pid, 'SIGSTOP')
    const filler = 'z'.repeat(600_000)
    const calls = Array.from({ length: 4 }, (_, i) =>
      client.call('s__nonce', { n: String(i), filler }, undefined, `f${i}`),
    )
    const last = await Promise.race(calls.slice(3))
    assert.deepEqual(failure(last), [-32603, 's', 'overloaded'])
    process.kill(pid, 'SIGCONT')
    for (const heard of await Promise.all(calls.slice(0, 2)))
      assert.equal(at(heard.value, 'error'), undefined)
  })

  test('outgoingBytesMax: calls that wait for a slot', async (t) => {
    const some = { ...limits, upstream: { ...limits.upstream, outgoingBytesMax: 200_000 } }
    let isStuck = false
    const act: Act = (method, child) =>
      method === 'tools/call' && isStuck ? undefined : simple(method, child)
    const it = await scripted(t, { s: { concurrency: 1 } }, act, { limits: some })
    const { client } = await enter(it)
    // The first call waits for the validator.
    await timed(it, client.call('s__t'))
    isStuck = true
    client.post('tools/call', { name: 's__t' }, 'held')
    const filler = 'z'.repeat(150_000)
    const [waits, refused] = [1, 2].map(() => client.call('s__t', { filler }))
    assert.deepEqual(failure(await (refused ?? assert.fail())), [-32603, 's', 'overloaded'])
    isStuck = false
    client.notify('notifications/cancelled', { requestId: 'held' })
    const { heard } = await timed(it, waits ?? assert.fail())
    assert.equal(at(heard.value, 'error'), undefined)
  })

  for (const [limit, lists] of [
    ['pagesMax', { pagesMax: 2 }],
    ['itemsMax', { itemsMax: 5 }],
  ] as const)
    test(`${limit}: how much of a list is read`, async (t) => {
      const own = { ...limits.upstream.lists, ...lists, retriesMax: 0 }
      const some = { ...limits, upstream: { ...limits.upstream, lists: own } }
      const tools = Array.from({ length: 12 }, (_, n) => ({ name: `t${n}`, inputSchema: { type: 'object' } }))
      const act: Act = (method, child, params) => {
        if (method !== 'tools/list') return simple(method, child)
        const from = Number(at(params, 'cursor') ?? 0)
        const next = from + (child.command === 's' ? 5 : 100)
        const page = { tools: tools.slice(from, next), ...(next < 12 && { nextCursor: String(next) }) }
        return JSON.stringify(page)
      }
      const it = await scripted(t, { s: {}, o: {} }, act, { limits: some })
      const { client } = await enter(it)
      const names = toolNames((await timed(it, client.request('tools/list'))).heard)
      assert.deepEqual([...new Set(names.map((name) => name[0]))], limit === 'pagesMax' ? ['o'] : [])
      assert(it.log.some(({ service, message }) => service === 's' && message.includes('more than')))
    })

  for (const cursor of ['', 'again'])
    test(`a list whose cursor is always '${cursor}' ends with what has come`, async (t) => {
      const page = `{"tools":[{"name":"t","inputSchema":{"type":"object"}}],"nextCursor":"${cursor}"}`
      const it = await scripted(t, { s: {} }, (method, child) =>
        method === 'tools/list' ? page : simple(method, child),
      )
      const { client } = await it.attach()
      const { heard } = await timed(it, client.request('tools/list'))
      const names = listAt(heard.value, 'result', 'tools').map((tool) => textAt(tool, 'name'))
      assert.deepEqual(names, ['s__t'])
      const warnings = it.log.filter(({ message }) =>
        message.includes(`the cursor "${cursor}" does not advance`),
      )
      assert.equal(warnings.length, 1)
    })

  test('remoteConcurrency: calls in flight on one session', async (t) => {
    let now = 0
    let most = 0
    const { url } = await scriptedHttp(t, ({ id, rpc, method }, response) => {
      if (method !== 'POST') return void response.writeHead(405).end()
      if (id === undefined) return void response.writeHead(202).end()
      if (rpc === 'initialize') return json(response, answerOf(id, handshake('r')))
      if (rpc === 'tools/list')
        return json(response, answerOf(id, '{"tools":[{"name":"t","inputSchema":{"type":"object"}}]}'))
      most = Math.max(most, ++now)
      setImmediate(() => {
        now--
        json(response, answerOf(id, '{"content":[]}'))
      })
    })
    const servers = { r: { url: url.href } }
    const { client } = await attached(t, servers, { upstream: { remoteConcurrency: 3 } })
    await client.open()
    const answers = await Promise.all(Array.from({ length: 30 }, () => client.call('r__t')))
    for (const { value } of answers) assert.notEqual(at(value, 'result'), undefined)
    assert(most <= 3 && most > 0, `${most} at once`)
  })
})

test('instructionsLengthMax: what all servers say of themselves', async (t) => {
  const instructions = 'i'.repeat(100)
  const saying = handshake('x').replace(/}$/, `,"instructions":"${instructions}"}`)
  const some = { ...limits, session: { ...limits.session, instructionsLengthMax: 150 } }
  const it = await scripted(
    t,
    { a: {}, b: {} },
    (method) => (method === 'initialize' ? saying : '{"tools":[]}'),
    { limits: some },
  )
  const { heard } = await timed(it, opening(await it.attach()))
  const opened = textAt(heard.value, 'result', 'instructions')
  assert.equal(opened.length, 150)
  assert(opened.startsWith('# a'))
})

test('processesMax holds for the first start of all servers', async (t) => {
  const servers = { s0: {}, s1: {}, s2: {}, s3: {} }
  const it = await scripted(t, servers, simple, { eager: true }, { processesMax: 2 })
  const { client } = await enter(it)
  assert.equal((await it.runtime.until(client.toolNames())).length, 2)
  assert.equal(it.runtime.children.length, 2)
  const errors = it.proxy.status().map(({ error }) => error)
  assert.match(errors.join(), /'s3' cannot be started: 2 processes run already, which is processesMax/)
})

test('processesMax ends an idle process for a call; while none is idle, the call waits until its time is over', async (t) => {
  const stuck = new Set<string>()
  const act: Act = (method, child) =>
    method === 'tools/call' && stuck.has(child.command) ? undefined : simple(method, child)
  const it = await scripted(t, { a: {}, b: { timeout: 5000 } }, act, {}, { processesMax: 1 })
  const { client } = await enter(it)
  for (const name of ['a', 'b', 'a', 'b']) {
    const { heard } = await timed(it, client.call(`${name}__t`))
    assert.match(heard.text, new RegExp(`"text":"${name}"`))
  }
  stuck.add('a')
  void client.call('a__t').catch(() => {})
  await it.runtime.pass(1000)
  const { heard, ms } = await timed(it, client.call('b__t'))
  assert.equal(failure(heard)[2], 'overloaded')
  assert.match(heard.text, /'b' cannot be started: 1 processes run already, which is processesMax/)
  assert.ok(ms >= 5000 && ms < 6000, `${ms}`)
})
