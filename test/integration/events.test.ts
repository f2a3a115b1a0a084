// The events of a proxy for the program that embeds it.

import { strict as assert } from 'node:assert'
import { test } from 'node:test'
import { type SessionEvent, httpServer } from '../../src/index.js'
import type { ListsEvent, ServerEvent } from '../../src/index.js'
import { said } from './support/client.js'
import { numberAt } from './support/json.js'
import { libraryProxy, proxyWithClient } from './support/library.js'
import { itServer } from './support/programs.js'
import { handshake, open, read, send } from '../transports/support/http.js'
import { until } from './support/waiting.js'

const a = itServer({ IT_NAME: 'a' }, { restartDelay: 10 })
const b = itServer({ IT_NAME: 'b' })

const states = (events: readonly ServerEvent[], server: string): string[] =>
  events.filter((event) => event.server === server).map(({ state }) => state)

test('server events tell of a start, a crash, the start after it, and the end', async (t) => {
  const servers: ServerEvent[] = []
  const on = { server: (event: ServerEvent) => servers.push(event) }
  const { client, proxy } = await proxyWithClient(t, { a, b }, { on })
  await client.request('tools/list')
  await until(() => states(servers, 'a').includes('ready') && states(servers, 'b').includes('ready'))
  const pid = numberAt(said(await client.call('a__nonce', { n: '' })), 'pid')
  await client.call('a__die', { code: 3 })
  await until(() => states(servers, 'a').length === 5)
  await proxy.close()
  const ofA = servers.filter(({ server }) => server === 'a')
  const order = ofA.map(({ state }) => state)
  assert.deepEqual(order, ['starting', 'ready', 'failed', 'starting', 'ready', 'stopped'])
  const [starting, ready, failed, , again, stopped] = ofA
  assert.deepEqual([starting?.schema, starting?.kind], ['default', 'stdio'])
  assert.deepEqual([starting?.pid, ready?.pid, failed?.pid], [pid, pid, pid])
  assert(ready?.state === 'ready' && again?.state === 'ready')
  assert.deepEqual([ready.revision, ready.restarts, again.restarts], ['2025-11-25', 0, 1])
  assert(ready.tools > 10)
  assert.notEqual(again.pid, pid)
  assert(failed?.state === 'failed' && stopped?.state === 'stopped')
  assert.deepEqual([failed.reason, failed.message], ['exited', "'a' exited with code 3"])
  assert.equal(stopped.cause, 'closing')
  assert.deepEqual(states(servers, 'b'), ['starting', 'ready', 'stopped'])
})

test('events: lists, reload and close', async (t) => {
  const { proxy, attach } = await libraryProxy(t, { a })
  const lists: ListsEvent[] = []
  proxy.on('lists', (event) => lists.push(event))
  const reloads: unknown[] = []
  const closes: unknown[] = []
  proxy.on('reload', (event) => reloads.push(event))
  proxy.on('close', (event) => closes.push(event))
  const { client } = await attach()
  await client.open()
  await client.request('tools/list')
  await until(() => lists.some(({ changed }) => changed.includes('tools')))
  assert.equal(lists[0]?.server, 'a')
  assert((lists[0]?.counts.tools ?? 0) > 10)
  assert((lists[0]?.bytes.tools ?? 0) > 500)
  await proxy.reload({ mcpServers: { a, b } })
  assert.deepEqual(reloads, [{ schema: 'default', added: ['b'], replaced: [], removed: [], kept: ['a'] }])
  await proxy.close()
  assert.deepEqual(closes, [{ schema: 'default' }])
})

test('a listener that throws or rejects is logged, others are told, a removed one is not', async (t) => {
  const { proxy, attach, log } = await libraryProxy(t, { a })
  const heard: string[] = []
  proxy.on('call', () => {
    throw new Error('no such luck')
  })
  proxy.on('call', () => Promise.reject(new Error('later')))
  const off = proxy.on('call', ({ name }) => heard.push(name ?? ''))
  const { client } = await attach()
  await client.open()
  assert.equal(numberAt(said(await client.call('a__nonce', { n: 1 })), 'n'), 1)
  off()
  await client.call('a__nonce', { n: 2 })
  assert.deepEqual(heard, ['a__nonce'])
  assert.equal(log.filter(({ message }) => message === "a listener of 'call' events failed").length, 4)
})

test('session events of what serves tell of both transports, of two clients each, and never the id', async (t) => {
  const { proxy } = await libraryProxy(t, { b })
  const serving = await proxy.serve(httpServer({ port: 0 }))
  const told: SessionEvent[] = []
  const off = serving.on('session', (event) => told.push(event))
  serving.on('session', () => {
    throw new Error('no such luck')
  })
  const { port } = serving
  const first = await handshake(port)
  const second = await handshake(port)
  // A call without a session has no session event.
  await send(port, { body: '{"jsonrpc":"2.0","id":1,"method":"ping"}' })
  await send(port, { method: 'DELETE', headers: first })
  const streams = [
    await open(port, { method: 'GET', path: '/sse' }),
    await open(port, { method: 'GET', path: '/sse' }),
  ]
  const ended = (count: number): boolean => told.filter(({ state }) => state === 'ended').length === count
  await until(() => told.length === 5)
  streams[0]?.destroy()
  await until(() => ended(2))
  await Promise.all([proxy.close(), streams[1] && read(streams[1])])
  const begun = told
    .slice(0, 6)
    .map(({ endpoint, session, transport, state }) => [endpoint, session, transport, state])
  assert.deepEqual(begun, [
    ['default', 1, 'streamable-http', 'opened'],
    ['default', 2, 'streamable-http', 'opened'],
    ['default', 1, 'streamable-http', 'ended'],
    ['default', 3, 'http+sse', 'opened'],
    ['default', 4, 'http+sse', 'opened'],
    ['default', 3, 'http+sse', 'ended'],
  ])
  const last = told.slice(6).map(({ session, state }) => `${session} ${state}`)
  assert.deepEqual([new Set(last), told.length], [new Set(['2 ended', '4 ended']), 8])
  assert(told.every((event) => event.state !== 'ended' || event.ms >= 0))
  const text = JSON.stringify(told)
  for (const id of [first, second].map((fields) => fields['mcp-session-id'] ?? '')) assert(!text.includes(id))
  off()
})
