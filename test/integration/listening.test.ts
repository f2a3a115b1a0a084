// Clients without a session that keep a request open to hear of changes.

import { strict as assert } from 'node:assert'
import { once } from 'node:events'
import { describe, test } from 'node:test'
import { EventReader, message, messageIn, open } from '../transports/support/http.js'
import { type Heard, type RawClient, said } from './support/client.js'
import { at, listAt, parsed, textAt } from './support/json.js'
import { libraryProxy } from './support/library.js'
import { itServer, nodeProgram } from './support/programs.js'
import { gatewayOf, requestFields, sendStateless } from './support/gateway.js'
import { claim, metaKey } from './support/claim.js'

const asking = (client: RawClient, method: string, params: object = {}): Promise<Heard> =>
  client.request(method, { ...params, _meta: claim() })

const acknowledged = 'notifications/subscriptions/acknowledged'

/** Begins to listen; gives what is acknowledged. */
async function listening(client: RawClient, id: string | number, notifications: object): Promise<unknown> {
  const heard = client.notification(
    acknowledged,
    (params) => at(params, '_meta', metaKey('subscriptionId')) === id,
  )
  client.send(
    JSON.stringify({
      jsonrpc: '2.0',
      id,
      method: 'subscriptions/listen',
      params: { notifications, _meta: claim() },
    }),
  )
  return at((await heard).value, 'params', 'notifications')
}

const ofSubscription =
  (id: string | number) =>
  (params: unknown): boolean =>
    at(params, '_meta', metaKey('subscriptionId')) === id

/** One listener in all. */
const updated = 'notifications/resources/updated'
const linesOf = async (client: RawClient): Promise<unknown[]> =>
  listAt(said(await asking(client, 'tools/call', { name: 's__seen' })), 'lines').map((line) =>
    parsed(Buffer.from(String(line), 'base64').toString()),
  )

describe('a client that listens', () => {
  test('a server is told once of a resource, and that nobody follows it any more', async (t) => {
    const { client } = await (await libraryProxy(t, { s: itServer() })).attach()
    await asking(client, 'resources/list')
    const filter = { resourceSubscriptions: ['it://server/a'] }
    await listening(client, 1000, filter)
    await listening(client, 1001, filter)
    const methods = async (): Promise<string[]> =>
      (await linesOf(client))
        .map((line) => textAt(line, 'method'))
        .filter((method) => /subscribe/.test(method))
    client.notify('notifications/cancelled', { requestId: 1000 })
    assert.deepEqual(await methods(), ['resources/subscribe'])
    client.notify('notifications/cancelled', { requestId: 1001 })
    while (!(await methods()).includes('resources/unsubscribe')) continue
    assert.deepEqual(await methods(), ['resources/subscribe', 'resources/unsubscribe'])
    assert.equal(client.answersTo(1000), 0)
  })

  test('hears of lists that have changed, each listener for itself', async (t) => {
    const { client } = await (await libraryProxy(t, { s: nodeProgram('growing.mjs', {}, {}) })).attach()
    const before = listAt((await asking(client, 'tools/list')).value, 'result', 'tools')
    assert.deepEqual(await listening(client, 'a', { toolsListChanged: true }), { toolsListChanged: true })
    assert.deepEqual(await listening(client, 'b', { toolsListChanged: true, promptsListChanged: true }), {
      toolsListChanged: true,
      promptsListChanged: true,
    })
    const changed = 'notifications/tools/list_changed'
    const heard = [
      client.notification(changed, ofSubscription('a')),
      client.notification(changed, ofSubscription('b')),
    ]
    await asking(client, 'tools/call', { name: 's__grow' })
    await Promise.all(heard)
    const after = listAt((await asking(client, 'tools/list')).value, 'result', 'tools')
    assert.equal(after.length, before.length + 1)
  })

  test('is told with a result that the proxy ends', async (t) => {
    const { proxy, attach } = await libraryProxy(t, { s: itServer() })
    const { client } = await attach()
    await asking(client, 'tools/list')
    await listening(client, 5, { toolsListChanged: true })
    const answer = client.answer(5)
    void proxy.close()
    assert.equal(textAt((await answer).value, 'result', 'resultType'), 'complete')
  })

  test('over HTTP hears on the response to its request, until it closes that', async (t) => {
    const gateway = await gatewayOf(t, { mcpServers: { s: itServer() } })
    const call = async (name: string, args: object): Promise<unknown> => {
      const params = { name, arguments: args }
      const { body } = await sendStateless(gateway.port, { method: 'tools/call', params })
      return said({ text: '', value: messageIn(body) })
    }
    // A server that is still starting is left out of what is heard.
    await call('s__nonce', { n: 'x' })
    const method = 'subscriptions/listen'
    const notifications = { resourceSubscriptions: ['it://server/a'] }
    const stream = await open(gateway.port, {
      body: message(method, 'h', { notifications, _meta: claim() }),
      headers: requestFields(method),
    })
    const reader = new EventReader(stream)
    const first = await reader.next()
    assert.equal(textAt(parsed(first?.data ?? ''), 'method'), acknowledged)
    await call('s__tell', { method: updated, params: { uri: 'it://server/a/below' } })
    const second = parsed((await reader.next())?.data ?? '')
    assert.deepEqual(at(second, 'params'), {
      _meta: { [metaKey('subscriptionId')]: 'h' },
      uri: 'it://server/a/below',
    })
    stream.destroy()
    await once(stream, 'close')
    const seen = async (): Promise<boolean> =>
      listAt(await call('s__seen', {}), 'lines').some((line) =>
        Buffer.from(String(line), 'base64').toString().includes('resources/unsubscribe'),
      )
    while (!(await seen())) continue
  })
})
