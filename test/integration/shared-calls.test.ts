// Calls of a client without a session that wait for one of several processes.

import { strict as assert } from 'node:assert'
import { test } from 'node:test'
import { claim } from './support/claim.js'
import { failure } from './support/client.js'
import { closed, scripted, simple } from './support/scripted.js'
import { settled } from '../upstream/support/fake-runtime.js'

test('a call that waits is served where another process ends, whose call is lost', async (t) => {
  const calls: string[] = []
  const act: Parameters<typeof scripted>[2] = (method, child) => {
    if (method !== 'tools/call') return simple(method, child)
    calls.push(String(child.pid))
    return calls.length < 3 ? undefined : simple(method, child)
  }
  const it = await scripted(
    t,
    { s: { isolation: 'session', processes: 2, concurrency: 1, argumentChecks: 'off' } },
    act,
  )
  const { client } = await it.attach()
  const call = () => client.call('s__t', {}, claim({}))
  void call()
  const second = call()
  for (let i = 0; i < 100 && calls.length < 2; i++) await it.runtime.pass(10, 10)
  const third = call()
  await settled()
  assert.equal(calls.length, 2)
  it.runtime.children.find(({ pid }) => String(pid) === calls[1])?.end(1)
  for (let i = 0; i < 100 && calls.length < 3; i++) await it.runtime.pass(10, 10)
  const ended = await second
  const isServed = new Set(calls).size === 3
  if (isServed) assert.ok((await third).text.includes('"result"'))
  await closed(it)
  assert.deepEqual(failure(ended), [-32603, 's', 'exited'])
  assert.ok(isServed, 'the next process has it')
})
