// A cut stream, and a server that does not resume it immediately.

import { strict as assert } from 'node:assert'
import { describe, test } from 'node:test'
import type { Credential } from '../../src/transports/http-client/options.js'
import { type Scope, answerOf, connect, events, scripted } from './support/scripted.js'

async function refusing(
  scope: Scope,
  status: number,
  times: number,
  { first = 'id: e1\nretry: 1\ndata: \n\n' }: { readonly first?: string } = {},
) {
  const resumed: unknown[] = []
  const authorizations: unknown[] = []
  const server = await scripted(scope, (seen, response) => {
    if (seen.method === 'POST') {
      events(response, first)
      response.end()
      return
    }
    resumed.push(seen.headers['last-event-id'])
    authorizations.push(seen.headers.authorization)
    if (resumed.length <= times) response.writeHead(status).end()
    else events(response, `id: e2\ndata: ${answerOf(1)}\n\n`)
  })
  let tokens = 0
  const credential = (): Credential => ({
    fields: ['Authorization', `Bearer ${tokens}`],
    secret: `${tokens}`,
  })
  const opened = connect(scope, server.url, {
    credentials: {
      credential,
      refused: async (sent) => {
        tokens = Number(sent?.secret) + 1
        return 'again'
      },
    },
  })
  opened.request(1, 'work')
  await opened.heard.until(() => opened.heard.messages.length + opened.heard.failures.length > 0)
  return { opened, resumed, authorizations }
}

describe('a stream that is resumed', () => {
  for (const status of [409, 429, 500, 502, 503, 504])
    test(`is asked for again when the server answers ${status}`, async (t) => {
      const { opened, resumed } = await refusing(t, status, 2)
      assert.deepEqual(opened.heard.messages, [answerOf(1)])
      assert.deepEqual(resumed, ['e1', 'e1', 'e1'])
    })

  test('is asked for with new credentials once', async (t) => {
    const { opened, authorizations } = await refusing(t, 401, 1)
    assert.deepEqual(opened.heard.messages, [answerOf(1)])
    assert.deepEqual(authorizations, ['Bearer 0', 'Bearer 1'])
    const { opened: refused, authorizations: tried } = await refusing(t, 401, 9)
    assert.match(String(refused.heard.failures[0]?.error.message), /ended before the answer \(HTTP 401\)/)
    assert.equal(tried.length, 2)
  })

  test('is given up when the server says that it does not know it', async (t) => {
    for (const status of [400, 404, 405]) {
      const { opened, resumed } = await refusing(t, status, 9)
      assert.match(String(opened.heard.failures[0]?.error.message), new RegExp(`answer \\(HTTP ${status}\\)`))
      assert.equal(resumed.length, 1)
    }
  })

  test('is given up after some attempts', async (t) => {
    const { opened, resumed } = await refusing(t, 503, 99)
    assert.match(String(opened.heard.failures[0]?.error.message), /ended before the answer \(HTTP 503\)/)
    assert.equal(resumed.length, 5)
  })

  test('cannot be when its last id is empty', async (t) => {
    const first = 'id: e1\nretry: 1\ndata: \n\nid:\ndata: \n\n'
    const { opened, resumed } = await refusing(t, 200, 0, { first })
    assert.match(String(opened.heard.failures[0]?.error.message), /ended before the answer \(it ended\)$/)
    assert.deepEqual(resumed, [])
  })
})
