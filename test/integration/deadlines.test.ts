// The times that a server and its tools may take, and what happens when they are over.

import { strict as assert } from 'node:assert'
import { before, describe, test } from 'node:test'
import { failure, said } from './support/client.js'
import { at, numberAt, textAt } from './support/json.js'
import { itServer } from './support/programs.js'
import { type Act, enter, handshake, scripted, simple, timed } from './support/scripted.js'
import { spawnProxy } from './support/spawned.js'

const errorOf = (value: unknown): readonly unknown[] => [
  textAt(value, 'error', 'message'),
  at(value, 'error', 'data'),
]

interface Asked {
  readonly method: string
  readonly id: string
  readonly params: unknown
}

const answers: Readonly<Record<string, string>> = {
  initialize: handshake('s', '{"tools":{},"prompts":{},"resources":{}}'),
  'tools/list': '{"tools":[]}',
  'prompts/list': '{"prompts":[{"name":"p"}]}',
  'resources/list': '{"resources":[{"uri":"it://r","name":"r"}]}',
  'resources/templates/list': '{"resourceTemplates":[]}',
}

/** A server that does not answer these methods; what it is asked is kept. */
function silent(asked: Asked[], ...unanswered: readonly string[]): Act {
  return (method, child, params) => {
    asked.push({ method, id: child.lastId, params })
    return unanswered.includes(method) ? undefined : (answers[method] ?? '{}')
  }
}

const ofMethod = (asked: readonly Asked[], method: string): Asked[] =>
  asked.filter((each) => each.method === method)

/** The ids of the requests that were cancelled, as the server knows them. */
const cancelledIn = (asked: readonly Asked[]): string[] =>
  ofMethod(asked, 'notifications/cancelled').map(({ params }) => JSON.stringify(at(params, 'requestId')))

describe('each time is one of its own', () => {
  // Otherwise loaded by the first call, while simulated time goes by.
  before(() => import('../../src/mcp/arguments/argument-validator.js'))

  test('a start that takes too long is given up, and named', async (t) => {
    const servers = { s: { startTimeout: 250, restart: false }, o: {} }
    const it = await scripted(t, servers, (method, child) =>
      method === 'initialize' && child.command === 's' ? undefined : simple(method, child),
    )
    const { client } = await enter(it)
    assert.deepEqual(
      it.proxy.status().map(({ error }) => error),
      ["'s' did not answer initialize within 250 ms (startTimeout)", undefined],
    )
    assert.deepEqual(failure((await timed(it, client.call('s__t'))).heard).slice(0, 2), [-32603, 's'])
    assert.match((await timed(it, client.call('o__t'))).heard.text, /"text":"o"/)
  })

  test('a list that takes too long is given up and cancelled, and the other lists are there', async (t) => {
    const asked: Asked[] = []
    const it = await scripted(t, { s: { startTimeout: 2000 } }, silent(asked, 'tools/list'))
    const { client } = await enter(it)
    await it.runtime.pass(2000)
    assert.deepEqual(cancelledIn(asked)[0], ofMethod(asked, 'tools/list')[0]?.id)
    assert(it.log.some(({ message }) => message.includes('tools/list within 2000 ms (startTimeout)')))
    const { heard } = await timed(it, client.request('prompts/list'))
    assert.deepEqual(textAt(heard.value, 'result', 'prompts', 0, 'name'), 's__p')
  })

  test('a read that takes too long is cancelled as a call is', async (t) => {
    const asked: Asked[] = []
    const it = await scripted(t, { s: { timeout: 150 } }, silent(asked, 'resources/read', 'prompts/get'))
    const { client } = await enter(it)
    const read = await timed(it, client.request('resources/read', { uri: 'it://r' }))
    const got = await timed(it, client.request('prompts/get', { name: 's__p' }))
    assert.deepEqual(errorOf(read.heard.value), [
      "'s': no answer or progress for resources/read within 150 ms (timeout)",
      { service: 's', reason: 'timeout', budget: 'timeout', ms: 150 },
    ])
    assert.equal(textAt(got.heard.value, 'error', 'data', 'prompt'), 's__p')
    assert.deepEqual(
      cancelledIn(asked),
      [...ofMethod(asked, 'resources/read'), ...ofMethod(asked, 'prompts/get')].map(({ id }) => id),
    )
  })
})

/** Longer than the calls have that are in flight; these are begun within a second less, also on a busy machine. */
const STOPPED_MS = 6000

const noSignals = process.platform === 'win32'

describe('processes that are stopped', { skip: noSignals }, () => {
  test('a proxy that was stopped blames nobody: answers that wait, and those that come soon, win', async (t) => {
    const late = itServer({}, { timeout: STOPPED_MS - 1000 })
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
