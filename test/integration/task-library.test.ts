// Tasks of a server that others wrote, driven by the official client, on stdio and over HTTP.

import { strict as assert } from 'node:assert'
import { test } from 'node:test'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js'
import { CallToolResultSchema, ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js'
import { createProxy, httpServer } from '../../src/index.js'
import { listAt, textAt } from './support/json.js'
import { asRead, cli, everything, nodeProgram } from './support/programs.js'
import { type Scope, configFile, scratch } from './support/spawned.js'

const servers = { everything, mine: nodeProgram('task-server.mjs', {}, {}) }

const ways: [string, (t: Scope) => Promise<() => Transport>][] = [
  [
    'stdio',
    (t) => {
      const config = configFile(t, servers)
      const env = { PATH: process.env['PATH'] ?? '', HOME: scratch(t) }
      const args = [cli, '--stdio', '--config', config]
      return Promise.resolve(() => new StdioClientTransport({ command: process.execPath, args, env }))
    },
  ],
  [
    'HTTP',
    async (t) => {
      const proxy = await createProxy(asRead({ mcpServers: servers }))
      t.after(() => proxy.close(0))
      const { url } = await proxy.serve(httpServer({ host: '127.0.0.1', port: 0 }))
      const endpoint = new URL(url)
      return () => new StreamableHTTPClientTransport(endpoint)
    },
  ],
]

for (const [way, transports] of ways)
  test(`a task of server-everything asks its client and gives its result, over ${way}`, async (t) => {
    const transport = await transports(t)
    const client = new Client({ name: 'it', version: '1' }, { capabilities: { elicitation: { form: {} } } })
    const asked: string[] = []
    client.setRequestHandler(ElicitRequestSchema, ({ params }) => {
      asked.push(params.message)
      return { action: 'accept', content: { interpretation: 'technical' } }
    })
    await client.connect(transport())
    t.after(() => client.close())
    assert.notEqual(client.getServerCapabilities()?.tasks, undefined)
    await client.listTools()
    const { tasks } = client.experimental
    const said: string[] = []
    let id = ''
    const stream = tasks.callToolStream(
      {
        name: 'everything__simulate-research-query',
        arguments: { topic: 'python', ambiguous: true },
      },
      CallToolResultSchema,
    )
    for await (const message of stream) {
      if (said.at(-1) !== message.type) said.push(message.type)
      if (message.type === 'taskCreated') id = message.task.taskId
      if (message.type === 'error') assert.fail(message.error)
      if (message.type === 'result') assert.match(JSON.stringify(message.result), /python/)
    }
    assert.deepEqual([said[0], said.at(-1)], ['taskCreated', 'result'])
    assert.equal(asked.length, 1)
    assert.equal((await tasks.getTask(id)).status, 'completed')
    const own: unknown = await client.request(
      { method: 'tools/call', params: { name: 'mine__work', arguments: {}, task: {} } },
      CallToolResultSchema.passthrough(),
    )
    const listed = listAt(await tasks.listTasks(), 'tasks').map((task) => textAt(task, 'taskId'))
    assert.deepEqual(listed, [id, textAt(own, 'task', 'taskId')])
    assert.equal((await tasks.cancelTask(textAt(own, 'task', 'taskId'))).status, 'cancelled')

    const other = new Client({ name: 'other', version: '1' }, { capabilities: {} })
    await other.connect(transport())
    t.after(() => other.close())
    await assert.rejects(other.experimental.tasks.getTask(id), /Task '.*' not found/)
  })
