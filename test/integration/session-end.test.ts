// How a session begins and ends, and how its bytes may be cut.

import { strict as assert } from 'node:assert'
import { once } from 'node:events'
import { describe, test } from 'node:test'
import { type RawClient, said } from './support/client.js'
import { at, listAt, numberAt, textAt } from './support/json.js'
import { itServer } from './support/programs.js'
import { spawnProxy } from './support/spawned.js'
import { gone, until } from './support/waiting.js'

const initialize = (revision: string): string =>
  `{"jsonrpc":"2.0","id":"init","method":"initialize","params":{"protocolVersion":"${revision}","capabilities":{},"clientInfo":{"name":"i","version":"1"}}}`
const initialized = '{"jsonrpc":"2.0","method":"notifications/initialized"}'
const nonce = (id: string, n: string): string =>
  `{"jsonrpc":"2.0","id":${id},"method":"tools/call","params":{"name":"s__nonce","arguments":{"n":"${n}"}}}`

describe('the end of a session', () => {
  test('end of file at once', async (t) => {
    assert.equal(await spawnProxy(t, { s: itServer() }).finish(), 0)
  })

  test('a client that closes our stdout ends the session', async (t) => {
    const proxy = spawnProxy(t, { s: itServer() })
    await proxy.client.open()
    const pid = await proxy.client.pidOf('s__nonce')
    proxy.child.stdout.destroy()
    for (let i = 0; i < 10; i++) proxy.client.send(nonce(String(100 + i), 'x'))
    await once(proxy.child, 'exit')
    await until(() => gone(pid))
  })
})

async function whole(client: RawClient): Promise<void> {
  await client.some('the last answer', ({ value }) => at(value, 'id') === 3)
  assert.equal(client.answersTo('init'), 1)
  for (const id of [1, 2, 3]) assert.equal(client.answersTo(id), 1)
}

describe('the bytes of a session', () => {
  test('lines that end with CR LF, blank lines, also of white space, and no line feed at the end', async (t) => {
    const proxy = spawnProxy(t, { s: itServer() })
    proxy.write(
      `\r\n\n \t\n${[initialize('2025-06-18'), initialized, nonce('1', 'a'), '', nonce('2', 'b'), nonce('3', 'c')].join('\r\n')}`,
    )
    assert.equal(await proxy.finish(), 0)
    await whole(proxy.client)
    assert.equal(proxy.client.heard.length, 4)
  })

  test('a message on several lines is refused, and the next one served', async (t) => {
    const proxy = spawnProxy(t, { s: itServer() })
    await proxy.client.open()
    proxy.write(`${JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping' }, null, 2)}\n`)
    const answer = await proxy.client.call('s__nonce', { n: 'x' })
    assert.equal(textAt(said(answer), 'n'), 'x')
    const errors = proxy.client.heard.filter(({ value }) => at(value, 'error') !== undefined)
    assert.equal(errors.length, 5)
    // `"jsonrpc": "2.0",` is no JSON; what is JSON by accident is no message.
    for (const { value } of errors) assert([-32700, -32600].includes(numberAt(value, 'error', 'code')))
    assert(errors.every(({ value }) => at(value, 'id') === null || at(value, 'id') === undefined))
  })
})

describe('batches', () => {
  test('2025-03-26: initialize is refused in a batch, and the others of the batch are served', async (t) => {
    const { client } = spawnProxy(t, { s: itServer() })
    const answer = client.next('a batch', ({ value }) => Array.isArray(value))
    const params =
      '{"protocolVersion":"2025-03-26","capabilities":{},"clientInfo":{"name":"c","version":"1"}}'
    client.send(
      `[{"jsonrpc":"2.0","id":1,"method":"initialize","params":${params}},{"jsonrpc":"2.0","id":2,"method":"ping"}]`,
    )
    const [opened, ping] = listAt({ value: (await answer).value }, 'value')
    assert.deepEqual([at(opened, 'id'), at(opened, 'error', 'code')], [1, -32600])
    assert.deepEqual([at(ping, 'id'), at(ping, 'result')], [2, {}])
    await client.open({}, '2025-03-26')
  })

  test('2025-03-26: an id twice in one batch costs the second and not the others', async (t) => {
    const proxy = spawnProxy(t, { s: itServer() })
    await proxy.client.open({}, '2025-03-26')
    const answer = proxy.client.next('a batch', ({ value }) => Array.isArray(value))
    proxy.client.send(`[${nonce('1', 'first')},${nonce('1', 'second')},${nonce('2', 'third')}]`)
    const { value } = await answer
    const all = listAt({ value }, 'value')
    assert.equal(all.length, 3)
    assert.equal(all.filter((each) => at(each, 'error', 'code') === -32600).length, 1)
    assert.equal(
      proxy.client.heard.filter((heard) => at(heard.value, 'id') === 1).length,
      1,
      'only initialize',
    )
  })

  test('2025-03-26: a batch with an id that is in flight outside, and a cancelled one', async (t) => {
    const proxy = spawnProxy(t, { s: itServer() })
    await proxy.client.open({}, '2025-03-26')
    const held = proxy.client.call('s__hold', { key: 'k' }, undefined, 'h')
    const answer = proxy.client.next('a batch', ({ value }) => Array.isArray(value))
    const never = '{"jsonrpc":"2.0","id":"never","method":"tools/call","params":{"name":"s__never"}}'
    proxy.client.send(`[${nonce('"h"', 'again')},${nonce('"n"', 'n')},${never}]`)
    proxy.client.notify('notifications/cancelled', { requestId: 'never' })
    const ids = listAt({ value: (await answer).value }, 'value').map((each) => at(each, 'id'))
    assert.deepEqual(new Set(ids), new Set(['h', 'n']))
    await proxy.client.call('s__release', { key: 'k' })
    assert.equal(textAt(said(await held), 'n'), 'k')
  })
})
