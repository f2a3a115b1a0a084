// A server that several clients share may ask for a call that one of them has cancelled.

import { strict as assert } from 'node:assert'
import { test } from 'node:test'
import { type RawClient, said } from './support/client.js'
import { at, textAt } from './support/json.js'
import { type Attached, libraryProxy } from './support/library.js'
import { itServer } from './support/programs.js'
import type { Scope } from './support/spawned.js'

const askable = { sampling: {} }

async function pair(t: Scope): Promise<[Attached, Attached]> {
  const { attach } = await libraryProxy(t, { s: itServer({}, { isolation: 'shared' }) })
  const both: [Attached, Attached] = [await attach(), await attach()]
  for (const [i, { client }] of both.entries()) {
    client.onRequest = () => `{"role":"assistant","model":"m","content":{"type":"text","text":"client ${i}"}}`
    await client.open(askable)
  }
  return both
}

async function giveUp(client: RawClient, tool = 's__never', args: object = {}): Promise<void> {
  void client.call(tool, args, undefined, 'lost').catch(() => undefined)
  await client.request('ping')
  client.notify('notifications/cancelled', { requestId: 'lost' })
  await client.request('ping')
}

const ask = async (client: RawClient): Promise<unknown> =>
  said(
    await client.call('s__ask', { method: 'sampling/createMessage', params: { messages: [], maxTokens: 1 } }),
  )

const answered = (value: unknown): string => textAt(value, 'result', 'content', 'text')

test('the next call of another client runs in another process, whose questions are answered', async (t) => {
  const [{ client: one }, { client: two }] = await pair(t)
  const pid = await two.pidOf('s__nonce')
  await giveUp(one)
  assert.equal(answered(await ask(two)), 'client 1')
  assert.notEqual(await two.pidOf('s__nonce'), pid)
  assert.equal(answered(await ask(one)), 'client 0')
})

test('the client that has cancelled goes on in the same process', async (t) => {
  const [{ client: one }, { client: two }] = await pair(t)
  const pid = await two.pidOf('s__nonce')
  await giveUp(one)
  assert.equal(answered(await ask(one)), 'client 0')
  assert.equal(await one.pidOf('s__nonce'), pid)
})

test('a server that answers a cancelled call after all keeps its process', async (t) => {
  const [{ client: one }, { client: two }] = await pair(t)
  const pid = await two.pidOf('s__nonce')
  await giveUp(one, 's__hold', { key: 'k' })
  await one.call('s__release', { key: 'k' })
  assert.equal(await two.pidOf('s__nonce'), pid)
})

test('calls that wait while the process is replaced run in the next one', async (t) => {
  const [{ client: one }, { client: two }] = await pair(t)
  await one.pidOf('s__nonce')
  await giveUp(one)
  const waiting = Array.from({ length: 10 }, (_, i) => two.call('s__nonce', { n: String(i) }))
  for (const [i, call] of waiting.entries()) {
    const heard = await call
    assert.equal(at(heard.value, 'error'), undefined, heard.text)
    assert.equal(textAt(said(heard), 'n'), String(i))
  }
})
