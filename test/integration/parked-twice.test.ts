// Clients without a session that come back twice, too late, or in other words, while servers ask.

import { strict as assert } from 'node:assert'
import { describe, test } from 'node:test'
import { accepted, forms, reasonOf, stage, textOf } from './support/asking.js'
import { claim } from './support/claim.js'
import { at, textAt } from './support/json.js'
import { closed } from './support/scripted.js'
import { settled } from '../upstream/support/fake-runtime.js'

const args = (letter: string): object => ({ text: `${'a'.repeat(8000)}${letter}${'a'.repeat(8000)}`, n: 1 })

describe('a client that comes back', () => {
  test('again after it has cancelled is told so', async (t) => {
    const { it, server, client, ask, begin } = await stage(t, (asking) => {
      asking.finishes = false
    })
    const more = { requestState: (await begin()).state, inputResponses: { q1: accepted } }
    const params = { name: 's__t', ...more, _meta: claim(forms) }
    client.send(JSON.stringify({ jsonrpc: '2.0', id: 'x', method: 'tools/call', params }))
    await it.runtime.pass(100, 10)
    client.notify('notifications/cancelled', { requestId: 'x' })
    await settled()
    assert.equal(reasonOf(await ask({ name: 's__t', ...more })), 'state-unknown')
    assert.equal(server.calls.length, 1)
    await closed(it)
  })

  test('twice while the server is at work is told that the state was used', async (t) => {
    const { it, server, client, begin } = await stage(t, (asking) => {
      asking.finishes = false
    })
    const more = { requestState: (await begin()).state, inputResponses: { q1: accepted } }
    const params = { name: 's__t', ...more, _meta: claim(forms) }
    const [first, second] = [client.answer('x'), client.answer('y')]
    for (const id of ['x', 'y'])
      client.send(JSON.stringify({ jsonrpc: '2.0', id, method: 'tools/call', params }))
    await it.runtime.pass(100, 10)
    assert.equal(reasonOf((await second).value), 'state-unknown')
    server.finish()
    assert.equal(textOf((await first).value), 'done')
    await closed(it)
  })

  test('to more calls in a minute than may wait at once is served', async (t) => {
    const { it, server, ask, begin } = await stage(t)
    for (let count = 1; count <= 40; count++) {
      const { state } = await begin()
      assert.equal(
        textOf(await ask({ name: 's__t', requestState: state, inputResponses: { q1: accepted } })),
        'done',
      )
      assert.equal(server.answers.length, count)
    }
    await closed(it)
  })

  test('with an answer of a megabyte to a question of as much', async (t) => {
    const long = 'é"\\'.repeat(300_000)
    const { it, server, ask, begin } = await stage(t, (asking) => {
      asking.rounds = [
        [JSON.stringify({ method: 'elicitation/create', params: { message: long, requestedSchema: {} } })],
      ]
    })
    const { asked, state } = await begin()
    assert.equal(textAt(asked, 'inputRequests', 'q1', 'params', 'message'), long)
    const answer = { action: 'accept', content: { name: long } }
    const params = { name: 's__t', requestState: state }
    assert.equal(textOf(await ask({ ...params, inputResponses: { q1: answer } })), 'done')
    assert.deepEqual(at(server.answers[0], 'result'), answer)
    await closed(it)
  })

  test('with long arguments that differ in the middle only is refused', async (t) => {
    const { it, server, ask } = await stage(t)
    const asked = at(await ask({ name: 's__t', arguments: args('b') }), 'result')
    const more = { requestState: textAt(asked, 'requestState'), inputResponses: { q1: accepted } }
    assert.equal(reasonOf(await ask({ name: 's__t', arguments: args('c'), ...more })), 'state-other-request')
    const { text } = Object(args('b'))
    assert.equal(textOf(await ask({ name: 's__t', arguments: { n: 1, text }, ...more })), 'done')
    assert.equal(server.calls.length, 1)
    await closed(it)
  })

  test('is told of as a client of the server that asked', async (t) => {
    const { it, ask, begin } = await stage(t)
    const servers: (string | undefined)[] = []
    it.proxy.on('call', ({ server }) => servers.push(server))
    const { state } = await begin()
    const params = { name: 's__t', requestState: state, inputResponses: { q1: accepted } }
    await ask(params)
    assert.deepEqual(servers, ['s', 's'])
    await closed(it)
  })
})
