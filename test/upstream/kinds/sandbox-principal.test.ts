// The principal that the sandbox receives with a call does not depend on what the client has written.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { splice } from '../../../src/jsonrpc/splice.js'
import { Call } from '../../../src/calls/call.js'
import { noCapabilities } from '../../../src/mcp/capabilities.js'
import { sessionWriter } from '../../../src/mcp/eras/server-writers.js'
import { latestSession, latestStateless } from '../../../src/mcp/revisions.js'
import { principalWriter } from '../../../src/upstream/kinds/sandbox.js'
import { requestOf } from '../../jsonrpc/support/frames.js'
import { callOf, nobody } from '../support/calls.js'

const writer = principalWriter(sessionWriter)

/** A call of a client of 2026-07-28 if `params` has that revision. */
function callWith(method: string, params: string): Call {
  const revision = params.includes('2026-07-28') ? latestStateless : latestSession
  const client = { ...nobody, profile: { principal: 'ann', revision, capabilities: noCapabilities } }
  const call = callOf('1', 0, { method, client })
  call.frame = requestOf(`{"jsonrpc":"2.0","id":1,"method":"${method}","params":${params}}`)
  return call
}

const said = '"mcps-proxy/principal":"ann"'
const typed = '"io.modelcontextprotocol/protocolVersion":"2026-07-28"'

const cases: readonly (readonly [title: string, params: string, want: string])[] = [
  ['no _meta', '{"name":"t"}', `{"_meta":{${said}},"name":"t"}`],
  ['no member', '{}', `{"_meta":{${said}}}`],
  ['an empty _meta', '{"_meta":{},"name":"t"}', `{"_meta":{${said}},"name":"t"}`],
  ['another member', '{"_meta":{"a":1}}', `{"_meta":{${said},"a":1}}`],
  ['a principal of its own', '{"_meta":{"mcps-proxy/principal":"bob"}}', `{"_meta":{${said}}}`],
  ['in between', '{"_meta":{"a":1,"mcps-proxy/principal":"bob","b":2}}', `{"_meta":{${said},"a":1,"b":2}}`],
  ['one behind another', '{"_meta":{"a":1,"mcps-proxy/principal":"bob"}}', `{"_meta":{${said},"a":1}}`],
  ['an escaped one', '{"_meta":{"mcps-proxy\\/principal":"bob"}}', `{"_meta":{${said}}}`],
  ['no object', '{"_meta":5}', `{"_meta":{${said}}}`],
  ['members of its era', `{"_meta":{${typed},"a":1}}`, `{"_meta":{${said},"a":1}}`],
  ['nothing but members of its era', `{"_meta":{${typed}}}`, `{"_meta":{${said}}}`],
]

for (const [title, params, want] of cases)
  test(`a call to the sandbox of a client that has written ${title} names its principal`, () => {
    const call = callWith('tools/call', params)
    const line = splice(call.frame.line, writer.edits(call)).toString()
    assert.equal(line, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":${want}}`)
  })

test('a call to the sandbox names none where no session is meant', () =>
  assert.deepEqual(writer.edits(callWith('tools/list', '{}')), []))
