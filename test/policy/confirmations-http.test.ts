// Consent over HTTP, from clients that others wrote: each is asked about its own calls.

import { strict as assert } from 'node:assert'
import { describe, test } from 'node:test'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { SSEClientTransport } from '@modelcontextprotocol/sdk/client/sse.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js'
import { type Gateway } from '../../src/gateway/gateway.js'
import { itServer } from '../integration/support/programs.js'
import type { Scope } from '../integration/support/spawned.js'
import { gatewayOf } from '../integration/support/gateway.js'

const transports = {
  'Streamable HTTP': (url: string) => new StreamableHTTPClientTransport(new URL(`${url}/mcp`)),
  'HTTP+SSE': (url: string) => new SSEClientTransport(new URL(`${url}/sse`)),
}

/** A gateway whose tool needs consent, and says the `n` that it is given. */
const gateway = (scope: Scope): Promise<Gateway> =>
  gatewayOf(scope, { mcpServers: { e: itServer({}, { confirm: ['nonce'] }) } })

describe('two clients', () => {
  for (const [kind, transport] of Object.entries(transports))
    test(`are each asked about their calls: ${kind}`, async (t) => {
      const { origin: url } = await gateway(t)
      const called = [
        { n: 1, action: 'accept' },
        { n: 2, action: 'decline' },
      ] as const
      const ends = called.map(async ({ n, action }) => {
        const client = new Client({ name: action, version: '1' }, { capabilities: { elicitation: {} } })
        const asked: string[] = []
        client.setRequestHandler(ElicitRequestSchema, ({ params }) => {
          asked.push(params.message)
          return { action }
        })
        await client.connect(transport(url))
        t.after(() => client.close())
        const end = await client
          .callTool({ name: 'e__nonce', arguments: { n } })
          .then(({ content }) => JSON.stringify(content), String)
        assert.match(
          asked.join(),
          new RegExp(`^Allow .*'nonce' of the server 'e'\\?\\n\\nArguments: \\{"n":${n}\\}$`),
        )
        return end
      })
      const [accepted, declined] = await Promise.all(ends)
      assert.match(accepted ?? '', /\\"n\\":1/)
      assert.match(declined ?? '', /'nonce' was not called: its user has declined/)
    })
})
