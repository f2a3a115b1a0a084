// Clients without a session that subscribe to too many resources, and servers that do not answer.

import { strict as assert } from 'node:assert'
import { test } from 'node:test'
import { limits } from '../../src/index.js'
import { settled } from '../upstream/support/fake-runtime.js'
import { claim } from './support/claim.js'
import type { RawClient } from './support/client.js'
import { at, listAt, textAt } from './support/json.js'
import { type Act, type Scripted, closed, handshake, scripted, simple, timed } from './support/scripted.js'

const acknowledged = 'notifications/subscriptions/acknowledged'
const SUBSCRIBE = 'resources/subscribe'
const subscribing = '{"tools":{"listChanged":true},"resources":{"subscribe":true}}'

const listen = (client: RawClient, id: string, notifications: object): void =>
  client.post('subscriptions/listen', { notifications, _meta: claim({}) }, id)

const urisFrom = (from: number, count: number): { readonly resourceSubscriptions: readonly string[] } => ({
  resourceSubscriptions: Array.from({ length: count }, (_, n) => `it://${from + n}`),
})

/** A server with resources that it may be slow to tell of. */
class Telling {
  /** The requests that are not answered yet. */
  readonly open: (() => void)[] = []
  asked = 0

  readonly act: Act = (method, child) => {
    if (method === 'initialize') return handshake('s', subscribing)
    if (method !== SUBSCRIBE) return simple(method, child)
    this.asked++
    const { lastId } = child
    this.open.push(() => child.say(`{"jsonrpc":"2.0","id":${lastId},"result":{}}`))
    return undefined
  }
}

const served = async (it: Scripted, client: RawClient): Promise<string> => {
  const { heard } = await timed(it, client.request('tools/call', { name: 's__t', _meta: claim({}) }))
  return textAt(listAt(heard.value, 'result', 'content')[0], 'text')
}

const listening = (client: RawClient): number => client.count((value) => at(value, 'method') === acknowledged)

test('a client of very many resources has a few asked for at once, and no more than the limit', async (t) => {
  const server = new Telling()
  const it = await scripted(t, { s: {} }, server.act)
  const [{ client }, { client: other }] = [await it.attach(), await it.attach()]
  assert.equal(await served(it, other), 's')
  for (let flood = 0; flood < 5; flood++) {
    listen(client, `l${flood}`, urisFrom(flood * 5000, 5000))
    await settled()
    client.notify('notifications/cancelled', { requestId: `l${flood}` })
  }
  listen(client, 'stays', urisFrom(0, 5000))
  await settled()
  assert.equal(server.open.length, 32)
  assert.equal(await served(it, other), 's', 'others are served meanwhile')
  while (server.open.length > 0) {
    for (const answer of server.open.splice(0)) answer()
    await settled()
  }
  // Some of the first were on their way.
  assert.equal(server.asked, 32 + limits.stateless.urisMax)
  await closed(it)
})

test('a client of very many resources is told of those that are within the limit', async (t) => {
  const server = new Telling()
  const few = { ...limits, stateless: { ...limits.stateless, urisMax: 3 } }
  const it = await scripted(t, { s: {} }, server.act, { limits: few })
  const { client } = await it.attach()
  assert.equal(await served(it, client), 's')
  const ackOf = async (id: string, from: number): Promise<unknown> => {
    const heard = client.notification(acknowledged, (params) => JSON.stringify(params).includes(id))
    listen(client, id, urisFrom(from, 5))
    await settled()
    for (const answer of server.open.splice(0)) answer()
    await it.runtime.pass(1000, 10)
    return at((await heard).value, 'params', 'notifications', 'resourceSubscriptions')
  }
  assert.deepEqual(await ackOf('one', 0), ['it://0', 'it://1', 'it://2'])
  assert.equal(await ackOf('two', 10), undefined)
  client.notify('notifications/cancelled', { requestId: 'one' })
  await settled()
  assert.deepEqual(await ackOf('three', 20), ['it://20', 'it://21', 'it://22'])
  await closed(it)
})

test('a principal keeps so many requests open, and all keep so many', async (t) => {
  const it = await scripted(t, { s: {} }, new Telling().act, {
    limits: { ...limits, stateless: { ...limits.stateless, listensMax: 7, listensOfOneMax: 4 } },
  })
  const [{ client }, { client: other }] = [await it.attach(), await it.attach()]
  assert.equal(await served(it, client), 's')
  const filter = { toolsListChanged: true }
  for (let count = 0; count < 8; count++) listen(client, `a${count}`, filter)
  for (let count = 0; count < 8; count++) listen(other, `b${count}`, filter)
  await it.runtime.pass(2000, 100)
  assert.deepEqual([listening(client), listening(other)], [4, 3])
  const refused = client.heard.filter(({ value }) => at(value, 'error', 'data', 'reason') === 'overloaded')
  assert.equal(refused.length, 4)
  await closed(it)
})
