// Which servers a completion waits for.

import { strict as assert } from 'node:assert'
import { describe, test } from 'node:test'
import type { RawClient } from '../integration/support/client.js'
import { at } from '../integration/support/json.js'
import { libraryProxy } from '../integration/support/library.js'
import type { Scope } from '../integration/support/spawned.js'
import { MemoryFiles } from '../kept/support/memory-files.js'
import { type FakeChild, FakeRuntime, type Script, polite, settled } from './support/fake-runtime.js'

const handshake =
  '{"protocolVersion":"2025-06-18","capabilities":{"tools":{},"prompts":{},"resources":{},"completions":{}},"serverInfo":{"name":"f","version":"1"}}'

/** What a server says that completes. */
const complete: Script = (method, ...said) => {
  switch (method) {
    case 'initialize':
      return handshake
    case 'prompts/list':
      return '{"prompts":[{"name":"p"}]}'
    case 'resources/list':
      return '{"resources":[]}'
    case 'resources/templates/list':
      return '{"resourceTemplates":[{"name":"r","uriTemplate":"s://{x}"}]}'
    case 'completion/complete':
      return '{"completion":{"values":["v"]}}'
    default:
      return polite(method, ...said)
  }
}

const references = {
  'a prompt': { type: 'ref/prompt', name: 's__p' },
  'a template': { type: 'ref/resource', uri: 's://{x}' },
}

interface World {
  readonly client: RawClient
  readonly runtime: FakeRuntime
  readonly started: (name: string) => FakeChild[]
  readonly close: () => Promise<void>
}

/** Two servers, both eager to start: `s` as told, and `o`, which never answers. */
async function worldOf(t: Scope, script: Script, files?: MemoryFiles): Promise<World> {
  const runtime = new FakeRuntime()
  if (files !== undefined) runtime.files = () => files
  runtime.script = (...said) => (said[2].command === 's' ? script(...said) : undefined)
  const servers = { s: { command: 's' }, o: { command: 'o' } }
  const after = (end: () => void | Promise<void>): void =>
    t.after(async () => {
      const ended = end()
      await runtime.pass(5000)
      await ended
    })
  const options = { runtime, keep: files !== undefined }
  const { attach, proxy } = await libraryProxy({ after }, servers, options, { startupGraceMs: 60_000 })
  const { client } = await attach()
  const close = async (): Promise<void> => {
    const closing = proxy.close(0)
    await runtime.pass(5000)
    await closing
  }
  return {
    client,
    runtime,
    started: (name) => runtime.children.filter(({ command }) => command === name),
    close,
  }
}

/** Both have been asked what they are. */
async function open({ client, runtime }: World): Promise<void> {
  const opening = client.open()
  await runtime.pass(2000)
  await opening
  await settled()
}

interface Completing {
  /** The answer that comes without the passing of time; undefined where it has to be waited for. */
  readonly soon: () => Promise<unknown>
}

function completion({ client }: World, ref: object): Completing {
  let heard: unknown
  void client.request('completion/complete', { ref, argument: { name: 'x', value: '' } }).then(
    ({ value }) => (heard = at(value, 'result')),
    () => undefined,
  )
  return {
    soon: async () => {
      await settled()
      return heard
    },
  }
}

const completed = { completion: { values: ['v'] } }

describe('a completion waits for no other server', () => {
  for (const [title, ref] of Object.entries(references))
    test(`than the one that has ${title}, which has listed`, async (t) => {
      const world = await worldOf(t, complete)
      await open(world)
      assert.deepEqual(await completion(world, ref).soon(), completed)
    })

  for (const [title, ref] of Object.entries(references))
    test(`than the one that had ${title} at an earlier start`, async (t) => {
      const files = new MemoryFiles()
      const before = await worldOf(t, complete, files)
      await open(before)
      await before.close()
      let isReady = false
      const late: Script = (method, ...said) =>
        isReady || method !== 'initialize' ? complete(method, ...said) : undefined
      const world = await worldOf(t, late, files)
      await open(world)
      const completing = completion(world, ref)
      assert.equal(await completing.soon(), undefined)
      isReady = true
      for (const child of world.started('s')) {
        const answer = complete('initialize', undefined, child) ?? ''
        child.say(`{"jsonrpc":"2.0","id":${child.lastId},"result":${answer}}`)
      }
      assert.deepEqual(await completing.soon(), completed)
    })

  test('but for all of them where nobody knows whose it is', async (t) => {
    const world = await worldOf(t, complete)
    await open(world)
    assert.equal(await completion(world, { type: 'ref/resource', uri: 'x://{x}' }).soon(), undefined)
  })
})
