// A server that answers on its standalone stream, and leaves the streams of the requests open.

import { strict as assert } from 'node:assert'
import type { ServerResponse } from 'node:http'
import { test } from 'node:test'
import { answerOf, connect, events, json, scripted } from './support/scripted.js'

test('an answer on the stream of the server gives back the connection of its request, and of no other', async (t) => {
  const streams: ServerResponse[] = []
  const open = new Set<unknown>()
  const server = await scripted(t, (seen, response) => {
    if (seen.method === 'GET') {
      events(response, ': hello\n\n')
      streams.push(response)
    } else if (seen.rpc === 'initialize') json(response, answerOf(seen.id))
    else if (seen.id === undefined || seen.rpc === 'accepted') response.writeHead(202).end()
    else {
      events(response, ': wait\n\n')
      open.add(seen.id)
      response.once('close', () => open.delete(seen.id))
    }
  })
  const { heard, request, send } = connect(t, server.url)
  request(0, 'initialize')
  await heard.until(() => heard.messages.length === 1)
  send('{"jsonrpc":"2.0","method":"notifications/initialized"}')
  await heard.until(() => streams.length === 1)
  for (const id of [1, 2, 3]) request(id, 'work')
  await heard.until(() => open.size === 3)
  streams[0]?.write(`data: ${answerOf(2)}\n\ndata: {"jsonrpc":"2.0","id":1,"method":"ping"}\n\n`)
  await heard.until(() => open.size === 2 && heard.messages.length === 3)
  assert.deepEqual([...open], [1, 3])
  assert.deepEqual(heard.messages.slice(1, 2), [answerOf(2)])
  request(4, 'accepted')
  await heard.until(() => server.seen.some(({ rpc }) => rpc === 'accepted'))
  streams[0]?.write(`data: ${answerOf(4)}\n\n`)
  await heard.until(() => heard.messages.length === 4)
  assert.deepEqual([heard.messages[3], heard.failures], [answerOf(4), []])
})
