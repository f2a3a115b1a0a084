// Clients of version 2 of the official library that cancel calls of a server of an older revision, and are asked afterwards.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { textAt } from './support/json.js'
import { cli } from './support/programs.js'
import { type LibraryClient, clientLibrary, missing, serverProgram, stdioLibrary } from './support/sdk-v2.js'
import { type Scope, configFile, scratch } from './support/spawned.js'
import { until } from './support/waiting.js'
import { gatewayOf } from './support/gateway.js'

/** The official library answers no call that was cancelled. */
const servers = { s: { command: process.execPath, args: [serverProgram, 'old'] } }

const asked = { sampling: {}, elicitation: { form: {} } }

async function person(capabilities: object, transport: object): Promise<LibraryClient> {
  const { Client } = await clientLibrary()
  const options = { capabilities, versionNegotiation: { mode: { pin: '2026-07-28' } } }
  const client = new Client({ name: 'two', version: '2' }, options)
  if ('sampling' in capabilities) {
    const content = { type: 'text', text: 'by the client' }
    client.setRequestHandler('sampling/createMessage', () => ({ model: 'm', role: 'assistant', content }))
    client.setRequestHandler('elicitation/create', (request) => {
      return { action: 'accept', content: { name: textAt(request, 'params', 'message') } }
    })
  }
  await client.connect(transport)
  return client
}

const places: Readonly<Record<string, (t: Scope) => Promise<() => Promise<object>>>> = {
  stdio: async (t) => {
    const { StdioClientTransport } = await stdioLibrary()
    const args = [cli, '--stdio', '--config', configFile(t, { ...servers })]
    const env = { ...process.env, HOME: scratch(t) }
    return () =>
      Promise.resolve(new StdioClientTransport({ command: process.execPath, args, env, stderr: 'ignore' }))
  },
  'Streamable HTTP': async (t) => {
    const gateway = await gatewayOf(t, { mcpServers: servers })
    const { StreamableHTTPClientTransport } = await clientLibrary()
    return () => Promise.resolve(new StreamableHTTPClientTransport(new URL(`${gateway.origin}/mcp`)))
  },
}

const call = async (client: LibraryClient, tool: string): Promise<string> =>
  textAt(await client.callTool({ name: `s__${tool}`, arguments: {} }), 'content', 0, 'text')

async function cancelOne(client: LibraryClient): Promise<void> {
  const controller = new AbortController()
  let isThere = false
  const options = { signal: controller.signal, onprogress: () => void (isThere = true) }
  const hanging = assert.rejects(client.callTool({ name: 's__hang', arguments: {} }, options))
  await until(() => isThere)
  controller.abort()
  await hanging
}

describe('a client of 2026-07-28 that cancels a call of an older server', { skip: missing }, () => {
  for (const [place, open] of Object.entries(places))
    test(`is asked in its next calls, and so are others, over ${place}`, async (t) => {
      const connect = await open(t)
      const clients = [await person(asked, await connect()), await person(asked, await connect())]
      t.after(() => Promise.all(clients.map((client) => client.close())))
      for (const client of [...clients, ...clients]) {
        await cancelOne(client)
        for (const each of clients) {
          assert.equal(await call(each, 'elicit'), 'elicited Who?')
          assert.equal(await call(each, 'sample'), 'sampled by the client')
        }
      }
    })
})
