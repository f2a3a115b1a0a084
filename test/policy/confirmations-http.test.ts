// Consent over HTTP, from clients that others wrote: each is asked about its own calls.

import { strict as assert } from 'node:assert'
import { describe, test } from 'node:test'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { SSEClientTransport } from '@modelcontextprotocol/sdk/client/sse.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js'
import { resolveConfig } from '../../src/config/config.js'
import { openGateway } from '../../src/gateway/gateway.js'
import { everything, root } from '../integration/support/programs.js'

const transports = {
  'Streamable HTTP': (url: string) => new StreamableHTTPClientTransport(new URL(`${url}/mcp`)),
  'HTTP+SSE': (url: string) => new SSEClientTransport(new URL(`${url}/sse`)),
}

describe('two clients', () => {
  for (const [kind, transport] of Object.entries(transports))
    test(`are each asked about their calls: ${kind}`, async (t) => {
      const value = { server: { port: 0 }, mcpServers: { e: { ...everything, confirm: ['get-sum'] } } }
      const gateway = await openGateway(
        resolveConfig(value, { source: 'test', folder: root, env: process.env }),
      )
      t.after(() => gateway.close(0))
      const called = [
        { a: 1, action: 'accept' },
        { a: 2, action: 'decline' },
      ] as const
      const ends = called.map(async ({ a, action }) => {
        const client = new Client({ name: action, version: '1' }, { capabilities: { elicitation: {} } })
        const asked: string[] = []
        client.setRequestHandler(ElicitRequestSchema, ({ params }) => {
          asked.push(params.message)
          return { action }
        })
        await client.connect(transport(gateway.origin))
        t.after(() => client.close())
        const end = await client
          .callTool({ name: 'e__get-sum', arguments: { a, b: 0 } })
          .then(({ content }) => JSON.stringify(content), String)
        assert.match(
          asked.join(),
          new RegExp(`^Allow .*'get-sum' of the server 'e'\\?\\n\\nArguments: \\{"a":${a},"b":0\\}$`),
        )
        return end
      })
      const [accepted, declined] = await Promise.all(ends)
      assert.match(accepted ?? '', /is 1\./)
      assert.match(declined ?? '', /'get-sum' was not called: its user has declined/)
    })
})
