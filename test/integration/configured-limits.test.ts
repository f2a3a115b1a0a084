// A limit of the configuration, as a user sees it hold.

import { strict as assert } from 'node:assert'
import { test } from 'node:test'
import { failure } from './support/client.js'
import { type Act, enter, scripted, simple, timed } from './support/scripted.js'

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
