// Clients as the status shows them, over real HTTP.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createProxy, httpServer } from '../../src/index.js'
import { schemaPage } from '../../src/gateway/status.js'
import { gone, until } from '../integration/support/waiting.js'
import { at, listAt, numberAt, textAt } from '../integration/support/json.js'
import { claim } from '../integration/support/claim.js'
import { sendStateless } from '../integration/support/gateway.js'
import { itServer } from '../integration/support/programs.js'
import { type Fields, opened } from '../integration/support/raw-sessions.js'
import { type Scope, message, messageIn, send } from '../transports/support/http.js'

const revision = '2025-11-25'
const any = { accept: '*/*' }

async function fronted(scope: Scope) {
  const proxy = await createProxy({ mcpServers: { a: itServer(), b: itServer() } })
  scope.after(() => proxy.close(0))
  const { port } = await proxy.serve(httpServer({ port: 0 }))
  return { port, proxy }
}

/** Opens a session of a client that can be asked, which shares no process of a server. */
const session = (port: number, clientInfo?: object): Promise<Fields> =>
  opened({ port }, { capabilities: { sampling: {} }, clientInfo })

const page = async (port: number): Promise<string> =>
  (await send(port, { path: '/api/status', method: 'GET', headers: any })).body

const sessionsIn = (text: string): readonly unknown[] =>
  listAt(JSON.parse(text), 'schemas', 'default', 'sessions')

test('the status page says of sessions who they are, and which processes are theirs alone', async (t) => {
  const { port, proxy } = await fronted(t)
  const before = Date.now()
  const caller = await session(port, { name: 'caller', version: '1.2' })
  const lister = await session(port, { name: 'lister', version: '3' })
  const called = message('tools/call', 1, { name: 'a__nonce', arguments: { n: 'x' } })
  const { body } = await send(port, { body: called, headers: caller })
  const pid = numberAt(JSON.parse(textAt(messageIn(body), 'result', 'content', 0, 'text')), 'pid')
  await send(port, { body: message('tools/list', 2), headers: lister })

  const text = await page(port)
  const shown = sessionsIn(text)
  const facts = shown.map((one) => [at(one, 'client'), at(one, 'revision'), at(one, 'processes')])
  assert.deepEqual(facts, [
    [{ name: 'caller', version: '1.2' }, revision, [{ server: 'a', pid }]],
    [{ name: 'lister', version: '3' }, revision, []],
  ])
  for (const one of shown) {
    assert.match(textAt(one, 'connectedAt'), /^20\d\d-\d\d-\d\dT[\d:.]+Z$/)
    assert.ok(Date.parse(textAt(one, 'connectedAt')) >= before)
  }
  assert.equal(numberAt(JSON.parse(text), 'schemas', 'default', 'totalSessions'), 2)
  for (const id of [caller, lister]) assert.ok(!text.includes(String(id['mcp-session-id'])), 'no id is shown')
  const embedded = proxy.sessions().map(({ client, processes }) => [client?.name, processes])
  assert.deepEqual(embedded, [
    ['caller', [{ server: 'a', pid }]],
    ['lister', []],
  ])

  await send(port, { method: 'DELETE', headers: { ...caller, ...any } })
  for (;;) if (sessionsIn(await page(port)).length === 1) break
  const names = sessionsIn(await page(port)).map((one) => textAt(one, 'client', 'name'))
  assert.deepEqual(names, ['lister'])
  await until(() => gone(pid))
})

test('the status page shows sessions without what a terminal would act on, and not at length', async (t) => {
  const { port } = await fronted(t)
  const name = `\u001b[2J\u009b2J\u202e${'x'.repeat(1000)}`
  await session(port, { name, version: 7 })
  await session(port)
  const text = await page(port)
  // oxlint-disable-next-line no-control-regex -- they are what this test is about.
  assert.doesNotMatch(text, /[\u0000-\u001f\u007f-\u009f\u202e]/)
  const [hostile, silent] = sessionsIn(text)
  assert.deepEqual(at(hostile, 'client'), { name: name.slice(0, 200) })
  assert.equal(at(silent, 'client'), undefined)
})

test('requests without a session count by who sends them, not by the connections that they share', async (t) => {
  const { port, proxy } = await fronted(t)
  const attached: (string | undefined)[] = []
  const callers: number[] = []
  proxy.on('client', ({ name, state }) => void (state === 'attached' && attached.push(name)))
  proxy.on('call', ({ client }) => callers.push(client))
  for (const name of ['ann', 'bob', 'ann'])
    await sendStateless(port, { method: 'tools/list', params: { _meta: claim({}, name) } })
  assert.deepEqual(attached, ['ann', 'bob'])
  const [first, second, third] = callers
  assert.deepEqual([callers.length, first === third, first === second], [3, true, false])
  const attachedClients = proxy.sessions().map(({ client, revision: spoken }) => [client?.name, spoken])
  assert.deepEqual(attachedClients, [
    ['ann', '2026-07-28'],
    ['bob', '2026-07-28'],
  ])
})

test('of more than 100 sessions those with processes of their own are shown first, and all are counted', () => {
  const sessions = Array.from({ length: 150 }, (_, n) => ({
    client: { name: `c${n}`, version: undefined },
    revision,
    connectedAtMs: n,
    processes: n === 149 ? [{ server: 's', pid: 7 }] : [],
    unreadBytes: 0,
  }))
  const status: unknown = JSON.parse(schemaPage('default', { status: () => [], sessions: () => sessions }))
  const listed = listAt(status, 'sessions')
  assert.deepEqual([numberAt(status, 'totalSessions'), listed.length], [150, 100])
  const newest = listed.slice(0, 2).map((each) => at(each, 'client'))
  assert.deepEqual(newest, [{ name: 'c149' }, { name: 'c0' }])
})
