// Four servers behind the command, driven by the official client.

import { strict as assert } from 'node:assert'
import { realpathSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import {
  CreateMessageRequestSchema,
  ElicitRequestSchema,
  ListRootsRequestSchema,
  LoggingMessageNotificationSchema,
  ResourceUpdatedNotificationSchema,
  ToolListChangedNotificationSchema,
} from '@modelcontextprotocol/sdk/types.js'
import { at, listAt, numberAt, textAt } from './support/json.js'
import { everything, filesystem, memory, patientCli, root, time } from './support/programs.js'
import { configFile, scratch } from './support/spawned.js'
import { HANG_MS } from './support/waiting.js'

const endings: (() => void | Promise<void>)[] = []
const scope = { after: (run: () => void | Promise<void>): void => void endings.push(run) }

/** Things that arrive by themselves, and whoever waits for them. */
class Inbox {
  readonly got: unknown[] = []
  #wake: () => void = () => undefined

  add(value: unknown): void {
    this.got.push(value)
    this.#wake()
  }

  async first(wants: (value: unknown) => boolean): Promise<unknown> {
    for (;;) {
      const found = this.got.find((value) => wants(value))
      if (found !== undefined) return found
      await new Promise<void>((resolve, reject) => {
        const timer = setTimeout(() => reject(new Error('nothing came')), HANG_MS)
        this.#wake = () => {
          clearTimeout(timer)
          resolve()
        }
      })
    }
  }
}

describe('everything, filesystem, memory and Time behind mcps-proxy --stdio', () => {
  const folder = realpathSync(scratch(scope))
  const outside = realpathSync(scratch(scope))
  const graph = join(folder, 'graph.jsonl')
  const logs = new Inbox()
  const updates = new Inbox()
  const changes = new Inbox()
  const asked: unknown[] = []
  let roots = [{ uri: `file://${folder}`, name: 'first' }]
  let client: Client

  before(async () => {
    writeFileSync(join(folder, 'a.txt'), 'one\ntwo\n')
    const servers = { everything, fs: filesystem(folder), memory: memory(graph), Time: time }
    const config = configFile(scope, servers, { startupGraceMs: HANG_MS })
    const transport = new StdioClientTransport({
      command: process.execPath,
      args: [patientCli, '--stdio', '--config', config, '--silent'],
      cwd: root,
      stderr: 'ignore',
    })
    client = new Client(
      { name: 'it', version: '1' },
      { capabilities: { sampling: {}, elicitation: { form: {}, url: {} }, roots: { listChanged: true } } },
    )
    client.setRequestHandler(CreateMessageRequestSchema, (request) => {
      asked.push(request)
      return { role: 'assistant', model: 'model', content: { type: 'text', text: 'sampled 1.0' } }
    })
    client.setRequestHandler(ElicitRequestSchema, (request) => {
      asked.push(request)
      return { action: 'accept', content: { name: 'Née', check: true } }
    })
    client.setRequestHandler(ListRootsRequestSchema, () => ({ roots }))
    client.setNotificationHandler(LoggingMessageNotificationSchema, ({ params }) => logs.add(params))
    client.setNotificationHandler(ResourceUpdatedNotificationSchema, ({ params }) => updates.add(params))
    client.setNotificationHandler(ToolListChangedNotificationSchema, () => changes.add({}))
    await client.connect(transport)
  })

  after(async () => {
    await client.close()
    for (const end of endings) await end()
  })

  const call = async (name: string, args: Record<string, unknown> = {}): Promise<string> => {
    const result: unknown = await client.callTool({ name, arguments: args })
    assert.notEqual(at(result, 'isError'), true, JSON.stringify(result))
    return textAt(result, 'content', 0, 'text')
  }

  test('who answers, and what it offers', () => {
    assert.equal(client.getServerVersion()?.name, 'mcps-proxy')
    const offers = client.getServerCapabilities()
    assert.deepEqual(offers, {
      tools: { listChanged: true },
      prompts: { listChanged: true },
      resources: { subscribe: true, listChanged: true },
      logging: {},
      completions: {},
      tasks: { list: {}, cancel: {}, requests: { tools: { call: {} } } },
    })
    assert.match(client.getInstructions() ?? '', /^# everything\n\n/)
  })

  test('every tool of every server, with the tools that need a client that can be asked', async () => {
    const { tools } = await client.listTools()
    const names = tools.map(({ name }) => name)
    const ofService = (service: string): number =>
      names.filter((name) => name.startsWith(`${service}__`)).length
    assert.equal(new Set(names).size, names.length)
    assert(ofService('everything') >= 17, `everything has ${ofService('everything')}`)
    assert.equal(ofService('fs'), 14)
    assert.equal(ofService('memory'), 9)
    assert.equal(ofService('Time'), 2)
    for (const { name, description } of tools)
      assert(description?.startsWith(`[${name.split('__')[0]}] `), name)
  })

  test('every other list, and what of it can be got', async () => {
    const { prompts } = await client.listPrompts()
    assert.deepEqual(
      prompts.map(({ name }) => name),
      ['simple', 'args', 'completable', 'resource'].map((name) => `everything__${name}-prompt`),
    )
    const { resources } = await client.listResources()
    const [{ uri } = assert.fail('no resource')] = resources
    assert.equal((await client.readResource({ uri })).contents[0]?.uri, uri)
    assert.equal((await client.listResourceTemplates()).resourceTemplates.length, 2)
    const prompt = await client.getPrompt({
      name: 'everything__args-prompt',
      arguments: { city: 'Köln', state: 'NRW' },
    })
    assert.match(textAt(prompt, 'messages', 0, 'content', 'text'), /Köln/)
    const { completion } = await client.complete({
      ref: { type: 'ref/prompt', name: 'everything__completable-prompt' },
      argument: { name: 'department', value: 'E' },
    })
    assert.deepEqual(completion.values, ['Engineering'])
  })

  test('every log level, and messages that are as severe', async () => {
    const levels = ['emergency', 'alert', 'critical', 'error', 'warning', 'notice', 'info', 'debug'] as const
    const uri = 'demo://resource/dynamic/text/9'
    for (const level of levels) {
      await client.setLoggingLevel(level)
      const from = logs.got.length
      // The server says at `info` that it was asked to subscribe.
      await client.subscribeResource({ uri })
      await client.unsubscribeResource({ uri })
      const messages = logs.got.slice(from).filter((params) => textAt(params, 'data').includes('/9'))
      assert.equal(messages.length, level === 'info' || level === 'debug' ? 2 : 0, level)
    }
    await client.callTool({ name: 'everything__toggle-simulated-logging', arguments: {} })
    await logs.first((params) => /level/i.test(textAt(params, 'data')))
    await client.callTool({ name: 'everything__toggle-simulated-logging', arguments: {} })
  })

  test('progress', async () => {
    const seen: number[] = []
    const params = {
      name: 'everything__trigger-long-running-operation',
      arguments: { duration: 0.2, steps: 4 },
    }
    // This client forgets the token when the answer comes in the same read as progress, so it is not asked what it saw.
    const { transport } = client
    assert(transport !== undefined)
    const { onmessage } = transport
    const watched: typeof onmessage = (message, extra) => {
      if (at(message, 'method') === 'notifications/progress')
        seen.push(numberAt(message, 'params', 'progress'))
      onmessage?.(message, extra)
    }
    Object.assign(transport, { onmessage: watched })
    const result: unknown = await client.callTool(params, undefined, { onprogress: () => undefined })
    Object.assign(transport, { onmessage })
    assert.match(textAt(result, 'content', 0, 'text'), /completed/)
    assert.deepEqual(seen, [1, 2, 3, 4])
  })

  test('a call that is cancelled ends at once, and others go on', async () => {
    const cancel = new AbortController()
    const params = {
      name: 'everything__trigger-long-running-operation',
      arguments: { duration: 600, steps: 100_000 },
    }
    const running = client.callTool(params, undefined, {
      signal: cancel.signal,
      onprogress: ({ progress }) => {
        if (progress === 3) cancel.abort('enough')
      },
    })
    await assert.rejects(running, /enough/)
    assert.equal(await call('everything__echo', { message: 'after' }), 'Echo: after')
  })

  test('sampling, elicitation by form and by URL', async () => {
    assert.match(
      await call('everything__trigger-sampling-request', { prompt: 'p', maxTokens: 5 }),
      /sampled 1\.0/,
    )
    assert.equal(textAt(asked.at(-1), 'method'), 'sampling/createMessage')
    assert.equal(numberAt(asked.at(-1), 'params', 'maxTokens'), 5)
    const elicited: unknown = await client.callTool({
      name: 'everything__trigger-elicitation-request',
      arguments: {},
    })
    assert.match(JSON.stringify(elicited), /Née/)
    const url = 'https://example.com/é?x=1'
    await call('everything__trigger-url-elicitation', { url })
    assert.equal(textAt(asked.at(-1), 'params', 'mode'), 'url')
    const refused = client.callTool({
      name: 'everything__trigger-url-elicitation',
      arguments: { url, errorPath: true, elicitationId: 'e1' },
    })
    await assert.rejects(refused, { code: -32042 })
  })

  test('roots reach the servers that want them, and so do their changes', async () => {
    assert.match(await call('everything__get-roots-list'), new RegExp(`first\\n +URI: file://${folder}`))
    // The filesystem server serves the client's roots instead of its own argument.
    assert.match(await call('fs__list_allowed_directories'), new RegExp(folder))
    const denied: unknown = await client.callTool({
      name: 'fs__list_directory',
      arguments: { path: outside },
    })
    assert.equal(at(denied, 'isError'), true)
    roots = [{ uri: `file://${outside}`, name: 'second' }]
    const from = logs.got.length
    const isNew = (params: unknown): boolean => logs.got.indexOf(params) >= from
    const updated = logs.first(
      (params) => textAt(params, 'data').startsWith('Roots updated: 1') && isNew(params),
    )
    await client.sendRootsListChanged()
    await updated
    assert.match(await call('everything__get-roots-list'), /second/)
    let listed = ''
    for (let tries = 0; tries < 200 && !listed.includes(outside); tries++) {
      listed = await call('fs__list_allowed_directories')
    }
    assert(listed.includes(outside), listed)
  })

  test('a subscribed resource tells of its updates, and no longer when it is not', async () => {
    const uri = 'demo://resource/dynamic/text/5'
    await client.subscribeResource({ uri })
    await client.callTool({ name: 'everything__toggle-subscriber-updates', arguments: {} })
    await updates.first((params) => textAt(params, 'uri') === uri)
    await client.callTool({ name: 'everything__toggle-subscriber-updates', arguments: {} })
    await client.unsubscribeResource({ uri })
    const { length } = updates.got
    await client.callTool({ name: 'everything__toggle-subscriber-updates', arguments: {} })
    await client.callTool({ name: 'everything__toggle-subscriber-updates', arguments: {} })
    assert.equal(updates.got.length, length)
  })

  test('errors of the proxy and of servers', async () => {
    await assert.rejects(client.callTool({ name: 'nonexistent_tool', arguments: {} }), { code: -32601 })
    const invalid: unknown = await client.callTool({ name: 'everything__echo', arguments: {} })
    assert.equal(at(invalid, 'isError'), true, 'from 2025-11-25 on a result says that arguments are wrong')
    const unknown: unknown = await client.callTool({
      name: 'Time__get_current_time',
      arguments: { timezone: 'No/Where' },
    })
    assert.equal(at(unknown, 'isError'), true)
    await client.ping()
    assert(listAt({ changes: changes.got }, 'changes').length < 50)
  })
})
