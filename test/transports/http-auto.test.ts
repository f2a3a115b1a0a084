// The choice between the two HTTP transports is made once, by the first answer.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { HttpAgent, connectPlain } from '../../src/transports/http1/client.js'
import { HttpLink } from '../../src/transports/http-client/link.js'
import {
  Heard,
  type Scope,
  answerOf,
  bytesOf,
  events,
  json,
  scripted,
  target,
  testLimits,
} from './support/scripted.js'
import { send } from './support/sending.js'

test('a refusal after a first answer is a refusal and nothing more', async (t) => {
  const server = await scripted(t, (seen, response) => {
    if (seen.rpc === 'initialize') json(response, answerOf(seen.id))
    else response.writeHead(404, { 'content-type': 'text/plain' }).end('no')
  })
  const { heard, link } = maybeOlder(t, server.url)
  send(link, bytesOf('{"jsonrpc":"2.0","id":1,"method":"initialize"}'))
  await heard.until(() => heard.messages.length === 1)
  send(link, bytesOf('{"jsonrpc":"2.0","id":2,"method":"work"}'))
  await heard.until(() => heard.failures.length === 1)
  assert.deepEqual([heard.failures[0]?.error.code, server.seen.length], ['TRANSPORT_STATUS', 2])
})

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
    const { heard, link } = maybeOlder(t, server.url, (is) => found.push(is))
    send(link, bytesOf('{"jsonrpc":"2.0","id":1,"method":"initialize"}'))
    await heard.until(() => heard.messages.length === 1 || heard.closed !== undefined)
    assert.deepEqual(heard.messages, isOlder ? [answerOf(1)] : [])
    assert.deepEqual(
      [found, heard.closed?.cause?.details?.['status']],
      [[isOlder], isOlder ? undefined : 405],
    )
    await link.close()
  }
})

function maybeOlder(
  scope: Scope,
  url: URL,
  onOlder: (isOlder: boolean) => void = () => {},
): { heard: Heard; link: HttpLink } {
  const heard = new Heard()
  const agent = new HttpAgent(url, testLimits, connectPlain)
  const link = new HttpLink(target(url), agent, { older: 'maybe', onOlder })
  link.start(heard.sink)
  scope.after(async () => {
    await link.close()
    agent.destroy()
  })
  return { heard, link }
}
