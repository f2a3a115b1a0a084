// Notifications of a remote server are lost while no stream is open, so the proxy lists again.

import { strict as assert } from 'node:assert'
import type { ServerResponse } from 'node:http'
import { test } from 'node:test'
import { listAt, textAt } from '../integration/support/json.js'
import { until } from '../integration/support/waiting.js'
import { answerOf, events, json, scripted } from '../transports/support/scripted.js'
import { remote } from './support/remote.js'

/** A server that announces list changes only on its standalone stream. */
class Changing {
  readonly streams: { readonly response: ServerResponse; readonly lastEventId: unknown }[] = []
  /** Callbacks that answer waiting GET requests. */
  #open: (() => void)[] = []
  tools = ['one']
  listed = 0
  readonly #tells: boolean
  readonly #holdsBack: boolean

  constructor({ tells = true, holdsBack = false } = {}) {
    this.#tells = tells
    this.#holdsBack = holdsBack
  }

  readonly handler: Parameters<typeof scripted>[1] = (seen, response) => {
    if (seen.rpc === 'initialize') {
      const capabilities = `{"tools":{"listChanged":${this.#tells}}}`
      const result = `{"protocolVersion":"2025-06-18","capabilities":${capabilities},"serverInfo":{"name":"s","version":"1"}}`
      json(response, answerOf(seen.id, result), 200, { 'mcp-session-id': 's' })
    } else if (seen.rpc === 'tools/list') {
      this.listed++
      const tools = this.tools.map((name) => `{"name":"${name}","inputSchema":{"type":"object"}}`)
      json(response, answerOf(seen.id, `{"tools":[${tools.join()}]}`))
    } else if (seen.method === 'GET') {
      const { 'last-event-id': lastEventId } = seen.headers
      this.streams.push({ response, lastEventId })
      this.#open.push(() => events(response, ': listening\n\n'))
      if (!this.#holdsBack) this.open()
    } else response.writeHead(202).end()
  }

  open(): void {
    for (const open of this.#open.splice(0)) open()
  }
}

const server = { retries: 0, retryDelay: 5, reconnectInterval: 5 }

test('a change before the server is first listened to is found', async (t) => {
  const changing = new Changing({ holdsBack: true })
  const { client } = await remote(t, changing.handler, { ...server })
  await until(() => changing.listed === 1 && changing.streams.length === 1)
  assert.equal(listAt((await client.request('tools/list')).value, 'result', 'tools').length, 1)
  // No stream is open, so this change is not announced.
  changing.tools = ['one', 'two']
  const changed = client.notification('notifications/tools/list_changed')
  changing.open()
  await changed
  assert.equal(listAt((await client.request('tools/list')).value, 'result', 'tools').length, 2)
})

test('a change while the stream of the server is lost is found, unless it can say it again', async (t) => {
  const changing = new Changing()
  const { client } = await remote(t, changing.handler, { type: 'http', ...server })
  await until(() => changing.listed === 2)
  await client.request('tools/list')
  changing.tools = ['one', 'two']
  const changed = client.notification('notifications/tools/list_changed')
  changing.streams.at(-1)?.response.end()
  await changed
  await until(() => changing.listed === 3)
  await client.request('tools/list')
  const last = changing.streams.at(-1)?.response
  const told = client.next('a change', ({ value }) => textAt(value, 'method').endsWith('/list_changed'))
  changing.tools = ['three']
  last?.end('id: 7\ndata: {"jsonrpc":"2.0","method":"notifications/tools/list_changed"}\n\n')
  await told
  await until(() => changing.streams.at(-1)?.lastEventId === '7')
  // A round trip without another list request.
  await client.request('ping')
  assert.equal(changing.listed, 4)
})
