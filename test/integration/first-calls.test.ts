// The waits of the first clients of a proxy.

import { strict as assert } from 'node:assert'
import { test } from 'node:test'
import { at } from './support/json.js'
import { closed, enter, handshake, scripted, simple, timed, toolChanges } from './support/scripted.js'
import { scratch } from './support/spawned.js'
import { toolNames } from './support/client.js'

test('a server that does not answer is waited for by the first client alone', async (t) => {
  const it = await scripted(t, { a: {}, g: {} }, (method, child) =>
    child.command === 'g' ? undefined : simple(method, child),
  )
  const first = await enter(it)
  assert.equal(first.openedMs + (await timed(it, first.client.request('tools/list'))).ms, 3000)
  for (const declared of [{}, { roots: {} }]) {
    const later = await enter(it, declared)
    const { heard, ms } = await timed(it, later.client.request('tools/list'))
    assert.deepEqual([later.openedMs, ms, toolNames(heard)], [0, 0, ['a__t']])
  }
})

test('a list that could not be read is not kept as an empty one', async (t) => {
  const folder = scratch(t)
  const earlier = await scripted(
    t,
    { a: {}, b: {} },
    (method, child) =>
      method === 'tools/list' && child.command === 'a'
        ? { error: '{"code":-32603,"message":"not yet"}' }
        : simple(method, child),
    { keep: { folder } },
  )
  await enter(earlier)
  await closed(earlier)
  const it = await scripted(
    t,
    { a: {}, b: {} },
    (method, child) =>
      method === 'initialize' ? { afterMs: 500, result: handshake(child.command) } : simple(method, child),
    { keep: { folder } },
  )
  const party = await enter(it)
  assert.equal(party.openedMs, 0)
  const { heard } = await timed(it, party.client.request('tools/list'))
  assert.deepEqual(toolNames(heard), ['a__t', 'b__t'])
  await it.runtime.pass(5000)
  assert.equal(toolChanges(party), 0)
})

test('a server may answer in a batch', async (t) => {
  const it = await scripted(t, { s: {} }, (method, child) => {
    if (method !== 'tools/call') return simple(method, child)
    child.say(`[{"jsonrpc":"2.0","id":${child.lastId},"result":{"content":[]}}]`)
    return undefined
  })
  const { client } = await enter(it)
  assert.deepEqual(at((await client.call('s__t')).value, 'result'), { content: [] })
})
