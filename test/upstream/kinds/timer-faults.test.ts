// An error in a timer of one server affects only that server.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { enter, scripted, simple, timed } from '../../integration/support/scripted.js'

test('a fault in a timer of a server ends the connections of that server alone, and its next call opens another', async (t) => {
  const messages: string[] = []
  const log = ({ service = '', message }: { readonly service?: string; readonly message: string }): void =>
    void messages.push(`${service}: ${message}`)
  const it = await scripted(t, { a: { idleTimeout: 5000 }, b: {} }, simple, { log })
  const party = await enter(it)
  const text = async (name: string): Promise<string> =>
    (await timed(it, party.client.call(`${name}__t`))).heard.text
  assert.match(await text('a'), /"text":"a"/)
  assert.match(await text('b'), /"text":"b"/)
  const { runtime } = it
  const now = runtime.now.bind(runtime)
  let faults = 0
  await runtime.pass(4000)
  // The callback of the idle timer reads the clock first.
  runtime.now = () => {
    if (faults++ === 0) throw new Error('a fault')
    return now()
  }
  await runtime.pass(5000)
  assert.ok(faults > 0)
  assert.ok(messages.includes('a: internal error: its connections are opened anew'), messages.join('\n'))
  assert.match(await text('a'), /"text":"a"/)
  assert.match(await text('b'), /"text":"b"/)
  assert.equal(runtime.children.filter(({ command }) => command === 'b').length, 1)
  assert.equal(runtime.children.filter(({ command }) => command === 'a').length, 2)
})
