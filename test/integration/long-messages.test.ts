// Long results pass in the parts in which they came.

import { strict as assert } from 'node:assert'
import { createInterface } from 'node:readline'
import { PassThrough } from 'node:stream'
import { describe, test } from 'node:test'
import { LongLine } from '../../src/jsonrpc/fast/long-line.js'
import { NdjsonConnection, defaultNdjsonOptions } from '../../src/transports/stdio/ndjson.js'
import { RawClient } from './support/client.js'
import { at, textAt } from './support/json.js'
import { libraryProxy } from './support/library.js'
import { itEcho } from './support/programs.js'
import type { Scope } from './support/spawned.js'
import { claim } from './support/claim.js'

/** A client on two byte streams, as one on stdin and stdout is. */
async function streamClient(scope: Scope, env: Readonly<Record<string, string>> = {}): Promise<RawClient> {
  const { proxy } = await libraryProxy(scope, { e: itEcho(env) })
  const [input, output] = [new PassThrough(), new PassThrough()]
  const client = new RawClient((line) => void input.write(`${line}\n`))
  createInterface({ input: output }).on('line', (line) => client.take(line))
  await proxy.attach(new NdjsonConnection(input, output, defaultNdjsonOptions))
  return client
}

const eras = ['old', 'new'] as const
const orders = ['first', 'last'] as const
const serverInfo = { 'io.modelcontextprotocol/serverInfo': { name: 'it-echo', version: '1' } }

describe('a long call is joined once, and its long result is not', () => {
  for (const clientEra of eras)
    for (const serverEra of eras)
      for (const order of orders)
        test(`${clientEra} client, ${serverEra} server, id ${order}`, async (t) => {
          const client = await streamClient(t, serverEra === 'new' ? { IT_STATELESS: '1' } : {})
          if (clientEra === 'old') await client.open()
          const meta = clientEra === 'old' ? {} : claim()
          // A call that waits until names are known is copied.
          await client.call('e__take', {}, meta)
          const joins = t.mock.getter(LongLine.prototype, 'line')
          const text = 'ä\\n'.repeat(100_000)
          const content = [{ type: 'text', text }]
          const said =
            serverEra === 'old'
              ? { content }
              : { resultType: 'complete', content, isError: false, _meta: serverInfo }
          const result = JSON.stringify(said)
          const line =
            order === 'first'
              ? `{"jsonrpc":"2.0","id":$ID,"result":${result}}`
              : `{"jsonrpc":"2.0","result":${result},"id":$ID}`
          const b64 = Buffer.from(line).toString('base64')
          const params = { name: 'e__give', arguments: { as: 'line', b64 }, _meta: { ...meta, note: 'n' } }
          for (let round = 0; round < 5; round++) {
            const answers = [1, 2, 3].map(() => client.request('tools/call', params))
            for (const { value } of await Promise.all(answers)) {
              assert.equal(textAt(value, 'result', 'content', 0, 'text'), text)
              assert.equal(at(value, 'result', 'resultType'), clientEra === 'new' ? 'complete' : undefined)
              const isNamed = clientEra === 'new' && serverEra === 'new'
              assert.deepEqual(at(value, 'result', '_meta'), isNamed ? serverInfo : undefined)
            }
          }
          // The calls.
          assert.equal(joins.mock.callCount(), 15)
        })
})
