// Invalid answers over HTTP. The client gets an error immediately, since no other answer will come.

import { strict as assert } from 'node:assert'
import { test } from 'node:test'
import type { Heard } from '../integration/support/client.js'
import { textAt } from '../integration/support/json.js'
import { type Handler, events, json } from '../transports/support/scripted.js'
import { remote, toolServer } from './support/remote.js'

function message({ value }: Heard): string {
  return textAt(value, 'error', 'message')
}

const broken: readonly (readonly [title: string, body: (id: string) => string])[] = [
  ['is cut', (id) => `{"jsonrpc":"2.0","id":${id},"result":{"content":[`],
  ['has something behind it', (id) => `{"jsonrpc":"2.0","id":${id},"result":{}} x`],
  ['has a value that JSON has not', (id) => `{"jsonrpc":"2.0","id":${id},"result":{"x":NaN}}`],
  ['does not say that it is JSON-RPC', (id) => `{"id":${id},"result":{}}`],
  ['is long, and cut', (id) => `{"jsonrpc":"2.0","id":${id},"result":{"x":"${'x'.repeat(100_000)}`],
]

const switching: Handler = (_seen, response) =>
  void response.socket?.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n')

function answering(kind: string, body: (id: string) => string): Handler {
  return (seen, response) => {
    const text = body(JSON.stringify(seen.id))
    if (kind === 'JSON') return json(response, text)
    events(response, `data: ${text}\n\n`)
    if (kind === 'an event') response.end()
  }
}

for (const [title, body] of broken)
  for (const kind of ['JSON', 'an event', 'an event of a stream that stays open'])
    test(`an answer of a remote server that ${title} fails the call immediately: ${kind}`, async (t) => {
      const { client } = await remote(t, toolServer(answering(kind, body)), { retryDelay: 1 })
      assert.match(message(await client.call('s__work')), /^'s': its answer is invalid: /)
    })

test('an answer of a remote server that switches protocols fails the call immediately', async (t) => {
  const { client } = await remote(t, toolServer(switching), { retryDelay: 1 })
  assert.match(message(await client.call('s__work')), /switches to another protocol/)
})
