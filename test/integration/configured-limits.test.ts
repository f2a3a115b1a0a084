// Limits that the configuration sets, as a user sees them hold.

import { strict as assert } from 'node:assert'
import { describe, test } from 'node:test'
import { FakeRuntime } from '../upstream/support/fake-runtime.js'
import { failure } from './support/client.js'
import { listAt } from './support/json.js'
import { libraryProxy } from './support/library.js'
import { type Act, opening, scripted, simple, timed } from './support/scripted.js'

describe('processesMax', () => {
  test('holds for the first start of all servers', async (t) => {
    const runtime = new FakeRuntime()
    const servers = Object.fromEntries(['s0', 's1', 's2', 's3'].map((name) => [name, { command: name }]))
    const { attach, proxy } = await libraryProxy(t, servers, { runtime, eager: true }, { processesMax: 2 })
    await runtime.pass(1000, 50)
    const { client } = await attach()
    await runtime.until(client.open())
    const list = await runtime.until(client.request('tools/list'))
    assert.equal(listAt(list.value, 'result', 'tools').length, 2)
    assert.equal(runtime.children.length, 2)
    assert.match(
      proxy
        .status()
        .map(({ error }) => error)
        .join(),
      /'s3' cannot be started: 2 processes run already, which is processesMax/,
    )
  })

  test('ends an idle process for a call; while none is idle, the call waits until its time is over', async (t) => {
    const act: Act = (method, child) =>
      method === 'tools/call' && child.command === 'a' && isStuck ? undefined : simple(method, child)
    let isStuck = false
    const it = await scripted(t, { a: {}, b: { timeout: 5000 } }, act, {}, { processesMax: 1 })
    const party = await it.attach()
    await timed(it, opening(party))
    for (const name of ['a', 'b', 'a', 'b']) {
      const { heard } = await timed(it, party.client.call(`${name}__t`))
      assert.match(heard.text, new RegExp(`"text":"${name}"`))
    }
    isStuck = true
    void party.client.call('a__t').catch(() => {})
    await it.runtime.pass(1000)
    const { heard, ms } = await timed(it, party.client.call('b__t'))
    assert.equal(failure(heard)[2], 'overloaded')
    assert.match(heard.text, /'b' cannot be started: 1 processes run already, which is processesMax/)
    assert.ok(ms >= 5000 && ms < 6000, `${ms}`)
  })
})
