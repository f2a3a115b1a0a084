// Lasting wishes of clients: resources that they follow, a log level, an answer to come.

import { strict as assert } from 'node:assert'
import { test } from 'node:test'
import {
  type FakeChild,
  FakeRuntime,
  type Script,
  polite,
  settled,
} from '../upstream/support/fake-runtime.js'
import type { RawClient } from './support/client.js'
import { at } from './support/json.js'
import { type Attached, type TestProxy, libraryProxy } from './support/library.js'
import type { ServerEntry } from './support/programs.js'
import type { Scope } from './support/spawned.js'

const capabilities = '{"tools":{},"logging":{},"resources":{"subscribe":true}}'
const updated = 'notifications/resources/updated'

interface Told {
  readonly child: FakeChild
  readonly method: string
  readonly params: unknown
}

interface World extends TestProxy {
  readonly runtime: FakeRuntime
  /** Every request and notification that a process got. */
  readonly told: Told[]
  enter(declared?: Readonly<Record<string, unknown>>): Promise<Attached>
}

async function world(t: Scope, entry: ServerEntry = {}, act: Script = polite): Promise<World> {
  const runtime = new FakeRuntime()
  const told: Told[] = []
  runtime.script = (method, params, child) => {
    told.push({ child, method, params })
    if (method === 'initialize')
      return `{"protocolVersion":"2025-06-18","capabilities":${capabilities},"serverInfo":{"name":"f","version":"1"}}`
    if (method === 'resources/list') return '{"resources":[{"uri":"file:///d/x","name":"x"}]}'
    if (method === 'resources/templates/list') return '{"resourceTemplates":[]}'
    return act(method, params, child)
  }
  const made = await libraryProxy(t, { s: { command: 'x', ...entry } }, { runtime })
  const enter = async (declared = {}): Promise<Attached> => {
    const attached = await made.attach()
    const opening = attached.client.open(declared)
    await settled()
    await opening
    return attached
  }
  return { ...made, runtime, told, enter }
}

const sent = ({ told }: World, method: string): Told[] => told.filter((each) => each.method === method)

const heard = (client: RawClient): number => client.count((value) => at(value, 'method') === updated)

async function saysUpdated(child: FakeChild | undefined, uri: string): Promise<void> {
  child?.say(`{"jsonrpc":"2.0","method":"${updated}","params":{"uri":"${uri}"}}`)
  await settled()
}

test('who follows a folder hears of a file in it, whoever else follows the file', async (t) => {
  const it = await world(t)
  const [{ client: a }, { client: b }] = [await it.enter(), await it.enter()]
  for (const [client, uri] of [
    [a, 'file:///d/'],
    [a, 'file:///d'],
    [b, 'file:///d/x'],
  ] as const) {
    const follow = client.request('resources/subscribe', { uri })
    await settled()
    assert.notEqual(at((await follow).value, 'result'), undefined)
  }
  await saysUpdated(it.runtime.children[0], 'file:///d/x')
  assert.deepEqual([heard(a), heard(b)], [1, 1])
  await saysUpdated(it.runtime.children[0], 'file:///d/y')
  assert.deepEqual([heard(a), heard(b)], [2, 1])
})

test('who follows a resource of a lazy server goes on to hear of it after a reload', async (t) => {
  const it = await world(t, { lazy: true })
  const { client } = await it.enter()
  const follow = client.request('resources/subscribe', { uri: 'file:///d/x' })
  await settled()
  await follow
  const reloading = it.proxy.reload({ mcpServers: { s: { command: 'x', lazy: true, env: { NEW: '1' } } } })
  await it.runtime.pass(3000)
  await reloading
  assert.equal(it.runtime.children.length, 2)
  assert.deepEqual(
    sent(it, 'resources/subscribe').map(({ child }) => child),
    it.runtime.children,
  )
  await saysUpdated(it.runtime.children[1], 'file:///d/x')
  assert.equal(heard(client), 1)
})

test('idleTimeout stops a server but not one whose resources are followed', async (t) => {
  const it = await world(t, { idleTimeout: 5000 })
  const { client } = await it.enter()
  const about = async (method: string): Promise<void> => {
    const asked = client.request(method, { uri: 'file:///d/x' })
    await settled()
    await asked
  }
  await about('resources/subscribe')
  await it.runtime.pass(60_000)
  assert.equal(it.proxy.status()[0]?.pids.length, 1)
  await about('resources/unsubscribe')
  await it.runtime.pass(60_000)
  assert.equal(it.proxy.status()[0]?.pids.length, 0)
})
