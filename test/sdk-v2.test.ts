// Version 2 of the official client, three at a time, on one schema.
//
// It stands with the conformance suite in a folder of its own, which a plain
// installation leaves out: `npm ci --prefix test/conformance` brings it.

import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { describe, test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { listAt, textAt } from './integration/support/json.js'
import { root } from './integration/support/programs.js'
import { gatewayTo, references } from './integration/support/reference.js'
import { until } from './integration/support/waiting.js'

/** What these tests use of the library, as it documents it. */
interface ClientLibrary {
  readonly Client: new (
    info: Readonly<Record<'name' | 'version', string>>,
    options: Readonly<Record<string, unknown>>,
  ) => LibraryClient
  readonly StreamableHTTPClientTransport: new (url: URL) => object
  readonly SSEClientTransport: new (url: URL) => object
}

interface LibraryClient {
  connect(transport: object): Promise<void>
  close(): Promise<void>
  listTools(): Promise<unknown>
  callTool(
    params: Readonly<Record<string, unknown>>,
    options?: { readonly onprogress?: (progress: { readonly progress: number }) => void },
  ): Promise<unknown>
  setRequestHandler(method: string, answer: (request: unknown) => unknown): void
  setNotificationHandler(method: string, heard: (notification: unknown) => void): void
}

const main = resolve(root, 'test/conformance/node_modules/@modelcontextprotocol/client/dist/index.mjs')
const isInstalled = existsSync(main)
const missing = 'test/conformance is not installed: npm ci --prefix test/conformance'

async function load(): Promise<ClientLibrary> {
  const library: ClientLibrary = await import(pathToFileURL(main).href)
  return library
}

const transports = {
  'Streamable HTTP': (library: ClientLibrary, url: string) =>
    new library.StreamableHTTPClientTransport(new URL(`${url}/mcp`)),
  'HTTP+SSE': (library: ClientLibrary, url: string) => new library.SSEClientTransport(new URL(`${url}/sse`)),
}

/** A client that answers with its own name, and remembers what it was asked and told. */
function asked(
  { Client }: ClientLibrary,
  name: string,
  mode: string,
): { client: LibraryClient; heard: string[] } {
  const heard: string[] = []
  const capabilities = { sampling: {}, elicitation: { form: {} }, roots: {} }
  const client = new Client({ name, version: '1' }, { capabilities, versionNegotiation: { mode } })
  client.setRequestHandler('sampling/createMessage', (request) => {
    heard.push(textAt(request, 'params', 'messages', 0, 'content', 'text'))
    return { model: name, role: 'assistant', content: { type: 'text', text: `sampled by ${name}` } }
  })
  client.setRequestHandler('elicitation/create', (request) => {
    heard.push(textAt(request, 'params', 'message'))
    return { action: 'accept', content: { username: name, email: `${name}@example.com` } }
  })
  client.setRequestHandler('roots/list', () => {
    heard.push(`roots of ${name}`)
    return { roots: [{ uri: `file:///${name}` }] }
  })
  client.setNotificationHandler('notifications/message', (notification) => {
    heard.push(textAt(notification, 'params', 'data'))
  })
  return { client, heard }
}

/** Calls everything at once; gives what the tools said. */
async function callAll(client: LibraryClient, name: string): Promise<string[]> {
  const call = async (tool: string, args: Readonly<Record<string, string>> = {}): Promise<string> =>
    textAt(await client.callTool({ name: tool, arguments: args }), 'content', 0, 'text')
  return Promise.all([
    call('test_sampling', { prompt: `prompt of ${name}` }),
    call('test_elicitation', { message: `form of ${name}` }),
    call('test_roots'),
    call('test_tool_with_logging'),
  ])
}

const logged = ['Tool execution started', 'Tool processing data', 'Tool execution completed']

const cases: [keyof typeof transports, string, keyof typeof references][] = [
  ['Streamable HTTP', 'legacy', 'stdio'],
  ['Streamable HTTP', 'legacy', 'Streamable HTTP'],
  ['Streamable HTTP', 'auto', 'stdio'],
  ['HTTP+SSE', 'legacy', 'stdio'],
  ['HTTP+SSE', 'legacy', 'Streamable HTTP'],
]

describe('three clients of version 2 on one schema', { skip: isInstalled ? false : missing }, () => {
  for (const [transport, mode, server] of cases)
    test(`${transport}, negotiation ${mode}, in front of ${server}`, { timeout: 60_000 }, async (t) => {
      const library = await load()
      const { origin: url } = await gatewayTo(t, await references[server](t))
      const clients = ['ann', 'bob', 'cyd'].map((name) => ({ name, ...asked(library, name, mode) }))
      await Promise.all(
        clients.map(async ({ client }) => {
          await client.connect(transports[transport](library, url))
          t.after(() => client.close())
        }),
      )
      await Promise.all(
        clients.map(async ({ client, name, heard }) => {
          assert.ok(listAt(await client.listTools(), 'tools').length >= 14)
          assert.deepEqual(await callAll(client, name), [
            `LLM response: sampled by ${name}`,
            `User response: action=accept, content={"username":"${name}","email":"${name}@example.com"}`,
            `Roots: file:///${name}`,
            'Tool with logging executed',
          ])
          // Without a session log messages come to a call that asks for them, which these do not.
          const told = mode === 'auto' ? [] : logged
          const own = [`form of ${name}`, `prompt of ${name}`, `roots of ${name}`, ...told]
          // A log message does not say to which call it belongs, and comes on a stream of its own.
          await until(() => heard.length >= own.length)
          assert.deepEqual(heard.sort(), own.sort())
          const steps: number[] = []
          await client.callTool(
            { name: 'test_tool_with_progress', arguments: {} },
            { onprogress: ({ progress }) => steps.push(progress) },
          )
          // The client library drops what comes in one piece with the answer.
          assert.deepEqual(steps.slice(0, 2), [0, 50])
        }),
      )
    })
})
