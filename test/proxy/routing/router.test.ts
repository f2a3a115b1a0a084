// The server for each call, the edits on its way there, and the reasons to wait.

import { strict as assert } from 'node:assert'
import { test } from 'node:test'
import { readFrame } from '../../../src/jsonrpc/frame.js'
import { toLine } from '../../../src/jsonrpc/line.js'
import { Call, type Outcome } from '../../../src/calls/call.js'
import { CallDeadline } from '../../../src/calls/call-deadline.js'
import { extensionRow, requests } from '../../../src/mcp/methods.js'
import { Catalogs } from '../../../src/proxy/routing/catalog.js'
import { CatalogView, Views } from '../../../src/proxy/routing/views.js'
import { Router } from '../../../src/proxy/routing/router.js'
import { nobody } from '../../upstream/support/calls.js'
import { FakeRuntime } from '../../upstream/support/fake-runtime.js'
import { FakeServer, type Lists } from '../support/fake-server.js'
import type { Lane, Upstream } from '../../../src/upstream/contracts/upstream.js'
import { routingOf, upstreamOf } from '../support/stage.js'

const ignore = (): void => {}

const everything = {
  servers: undefined,
  tools: { allow: undefined, deny: [], rename: new Map(), set: new Map() },
  prompts: { allow: undefined, deny: [] },
  resources: { allow: undefined, deny: [] },
  describe: undefined,
}

function stage(servers: (events: string[]) => readonly FakeServer[], view = new CatalogView('')) {
  const runtime = new FakeRuntime()
  const events: string[] = []
  const lanes = servers(events).map(({ lane }) => lane)
  const upstreams = new Map<Lane, Upstream>()
  const reached = (lanes: readonly Lane[]): Upstream[] =>
    lanes.map((lane) => {
      const upstream = upstreams.get(lane) ?? upstreamOf(lane)
      upstreams.set(lane, upstream)
      return upstream
    })
  const router = new Router(
    { ...nobody, view, isReady: true, notifyChanges: ignore },
    routingOf(runtime),
    reached(lanes),
    new Catalogs(ignore),
    ignore,
  )
  const onSettled = (_call: Call, outcome: Outcome): void => {
    if (outcome.kind === 'failed') events.push(`error ${outcome.error.code} ${outcome.error.message}`)
    if (outcome.kind === 'result') events.push(`result ${Buffer.from(outcome.result).toString()}`)
  }
  let id = 0
  const call = (method: string, params: string): Call => {
    const line = `{"jsonrpc":"2.0","id":${++id},"method":"${method}","params":${params}}`
    const frame = readFrame(toLine(line))
    const row = requests.get(method) ?? extensionRow(method)
    assert(frame.kind === 'request' && row !== undefined)
    const made = new Call(frame, row, nobody, new CallDeadline(runtime.now()), { onSettled })
    made.serial = id
    router.route(made)
    return made
  }
  const exchange = (...next: readonly FakeServer[]): void =>
    router.exchange(reached(next.map(({ lane }) => lane)))
  return { runtime, events, call, exchange, look: () => router.onListsChanged([]) }
}

function server(
  name: string,
  parts?: ConstructorParameters<typeof FakeServer>[3],
): (calls: string[]) => FakeServer {
  return (calls) => new FakeServer(name, {}, calls, parts)
}

const skills = { extensions: ['io.modelcontextprotocol/skills'] }
const missing = [/^error -32601 .*'skills\/list'/]
const profiles = new Views()
profiles.change(new Map([['p', { ...everything, prefix: false }]]), ['a'])
type Case = readonly [string, readonly ReturnType<typeof server>[], string | undefined, readonly RegExp[]]
const cases: readonly Case[] = [
  ['reaches the only server with an extension', [server('a', skills)], undefined, [/^a \{"x":1\}$/]],
  ['is unknown where the server announces none', [server('a')], undefined, missing],
  [
    'is unknown where the server announces what has no methods',
    [server('a', { extensions: ['io.modelcontextprotocol/ui'] })],
    undefined,
    missing,
  ],
  ['is unknown with two servers', [server('a', skills), server('b', skills)], undefined, missing],
  ['is unknown where tools are hidden', [server('a', { ...skills, deny: ['x'] })], undefined, missing],
  ['is unknown in a profile', [server('a', skills)], 'profile:p', missing],
  ['reaches the server of an address of its own', [server('a', skills)], 'server:a', [/^a \{"x":1\}$/]],
]
for (const [title, servers, view, wanted] of cases)
  test(`a method that the protocol does not have: ${title}`, () => {
    const { events, call } = stage((calls) => servers.map((make) => make(calls)), profiles.of(view))
    call('skills/list', '{"x":1}')
    assert.equal(events.length, wanted.length, events.join('\n'))
    for (const [at, want] of wanted.entries()) assert.match(events[at] ?? '', want)
  })

const a: Lists = { tools: ['x', 'both'], prompts: ['p'], resources: ['r:1'], templates: ['f:{+path}'] }
const b: Lists = { tools: ['y', 'both'], resources: ['r:1', 'r:2'] }
const calls: readonly (readonly [string, string, string, readonly (string | RegExp)[]])[] = [
  ['a public name', 'tools/call', '{"name":"a__x"}', ['a {"name":"x"}']],
  ['an own name that one server has', 'tools/call', '{"name":"y"}', ['b {"name":"y"}']],
  ['an own name that two servers have', 'tools/call', '{"name":"both"}', [/^error -32601 .*'both'/]],
  ['no name', 'tools/call', '{}', [/^error -32602 .*'name'/]],
  ['a prompt', 'prompts/get', '{"name":"a__p"}', ['a {"name":"p"}']],
  ['a resource of two lists', 'resources/read', '{"uri":"r:1"}', ['a {"uri":"r:1"}']],
  ['a resource of one list', 'resources/read', '{"uri":"r:2"}', ['b {"uri":"r:2"}']],
  ['a resource of a template', 'resources/subscribe', '{"uri":"f:q"}', ['a {"uri":"f:q"}']],
  ['a resource of no list', 'resources/read', '{"uri":"z"}', ['a {"uri":"z"}', 'b {"uri":"z"}']],
  [
    'a completion of a prompt',
    'completion/complete',
    '{"ref":{"type":"ref/prompt","name":"a__p"}}',
    ['a {"ref":{"type":"ref/prompt","name":"p"}}'],
  ],
  [
    'a list of all servers',
    'tools/list',
    '{}',
    ['result {"tools":[{"name":"a__x"},{"name":"a__both"},{"name":"b__y"},{"name":"b__both"}]}'],
  ],
]
for (const [title, method, params, wanted] of calls)
  test(`a call of ${method} with ${title}`, () => {
    const { events, call } = stage((calls) => [
      new FakeServer('a', a, calls, { missing: '"z"' }),
      new FakeServer('b', b, calls),
    ])
    call(method, params)
    assert.equal(events.length, wanted.length, events.join('\n'))
    for (const [at, want] of wanted.entries())
      if (typeof want === 'string') assert.equal(events[at], want)
      else assert.match(events[at] ?? '', want)
  })

test('a call sees what the view of its client shows, and carries the arguments that the view sets', () => {
  const view = new CatalogView('profile:p', {
    ...everything,
    tools: { ...everything.tools, deny: ['a__both'], set: new Map([['a__x', new Map([['set', '1']])]]) },
    resources: { allow: [], deny: [] },
    prefix: undefined,
  })
  const { events, call } = stage((calls) => [new FakeServer('a', a, calls)], view)
  call('tools/call', '{"name":"a__both"}')
  call('resources/read', '{"uri":"z"}')
  call('tools/call', '{"name":"a__x","arguments":{}}')
  assert.match(events[0] ?? '', /^error -32601/)
  assert.match(events[1] ?? '', /^error -3\d+ /)
  assert.deepEqual(events.slice(2), ['a {"name":"x","arguments":{"set":1}}'])
})

/** A server that is ready, and one that becomes ready when `start` is called. */
function starting() {
  let start = ignore
  const made = stage((calls) => {
    const late = new FakeServer('late', { tools: ['x'], resources: ['r:1'] }, calls, { starts: true })
    start = () => late.start()
    return [new FakeServer('a', { tools: ['y'] }, calls), late]
  })
  const begin = (): void => {
    start()
    made.look()
  }
  return { ...made, start: begin }
}

test('a call for a server that starts waits for its names, and later calls do not overtake it', async () => {
  const { events, call, start, runtime } = starting()
  call('tools/call', '{"name":"late__x","arguments":{"n":1}}')
  call('tools/call', '{"name":"a__y"}')
  assert.deepEqual(events, ['a {"name":"y"}'], 'a call for another server goes at once')
  start()
  call('tools/call', '{"name":"late__x","arguments":{"n":2}}')
  await runtime.pass(0)
  const found = events.slice(1)
  assert.deepEqual(found, ['late {"name":"x","arguments":{"n":1}}', 'late {"name":"x","arguments":{"n":2}}'])
})
