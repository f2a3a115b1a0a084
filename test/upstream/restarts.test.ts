// When a server of many clients is started again, in a time that the tests make.

import { strict as assert } from 'node:assert'
import { describe, test } from 'node:test'
import { type McpProxy, type ServerEvent, limits } from '../../src/index.js'
import { type RawClient, failure } from '../integration/support/client.js'
import { type Attached, libraryProxy } from '../integration/support/library.js'
import type { Scope } from '../integration/support/spawned.js'
import { FakeRuntime, type Script, polite, settled, dead } from './support/fake-runtime.js'

const { restart } = limits.upstream

interface Run {
  readonly runtime: FakeRuntime
  readonly proxy: McpProxy
  /** A client that can be asked something, so that it has a process of its own. */
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

/** What is answered within a second; a call may wait a little for what its server asks first. */
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

describe('the clients of a broken server', () => {
  test('start it once in each back-off interval, not at all when they call no more, and disturb no other process', async (t) => {
    const world = await run(t, polite)
    const [served, ...clients] = await clientsOf(world, 31)
    await within(world, served?.call('s__t'))
    const [healthy] = world.runtime.children
    world.runtime.script = (method, params, child) =>
      (child === healthy ? polite : dead)(method, params, child)
    for (let round = 0; round < 45; round++) {
      const answers = Promise.all(clients.map((client) => client.call('s__t')))
      for (const heard of (await within(world, answers)) ?? [])
        assert.deepEqual(failure(heard).slice(0, 2), [-32603, 's'])
      assert.equal((await within(world, served?.call('s__t')))?.text.includes('"content":[]'), true)
    }
    const [, ...broken] = world.runtime.children
    const starts = broken.map(({ startedAt }) => startedAt)
    // The first crashes within the window open the breaker; then each hold ends with one attempt. The second start began
    // before the first had failed.
    const [first, ...holds] = starts.slice(restart.crashesMax)
    const intervals = holds.map((at, index) => at - ([first, ...holds][index] ?? 0))
    assert(intervals.length >= 2, `${starts.length} starts`)
    for (const ms of intervals) assert(ms >= 0.8 * restart.holdMs, `${ms} ms between two attempts`)
    await world.runtime.pass(600_000)
    assert.equal(world.runtime.children.length, starts.length + 1)
  })
})

test('processes that end together are one crash', async (t) => {
  const world = await run(t, polite)
  const clients = await clientsOf(world, 8)
  for (const client of clients) {
    await within(world, client.call('s__t'))
  }
  for (const child of world.runtime.children) child.end(1)
  await settled()
  const answers = (await within(world, Promise.all(clients.map((client) => client.call('s__t'))))) ?? []
  for (const { text } of answers) assert.equal(text.includes('"content":[]'), true)
})
