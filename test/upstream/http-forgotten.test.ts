// Which refusals mean that the server has lost the session, and how often a call is sent again.

import { strict as assert } from 'node:assert'
import { test } from 'node:test'
import { at } from '../integration/support/json.js'
import { json } from '../transports/support/scripted.js'
import { remote, toolServer } from './support/remote.js'

const rpc = (id: unknown, code: number, message: string): string =>
  `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"error":{"code":${code},"message":"${message}"}}`

const forgotten = /has forgotten the session \(HTTP \d+\)/

/** The status and the body of the refusal, how often the call arrives when it is always refused so, and the error. */
const cases: readonly (readonly [string, number, (id: unknown) => string, number, RegExp])[] = [
  [
    'a tool that knows sessions of its own, with 400',
    400,
    (id) => rpc(id, -32602, "Unknown session 'tab-3'"),
    1,
    /"code":-32602,"message":"Unknown session 'tab-3'"/,
  ],
  ['a tool, with 404', 404, (id) => rpc(id, -32002, 'No such file'), 1, /-32002,"message":"No such file"/],
  ['a transport with an id, with 404', 404, (id) => rpc(id, -32001, 'Session not found'), 2, forgotten],
  ['a transport with an id, with 400', 400, (id) => rpc(id, -32000, 'No valid session ID'), 2, forgotten],
  ['words about any session, with 400', 400, () => '{"error":"invalid session cookie"}', 2, forgotten],
  ['nothing but 404', 404, () => '', 2, forgotten],
]

for (const [title, status, body, times, told] of cases)
  test(`a call that is refused by ${title} comes ${times === 1 ? 'once' : `${times} times at most`}`, async (t) => {
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
