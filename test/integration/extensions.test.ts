// Extensions and experimental capabilities: which pass between clients and servers of each kind.

import { strict as assert } from 'node:assert'
import { describe, test } from 'node:test'
import type { RawClient } from './support/client.js'
import { at, parsed, textAt } from './support/json.js'
import { libraryProxy } from './support/library.js'
import { type ServerEntry, nodeProgram } from './support/programs.js'
import type { Scope, Servers } from './support/spawned.js'

const key = (name: string): string => `io.modelcontextprotocol/${name}`
const login = { [key('oauth-client-credentials')]: {}, [key('enterprise-managed-authorization')]: {} }
const tasks = { [key('tasks')]: {} }
const ui = { [key('ui')]: { mimeTypes: ['text/html;profile=mcp-app'] } }
const vendor = { 'com.example/x': { n: 1 } }
const experimental = { 'com.example/y': { on: true } }
const everything = { experimental, extensions: { ...tasks, ...login, ...ui, ...vendor } }

const extended = (MODE: string, says: object = everything, more: ServerEntry = {}): ServerEntry =>
  nodeProgram('extended.mjs', { MODE, SAYS: JSON.stringify(says) }, more)

/** What a client is told of the servers, and what `s` is told of the client. */
interface Told {
  readonly shown: unknown
  readonly told: unknown
}

type Ask = (c: RawClient) => Promise<Told>

/** A client of a session, which can be asked something, so that it has servers of its own. */
const ofSession: Ask = async (c) => {
  const shown = at(await c.open({ ...everything, roots: {} }, '2025-11-25'), 'capabilities')
  const { value } = await c.call('s__told')
  return { shown, told: parsed(textAt(value, 'result', 'content', 0, 'text')) }
}

const ofNone: Ask = async (c) => {
  const _meta = { [key('protocolVersion')]: '2026-07-28', [key('clientCapabilities')]: everything }
  await c.request('tools/list', { _meta })
  const { value } = await c.request('server/discover', { _meta })
  const called = await c.request('tools/call', { name: 's__told', _meta })
  return {
    shown: at(value, 'result', 'capabilities'),
    told: parsed(textAt(called.value, 'result', 'content', 0, 'text')),
  }
}

async function askIn(t: Scope, servers: Servers, ask: Ask): Promise<Told> {
  // Servers have said what they are before anybody asks.
  const { attach } = await libraryProxy(t, servers)
  const { client: first } = await attach()
  await first.request('tools/list')
  return ask((await attach()).client)
}

const partsOf = (capabilities: unknown): unknown => ({
  ...(at(capabilities, 'experimental') !== undefined && { experimental: at(capabilities, 'experimental') }),
  ...(at(capabilities, 'extensions') !== undefined && { extensions: at(capabilities, 'extensions') }),
})

/** Of the client: what is declared in a session is passed on to a server of the client's own. */
const inSession = { experimental, extensions: { ...ui, ...vendor } }

const cells: readonly [title: string, mode: string, ask: Ask, alone: object, among: object, told: object][] =
  [
    ['in a session, at a server with one', 'session', ofSession, inSession, { extensions: ui }, inSession],
    ['in a session, at a server without one', '', ofSession, inSession, { extensions: ui }, inSession],
    ['without a session, at a server with one', 'session', ofNone, inSession, { extensions: ui }, {}],
    [
      'without a session, at a server without one',
      '',
      ofNone,
      { experimental, extensions: { ...tasks, ...ui, ...vendor } },
      { extensions: { ...tasks, ...ui } },
      { experimental, extensions: { ...tasks, ...ui, ...vendor } },
    ],
  ]

describe('extensions of a client', () => {
  for (const [title, mode, ask, alone, among, told] of cells) {
    test(title, async (t) => {
      const found = await askIn(t, { s: extended(mode) }, ask)
      assert.deepEqual(partsOf(found.shown), alone)
      assert.deepEqual(partsOf(found.told), told)
    })

    test(`${title} among several: what clients are told of is what any number of servers may have`, async (t) => {
      const other = extended(mode, { experimental, extensions: vendor })
      const found = await askIn(t, { s: extended(mode), other }, ask)
      assert.deepEqual(partsOf(found.shown), among)
      assert.deepEqual(partsOf(found.told), told)
    })
  }

  test('without a session, at a server that does not have Tasks', async (t) => {
    const { told } = await askIn(t, { s: extended('', { extensions: vendor }) }, ofNone)
    assert.deepEqual(partsOf(told), { experimental, extensions: { ...ui, ...vendor } })
  })
})

test('experimental capabilities that are none are not shown', async (t) => {
  const { shown } = await askIn(t, { s: extended('session', { experimental: {} }) }, ofSession)
  assert.deepEqual(partsOf(shown), {})
})
