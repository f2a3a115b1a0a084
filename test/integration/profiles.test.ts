// Profiles: every method of three clients with three views of the same servers, two over HTTP and one on stdio.

import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { before, describe, test } from 'node:test'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import { SSEClientTransport } from '@modelcontextprotocol/sdk/client/sse.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { ResultSchema } from '@modelcontextprotocol/sdk/types.js'

import { limits } from '../../src/index.js'
import { EventReader, both, handshake, message, messageIn, open, send } from '../transports/support/http.js'
import { suiteScope } from '../support/scope.js'
import { at, parsed, textAt } from './support/json.js'
import { nodeProgram, patientCli } from './support/programs.js'
import { type Scope, scratch } from './support/spawned.js'
import { until } from './support/waiting.js'
import { bearer, gatewayConfig, gatewayOf, sendStateless, tokenOf } from './support/gateway.js'

const servers = {
  first: nodeProgram('viewed.mjs', { NAME: 'first' }, {}),
  second: nodeProgram('viewed.mjs', { NAME: 'second' }, {}),
}

const profiles = {
  review: {
    servers: ['first'],
    tools: {
      allow: ['first__echo', 'first__get_*', 'first__tell'],
      set: { first__echo: { owner: 'acme', n: 7 } },
    },
    prompts: { allow: ['first__open'] },
    resources: { allow: ['mem://open/*'] },
    prefix: false,
    describe: false,
  },
  ops: {
    tools: { deny: ['*__delete_*', 'second__get_*'], rename: { first__echo: 'shout' } },
    prompts: { deny: ['*secret'] },
    resources: { deny: ['mem://secret/*'] },
  },
  bare: { servers: ['second'], tools: { allow: [] }, prompts: { allow: [] } },
}

const configured = (more: object = {}): Readonly<Record<string, unknown>> => ({
  mcpServers: servers,
  profiles: { ...profiles, ...more },
  server: {
    token: 'all',
    tokens: [
      tokenOf('ann', 'ann-token', { profiles: ['review'] }),
      tokenOf('bob', 'bob-token', { profiles: ['ops'] }),
      tokenOf('eve', 'eve-token', { profiles: ['review', 'ops'] }),
      tokenOf('zoe', 'zoe-token', { profiles: [] }),
    ],
  },
})

/** The result of `initialize` waits for every server. */
const patient = { limits: { ...limits, initializeGraceMs: 60_000 } }

/** A client by another author, which keeps its notifications. */
class Viewer {
  readonly told: string[] = []
  readonly client = new Client({ name: 'viewer', version: '1' })

  constructor() {
    this.client.fallbackNotificationHandler = async ({ method, params }) => {
      const uri = params?.['uri']
      this.told.push(typeof uri === 'string' ? `${method} ${uri}` : method)
    }
  }

  /** The result, or the code of the error. */
  async ask(method: string, params: Record<string, unknown> = {}): Promise<unknown> {
    try {
      return await this.client.request({ method, params }, ResultSchema)
    } catch (error) {
      return at(error, 'code')
    }
  }

  async names(method: string, member: string, key = 'name'): Promise<string[]> {
    const items = at(await this.ask(method), member)
    return Array.isArray(items) ? items.map((item: unknown) => String(at(item, key))) : []
  }

  async call(name: string, args?: object): Promise<unknown> {
    const result = await this.ask('tools/call', { name, ...(args && { arguments: args }) })
    return typeof result === 'number' ? result : parsed(textAt(result, 'content', 0, 'text'))
  }
}

type Views = Awaited<ReturnType<typeof views>>

async function overHttp(
  t: Scope,
  url: string,
  token: string,
  make: typeof StreamableHTTPClientTransport | typeof SSEClientTransport = StreamableHTTPClientTransport,
): Promise<Viewer> {
  const viewer = new Viewer()
  await viewer.client.connect(new make(new URL(url), { requestInit: { headers: bearer(token) } }))
  t.after(() => viewer.client.close())
  return viewer
}

async function onStdio(t: Scope, ...args: readonly string[]): Promise<Viewer> {
  const file = join(scratch(t), 'config.json')
  writeFileSync(file, JSON.stringify({ mcpServers: servers, profiles }))
  const viewer = new Viewer()
  await viewer.client.connect(
    new StdioClientTransport({
      command: process.execPath,
      args: [patientCli, 'stdio', '-c', file, ...args],
      stderr: 'ignore',
    }),
  )
  t.after(() => viewer.client.close())
  return viewer
}

async function views(t: Scope) {
  const gateway = await gatewayOf(t, configured(), patient)
  return {
    gateway,
    review: await overHttp(t, `${gateway.origin}/p/review/mcp`, 'ann-token'),
    ops: await overHttp(t, `${gateway.origin}/p/ops/mcp`, 'bob-token'),
  }
}

const complete = (viewer: Viewer, ref: object): Promise<unknown> =>
  viewer.ask('completion/complete', { ref, argument: { name: 'id', value: 'a' } })
const prompt = (name: string): object => ({ type: 'ref/prompt', name })
const resource = (uri: string): object => ({ type: 'ref/resource', uri })

const scope = suiteScope()
/** For the tests that change nothing of it. */
let shared: Views & { readonly bare: Viewer }
before(async () => (shared = { ...(await views(scope)), bare: await onStdio(scope, '--profile', 'bare') }))

describe('three clients with three profiles', () => {
  test('are told of their servers alone, and list what they see', async () => {
    const { review, ops, bare } = shared
    const instructions = [review, ops, bare].map(({ client }) => client.getInstructions())
    assert.deepEqual(instructions, [
      'words of first',
      '# first\n\nwords of first\n\n# second\n\nwords of second',
      'words of second',
    ])
    assert.deepEqual(await review.names('tools/list', 'tools'), ['echo', 'get_one', 'get_two', 'tell'])
    assert.deepEqual(await ops.names('tools/list', 'tools'), [
      'shout',
      'first__get_one',
      'first__get_two',
      'first__tell',
      'second__echo',
      'second__tell',
    ])
    assert.deepEqual(await bare.names('tools/list', 'tools'), [])
    assert.deepEqual(await review.names('prompts/list', 'prompts'), ['open'])
    assert.deepEqual(await ops.names('prompts/list', 'prompts'), ['first__open', 'second__open'])
    assert.deepEqual(await bare.names('prompts/list', 'prompts'), [])
    for (const viewer of [review, ops]) {
      const uris = await viewer.names('resources/list', 'resources', 'uri')
      assert.deepEqual(uris, ['mem://open/a', 'mem://open/b'])
      const templates = await viewer.names('resources/templates/list', 'resourceTemplates', 'uriTemplate')
      assert.deepEqual(templates, ['mem://open/{id}'])
    }
    assert.equal((await bare.names('resources/list', 'resources', 'uri')).length, 3)
  })

  test('call what they see under their names, and nothing else', async () => {
    const { review, ops, bare } = shared
    assert.equal(at(await review.call('get_one'), 'server'), 'first')
    assert.equal(at(await ops.call('shout', { owner: 'o', repo: 'r' }), 'name'), 'echo')
    for (const [viewer, names] of [
      [review, ['first__get_one', 'delete_all', 'first__delete_all', 'second__get_one', 'second__echo']],
      [ops, ['first__echo', 'first__delete_all', 'delete_all', 'second__get_one']],
      [bare, ['second__get_one', 'get_one', 'second__tell']],
    ] as const)
      for (const name of names) assert.equal(await viewer.call(name), -32601, name)
    const opened = textAt(await review.ask('prompts/get', { name: 'open' }), 'messages', 0, 'content', 'text')
    assert.equal(opened, 'prompt open')
    for (const [viewer, name] of [
      [review, 'secret'],
      [review, 'second__open'],
      [ops, 'first__secret'],
      [ops, 'secret'],
      [bare, 'open'],
    ] as const)
      assert.equal(await viewer.ask('prompts/get', { name }), -32602, name)
  })

  test('read, follow and complete what they see, listed or by a template', async () => {
    const { review, ops, bare } = shared
    for (const viewer of [review, ops]) {
      for (const uri of ['mem://open/a', 'mem://open/z']) {
        const answer = textAt(await viewer.ask('resources/read', { uri }), 'contents', 0, 'text')
        assert.equal(answer, `read ${uri}`)
      }
      for (const uri of ['mem://secret/a', 'mem://secret/z'])
        for (const method of ['resources/read', 'resources/subscribe'])
          assert.equal(await viewer.ask(method, { uri }), -32002, `${method} ${uri}`)
      assert.deepEqual(await viewer.ask('resources/subscribe', { uri: 'mem://open/a' }), {})
    }
    const secret = textAt(await bare.ask('resources/read', { uri: 'mem://secret/z' }), 'contents', 0, 'text')
    assert.equal(secret, 'read mem://secret/z')
    assert.deepEqual(at(await complete(review, prompt('open')), 'completion', 'values'), ['open'])
    assert.deepEqual(at(await complete(ops, prompt('second__open')), 'completion', 'values'), ['open'])
    assert.deepEqual(at(await complete(ops, resource('mem://open/{id}')), 'completion', 'values'), [
      'mem://open/{id}',
    ])
    for (const [viewer, ref] of [
      [review, prompt('secret')],
      [ops, prompt('first__secret')],
      [bare, prompt('second__open')],
      [review, resource('mem://secret/{id}')],
      [ops, resource('mem://secret/a')],
    ] as const)
      assert.equal(await complete(viewer, ref), -32602, JSON.stringify(ref))
  })

  test('hear of what they see', async (t) => {
    const { review, ops } = await views(t)
    for (const viewer of [review, ops]) {
      await viewer.names('tools/list', 'tools')
      await viewer.ask('resources/subscribe', { uri: 'mem://open/a' })
      assert.deepEqual(await viewer.ask('logging/setLevel', { level: 'debug' }), {})
    }
    await review.call('tell', { what: 'hidden tools' })
    await ops.call('second__tell', { what: 'tools' })
    for (const uri of ['mem://secret/a', 'mem://open/b', 'mem://open/a'])
      await review.call('tell', { what: 'updated', uri })
    await until(() => [review, ops].every(({ told }) => told.length > 0))
    await review.call('tell', { what: 'tools' })
    await until(() => [review, ops].every(({ told }) => told.length > 1))
    const expected = ['notifications/resources/updated mem://open/a', 'notifications/tools/list_changed']
    assert.deepEqual([review.told, ops.told], [expected, expected])
  })
})

test('a client without a session has the view of its path with each request', async () => {
  const { gateway } = shared
  const ask = async (
    path: string,
    method: string,
    params: Readonly<Record<string, unknown>> = {},
  ): Promise<unknown> => {
    const request = { method, params, path, headers: bearer('all') }
    return messageIn((await sendStateless(gateway.port, request)).body)
  }
  const names = async (path: string): Promise<unknown[]> => {
    const tools = at(await ask(path, 'tools/list'), 'result', 'tools')
    return Array.isArray(tools) ? tools.map((tool: unknown) => at(tool, 'name')) : []
  }
  assert.deepEqual(await names('/p/review/mcp'), ['echo', 'get_one', 'get_two', 'tell'])
  assert.deepEqual((await names('/p/ops/mcp')).slice(0, 2), ['shout', 'first__get_one'])
  assert.equal((await names('/mcp')).length, 10)
  assert.equal(at(await ask('/p/bare/mcp', 'server/discover'), 'result', 'instructions'), 'words of second')
  const echoed = await ask('/p/review/mcp', 'tools/call', { name: 'echo', arguments: { repo: 'r' } })
  const given = at(parsed(textAt(echoed, 'result', 'content', 0, 'text')), 'given')
  assert.deepEqual(given, { owner: 'acme', n: 7, repo: 'r' })
  const secret = await ask('/p/review/mcp', 'resources/read', { uri: 'mem://secret/a' })
  assert.equal(at(secret, 'error', 'code'), -32602)
})

describe('paths', () => {
  const cases: readonly (readonly [token: string, path: string, status: number])[] = [
    ['all', '/mcp', 200],
    ['all', '/p/review/mcp', 200],
    ['all', '/p/ops/mcp/', 200],
    ['all', '/p/none/mcp', 404],
    ['all', '/servers/first/mcp', 200],
    ['all', '/servers/third/mcp', 404],
    ['ann-token', '/p/review/mcp', 200],
    ['ann-token', '/p/ops/mcp', 404],
    ['ann-token', '/mcp', 200],
    ['eve-token', '/p/review/mcp', 200],
    ['eve-token', '/p/ops/mcp', 200],
    ['eve-token', '/mcp', 403],
    ['eve-token', '/servers/first/mcp', 404],
    ['zoe-token', '/mcp', 404],
    ['zoe-token', '/message', 404],
    ['ann-token', '/api/default/mcp', 404],
    ['ann-token', '/servers/first/mcp', 404],
    ['ann-token', '/api/status', 404],
    ['ann-token', '/', 404],
    ['ann-token', '/health', 200],
    ['wrong', '/p/review/mcp', 401],
  ]
  test('are those of the token', async () => {
    const { gateway } = shared
    for (const [token, path, status] of cases) {
      const headers = bearer(token)
      const isPage = !path.includes('mcp')
      const sent = isPage ? { method: 'GET', path, headers } : { path, headers, body: message('ping', 1) }
      const answer = await send(gateway.port, sent)
      assert.equal(answer.status, status, `${path} with ${token}: ${answer.body}`)
      if (token === 'ann-token' && status === 404) {
        const endpoints = at(parsed(answer.body), 'availableEndpoints')
        assert.deepEqual(endpoints, ['POST /p/review/mcp', 'GET /p/review/sse'])
      }
      if (status === 403) assert.match(answer.body, /connect to \/p\/review\/mcp or \/p\/ops\/mcp"/)
    }
  })

  test('of a token with one profile end at `/mcp` too, with what the profile shows', async (t) => {
    const { gateway } = shared
    for (const [path, make] of [
      ['/mcp', StreamableHTTPClientTransport],
      ['/sse', SSEClientTransport],
    ] as const) {
      const viewer = await overHttp(t, `${gateway.origin}${path}`, 'bob-token', make)
      const names = await viewer.names('tools/list', 'tools')
      assert(names.includes('shout') && !names.includes('first__echo'), names.join())
    }
  })
  test('of one server have its own names', async (t) => {
    const { gateway } = shared
    const viewer = await overHttp(t, `${gateway.origin}/servers/second/mcp`, 'all')
    const names = ['echo', 'get_one', 'get_two', 'delete_all', 'tell']
    assert.deepEqual(await viewer.names('tools/list', 'tools'), names)
    assert.equal(viewer.client.getInstructions(), 'words of second')
    assert.equal(at(await viewer.call('get_one'), 'server'), 'second')
  })
})

const withProfiles = (named: object): Readonly<Record<string, unknown>> => ({
  mcpServers: servers,
  profiles: named,
})

test('a reload changes what the clients of a profile see, and tells them once', async (t) => {
  const { gateway, review, ops } = await views(t)
  for (const viewer of [review, ops]) await viewer.names('tools/list', 'tools')
  await review.ask('resources/subscribe', { uri: 'mem://open/a' })
  const narrower = {
    servers: ['second'],
    tools: { allow: ['second__get_*', 'second__tell'] },
    resources: { allow: [] },
  }
  await gateway.reload(gatewayConfig(configured({ review: narrower })))
  await until(() => review.told.length > 0)
  const shown = await review.names('tools/list', 'tools')
  assert.deepEqual(shown, ['second__get_one', 'second__get_two', 'second__tell'])
  assert.equal(await review.call('echo', { repo: 'r' }), -32601)
  assert.equal(await review.ask('resources/read', { uri: 'mem://open/a' }), -32002)
  await ops.call('first__tell', { what: 'updated', uri: 'mem://open/a' })
  await ops.call('second__tell', { what: 'updated', uri: 'mem://open/a' })
  assert.equal(at(await review.call('second__get_one'), 'server'), 'second')
  assert.deepEqual([review.told, ops.told], [['notifications/tools/list_changed'], []])
})

test('a reload that removes a profile ends the sessions of its clients alone', async (t) => {
  const { review, ops } = profiles
  const gateway = await gatewayOf(t, withProfiles({ review, ops }))
  const { port } = gateway
  const streamAt = async (path: string): Promise<EventReader> => {
    const headers = await handshake(port, '2025-11-25', path)
    return new EventReader(await open(port, { path, method: 'GET', headers: { ...headers, accept: both } }))
  }
  const [gone, stays] = [await streamAt('/p/review/mcp'), await streamAt('/p/ops/mcp')]
  await gateway.reload(gatewayConfig(withProfiles({ ops })))
  assert.equal(await gone.next(), undefined, 'its stream has ended')
  const statuses = ['/p/review/mcp', '/p/ops/mcp'].map(
    async (path) => (await send(port, { path, body: message('ping', 1) })).status,
  )
  assert.deepEqual(await Promise.all(statuses), [404, 200])
  stays.cut()
})
