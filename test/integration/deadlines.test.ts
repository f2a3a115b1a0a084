// The times that a server and its tools may take, and what happens when they are over.

import { strict as assert } from 'node:assert'
import { describe, test } from 'node:test'
import { failure, said } from './support/client.js'
import { at, listAt, numberAt, textAt } from './support/json.js'
import { libraryProxy } from './support/library.js'
import { phases } from './support/phases.js'
import { itServer } from './support/programs.js'
import { spawnProxy } from './support/spawned.js'
import { gone, until } from './support/waiting.js'

const errorOf = (value: unknown): readonly unknown[] => [
  textAt(value, 'error', 'message'),
  at(value, 'error', 'data'),
]

describe('each time is one of its own', () => {
  test('a start that takes too long is given up, and named', async (t) => {
    const s = itServer({ IT_START: 'hang' }, { startTimeout: 250, restart: false })
    const { attach, proxy } = await libraryProxy(t, { s, o: itServer() })
    const { client } = await attach()
    await client.open()
    await until(() => proxy.status()[0]?.state === 'error')
    assert.equal(proxy.status()[0]?.error, "'s' did not answer initialize within 250 ms (startTimeout)")
    const { value } = await client.call('s__nonce')
    assert.deepEqual(failure({ value, text: '' }).slice(0, 2), [-32603, 's'])
    assert.equal(textAt(said(await client.call('o__nonce', { n: '1' })), 'n'), '1')
  })

  test('a list that takes too long is given up and cancelled, and the other lists are there', async (t) => {
    const s = phases(t, [{ no: ['tools/list'] }], { listTimeout: 2000 })
    const { attach, log } = await libraryProxy(t, { s: s.entry }, {}, { startupGraceMs: 50 })
    const { client } = await attach()
    await client.open()
    await until(() => s.told('notifications/cancelled').length > 0)
    const [asked] = s.told('tools/list')
    const [cancelled] = s.told('notifications/cancelled')
    assert.deepEqual(at(cancelled, 'params', 'requestId'), at(asked, 'id'))
    assert(log.some(({ message }) => message.includes('tools/list within 2000 ms (listTimeout)')))
    const prompts = listAt((await client.request('prompts/list')).value, 'result', 'prompts')
    assert.deepEqual(
      prompts.map((prompt) => textAt(prompt, 'name')),
      ['s__p'],
    )
  })

  test("a tool's own times stand above its server's, either way", async (t) => {
    const tools = { timeouts: { never: { timeout: 150 }, slow: { timeout: 20_000 } } }
    const { attach } = await libraryProxy(t, {
      quick: itServer({}, { timeout: 20_000, tools }),
      patient: itServer({}, { timeout: 150, tools }),
      total: itServer({}, { tools: { timeouts: { slow: { totalTimeout: 250 } } } }),
    })
    const { client } = await attach()
    await client.open()
    const [never, slow, total] = await Promise.all([
      client.call('quick__never'),
      client.call('patient__slow', { steps: 0, everyMs: 450 }),
      client.call('total__slow', { steps: 100, everyMs: 50 }, { progressToken: 1 }),
    ])
    assert.deepEqual(errorOf(never.value), [
      "'quick': no answer or progress for tool 'quick__never' within 150 ms (timeout)",
      { service: 'quick', reason: 'timeout', tool: 'quick__never', budget: 'timeout', ms: 150 },
    ])
    assert.equal(numberAt(said(slow), 'at'), 1)
    assert.equal(textAt(total.value, 'error', 'data', 'budget'), 'totalTimeout')
  })

  test('a read that takes too long is cancelled as a call is', async (t) => {
    const s = phases(t, [{ no: ['resources/read', 'prompts/get'] }], { timeout: 150 })
    const { client } = await (await libraryProxy(t, { s: s.entry })).attach()
    await client.open()
    const read = await client.request('resources/read', { uri: 'it://r' })
    const got = await client.request('prompts/get', { name: 's__p' })
    assert.deepEqual(errorOf(read.value), [
      "'s': no answer or progress for resources/read within 150 ms (timeout)",
      { service: 's', reason: 'timeout', budget: 'timeout', ms: 150 },
    ])
    assert.equal(textAt(got.value, 'error', 'data', 'prompt'), 's__p')
    await until(() => s.told('notifications/cancelled').length === 2)
    assert.deepEqual(
      s.told('notifications/cancelled').map((cancel) => at(cancel, 'params', 'requestId')),
      [...s.told('resources/read'), ...s.told('prompts/get')].map((request) => at(request, 'id')),
    )
  })

  test('what a call waited for its turn counts', async (t) => {
    const tools = { timeouts: { nonce: { timeout: 200 } } }
    const { client } = await (await libraryProxy(t, { s: itServer({}, { concurrency: 1, tools }) })).attach()
    await client.open()
    const running = client.call('s__slow', { steps: 0, everyMs: 1500 })
    const waiting = await client.call('s__nonce', { n: 'x' })
    assert.deepEqual(errorOf(waiting.value), [
      "'s': no turn for tool 's__nonce' within 200 ms (timeout)",
      { service: 's', reason: 'timeout', tool: 's__nonce', budget: 'timeout', ms: 200 },
    ])
    assert.equal(numberAt(said(await running), 'at'), 1)
  })
})

/** Longer than the calls have that are in flight; these are begun within a second less, also on a busy machine. */
const STOPPED_MS = 6000

const noSignals = process.platform === 'win32'

describe('processes that are stopped', { skip: noSignals }, () => {
  test('a child that reads nothing, its pipe full: every call ends, and it may come back', async (t) => {
    // Whatever it takes to read all of them afterwards.
    const tools = { timeouts: { pids: { timeout: 30_000 } } }
    const { client } = await (await libraryProxy(t, { s: itServer({}, { timeout: 500, tools }) })).attach()
    await client.open()
    const pid = numberAt(said(await client.call('s__pids')), 'pid')
    process.kill(pid, 'SIGSTOP')
    t.after(() => gone(pid) || process.kill(pid, 'SIGCONT'))
    const filler = 'z'.repeat(300)
    const calls = Array.from({ length: 1000 }, (_, i) => client.call('s__nonce', { n: String(i), filler }))
    const answers = await Promise.all(calls)
    for (const heard of answers) assert.deepEqual(failure(heard), [-32603, 's', 'timeout'])
    process.kill(pid, 'SIGCONT')
    assert.equal(numberAt(said(await client.call('s__pids')), 'pid'), pid)
  })

  test('a proxy that was stopped blames nobody: answers that wait, and those that come soon, win', async (t) => {
    const timeout = { timeout: STOPPED_MS - 1000 }
    const late = itServer({}, { tools: { timeouts: { slow: timeout, big: timeout } } })
    const proxy = spawnProxy(t, { s: late, o: late })
    const { client } = proxy
    await client.open()
    const pid = numberAt(said(await client.call('s__nonce', { n: 'x' })), 'pid')
    const waits = client.call('o__slow', { steps: 0, everyMs: 700 })
    const large = client.call('o__big', { bytes: 8 * 1024 * 1024, n: 'large' })
    const asleep = client.call('s__slow', { steps: 0, everyMs: 700 })
    // Both servers have them once they answer what came after.
    await Promise.all(['s__nonce', 'o__nonce'].map((name) => client.call(name, { n: 'y' })))
    process.kill(pid, 'SIGSTOP')
    process.kill(proxy.child.pid ?? 0, 'SIGSTOP')
    await new Promise((resolve) => setTimeout(resolve, STOPPED_MS))
    process.kill(proxy.child.pid ?? 0, 'SIGCONT')
    // The server wakes up later than the proxy.
    await new Promise((resolve) => setTimeout(resolve, 200))
    process.kill(pid, 'SIGCONT')
    assert.equal(numberAt(said(await waits), 'at'), 1)
    assert.equal(textAt(said(await large), 'n'), 'large')
    assert.equal(numberAt(said(await asleep), 'at'), 1)
  })
})
