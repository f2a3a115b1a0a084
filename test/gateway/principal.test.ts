// Whose a client is: found by its token, the same on every instance, and known to the session that serves it.

import assert from 'node:assert'
import { describe, test } from 'node:test'
import { front, message, send } from '../transports/support/http.js'

const bearer = (token: string): Record<string, string> => ({ authorization: `Bearer ${token}` })

const foundLater = async (token: string): Promise<string | undefined> =>
  token === 'wrong' ? undefined : token

describe('a principal', () => {
  test('may be found later: nobody is attached before', async (t) => {
    const waiting: ((principal: string) => void)[] = []
    const principalOf = (): Promise<string> => new Promise((resolve) => waiting.push(resolve))
    const { port, sessions } = await front(t, { principalOf })
    const asked = send(port, { body: message('echo', 1), headers: bearer('a') })
    await send(port, { path: '/health', method: 'GET' })
    assert.equal(sessions.length, 0)
    for (const resolve of waiting) resolve('me')
    assert.equal((await asked).status, 200)
    assert.equal(sessions[0]?.principal, 'me')
  })

  test('that is found later lets in only who it is', async (t) => {
    const { port, sessions } = await front(t, { principalOf: foundLater })
    assert.equal((await send(port, { body: message('echo', 1), headers: bearer('wrong') })).status, 401)
    const opening = message('initialize', 0, { protocolVersion: '2025-06-18' })
    const opened = await send(port, { body: opening, headers: bearer('a') })
    const session = { 'mcp-session-id': String(opened.headers['mcp-session-id']) }
    const asking = async (token: string): Promise<number> =>
      (await send(port, { body: message('echo', 1), headers: { ...session, ...bearer(token) } })).status
    assert.deepEqual([await asking('a'), await asking('b')], [200, 404])
    assert.deepEqual(
      sessions.map(({ principal }) => principal),
      ['a'],
    )
  })
})
