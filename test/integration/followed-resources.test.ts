// Resources that clients follow.

import { strict as assert } from 'node:assert'
import { test } from 'node:test'
import { settled } from '../upstream/support/fake-runtime.js'
import type { RawClient } from './support/client.js'
import { at } from './support/json.js'
import type { ServerEntry } from './support/programs.js'
import { type Scripted, enter, handshake, scripted, simple } from './support/scripted.js'
import type { Scope } from './support/spawned.js'

const updated = 'notifications/resources/updated'

const world = (t: Scope, entry: ServerEntry = {}): Promise<Scripted> =>
  scripted(t, { s: entry }, (method, child) => {
    if (method === 'initialize') return handshake('f', '{"tools":{},"resources":{"subscribe":true}}')
    if (method === 'resources/list') return '{"resources":[{"uri":"file:///d/x","name":"x"}]}'
    if (method === 'resources/templates/list') return '{"resourceTemplates":[]}'
    return simple(method, child)
  })

const updates = (client: RawClient): number => client.count((value) => at(value, 'method') === updated)

async function follow(it: Scripted, client: RawClient, uri: string): Promise<void> {
  const { value } = await it.runtime.until(client.request('resources/subscribe', { uri }))
  assert.notEqual(at(value, 'result'), undefined)
}

/** The process with this number sends an update. */
async function update({ runtime }: Scripted, uri: string, nth = 0): Promise<void> {
  runtime.children[nth]?.say(`{"jsonrpc":"2.0","method":"${updated}","params":{"uri":"${uri}"}}`)
  await settled()
}

test('a client that follows a folder gets updates of a file in it, also when another client follows the file', async (t) => {
  const it = await world(t)
  const [{ client: a }, { client: b }] = [await enter(it), await enter(it)]
  for (const uri of ['file:///d/', 'file:///d']) await follow(it, a, uri)
  await follow(it, b, 'file:///d/x')
  await update(it, 'file:///d/x')
  assert.deepEqual([updates(a), updates(b)], [1, 1])
  await update(it, 'file:///d/y')
  assert.deepEqual([updates(a), updates(b)], [2, 1])
})

test('a client that follows a resource of a lazy server follows it after a reload too', async (t) => {
  const it = await world(t, { lazy: true })
  const { client } = await enter(it)
  await follow(it, client, 'file:///d/x')
  const reloading = it.proxy.reload({ mcpServers: { s: { command: 's', lazy: true, env: { NEW: '1' } } } })
  await it.runtime.pass(3000)
  await reloading
  const subscribes = it.runtime.children.map(
    ({ heard }) => heard.filter((method) => method === 'resources/subscribe').length,
  )
  assert.deepEqual(subscribes, [1, 1])
  await update(it, 'file:///d/x', 1)
  assert.equal(updates(client), 1)
})

test('idleTimeout stops a server but not one whose resources are followed', async (t) => {
  const it = await world(t, { idleTimeout: 5000 })
  const { client } = await enter(it)
  const processes = async (): Promise<number | undefined> => {
    await it.runtime.pass(60_000)
    return it.proxy.status()[0]?.pids.length
  }
  await follow(it, client, 'file:///d/x')
  assert.equal(await processes(), 1)
  await it.runtime.until(client.request('resources/unsubscribe', { uri: 'file:///d/x' }))
  assert.equal(await processes(), 0)
})
