// Clients that say with each request what they speak, in front of servers that shake hands.

import { strict as assert } from 'node:assert'
import { describe, test } from 'node:test'
import { limits } from '../../src/index.js'
import { type Heard, type RawClient, said } from './support/client.js'
import { at, listAt, numberAt, parsed, textAt } from './support/json.js'
import { libraryProxy } from './support/library.js'
import { everything, itServer, nodeProgram } from './support/programs.js'
import { claim, metaKey } from './support/claim.js'

const asking = (client: RawClient, method: string, params: object = {}, meta = {}): Promise<Heard> =>
  client.request(method, { ...params, _meta: { ...claim({}, 'c'), ...meta } })

const linesOf = async (client: RawClient): Promise<unknown[]> =>
  listAt(said(await client.call('s__seen')), 'lines').map((line) =>
    parsed(Buffer.from(String(line), 'base64').toString()),
  )

describe('a client without a session', () => {
  test('gets an error for a request in an array, as over HTTP', async (t) => {
    const { client } = await (await libraryProxy(t, { s: itServer() })).attach()
    const answer = client.next('a batch', ({ value }) => Array.isArray(value))
    const own = { jsonrpc: '2.0', id: 1, method: 'tools/list', params: { _meta: claim({}, 'c') } }
    client.send(JSON.stringify([own, { jsonrpc: '2.0', id: 2, method: 'ping' }]))
    const [refused, answered] = listAt((await answer).value)
    const found = [refused, answered].toSorted((one, other) => numberAt(one, 'id') - numberAt(other, 'id'))
    assert.equal(numberAt(found[0], 'error', 'code'), -32600)
    assert.deepEqual(at(found[1], 'result'), {})
  })

  test('calls, and the server sees nothing of what only this client says', async (t) => {
    const { client } = await (await libraryProxy(t, { s: itServer() })).attach()
    const heard = await asking(
      client,
      'tools/call',
      { name: 's__nonce', arguments: { n: 'a' }, inputResponses: { q: {} } },
      { traceparent: '00-1', progressToken: 7 },
    )
    assert.equal(textAt(heard.value, 'result', 'resultType'), 'complete')
    assert.equal(textAt(said(heard), 'n'), 'a')
    const calls = (await linesOf(client)).filter((line) => textAt(line, 'method') === 'tools/call')
    assert.deepEqual(at(calls[0], 'params'), {
      name: 'nonce',
      arguments: { n: 'a' },
      _meta: { traceparent: '00-1', progressToken: 7 },
    })
  })

  test('shares a connection and a server with a session', async (t) => {
    const { client } = await (await libraryProxy(t, { s: itServer() })).attach()
    await asking(client, 'tools/call', { name: 's__nonce', arguments: { n: 'a' } })
    await client.open()
    const inSession = await client.call('s__nonce', { n: 'b' })
    const without = await asking(client, 'tools/call', { name: 's__nonce', arguments: { n: 'c' } })
    assert.equal(textAt(inSession.value, 'result', 'resultType'), '')
    assert.equal(textAt(without.value, 'result', 'resultType'), 'complete')
    assert.equal(numberAt(said(inSession), 'pid'), numberAt(said(without), 'pid'))
  })

  test('hears of log messages where it asks for them with the call, as severe as it asks', async (t) => {
    const { client } = await (await libraryProxy(t, { s: itServer() })).attach()
    const log = (level: string, data: string, wanted?: string): Promise<Heard> => {
      const params = { method: 'notifications/message', params: { level, data } }
      const meta = wanted === undefined ? {} : { [metaKey('logLevel')]: wanted }
      return asking(client, 'tools/call', { name: 's__tell', arguments: params }, meta)
    }
    await log('error', 'not asked for')
    await log('info', 'not severe enough', 'warning')
    await log('warning', 'as severe', 'warning')
    await log('debug', 'now', 'debug')
    await log('error', 'not asked for again')
    const logged = client.heard.filter(({ value }) => textAt(value, 'method') === 'notifications/message')
    assert.deepEqual(
      logged.map(({ value }) => textAt(value, 'params', 'data')),
      ['as severe', 'now'],
    )
    const levels = (await linesOf(client)).filter((line) => textAt(line, 'method') === 'logging/setLevel')
    assert.deepEqual(
      levels.map((line) => textAt(line, 'params', 'level')),
      ['warning', 'debug'],
    )
  })

  test('is shown with what it says of itself', async (t) => {
    const { proxy, attach } = await libraryProxy(t, { s: itServer({}, { lazy: true }) })
    const { client } = await attach()
    await asking(client, 'tools/list')
    const [shown] = proxy.sessions()
    assert.deepEqual([shown?.client?.name, shown?.revision], ['c', '2026-07-28'])
    await client.open()
    assert.notEqual(proxy.sessions()[0]?.revision, '2026-07-28', 'a session says more')
  })
})

describe('a client that asks what there is', () => {
  test('is answered before any server has, and starts none', async (t) => {
    const { client } = await (await libraryProxy(t, { s: itServer({}, { lazy: true }) })).attach()
    const { value } = await asking(client, 'server/discover')
    const result = at(value, 'result')
    assert.deepEqual(result, {
      resultType: 'complete',
      supportedVersions: ['2026-07-28'],
      capabilities: {
        tools: { listChanged: true },
        prompts: { listChanged: true },
        resources: { subscribe: true, listChanged: true },
        logging: {},
        completions: {},
      },
      ttlMs: 0,
      cacheScope: 'private',
      _meta: { [metaKey('serverInfo')]: at(result, '_meta', metaKey('serverInfo')) },
    })
    assert.equal(textAt(result, '_meta', metaKey('serverInfo'), 'name'), 'mcps-proxy')
  })

  test('hears what servers have said', async (t) => {
    const { client } = await (await libraryProxy(t, { e: everything })).attach()
    await asking(client, 'tools/list')
    const { value } = await asking(client, 'server/discover')
    assert.notEqual(textAt(value, 'result', 'instructions'), '')
    assert.equal(numberAt(value, 'result', 'ttlMs'), 60_000)
  })
})

test('a list without a session is out of date at once, whatever its servers say', async (t) => {
  const small = { ...limits, session: { ...limits.session, listPageBytesMax: 1 } }
  const servers = { a: nodeProgram('hinted.mjs', { HINTED_MS: '60000' }, {}) }
  const { client } = await (await libraryProxy(t, servers, { limits: small })).attach()
  const first = await asking(client, 'tools/list')
  const second = await asking(client, 'tools/list', { cursor: textAt(first.value, 'result', 'nextCursor') })
  for (const { value } of [first, second]) {
    assert.equal(numberAt(value, 'result', 'ttlMs'), 0)
    assert.equal(textAt(value, 'result', 'cacheScope'), 'private')
  }
})
