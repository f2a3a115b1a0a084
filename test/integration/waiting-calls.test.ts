// Calls that wait and are given up: nothing of them is left, and nobody is refused for their sake.

import { strict as assert } from 'node:assert'
import { describe, test } from 'node:test'
import { limits } from '../../src/index.js'
import { type Heard, type RawClient, said } from './support/client.js'
import { at, textAt } from './support/json.js'
import { libraryProxy } from './support/library.js'
import { itServer } from './support/programs.js'
import { type Act, type Scripted, enter, scripted, simple, timed } from './support/scripted.js'
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

/** A client that has not said anything yet: of its two servers `s` never starts, and 200,000 bytes may wait. */
async function besideOneThatHangs(t: Scope, startupGraceMs: number): Promise<RawClient> {
  const session = { ...limits.session, waitingBytesMax: 200_000 }
  const servers = { s: itServer({ IT_START: 'hang' }), o: itServer() }
  const { attach } = await libraryProxy(t, servers, { limits: { ...limits, session } }, { startupGraceMs })
  const { client } = await attach()
  return client
}

/** Makes calls and gives them up, one after the other. */
function inVain(client: RawClient, name: string, times: number, filler = ''): void {
  for (let i = 0; i < times; i++) {
    const id = `vain-${i}`
    const params = { name, arguments: { n: id, filler } }
    client.send(JSON.stringify({ jsonrpc: '2.0', id, method: 'tools/call', params }))
    client.notify('notifications/cancelled', { requestId: id })
  }
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

describe('calls that come before `initialize` is answered', () => {
  test('have a limit', async (t) => {
    const client = await besideOneThatHangs(t, 500)
    const opened = client.open()
    const filler = 'z'.repeat(150_000)
    const [waits, refused] = ['waits', 'too much'].map((n) => client.call('o__nonce', { n, filler }))
    const heard = await refused
    assert.equal(textAt(heard?.value, 'error', 'data', 'reason'), 'overloaded')
    await opened
    assert(waits !== undefined)
    assert.equal(textAt(said(await waits), 'n'), 'waits')
  })
})

describe('calls for a server that has not said what it has', () => {
  test('those that are given up take no room, and the others have a limit', async (t) => {
    const client = await besideOneThatHangs(t, 1)
    await client.open()
    const filler = 'z'.repeat(150_000)
    inVain(client, 's__nonce', 3, filler)
    void client.call('s__nonce', { filler }).catch(() => {})
    const refused = await client.call('s__nonce', { filler })
    assert.equal(textAt(refused.value, 'error', 'data', 'reason'), 'overloaded')
    assert.equal(textAt(refused.value, 'error', 'message'), 'Too many requests in flight')
    assert.equal(
      client.count((value) => at(value, 'error') !== undefined),
      1,
    )
  })

  test('a call after a first start that failed does not wait for the delay, and has the next one', async (t) => {
    const it: Scripted = await scripted(t, { s: { restartDelay: 600_000 }, o: {} }, (method, child) => {
      const isFirst = child === it.runtime.children.find(({ command }) => command === 's')
      if (!isFirst || method !== 'initialize') return simple(method, child)
      child.end(4)
      return undefined
    })
    const { client } = await enter(it)
    assert.equal(it.proxy.status()[0]?.state, 'error')
    const both = [client.call('s__t'), client.call('s__t')]
    for (const call of both) assert.match((await timed(it, call)).heard.text, /"text":"s"/)
    assert.equal(it.runtime.children.filter(({ command }) => command === 's').length, 2)
  })
})
