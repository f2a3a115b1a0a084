// Which clients share a server without sessions.

import { strict as assert } from 'node:assert'
import { describe, test } from 'node:test'
import type { RawClient } from '../integration/support/client.js'
import { libraryProxy } from '../integration/support/library.js'
import type { Scope } from '../integration/support/spawned.js'
import { MemoryFiles } from '../kept/support/memory-files.js'
import { type FakeChild, FakeRuntime, type Script, settled } from './support/fake-runtime.js'

const N = '2026-07-28'
const description = `{"resultType":"complete","supportedVersions":["${N}"],"capabilities":{"tools":{}},"ttlMs":0,"cacheScope":"private"}`

/** What a stateless server says to all but the question. */
const stateless: Script = (method) => {
  switch (method) {
    case 'tools/list':
      return '{"resultType":"complete","tools":[{"name":"t","inputSchema":{"type":"object"}}],"ttlMs":0,"cacheScope":"private"}'
    case 'tools/call':
      return '{"resultType":"complete","content":[]}'
    default:
      return undefined
  }
}

/** The same; its calls stay open. */
const slow: Script = (method, ...said) => (method === 'tools/call' ? undefined : stateless(method, ...said))

interface World {
  readonly runtime: FakeRuntime
  readonly children: readonly FakeChild[]
  /** A client that can be asked, so that it has a process of its own where there are sessions. */
  readonly client: () => Promise<RawClient>
  readonly close: () => Promise<void>
}

/** A server that leaves the question which revisions it speaks unanswered. */
async function worldOf(
  t: Scope,
  script: Script,
  files?: MemoryFiles,
  settings: Record<string, unknown> = {},
): Promise<World> {
  const runtime = new FakeRuntime()
  if (files !== undefined) runtime.files = () => files
  runtime.script = (method, ...said) => (method === 'server/discover' ? undefined : script(method, ...said))
  const ended = async (end: () => void | Promise<void>): Promise<void> => {
    const ending = end()
    await runtime.pass(5000)
    await ending
  }
  const after = (end: () => void | Promise<void>): void => t.after(() => ended(end))
  const options = { runtime, keep: files !== undefined }
  const { attach, proxy } = await libraryProxy({ after }, { s: { command: 's', ...settings } }, options)
  return {
    runtime,
    children: runtime.children,
    client: async () => {
      const { client } = await attach()
      const opening = client.open({ roots: {}, elicitation: {} })
      await runtime.pass(1000)
      await opening
      return client
    },
    close: () => ended(() => proxy.close(0)),
  }
}

/** The question is answered with raw JSON. */
function answer({ children }: World, said: string): void {
  const [child] = children
  child?.say(`{"jsonrpc":"2.0","id":${child.lastId},${said}}`)
}

const calledIn = (children: readonly FakeChild[]): number[] =>
  children.map(({ heard }) => heard.filter((method) => method === 'tools/call').length)

test('clients share a server that had no sessions at an earlier start, before it is known again', async (t) => {
  const files = new MemoryFiles()
  const before = await worldOf(t, stateless, files)
  await before.client()
  answer(before, `"result":${description}`)
  await before.runtime.pass(2000)
  await before.close()
  const world = await worldOf(t, stateless, files)
  const clients = [await world.client(), await world.client()]
  for (const client of clients) void client.call('s__t').catch(() => undefined)
  await settled()
  assert.equal(world.children.length, 1)
  answer(world, `"result":${description}`)
  await settled()
  assert.deepEqual(calledIn(world.children), [2])
})

describe('a server without sessions that all clients are to share', () => {
  test('is one process for those who came before that was known and for those who come later', async (t) => {
    const world = await worldOf(t, stateless, undefined, { isolation: 'shared' })
    const early = await world.client()
    answer(world, `"result":${description}`)
    const late = await world.client()
    for (const client of [early, late]) void client.call('s__t').catch(() => undefined)
    await settled()
    assert.deepEqual(calledIn(world.children), [2])
  })

  test('gets calls of several clients at once, since it asks nothing during them', async (t) => {
    const world = await worldOf(t, slow, undefined, { isolation: 'shared' })
    const clients = [await world.client(), await world.client()]
    answer(world, `"result":${description}`)
    for (const client of clients) void client.call('s__t').catch(() => undefined)
    await settled()
    assert.deepEqual(calledIn(world.children), [2])
  })
})
