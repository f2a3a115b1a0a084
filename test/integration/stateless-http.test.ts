// Clients without a session over HTTP: what closing a response means, and names that are spelled otherwise. The faults of
// requests are in `http-transcripts/modern-refusals.jsonl`.

import { strict as assert } from 'node:assert'
import { describe, test } from 'node:test'
import { type Gateway } from '../../src/gateway/gateway.js'
import { messageIn, send } from '../transports/support/http.js'
import { numberAt } from './support/json.js'
import { itServer } from './support/programs.js'
import type { Scope } from './support/spawned.js'
import { gatewayOf, requestFields, sendStateless } from './support/gateway.js'

async function gateway(scope: Scope, servers: object, isReady = false): Promise<Gateway> {
  const opened = await gatewayOf(scope, { mcpServers: servers })
  // A response is an event stream once its answer takes a while, as the start of a server does.
  if (isReady) await asked(opened, 'tools/list', {})
  return opened
}

type Sent = Awaited<ReturnType<typeof send>>

const asked = (
  { port }: Gateway,
  method: string,
  params: Readonly<Record<string, unknown>> = {},
  headers?: Readonly<Record<string, string>>,
): Promise<Sent> => sendStateless(port, { method, params, ...(headers && { headers }) })

const codeOf = ({ body }: Sent): number => numberAt(messageIn(body), 'error', 'code')

const call = { name: 's__nonce', arguments: { n: 'a' } }
const good = requestFields('tools/call', call)
const base64 = (text: string): string => `=?base64?${Buffer.from(text).toString('base64')}?=`

describe('a request without a session is refused', () => {
  test('a twin of a name in Base64 that is spelled otherwise', async (t) => {
    const opened = await gateway(t, { s: itServer() }, true)
    const name = 's__nonce'
    const encoded = Buffer.from(name).toString('base64')
    for (const twin of [
      `=?BASE64?${encoded}?=`,
      `=?base64?${encoded}`,
      `=?base64?${encoded.replace(/=+$/, '')}?=`,
      `=?base64?${encoded}=?=`,
      `=?base64? ${encoded}?=`,
      `=?base64?${encoded.slice(0, 4)} ${encoded.slice(4)}?=`,
      base64(base64(name)),
      `"${name}"`,
      name.toUpperCase(),
      `${name},${name}`,
    ]) {
      const answer = await asked(opened, 'tools/call', call, { ...good, 'mcp-name': twin })
      assert.deepEqual([answer.status, codeOf(answer)], [400, -32020], twin)
    }
  })
})
