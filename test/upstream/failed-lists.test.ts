import { strict as assert } from 'node:assert'
import { test } from 'node:test'
import { failure } from '../integration/support/client.js'
import { at, textAt } from '../integration/support/json.js'
import { libraryProxy } from '../integration/support/library.js'
import type { Scope } from '../integration/support/spawned.js'
import { FakeRuntime, polite, settled } from './support/fake-runtime.js'

const offering =
  '{"protocolVersion":"2025-06-18","capabilities":{"tools":{},"prompts":{}},"serverInfo":{"name":"f","version":"1"}}'

/** A client of a server that refuses each of these lists so many times. */
async function refusing(t: Scope, times: Record<string, number>) {
  const runtime = new FakeRuntime()
  const left = new Map(Object.entries(times))
  runtime.script = (method, params, child) => {
    if (method === 'initialize') return offering
    const count = left.get(method) ?? 0
    left.set(method, count - 1)
    if (count <= 0) return method === 'prompts/list' ? '{"prompts":[]}' : polite(method, params, child)
    child.say(`{"jsonrpc":"2.0","id":${child.lastId},"error":{"code":-32000,"message":"not ready"}}`)
    return undefined
  }
  const { attach } = await libraryProxy(t, { s: { command: 'x' } }, { runtime })
  const { client } = await attach()
  const opening = client.open()
  await settled()
  await opening
  const asked = (what: string): number =>
    runtime.children[0]?.heard.filter((method) => method === what).length ?? 0
  return { runtime, client, asked }
}

test('a server that could not list its tools is asked again when a call may be for it', async (t) => {
  const { runtime, client, asked } = await refusing(t, { 'tools/list': 1 })
  assert.equal(asked('tools/list'), 1)
  const answer = client.call('s__t')
  // The first call also waits for the validator.
  for (let turn = 0; turn < 500 && asked('tools/call') === 0; turn++) await settled()
  assert.equal(runtime.now(), 0)
  assert.equal(asked('tools/list'), 2)
  assert.deepEqual(at((await answer).value, 'result'), { content: [] })
})

test('a server that still cannot list its tools is why the call fails', async (t) => {
  const { client } = await refusing(t, { 'tools/list': 1000 })
  const heard = await client.call('s__t')
  assert.deepEqual(failure(heard), [-32603, 's', 'unavailable'])
  assert.match(textAt(heard.value, 'error', 'message'), /^'s': tools\/list: .*not ready/)
})

test('a server that cannot list its prompts has its tools, and no others', async (t) => {
  const { client, asked } = await refusing(t, { 'prompts/list': 1000 })
  const heard = await client.call('s__typo')
  assert.equal(textAt(heard.value, 'error', 'message'), "Tool 's__typo' not found")
  assert.deepEqual(at((await client.call('s__t')).value, 'result'), { content: [] })
  assert.equal(asked('prompts/list'), 1)
})
