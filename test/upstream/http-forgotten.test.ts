// Refusals that speak of a session: which of them say that ours is forgotten, and how often a call is sent again.

import { strict as assert } from 'node:assert'
import { describe, test } from 'node:test'
import { at } from '../integration/support/json.js'
import { json } from '../transports/support/scripted.js'
import { remote, toolServer } from './support/remote.js'

const rpc = (id: unknown, code: number, message: string): string =>
  `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"error":{"code":${code},"message":"${message}"}}`

interface Case {
  readonly title: string
  readonly status: number
  readonly body: (id: unknown) => string
  /** How often the call came to the server when it refuses it so for ever. */
  readonly times: number
  /** What the client is told. */
  readonly told: RegExp
}

const cases: readonly Case[] = [
  {
    title: 'a tool that knows sessions of its own, with 400',
    status: 400,
    body: (id) => rpc(id, -32602, "Unknown session 'tab-3'"),
    times: 1,
    told: /"code":-32602,"message":"Unknown session 'tab-3'"/,
  },
  {
    title: 'a tool that finds nothing, with 404',
    status: 404,
    body: (id) => rpc(id, -32002, 'No such file'),
    times: 1,
    told: /"code":-32002,"message":"No such file"/,
  },
  {
    title: 'a transport that names the request, with 404',
    status: 404,
    body: (id) => rpc(id, -32001, 'Session not found'),
    times: 2,
    told: /has forgotten the session \(HTTP \d+\)/,
  },
  {
    title: 'a transport that names the request, with 400',
    status: 400,
    body: (id) => rpc(id, -32000, 'Bad Request: No valid session ID provided'),
    times: 2,
    told: /has forgotten the session \(HTTP \d+\)/,
  },
  {
    title: 'words that may be about any session, with 400',
    status: 400,
    body: () => '{"error":"invalid session cookie"}',
    times: 2,
    told: /has forgotten the session \(HTTP \d+\)/,
  },
  {
    title: 'nothing but 404',
    status: 404,
    body: () => '',
    times: 2,
    told: /has forgotten the session \(HTTP \d+\)/,
  },
]

describe('a call of a tool that is refused by', () => {
  for (const { title, status, body, times, told } of cases)
    test(`${title} comes ${times === 1 ? 'once' : `${times} times at most`}`, async (t) => {
      let came = 0
      const { client, script } = await remote(
        t,
        toolServer((seen, response) => {
          came++
          json(response, body(seen.id), status)
        }),
        { retryDelay: 1 },
      )
      const heard = await client.call('s__work')
      const sessions = script.seen.filter(({ rpc }) => rpc === 'initialize').length
      assert.match(JSON.stringify(at(heard.value, 'error')), told)
      assert.deepEqual([came, sessions], [times, times])
      assert.match(heard.text, times === 1 ? /"error"/ : /"reason":"closed"/)
    })
})
