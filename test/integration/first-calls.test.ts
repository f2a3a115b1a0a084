// What the first clients of a proxy wait for, and what they do not.

import { strict as assert } from 'node:assert'
import { before, describe, test } from 'node:test'
import { at, textAt } from './support/json.js'
import {
  type Act,
  closed,
  enter,
  handshake,
  opening,
  scripted,
  simple,
  timed,
  toolChanges,
} from './support/scripted.js'
import { scratch } from './support/spawned.js'
import { toolNames } from './support/client.js'

const withPrompts = '{"tools":{},"prompts":{}}'

/** A server whose prompts are like that. */
const act =
  (said: ReturnType<Act>): Act =>
  (method, child) => {
    if (method === 'initialize') return { afterMs: 500, result: handshake(child.command, withPrompts) }
    return method === 'prompts/list' ? said : simple(method, child)
  }

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

describe('a call does not wait for lists of other kinds', () => {
  // What checks arguments is loaded with the first call of all, in time that is not simulated.
  before(() => import('../../src/mcp/arguments/argument-validator.js'))

  const prompts: Readonly<Record<string, ReturnType<Act>>> = {
    'that never come': undefined,
    'that the server refuses': { error: '{"code":-32601,"message":"no such method"}' },
  }
  for (const [what, said] of Object.entries(prompts)) {
    test(`${what}; nothing is kept`, async (t) => {
      const it = await scripted(t, { a: {} }, act(said))
      const party = await it.attach()
      void opening(party)
      const { heard, ms } = await timed(it, party.client.call('a__t'))
      assert.equal(textAt(heard.value, 'result', 'content', 0, 'text'), 'a')
      assert.ok(ms < 2000, `the call took ${ms} ms`)
    })

    test(`${what}; its tools are kept`, async (t) => {
      const folder = scratch(t)
      const earlier = await scripted(t, { a: {} }, act('{"prompts":[]}'), { keep: { folder } })
      await enter(earlier)
      await closed(earlier)
      const it = await scripted(t, { a: {} }, act(said), { keep: { folder } })
      const party = await enter(it)
      const { heard, ms } = await timed(it, party.client.call('a__t'))
      assert.equal(textAt(heard.value, 'result', 'content', 0, 'text'), 'a')
      assert.ok(ms < 2000, `the call took ${ms} ms`)
    })
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
