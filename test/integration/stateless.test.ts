// Clients that say with each request what they speak, in front of servers that shake hands.

import { strict as assert } from 'node:assert'
import { describe, test } from 'node:test'
import { limits } from '../../src/index.js'
import { type Heard, type RawClient } from './support/client.js'
import { at, numberAt, textAt } from './support/json.js'
import { libraryProxy } from './support/library.js'
import { everything, itServer, nodeProgram } from './support/programs.js'
import { claim, metaKey } from './support/claim.js'

const asking = (client: RawClient, method: string, params: object = {}, meta = {}): Promise<Heard> =>
  client.request(method, { ...params, _meta: { ...claim({}, 'c'), ...meta } })

describe('a client without a session', () => {
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
