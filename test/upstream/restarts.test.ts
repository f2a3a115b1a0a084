// When a shared server is restarted, in simulated time.

import { strict as assert } from 'node:assert'
import { test } from 'node:test'
import { type McpProxy, type ServerEvent, limits } from '../../src/index.js'
import { type RawClient, failure } from '../integration/support/client.js'
import { type Attached, libraryProxy } from '../integration/support/library.js'
import type { Scope } from '../integration/support/spawned.js'
import { FakeRuntime, type Script, polite, settled, dead, mute } from './support/fake-runtime.js'

const { restart } = limits.upstream

interface Run {
  readonly runtime: FakeRuntime
  readonly proxy: McpProxy
  /** A client with capabilities, so that it gets its own process. */
  readonly client: () => Promise<RawClient>
  readonly attached: () => Promise<Attached>
  readonly events: ServerEvent[]
}

async function run(t: Scope, script: Script, processesMax: number = 1000): Promise<Run> {
  const runtime = new FakeRuntime()
  runtime.script = script
  const events: ServerEvent[] = []
  const { attach, proxy } = await libraryProxy(
    t,
    { s: { command: 'x', protocol: 'legacy', isolation: 'session' } },
    {
      runtime,
      ownStart: 'with-call',
      limits: { ...limits, upstream: { ...limits.upstream, processesMax } },
      on: { server: (event) => events.push(event) },
    },
  )
  const attached = async (): Promise<Attached> => {
    const one = await attach()
    const opening = one.client.open({ elicitation: {} })
    await settled()
    await runtime.pass(1000)
    await opening
    return one
  }
  return { runtime, proxy, client: async () => (await attached()).client, attached, events }
}

/** The answer if it comes within a second. A call may wait for requests of its server. */
async function within<T>({ runtime }: Run, answer: Promise<T> | undefined): Promise<T | undefined> {
  await settled()
  await runtime.pass(1000, 250)
  return answer
}

const clientsOf = async ({ client }: Run, count: number): Promise<RawClient[]> => {
  const clients: RawClient[] = []
  while (clients.length < count) clients.push(await client())
  return clients
}

test('calls to a broken server start it once in each back-off interval, and disturb no other process', async (t) => {
  const world = await run(t, polite)
  const [served, ...clients] = await clientsOf(world, 31)
  await within(world, served?.call('s__t'))
  const [healthy] = world.runtime.children
  world.runtime.script = (method, params, child) => (child === healthy ? polite : dead)(method, params, child)
  for (let round = 0; round < 45; round++) {
    const answers = Promise.all(clients.map((client) => client.call('s__t')))
    for (const heard of (await within(world, answers)) ?? [])
      assert.deepEqual(failure(heard).slice(0, 2), [-32603, 's'])
    assert.equal((await within(world, served?.call('s__t')))?.text.includes('"content":[]'), true)
  }
  const [, ...broken] = world.runtime.children
  const starts = broken.map(({ startedAt }) => startedAt)
  // The first crashes within the window open the breaker; then each hold ends with one attempt. The second start
  // began before the first had failed.
  const [first, ...holds] = starts.slice(restart.crashesMax)
  const intervals = holds.map((at, index) => at - ([first, ...holds][index] ?? 0))
  assert(intervals.length >= 2, `${starts.length} starts`)
  for (const ms of intervals) assert(ms >= 0.8 * restart.holdMs, `${ms} ms between two attempts`)
  await world.runtime.pass(600_000)
  assert.equal(world.runtime.children.length, starts.length + 1)
})

const stateOf = ({ proxy }: Run): string | undefined => proxy.status()[0]?.state

test('a crash of the process of a client is no error once the server is up for another', async (t) => {
  const world = await run(t, dead)
  const [first] = await clientsOf(world, 1)
  await within(world, first?.call('s__t'))
  assert.equal(stateOf(world), 'error')
  world.runtime.script = polite
  const { client, connection } = await world.attached()
  await within(world, client.call('s__t'))
  assert.equal(stateOf(world), 'connected')
  await connection.close()
  await world.runtime.pass(60_000)
  assert.equal(stateOf(world), 'disconnected')
})

test('the status is an error for a client that comes while the breaker is open', async (t) => {
  const world = await run(t, dead)
  const { client, connection } = await world.attached()
  for (let calls = 0; calls < 20; calls++) await within(world, client.call('s__t'))
  const [late] = await clientsOf(world, 1)
  await connection.close()
  await within(world, late?.call('s__t'))
  assert.equal(stateOf(world), 'error')
})

test('a process that waited for a place is no crash: the first crash after it does not open the breaker', async (t) => {
  const world = await run(t, polite, 1)
  const [one, two] = await clientsOf(world, 2)
  world.runtime.script = mute
  const running = one?.call('s__t')
  await world.runtime.pass(1000, 250)
  const waiting = two?.call('s__t')
  await world.runtime.pass(1000, 250)
  world.runtime.script = polite
  world.runtime.children[0]?.end(1)
  await running
  await within(world, waiting)
  world.runtime.script = polite
  for (let times = 0; times < 2; times++) {
    const after = await within(world, two?.call('s__t'))
    assert.equal(after?.text.includes('"content":[]'), true)
    world.runtime.children.at(-1)?.end(1)
    await settled()
  }
})

test('processes that end together are one crash', async (t) => {
  const world = await run(t, polite)
  const clients = await clientsOf(world, 8)
  for (const client of clients) await within(world, client.call('s__t'))
  for (const child of world.runtime.children) child.end(1)
  await settled()
  const answers = (await within(world, Promise.all(clients.map((client) => client.call('s__t'))))) ?? []
  for (const { text } of answers) assert.equal(text.includes('"content":[]'), true)
})
