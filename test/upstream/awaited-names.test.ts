// Calls that wait until a server has said what it has: what they find when it has, or has ended.

import { strict as assert } from 'node:assert'
import { describe, test } from 'node:test'
import { type RawClient, failure } from '../integration/support/client.js'
import { at, textAt } from '../integration/support/json.js'
import { type TestProxy, libraryProxy } from '../integration/support/library.js'
import type { Scope } from '../integration/support/spawned.js'
import { type FakeChild, FakeRuntime, type Script, polite, settled } from './support/fake-runtime.js'

const changing =
  '{"protocolVersion":"2025-06-18","capabilities":{"tools":{"listChanged":true}},"serverInfo":{"name":"f","version":"1"}}'

const listOf = (...names: readonly string[]): string =>
  JSON.stringify({ tools: names.map((name) => ({ name, inputSchema: { type: 'object' } })) })

interface World {
  readonly runtime: FakeRuntime
  /** Those of the server `s`, in the order in which they were started. */
  readonly children: () => FakeChild[]
  /** A client that has opened its session; one that can be asked something has a process of its own. */
  readonly client: (capabilities?: unknown) => Promise<RawClient>
}

/** Two servers: `script` is `s`, and `o` does what it should. */
async function worldOf(t: Scope, script: Script): Promise<World> {
  const runtime = new FakeRuntime()
  runtime.script = (...said) => (said[2].command === 's' ? script : polite)(...said)
  const { attach }: TestProxy = await libraryProxy(
    t,
    { s: { command: 's' }, o: { command: 'o' } },
    { runtime },
  )
  return {
    runtime,
    children: () => runtime.children.filter(({ command }) => command === 's'),
    client: async (capabilities) => {
      const { client } = await attach()
      const opening = client.open(capabilities)
      await runtime.pass(1000)
      await opening
      return client
    },
  }
}

const heardOf = (children: readonly FakeChild[], method: string): number =>
  children.reduce((sum, { heard }) => sum + heard.filter((each) => each === method).length, 0)

describe('a call that waits for what a server has', () => {
  test('finds what its clients share, though that is read once more', async (t) => {
    const { children, client, runtime } = await worldOf(t, (method, params, child) => {
      if (method === 'initialize') return changing
      const isShared = child === children()[0]
      return method === 'tools/list' && isShared ? undefined : polite(method, params, child)
    })
    const asked = await client({ roots: {} })
    await runtime.until(asked.call('o__t'))
    const [shared] = children()
    assert(shared !== undefined)
    const id = shared.lastId
    shared.say('{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}')
    await settled()
    shared.say(`{"jsonrpc":"2.0","id":${id},"result":${listOf('t')}}`)
    await settled()
    assert.equal(heardOf([shared], 'tools/list'), 2)
    assert.deepEqual(at((await runtime.until(asked.call('s__t'))).value, 'result'), { content: [] })
    const { value } = await asked.request('tools/list')
    assert.match(JSON.stringify(at(value, 'result')), /"s__t"/)
  })

  test('finds a tool that is announced while the first list is read', async (t) => {
    const { children, client, runtime } = await worldOf(t, (method, params, child) => {
      if (method === 'initialize') return changing
      return method === 'tools/list' ? undefined : polite(method, params, child)
    })
    const asked = await client()
    const call = asked.call('s__late')
    await settled()
    const [shared] = children()
    assert(shared !== undefined)
    const first = shared.lastId
    shared.say('{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}')
    shared.say(`{"jsonrpc":"2.0","id":${first},"result":${listOf('t')}}`)
    await settled()
    assert.equal(heardOf([shared], 'tools/list'), 2)
    shared.say(`{"jsonrpc":"2.0","id":${shared.lastId},"result":${listOf('t', 'late')}}`)
    assert.deepEqual(at((await runtime.until(call)).value, 'result'), { content: [] })
  })

  test('is checked against what the next process has, when one ends before it has listed', async (t) => {
    const { children, client, runtime } = await worldOf(t, (method, params, child) => {
      if (method !== 'tools/list') return polite(method, params, child)
      // The first is shared; the second keeps a tool for those that come after it, of which the third says nothing.
      if (child === children()[1]) return listOf('t', 'gone')
      if (child !== children()[2]) return listOf('t')
      child.end(1)
      return undefined
    })
    const before = await client({ roots: {} })
    await runtime.until(before.call('s__t'))
    const after = await client({ roots: {} })
    const heard = await runtime.until(after.call('s__gone'))
    assert.equal(textAt(heard.value, 'error', 'message'), "Tool 's__gone' not found")
    assert.equal(heardOf(children().slice(2), 'tools/call'), 0)
    assert.equal(children().length, 4)
  })

  test('and is not there to say it, does not start it again and again', async (t) => {
    const { children, client, runtime } = await worldOf(t, (method, params, child) => {
      if (method !== 'initialize') return polite(method, params, child)
      child.end(1)
      return undefined
    })
    const it = await client({ roots: {} })
    const before = children().length
    const heard = await runtime.until(it.call('s__t'))
    assert.deepEqual(failure(heard), [-32603, 's', 'exited'])
    assert.equal(children().length, before + 1)
  })

  test('and cannot have it, is answered though another server is still starting', async (t) => {
    const { runtime, client } = await worldOf(t, () => undefined)
    const it = await client()
    const before = runtime.now()
    assert.deepEqual(failure(await runtime.until(it.call('o__typo'))).slice(0, 1), [-32601])
    assert.equal(runtime.now(), before)
  })
})
