// Clients without a session that keep a request open to hear of changes.

import { strict as assert } from 'node:assert'
import { once } from 'node:events'
import { describe, test } from 'node:test'
import { EventReader, message, messageIn, open } from '../transports/support/http.js'
import { type Heard, type RawClient, said } from './support/client.js'
import { at, listAt, parsed, textAt } from './support/json.js'
import { libraryProxy } from './support/library.js'
import { itServer } from './support/programs.js'
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

/** One listener in all. */
const updated = 'notifications/resources/updated'

describe('a client that listens', () => {
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
