// An address at which a server of the older transport is replaced by one of the newer.

import { strict as assert } from 'node:assert'
import type { ServerResponse } from 'node:http'
import { test } from 'node:test'
import { at } from '../integration/support/json.js'
import { type Seen, answerOf, events, json } from '../transports/support/scripted.js'
import { remote } from './support/remote.js'

const results: Readonly<Record<string, string>> = {
  initialize:
    '{"protocolVersion":"2024-11-05","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}',
  'tools/list': '{"tools":[{"name":"work","inputSchema":{"type":"object"}}]}',
}

const answer = ({ id, rpc }: Seen, work: string): string =>
  answerOf(id, results[String(rpc)] ?? `{"content":[],"by":"${work}"}`)

test('a server that was found to be an older one, and is so no longer, is found again', async (t) => {
  let stream: ServerResponse | undefined
  let isOlder = true
  const { client } = await remote(
    t,
    (seen, response) => {
      if (isOlder && seen.method === 'GET') {
        events(response, 'event: endpoint\ndata: /messages\n\n')
        stream = response
      } else if (isOlder && seen.url === '/messages') {
        response.writeHead(202).end()
        if (seen.id !== undefined) stream?.write(`data: ${answer(seen, 'older')}\n\n`)
      } else if (isOlder || seen.method === 'GET') response.writeHead(405).end()
      else if (seen.id === undefined) response.writeHead(202).end()
      else json(response, answer(seen, 'newer'))
    },
    { retryDelay: 1 },
  )
  const by = async (): Promise<unknown> => at((await client.call('s__work')).value, 'result', 'by')
  assert.equal(await by(), 'older')
  isOlder = false
  stream?.destroy()
  let heard: unknown
  // The first call may be told of the end of the older one.
  for (let tries = 0; heard === undefined && tries < 3; tries++) heard = await by()
  assert.equal(heard, 'newer')
})
