// Questions of a shared server that may be about a call which was given up.

import { strict as assert } from 'node:assert'
import { test } from 'node:test'
import { limits } from '../../src/index.js'
import { type RawClient, said } from './support/client.js'
import { at, numberAt, textAt } from './support/json.js'
import { type Attached, libraryProxy } from './support/library.js'
import { itServer } from './support/programs.js'
import type { Scope } from './support/spawned.js'

const askable = { sampling: {} }

async function pair(t: Scope, graceMs: number): Promise<[Attached, Attached]> {
  const abandoned = { ...limits.upstream.abandoned, graceMs }
  const options = { limits: { ...limits, upstream: { ...limits.upstream, abandoned } } }
  const { attach } = await libraryProxy(t, { s: itServer({}, { isolation: 'shared' }) }, options)
  const both: [Attached, Attached] = [await attach(), await attach()]
  for (const [i, { client }] of both.entries()) {
    client.onRequest = () => `{"role":"assistant","model":"m","content":{"type":"text","text":"client ${i}"}}`
    await client.open(askable)
  }
  return both
}

async function giveUp(client: RawClient): Promise<void> {
  void client.call('s__never', {}, undefined, 'lost').catch(() => undefined)
  await client.request('ping')
  client.notify('notifications/cancelled', { requestId: 'lost' })
  await client.request('ping')
}

const ask = async (client: RawClient): Promise<unknown> =>
  said(
    await client.call('s__ask', { method: 'sampling/createMessage', params: { messages: [], maxTokens: 1 } }),
  )

const pidOf = async (client: RawClient): Promise<number> =>
  numberAt(said(await client.call('s__nonce', { n: 'x' })), 'pid')

test('the first one in doubt is refused, and then the process is another one', async (t) => {
  const [{ client: one }, { client: two }] = await pair(t, 0)
  const pid = await pidOf(two)
  await giveUp(one)
  assert.equal(await pidOf(two), pid, 'a server that asks nothing goes on')
  const refused = await ask(two)
  assert.equal(numberAt(refused, 'error', 'code'), -32601)
  assert.equal(textAt(await ask(two), 'result', 'content', 'text'), 'client 1')
  assert.notEqual(await pidOf(two), pid)
  assert.equal(textAt(await ask(one), 'result', 'content', 'text'), 'client 0')
})

test('while the server may still be about to stop it is only refused', async (t) => {
  const [{ client: one }, { client: two }] = await pair(t, 600_000)
  const pid = await pidOf(two)
  await giveUp(one)
  assert.equal(numberAt(await ask(two), 'error', 'code'), -32601)
  assert.equal(await pidOf(two), pid)
  // Its own questions are nobody else's.
  assert.equal(textAt(await ask(one), 'result', 'content', 'text'), 'client 0')
})

test('calls that wait while the process is replaced are served by the next one', async (t) => {
  const [{ client: one }, { client: two }] = await pair(t, 0)
  await pidOf(one)
  await giveUp(one)
  const refused = ask(two)
  const waiting = Array.from({ length: 10 }, (_, i) => two.call('s__nonce', { n: String(i) }))
  assert.equal(numberAt(await refused, 'error', 'code'), -32601)
  for (const [i, call] of waiting.entries()) {
    const heard = await call
    assert.equal(at(heard.value, 'error'), undefined, heard.text)
    assert.equal(textAt(said(heard), 'n'), String(i))
  }
})

test('more calls given up than are remembered leave everything in doubt', async (t) => {
  const abandoned = { max: 1, graceMs: 600_000 }
  const options = { limits: { ...limits, upstream: { ...limits.upstream, abandoned } } }
  const { attach } = await libraryProxy(t, { s: itServer({}, { isolation: 'shared' }) }, options)
  const { client } = await attach()
  client.onRequest = () => '{"role":"assistant","model":"m","content":{"type":"text","text":"me"}}'
  await client.open(askable)
  assert.equal(textAt(await ask(client), 'result', 'content', 'text'), 'me')
  await giveUp(client)
  assert.equal(numberAt(await ask(client), 'error', 'code'), -32601)
})
