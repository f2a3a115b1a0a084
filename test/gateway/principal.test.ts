// Whose a client is: found by its token, the same on every instance, and known to the session that serves it.

import assert from 'node:assert'
import { describe, test } from 'node:test'
import { httpServer } from '../../src/index.js'
import type { ClientOrigin } from '../../src/mcp/client-context.js'
import { realRuntime } from '../../src/real-runtime.js'
import { type Scope, ScriptedSession, front, message, send, usual } from '../transports/support/http.js'

const bearer = (token: string): Record<string, string> => ({ authorization: `Bearer ${token}` })

const foundLater = async (token: string): Promise<string | undefined> =>
  token === 'wrong' ? undefined : token

/** An instance whose token this is; gives whose its one client is. */
async function principalAt(scope: Scope, token: string): Promise<string | undefined> {
  const sessions: ScriptedSession[] = []
  const served = {
    attach: (connection: ScriptedSession['connection'], { principal = '' }: ClientOrigin = {}) => {
      const session = new ScriptedSession(connection, usual, { principal })
      sessions.push(session)
      return Promise.resolve(session)
    },
    status: () => [],
    sessions: () => [],
    isBound: () => false,
  }
  const around = { name: 'one', log: () => undefined, runtime: realRuntime() }
  const serving = await httpServer({ port: 0, token }).serve(served, around)
  scope.after(() => serving.close())
  const asked = { body: message('echo', 1), headers: bearer(token) }
  assert.equal((await send(serving.port, asked)).status, 200)
  return sessions[0]?.principal
}

describe('a principal', () => {
  test('is the same for a token on every instance, another for another one, and does not show it', async (t) => {
    const [one, again, other] = await Promise.all(
      ['canary-a', 'canary-a', 'canary-b'].map((token) => principalAt(t, token)),
    )
    assert.equal(one, again)
    assert.notEqual(one, other)
    assert.match(one ?? '', /^bearer [\w-]{43}$/)
  })

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
