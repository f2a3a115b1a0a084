// Calls that wait and are given up: nothing of them is left, and nobody is refused for their sake.

import { strict as assert } from 'node:assert'
import { describe, test } from 'node:test'
import { limits } from '../../src/index.js'
import { type Heard, type RawClient } from './support/client.js'
import { at, textAt } from './support/json.js'
import { type Act, enter, scripted, simple, timed } from './support/scripted.js'
import type { Scope } from './support/spawned.js'

const few = {
  limits: { ...limits, upstream: { ...limits.upstream, queueMax: 2, outgoingBytesMax: 200_000 } },
}

const schema = '"inputSchema":{"type":"object"}'
const tools = `{"tools":[{"name":"hold",${schema}},{"name":"nonce",${schema}}]}`

/** Answers calls of `nonce` with what they bring, and calls of `hold` never. */
const act: Act = (method, child, params) => {
  if (method === 'tools/list') return tools
  if (method !== 'tools/call') return simple(method, child)
  const text = JSON.stringify(at(params, 'arguments', 'n') ?? '')
  return at(params, 'name') === 'hold' ? undefined : `{"content":[{"type":"text","text":${text}}]}`
}

interface OneHeld {
  readonly client: RawClient
  /** The text of a result, or the reason of an error, at the latest after a minute. */
  readonly end: (call: Promise<Heard>) => Promise<string>
}

/** A client whose call `held` has the one slot that there is. */
async function withOneHeld(t: Scope): Promise<OneHeld> {
  const it = await scripted(t, { s: { concurrency: 1, timeout: 60_000 } }, act, few)
  const { client } = await enter(it)
  // From the second call on nobody waits for the validator.
  await timed(it, client.call('s__nonce'))
  const params = { name: 's__hold', arguments: {} }
  client.send(JSON.stringify({ jsonrpc: '2.0', id: 'held', method: 'tools/call', params }))
  const end = async (call: Promise<Heard>): Promise<string> => {
    const { value } = (await timed(it, call)).heard
    return textAt(value, 'result', 'content', 0, 'text') || textAt(value, 'error', 'data', 'reason')
  }
  return { client, end }
}

describe('calls that are given up while they wait', () => {
  test('for a slot, with more bytes than may wait', async (t) => {
    const { client, end } = await withOneHeld(t)
    const filler = 'z'.repeat(150_000)
    const waits = client.call('s__nonce', { n: 'waits', filler })
    const refused = client.call('s__nonce', { n: 'too much', filler })
    assert.equal(await end(refused), 'overloaded')
    client.notify('notifications/cancelled', { requestId: 'held' })
    assert.equal(await end(waits), 'waits')
  })
})
