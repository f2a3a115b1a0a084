// Event streams that have moved within their server.

import { strict as assert } from 'node:assert'
import { EventEmitter, once } from 'node:events'
import type { ServerResponse } from 'node:http'
import { test } from 'node:test'
import { at, textAt } from '../integration/support/json.js'
import { libraryProxy } from '../integration/support/library.js'
import { INIT, TOOLS } from '../transports/support/one-tool.js'
import { type Handler, answerOf, events, json, scripted } from '../transports/support/scripted.js'
import { remote } from './support/remote.js'

/** A server of HTTP+SSE below `/sse/`. `/sse` redirects there with this status. */
function older(status: number, location: string): Handler {
  const streams = new Map<string, ServerResponse>()
  let last = 0
  return (seen, response) => {
    const [path = '', id = ''] = seen.url.split('?')
    if (path === '/sse') return void response.writeHead(status, { location }).end()
    if (seen.method === 'GET') {
      const own = String(++last)
      streams.set(own, response)
      return events(response, `event: endpoint\ndata: messages?${own}\n\n`)
    }
    if (path !== '/sse/messages') return void response.writeHead(405).end()
    response.writeHead(202).end()
    const results = new Map<unknown, string>([
      ['initialize', INIT],
      ['tools/list', TOOLS],
      ['tools/call', '{"content":[]}'],
    ])
    const result = results.get(seen.rpc)
    if (result !== undefined) streams.get(id)?.write(`data: ${answerOf(seen.id, result)}\n\n`)
  }
}

for (const status of [301, 302, 303, 307, 308])
  for (const type of status === 307 ? ['sse', 'http'] : ['sse'])
    test(`/sse leads to /sse/ with ${status}, configured as ${type}`, async (t) => {
      const script = await scripted(t, older(status, '/sse/'))
      const headers = { Authorization: 'Bearer CANARY-1234' }
      const url = new URL('/sse', script.url).href
      const { attach } = await libraryProxy(t, { s: { type, url, headers } })
      const clients = [await attach(), await attach()]
      for (const { client } of clients) await client.open()
      for (const { client } of clients)
        assert.deepEqual(at((await client.call('s__work')).value, 'result'), { content: [] })
      assert.ok(script.seen.every((each) => each.headers.authorization === headers.Authorization))
    })

test('/sse leads elsewhere, where nothing is sent', async (t) => {
  const other = await scripted(t, (_seen, response) => json(response, '{}'))
  const script = await scripted(t, older(307, other.url.href))
  const { attach } = await libraryProxy(t, { s: { type: 'sse', url: new URL('/sse', script.url).href } })
  const { client } = await attach()
  await client.open()
  const { value } = await client.call('s__work')
  const message = textAt(value, 'error', 'message')
  assert.match(message, /redirects to http:\/\/127\.0\.0\.1:\d+ \(HTTP 307\), which is not followed/)
  assert.deepEqual(other.seen, [])
})

test('the stream of a session that has moved brings what the server says unasked', async (t) => {
  const opened = new EventEmitter()
  const stream = once(opened, 'stream')
  let asked = 0
  const { client } = await remote(t, (seen, response) => {
    if (seen.method === 'GET' && seen.url === '/mcp')
      return void response.writeHead(307, { location: '/mcp/' }).end()
    if (seen.method === 'GET') {
      events(response, ': here\n\n')
      return void opened.emit('stream', response)
    }
    if (seen.rpc === 'initialize')
      json(response, answerOf(seen.id, INIT.replace('"tools":{}', '"tools":{"listChanged":true}')))
    else if (seen.rpc === 'tools/list')
      json(response, answerOf(seen.id, asked++ === 0 ? TOOLS : TOOLS.replace('work', 'play')))
    else response.writeHead(seen.method === 'DELETE' ? 405 : 202).end()
  })
  const [response] = await stream
  response.write('data: {"jsonrpc":"2.0","method":"notifications/tools/list_changed"}\n\n')
  const text = async (): Promise<string> => (await client.request('tools/list')).text
  while (!(await text()).includes('play')) await new Promise((resolve) => setImmediate(resolve))
})
