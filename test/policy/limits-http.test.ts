// A call over its limit through the HTTP front: a status where the request is all there is, else an error.

import { strict as assert } from 'node:assert'
import { describe, test } from 'node:test'
import { claim } from '../integration/support/claim.js'
import { bearer, gatewayOf, requestFields, tokenOf } from '../integration/support/gateway.js'
import { at, numberAt, parsed } from '../integration/support/json.js'
import { itServer, nodeProgram } from '../integration/support/programs.js'
import { EventReader, message, messageIn, open, send } from '../transports/support/http.js'
import type { Scope } from '../integration/support/spawned.js'

const names = ['stateless', 'session', 'sessionless', 'pair']

/** A server of each era; each principal may call each tool once. */
async function gateway(scope: Scope): Promise<number> {
  const { port } = await gatewayOf(scope, {
    server: { tokens: names.map((name) => tokenOf(name, name)) },
    limits: [{ perMinute: 1, each: true }],
    mcpServers: { old: itServer(), new: nodeProgram('typed.mjs', {}, {}) },
  })
  const listed = await send(port, { body: message('tools/list', 1), headers: bearer('session') })
  assert.equal(listed.status, 200)
  return port
}

interface Said {
  readonly status: number
  readonly retryAfter: string | undefined
  readonly message: unknown
}

type Say = (method: string, params: Readonly<Record<string, unknown>>) => Promise<Said>

async function posted(port: number, headers: Record<string, string>, body: string): Promise<Said> {
  const answer = await send(port, { body, headers })
  return { status: answer.status, retryAfter: answer.headers['retry-after'], message: messageIn(answer.body) }
}

const clients: Readonly<Record<string, (port: number, token: Record<string, string>) => Promise<Say>>> = {
  stateless: async (port, token) => (method, params) => {
    const fields = { ...token, ...requestFields(method, params) }
    return posted(port, fields, message(method, 1, { ...params, _meta: claim({}) }))
  },
  session: async (port, token) => {
    const body = message('initialize', 0, { protocolVersion: '2025-11-25', capabilities: {} })
    const { headers } = await send(port, { body, headers: token })
    const session = { ...token, 'mcp-session-id': String(headers['mcp-session-id']) }
    return (method, params) => posted(port, session, message(method, 1, params))
  },
  sessionless: async (port, token) => (method, params) => posted(port, token, message(method, 1, params)),
  pair: async (port, token) => {
    const stream = new EventReader(await open(port, { path: '/sse', method: 'GET', headers: token }))
    const path = (await stream.next())?.data ?? ''
    return async (method, params) => {
      const { status } = await send(port, { path, headers: token, body: message(method, 1, params) })
      assert.equal(status, 202)
      return { status: 200, retryAfter: undefined, message: parsed((await stream.next())?.data ?? '') }
    }
  },
}

describe('over HTTP', () => {
  for (const name of names)
    test(`a ${name} client gets ${name === 'stateless' ? 'HTTP 429' : 'an error'} for a server of either era`, async (t) => {
      const port = await gateway(t)
      const say = await clients[name]?.(port, bearer(name))
      assert(say !== undefined)
      for (const params of [{ name: 'old__nonce', arguments: { n: 'a' } }, { name: 'new__meta' }]) {
        const first = await say('tools/call', params)
        assert.equal(at(first.message, 'error'), undefined, JSON.stringify(first))
        const { status, retryAfter, message: second } = await say('tools/call', params)
        const seconds = numberAt(second, 'error', 'data', 'retryAfterSeconds')
        assert.equal(at(second, 'error', 'data', 'reason'), 'rate-limited')
        assert.equal(numberAt(second, 'id'), 1)
        assert(seconds > 0 && seconds <= 60, String(seconds))
        const wanted = name === 'stateless' ? [429, String(seconds)] : [200, undefined]
        assert.deepEqual([status, retryAfter], wanted)
      }
    })
})
