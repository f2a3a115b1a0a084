// A server that comes back with nothing where it had something.

import { strict as assert } from 'node:assert'
import { test } from 'node:test'
import { at, listAt } from '../integration/support/json.js'
import type { Scope } from '../integration/support/spawned.js'
import { FakeRuntime, type Script, polite, settled } from './support/fake-runtime.js'
import { type Served, served } from './support/served.js'

interface World extends Served {
  tools(): Promise<number>
  news(): number
}

/** A client of a server that has crashed once, and then has nothing while `isEmpty` says so. */
async function comeBack(t: Scope, says: (method: string) => string | undefined): Promise<World> {
  const runtime = new FakeRuntime()
  const script: Script = (method, params, child) =>
    (runtime.children.length > 1 ? says(method) : undefined) ?? polite(method, params, child)
  const made = await served(t, script, { entry: { restartDelay: 100 }, runtime })
  const { client } = made
  const tools = async (): Promise<number> => {
    const listing = client.request('tools/list')
    await settled()
    return listAt((await listing).value, 'result', 'tools').length
  }
  assert.equal(await tools(), 1)
  runtime.children[0]?.end(1)
  await runtime.pass(500, 50)
  assert.equal(runtime.children.length, 2)
  const news = (): number =>
    client.count((value) => at(value, 'method') === 'notifications/tools/list_changed')
  return { ...made, tools, news }
}

const none = '{"tools":[]}'
const incapable = '{"protocolVersion":"2025-06-18","capabilities":{},"serverInfo":{"name":"f","version":"1"}}'

test('keeps what it had while it may not be done with its start', async (t) => {
  let isDone = false
  const it = await comeBack(t, (method) => (method === 'tools/list' && !isDone ? none : undefined))
  assert.deepEqual([await it.tools(), it.news()], [1, 0])
  it.runtime.children[1]?.say('{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}')
  await it.runtime.pass(3000)
  assert.deepEqual([await it.tools(), it.news()], [1, 0])
  isDone = true
  await it.runtime.pass(60_000)
  assert.deepEqual([await it.tools(), it.news()], [1, 0])
  assert.match(
    it.log.map(({ message }) => message).join('\n'),
    /tools\/list: nothing is there any more; what was known/,
  )
})

for (const [title, method, result] of [
  ['lists nothing', 'tools/list', none],
  ['says that it has no tools', 'initialize', incapable],
] as const)
  test(`is believed in the end when it ${title}`, async (t) => {
    const it = await comeBack(t, (asked) => (asked === method ? result : undefined))
    await it.runtime.pass(3000)
    assert.deepEqual([await it.tools(), it.news()], [1, 0])
    await it.runtime.pass(10_000)
    assert.deepEqual([await it.tools(), it.news()], [0, 1])
    assert(it.runtime.clock.timers < 5, 'nobody asks for ever')
  })

test('is believed at once when it says so without a new start', async (t) => {
  let isEmpty = false
  const it = await comeBack(t, (method) => (method === 'tools/list' && isEmpty ? none : undefined))
  isEmpty = true
  it.runtime.children[1]?.say('{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}')
  await it.runtime.pass(500, 50)
  assert.deepEqual([await it.tools(), it.news()], [0, 1])
})
