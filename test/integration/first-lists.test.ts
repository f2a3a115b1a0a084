// The first lists and calls of clients, while servers are still starting.

import { strict as assert } from 'node:assert'
import { Duplex } from 'node:stream'
import { before, describe, test } from 'node:test'
import { MemoryFiles } from '../kept/support/memory-files.js'
import { type FakeChild, FakeRuntime } from '../upstream/support/fake-runtime.js'
import { toolNames } from './support/client.js'
import { at, textAt } from './support/json.js'
import {
  type Act,
  type Scripted,
  closed,
  enter,
  handshake,
  opening,
  scripted,
  simple,
  timed,
  toolChanges,
} from './support/scripted.js'
import { type Scope, scratch } from './support/spawned.js'

const TOOLS = 5
const never = Number.POSITIVE_INFINITY

/** Servers by name, and after how many milliseconds each answers `initialize`. */
const staggered: Readonly<Record<string, number>> = {
  a: 100,
  b: 500,
  c: 1000,
  d: 2000,
  e: 3000,
  f: 4000,
  g: never,
}

/** Servers that have five tools each, and answer `initialize` after a while. */
function world(
  t: Scope,
  delays: Readonly<Record<string, number>>,
  files?: MemoryFiles,
  act: Act = answerOf,
): Promise<Scripted> {
  const servers = Object.fromEntries(Object.keys(delays).map((name) => [name, {}]))
  const delayed: Act = (method, child, params) => {
    const result = act(method, child, params)
    const afterMs = method === 'initialize' ? (delays[child.command] ?? 0) : 0
    if (afterMs === never) return undefined
    return afterMs === 0 || typeof result !== 'string' ? result : { afterMs, result }
  }
  const runtime = new FakeRuntime()
  if (files !== undefined) runtime.files = () => files
  return scripted(t, servers, delayed, { keep: files !== undefined, runtime })
}

const answerOf = (method: string, { command }: FakeChild): string => {
  if (method === 'initialize') return `${handshake(command).slice(0, -1)},"instructions":"I am ${command}."}`
  if (method === 'tools/call') return `{"content":[{"type":"text","text":"${command}"}]}`
  if (method !== 'tools/list') return '{}'
  const tools = Array.from({ length: TOOLS }, (_, n) => ({ name: `t${n}`, inputSchema: { type: 'object' } }))
  return JSON.stringify({ tools })
}

/** These servers end where others answer. */
const failing =
  (...names: readonly string[]): Act =>
  (method, child) => {
    if (!names.includes(child.command)) return answerOf(method, child)
    child.end(3)
    return undefined
  }

/** A start in which a client has listed, and which has ended since every server was ready or had failed. */
async function earlier(t: Scope, delays: Readonly<Record<string, number>>): Promise<MemoryFiles> {
  const files = new MemoryFiles()
  const it = await world(t, delays, files)
  const party = await it.attach()
  await timed(it, opening(party))
  await timed(it, party.client.request('tools/list'))
  await it.runtime.pass(130_000)
  await it.proxy.close(0)
  return files
}

// Loaded with the first call otherwise, while simulated time goes by.
before(() => import('../../src/mcp/arguments/argument-validator.js'))

for (const [who, capabilities] of [
  ['a client that can be asked nothing', {}],
  ['a client that can be asked', { roots: {}, sampling: {}, elicitation: {} }],
] as const)
  test(`before any list is kept, initialize takes a second and the list is whole: ${who}`, async (t) => {
    const it = await world(t, staggered)
    const party = await it.attach()
    const opened = await timed(it, opening(party, capabilities))
    assert.ok(opened.ms <= 1050, `initialize took ${opened.ms} ms`)
    party.client.notify('notifications/initialized')
    const list = party.client.request('tools/list', { _meta: { progressToken: 'p' } })
    const { heard, ms } = await timed(it, list)
    assert.equal(toolNames(heard).length, 6 * TOOLS)
    assert.ok(opened.ms + ms <= 45_100, `the list took ${ms} ms`)
    await it.runtime.pass(20_000)
    assert.equal(toolChanges(party), 0)
    const own = Object.keys(staggered).length
    assert.equal(it.runtime.children.length, own, 'no process is started for who only lists')
  })

test('with kept lists, all of it is there at once, and nothing is said of changes', async (t) => {
  const files = await earlier(t, staggered)
  const it = await world(t, staggered, files)
  const party = await it.attach()
  const opened = await timed(it, opening(party))
  const said = textAt(opened.heard.value, 'result', 'instructions')
  for (const name of 'abcdef') assert.match(said, new RegExp(`I am ${name}\\.`))
  party.client.notify('notifications/initialized')
  const { heard, ms } = await timed(it, party.client.request('tools/list'))
  assert.equal(toolNames(heard).length, 6 * TOOLS)
  assert.ok(opened.ms + ms <= 100, `it took ${opened.ms} and ${ms} ms`)
  await it.runtime.pass(30_000)
  assert.equal(toolChanges(party), 0)
  assert.equal(it.runtime.children.length, 7, 'each is started')
})

test('with kept lists, a call waits for its server and is checked against its lists of now', async (t) => {
  const files = await earlier(t, { a: 0, b: 0 })
  const it = await world(t, { a: 3000, b: 0 }, files, (method, child) =>
    method === 'tools/list' && child.command === 'a'
      ? '{"tools":[{"name":"t0","inputSchema":{"type":"object","required":["x"]}}]}'
      : answerOf(method, child),
  )
  const party = await it.attach()
  await timed(it, opening(party))
  party.client.notify('notifications/initialized')
  assert.equal(toolNames((await timed(it, party.client.request('tools/list'))).heard).length, 2 * TOOLS)
  const [stale, gone, well] = await Promise.all([
    timed(it, party.client.call('a__t0')),
    timed(it, party.client.call('a__t1')),
    timed(it, party.client.call('b__t1')),
  ])
  assert.match(stale.heard.text, /Missing required parameter 'x'/)
  assert.match(textAt(gone.heard.value, 'error', 'message'), /Tool 'a__t1' not found/)
  assert.equal(textAt(well.heard.value, 'result', 'content', 0, 'text'), 'b')
  assert.ok(stale.ms >= 3000 && well.ms < 1000)
  await it.runtime.pass(5000)
  assert.equal(toolChanges(party), 1, 'told once')
})

interface Life {
  /** Undefined unless a list has come. */
  readonly tools?: number
  readonly error?: string
  readonly ms: number
}

/** One client that lists and leaves, or gives up after `patienceMs`. */
async function life(
  t: Scope,
  files: MemoryFiles,
  delays: Readonly<Record<string, number>>,
  patienceMs: number = never,
  name = 'claude-ai',
  params: object = {},
): Promise<Life> {
  const it = await world(t, delays, files)
  const { client } = await it.attach()
  const from = it.runtime.now()
  const clientInfo = { name, version: '1' }
  await timed(
    it,
    client.request('initialize', { protocolVersion: '2025-06-18', capabilities: {}, clientInfo }),
  )
  client.notify('notifications/initialized')
  const list = client.request('tools/list', params)
  const listed: { life?: Omit<Life, 'ms'> } = {}
  void list.then(
    ({ value }) => {
      const error = textAt(value, 'error', 'message')
      listed.life = error === '' ? { tools: toolNames({ value }).length } : { error }
    },
    () => {},
  )
  const endsAt = from + Math.min(patienceMs, 200_000)
  while (listed.life === undefined && it.runtime.now() < endsAt) await it.runtime.pass(250, 50)
  const ms = it.runtime.now() - from
  await closed(it)
  return { ...listed.life, ms }
}

describe('a server that takes long, and clients that list once and leave', () => {
  test('40 s: the first list is whole, and the next ones are there at once', async (t) => {
    const files = new MemoryFiles()
    const delays = { late: 40_000 }
    const { tools, ms } = await life(t, files, delays)
    assert.equal(tools, TOOLS)
    assert.ok(ms <= 40_500, `it took ${ms} ms`)
    for (let start = 2; start <= 3; start++) {
      const next = await life(t, files, delays)
      assert.deepEqual([next.tools, next.ms <= 500], [TOOLS, true])
    }
  })

  const token = { _meta: { progressToken: 'p' } }
  for (const [name, params, seconds] of [
    ['another one', {}, 8],
    ['another one', token, 45],
    ['codex-mcp-client', {}, 8],
    ['claude-code', token, 28],
    ['claude-ai', {}, 58],
    ['gemini-cli-mcp-client-a', {}, 58],
    ['mcp', {}, 3],
  ] as const)
    test(`a list that would be empty is an error before '${name}' gives up, after ${seconds} s`, async (t) => {
      const files = new MemoryFiles()
      for (let start = 1; start <= 2; start++) {
        const { error, ms } = await life(t, files, { late: 60_000 }, never, name, params)
        assert.match(error ?? '', /late: still starting/)
        assert.equal(Math.round(ms / 1000), seconds)
      }
    })

  test('a client that leaves before the answer marks no server as failed', async (t) => {
    const files = new MemoryFiles()
    for (let start = 1; start <= 3; start++) {
      const { tools } = await life(t, files, { late: 12_000 }, 5000)
      assert.equal(tools, undefined, 'the list is not empty at once')
    }
    const { tools } = await life(t, files, { late: 20_000 })
    assert.equal(tools, TOOLS)
  })

  test('a server that failed is not waited for beside others, and is waited for where nothing else is there', async (t) => {
    const files = await earlier(t, { a: 0, gone: never })
    const beside = await life(t, files, { a: 0, gone: 3000 })
    assert.deepEqual([beside.tools, beside.ms <= 500], [TOOLS, true])
    const failed = await earlier(t, { gone: never })
    const alone = await life(t, failed, { gone: 3000 })
    assert.deepEqual([alone.tools, alone.ms >= 2000], [TOOLS, true])
  })
})

const said = async (it: Scripted): Promise<unknown> =>
  at((await timed(it, opening(await it.attach()))).heard.value, 'result', 'instructions')

test('a remote server that refuses the connection does not delay the list by its retries', async (t) => {
  const refused = Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' })
  const runtime = new FakeRuntime()
  runtime.connect = () => {
    const socket = new Duplex({ read: () => {}, write: (_chunk, _encoding, done) => done() })
    setImmediate(() => socket.destroy(refused))
    return Object.assign(socket, { connecting: true })
  }
  const it = await scripted(t, { a: {}, r: { url: 'http://127.0.0.1:9/mcp' } }, answerOf, { runtime })
  const party = await it.attach()
  await timed(it, opening(party))
  // Simulated time stands still from here on, so a list that waits for a retry does not come.
  assert.equal(toolNames(await party.client.request('tools/list')).length, TOOLS)
})

test('the instructions name servers that are still starting', async (t) => {
  const it = await world(t, { a: 0, b: 5000, c: 6000 })
  assert.equal(await said(it), '# a\n\nI am a.\n\nServers that are still starting, whose lists follow: b, c')
})

test('the instructions name servers that failed at their last start, and why', async (t) => {
  const files = new MemoryFiles()
  const before = await world(t, { a: 0, b: 0 }, files, (method, child) => {
    if (child.command !== 'b') return answerOf(method, child)
    child.stderr.write("npm error code E404\nnpm error 404  'b@*' is not in this registry.\n")
    child.end(1)
    return undefined
  })
  const why = "exited with code 1: npm error 404 'b@*' is not in this registry."
  assert.equal(await said(before), `# a\n\nI am a.\n\nServers that are not available now: b: ${why}`)
  await before.runtime.pass(2000)
  await before.proxy.close(0)
  const it = await world(t, { a: 0, b: 5000 }, files)
  const wanted = `# a\n\nI am a.\n\nServers that failed at their last start, and are started again: b: ${why}`
  assert.equal(await said(it), wanted)
})

test('a list is the error that says why', async (t) => {
  const it = await world(t, { a: 0, b: 0 }, undefined, failing('a', 'b'))
  const party = await it.attach()
  const opened = await timed(it, opening(party))
  const instructions = textAt(opened.heard.value, 'result', 'instructions')
  assert.match(instructions, /a: exited with code 3; b: exited with code 3$/)
  const { heard } = await timed(it, party.client.request('tools/list'))
  assert.equal(at(heard.value, 'error', 'code'), -32603)
  assert.match(textAt(heard.value, 'error', 'message'), /a: exited with code 3.*b: exited with code 3/)
})

test('no server at all is an empty list', async (t) => {
  const it = await world(t, {})
  const party = await it.attach()
  await timed(it, opening(party))
  assert.deepEqual(toolNames((await timed(it, party.client.request('tools/list'))).heard), [])
})

test('a server that does not answer is waited for by the first client alone', async (t) => {
  const it = await scripted(t, { a: {}, g: {} }, (method, child) =>
    child.command === 'g' ? undefined : simple(method, child),
  )
  const first = await enter(it)
  assert.equal(first.openedMs + (await timed(it, first.client.request('tools/list'))).ms, 3000)
  for (const declared of [{}, { roots: {} }]) {
    const later = await enter(it, declared)
    const { heard, ms } = await timed(it, later.client.request('tools/list'))
    assert.deepEqual([later.openedMs, ms, toolNames(heard)], [0, 0, ['a__t']])
  }
})

test('a list that could not be read is not kept as an empty one', async (t) => {
  const folder = scratch(t)
  const earlier = await scripted(
    t,
    { a: {}, b: {} },
    (method, child) =>
      method === 'tools/list' && child.command === 'a'
        ? { error: '{"code":-32603,"message":"not yet"}' }
        : simple(method, child),
    { keep: { folder } },
  )
  await enter(earlier)
  await closed(earlier)
  const it = await scripted(
    t,
    { a: {}, b: {} },
    (method, child) =>
      method === 'initialize' ? { afterMs: 500, result: handshake(child.command) } : simple(method, child),
    { keep: { folder } },
  )
  const party = await enter(it)
  assert.equal(party.openedMs, 0)
  const { heard } = await timed(it, party.client.request('tools/list'))
  assert.deepEqual(toolNames(heard), ['a__t', 'b__t'])
  await it.runtime.pass(5000)
  assert.equal(toolChanges(party), 0)
})

test('a server may answer in a batch', async (t) => {
  const it = await scripted(t, { s: {} }, (method, child) => {
    if (method !== 'tools/call') return simple(method, child)
    child.say(`[{"jsonrpc":"2.0","id":${child.lastId},"result":{"content":[]}}]`)
    return undefined
  })
  const { client } = await enter(it)
  assert.deepEqual(at((await client.call('s__t')).value, 'result'), { content: [] })
})

test('while initialize waits for servers, everything but a ping is answered after it, in order', async (t) => {
  const it = await scripted(t, { late: {} }, () => undefined, {}, { startupGraceMs: 500 })
  const party = await it.attach()
  const { client } = party
  void opening(party)
  client.post('invalid/method', {}, 'unknown')
  client.post('ping', {}, 'ping')
  void opening(party)
  client.send('{"jsonrpc":"2.0","id":"odd","method":1}')
  client.post('logging/setLevel', { level: 'info' }, 'level')
  await timed(it, client.request('shutdown', {}, 'shutdown'))
  const order = client.heard.map(({ value }) => at(value, 'id') ?? at(value, 'method'))
  assert.deepEqual(order, ['ping', 1, 'unknown', 2, 'odd', 'level', 'shutdown'])
})
