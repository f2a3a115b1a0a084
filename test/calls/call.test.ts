// The memory of a waiting call.

import { strict as assert } from 'node:assert'
import { test } from 'node:test'
import { readFrame } from '../../src/jsonrpc/frame.js'
import { lineAt } from '../../src/jsonrpc/line.js'
import { rawAt } from '../../src/jsonrpc/text.js'
import { Call } from '../../src/calls/call.js'
import { CallDeadline } from '../../src/calls/call-deadline.js'
import { requests } from '../../src/mcp/methods.js'
import { nobody } from '../upstream/support/calls.js'

for (const [what, params] of [
  ['members', '{"name":"t","_meta":{"progressToken":7}}'],
  ['nothing in them', '{"_meta":{}}'],
] as const) {
  test(`a call that is kept lets go of the chunk it came in: params with ${what}`, () => {
    const text = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":${params}}`
    const chunk = Buffer.from(`${text}\n`)
    const frame = readFrame(lineAt(chunk, 0, text.length))
    const row = requests.get('tools/call')
    assert(frame.kind === 'request' && row !== undefined)
    const call = new Call(frame, row, nobody, new CallDeadline(0), { onSettled: () => {} })
    call.keep()
    const kept = call.frame
    chunk.fill(0)
    assert.equal(kept.line.toString(), text)
    assert.equal(kept.params.members.bytes, kept.line)
    assert.equal(kept.params.members.string('name'), frame.params.members.size > 1 ? 't' : undefined)
    assert(kept.params.meta.bytes === kept.line || kept.params.meta.bytes.length === 0)
    const token = kept.params.meta.span('progressToken')
    if (token !== undefined) assert.equal(rawAt(kept.line, token), '7')
    call.keep()
    assert.equal(call.frame, kept, 'once is enough')
  })
}
