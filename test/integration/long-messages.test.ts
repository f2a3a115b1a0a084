// Long messages pass in the parts in which they came.

import { strict as assert } from 'node:assert'
import { createInterface } from 'node:readline'
import { PassThrough } from 'node:stream'
import { describe, test } from 'node:test'
import { LongLine } from '../../src/jsonrpc/fast/long-line.js'
import { NdjsonConnection } from '../../src/transports/stdio/ndjson.js'
import { RawClient } from './support/client.js'
import { textAt } from './support/json.js'
import { libraryProxy } from './support/library.js'
import { itEcho } from './support/programs.js'
import type { Scope } from './support/spawned.js'

/** A client on two byte streams, as one on stdin and stdout is. */
async function streamClient(scope: Scope): Promise<RawClient> {
  const { proxy } = await libraryProxy(scope, { e: itEcho() })
  const [input, output] = [new PassThrough(), new PassThrough()]
  const client = new RawClient((line) => void input.write(`${line}\n`))
  createInterface({ input: output }).on('line', (line) => client.take(line))
  await proxy.attach(new NdjsonConnection(input, output))
  return client
}

const claim = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientCapabilities': {},
}

describe('a long call and its long result are not joined', () => {
  const clients = [
    ['of a session', {}],
    ['without a session', claim],
  ] as const
  for (const [who, meta] of clients)
    test(who, async (t) => {
      const client = await streamClient(t)
      await client.open()
      // A call that waits until names are known is copied.
      await client.call('e__take')
      const joins = t.mock.getter(LongLine.prototype, 'line')
      const text = 'ä\\n'.repeat(100_000)
      const b64 = Buffer.from(JSON.stringify({ content: [{ type: 'text', text }] })).toString('base64')
      const params = { name: 'e__give', arguments: { b64 }, _meta: { ...meta, note: 'n' } }
      const { value } = await client.request('tools/call', params)
      assert.equal(textAt(value, 'result', 'content', 0, 'text'), text)
      assert.equal(joins.mock.callCount(), 0)
    })
})
