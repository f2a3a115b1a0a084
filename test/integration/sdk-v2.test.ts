// Version 2 of the official client, three at a time, on one schema.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { listAt, textAt } from './support/json.js'
import { gatewayTo, references } from './support/reference.js'
import { type ClientLibrary, type LibraryClient, clientLibrary, missing } from './support/sdk-v2.js'
import { until } from './support/waiting.js'

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

describe('three clients of version 2 on one schema', { skip: missing }, () => {
  for (const [transport, mode, server] of cases)
    test(`${transport}, negotiation ${mode}, in front of ${server}`, async (t) => {
      const library = await clientLibrary()
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
          // Requests without a session are of anybody who reaches the front, so no server is told of their roots.
          const hasRoots = mode !== 'auto'
          assert.deepEqual(await callAll(client, name), [
            `LLM response: sampled by ${name}`,
            `User response: action=accept, content={"username":"${name}","email":"${name}@example.com"}`,
            hasRoots ? `Roots: file:///${name}` : "roots/list: Method 'roots/list' not found",
            'Tool with logging executed',
          ])
          // Without a session log messages come to a call that asks for them, which these do not.
          const told = mode === 'auto' ? [] : logged
          const own = [
            `form of ${name}`,
            `prompt of ${name}`,
            ...(hasRoots ? [`roots of ${name}`] : []),
            ...told,
          ]
          // A log message does not say to which call it belongs, and comes on a stream of its own.
          await until(() => heard.length >= own.length)
          assert.deepEqual(heard.sort(), own.sort())
          const steps: number[] = []
          // The client library drops what comes in one piece with the answer, and on a busy machine much does, or all.
          while (steps.length === 0)
            await client.callTool(
              { name: 'test_tool_with_progress', arguments: {} },
              { onprogress: ({ progress }) => steps.push(progress) },
            )
          assert.deepEqual(steps, [0, 50, 100].slice(0, steps.length))
        }),
      )
    })
})
