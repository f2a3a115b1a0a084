// The first answer determines the HTTP transport.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { answerOf, connect, events, scripted } from './support/scripted.js'

test('a server that refuses the first POST is asked for its stream, and one that has none is described by the first refusal', async (t) => {
  for (const isOlder of [true, false]) {
    const found: boolean[] = []
    const server = await scripted(t, (seen, response) => {
      if (seen.url === '/messages') {
        response.writeHead(202).end()
        return void stream?.write(`data: ${answerOf(seen.id)}\n\n`)
      }
      if (seen.method === 'POST' || !isOlder) return void response.writeHead(405).end('only here')
      events(response, 'event: endpoint\ndata: /messages\n\n')
      stream = response
    })
    let stream: { write(text: string): unknown } | undefined
    const onOlder = (is: boolean): void => void found.push(is)
    const { heard, request, connection } = connect(t, server.url, {}, { older: 'maybe', onOlder })
    request(1, 'initialize')
    await heard.until(() => heard.messages.length === 1 || heard.closed !== undefined)
    assert.deepEqual(heard.messages, isOlder ? [answerOf(1)] : [])
    const facts = [found, heard.closed?.cause?.details?.['status']]
    assert.deepEqual(facts, [[isOlder], isOlder ? undefined : 405])
    await connection.close()
  }
})
