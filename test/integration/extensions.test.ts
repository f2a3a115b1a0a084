// Extensions and experimental capabilities: which pass between clients and servers of each kind.

import { strict as assert } from 'node:assert'
import { describe, test } from 'node:test'
import type { FakeChild } from '../upstream/support/fake-runtime.js'
import type { RawClient } from './support/client.js'
import { at, parsed, textAt } from './support/json.js'
import { type Act, type Scripted, scripted } from './support/scripted.js'
import type { Scope } from './support/spawned.js'

const key = (name: string): string => `io.modelcontextprotocol/${name}`
const login = { [key('oauth-client-credentials')]: {}, [key('enterprise-managed-authorization')]: {} }
const tasks = { [key('tasks')]: {} }
const ui = { [key('ui')]: { mimeTypes: ['text/html;profile=mcp-app'] } }
const vendor = { 'com.example/x': { n: 1 } }
const experimental = { 'com.example/y': { on: true } }
const everything = { experimental, extensions: { ...tasks, ...login, ...ui, ...vendor } }

interface Extended {
  /** Whether it is of a revision with sessions. */
  readonly isOfSessions: boolean
  /** The capabilities that it declares. */
  readonly says: object
}

const extended = (isOfSessions: boolean, says: object = everything): Extended => ({ isOfSessions, says })

/** Servers with a tool `told`, whose result is the capabilities of the client. */
function actOf(servers: Readonly<Record<string, Extended>>): Act {
  const declared = new Map<FakeChild, unknown>()
  return (method, child, params) => {
    const { isOfSessions, says } = servers[child.command] ?? assert.fail()
    const typed = isOfSessions ? {} : { resultType: 'complete' }
    const hints = isOfSessions ? {} : { ttlMs: 0, cacheScope: 'private' }
    const capabilities = { tools: {}, ...says }
    const results: Readonly<Record<string, object>> = {
      initialize: {
        protocolVersion: at(params, 'protocolVersion'),
        capabilities,
        serverInfo: { name: 's', version: '1' },
      },
      ...(!isOfSessions && {
        'server/discover': { ...typed, ...hints, supportedVersions: ['2026-07-28'], capabilities },
      }),
      'tools/list': { ...typed, ...hints, tools: [{ name: 'told', inputSchema: { type: 'object' } }] },
    }
    if (method === 'initialize') declared.set(child, at(params, 'capabilities'))
    if (method !== 'tools/call') return JSON.stringify(results[method] ?? {})
    const told = isOfSessions ? declared.get(child) : at(params, '_meta', key('clientCapabilities'))
    return JSON.stringify({ ...typed, content: [{ type: 'text', text: JSON.stringify(told) }] })
  }
}

/** The capabilities that the client sees, and those that the server `s` sees. */
interface Told {
  readonly shown: unknown
  readonly told: unknown
}

type Ask = (c: RawClient, it: Scripted) => Promise<Told>

/** A client with a session and roots, which does not share its servers. */
const ofSession: Ask = async (c, { runtime }) => {
  const opened = await runtime.until(c.open({ ...everything, roots: {} }, '2025-11-25'))
  const shown = at(opened, 'capabilities')
  const { value } = await runtime.until(c.call('s__told'))
  return { shown, told: parsed(textAt(value, 'result', 'content', 0, 'text')) }
}

const ofNone: Ask = async (c, { runtime }) => {
  const _meta = { [key('protocolVersion')]: '2026-07-28', [key('clientCapabilities')]: everything }
  await runtime.until(c.request('tools/list', { _meta }))
  const { value } = await runtime.until(c.request('server/discover', { _meta }))
  const called = await runtime.until(c.request('tools/call', { name: 's__told', _meta }))
  return {
    shown: at(value, 'result', 'capabilities'),
    told: parsed(textAt(called.value, 'result', 'content', 0, 'text')),
  }
}

async function askIn(t: Scope, servers: Readonly<Record<string, Extended>>, ask: Ask): Promise<Told> {
  const names = Object.keys(servers)
  const it = await scripted(t, Object.fromEntries(names.map((name) => [name, {}])), actOf(servers))
  // The servers have started before the client asks.
  const { client: first } = await it.attach()
  await it.runtime.until(first.request('tools/list'))
  return ask((await it.attach()).client, it)
}

const partsOf = (capabilities: unknown): unknown => ({
  ...(at(capabilities, 'experimental') !== undefined && { experimental: at(capabilities, 'experimental') }),
  ...(at(capabilities, 'extensions') !== undefined && { extensions: at(capabilities, 'extensions') }),
})

/** The part of a session that reaches a server which no other client shares. */
const inSession = { experimental, extensions: { ...ui, ...vendor } }

const cells: readonly [
  title: string,
  isOfSessions: boolean,
  ask: Ask,
  alone: object,
  among: object,
  told: object,
][] = [
  ['in a session, at a server with one', true, ofSession, inSession, { extensions: ui }, inSession],
  ['in a session, at a server without one', false, ofSession, inSession, { extensions: ui }, inSession],
  ['without a session, at a server with one', true, ofNone, inSession, { extensions: ui }, {}],
  [
    'without a session, at a server without one',
    false,
    ofNone,
    { experimental, extensions: { ...tasks, ...ui, ...vendor } },
    { extensions: { ...tasks, ...ui } },
    { experimental, extensions: { ...tasks, ...ui, ...vendor } },
  ],
]

describe('extensions of a client', () => {
  for (const [title, isOfSessions, ask, alone, among, told] of cells) {
    test(title, async (t) => {
      const found = await askIn(t, { s: extended(isOfSessions) }, ask)
      assert.deepEqual(partsOf(found.shown), alone)
      assert.deepEqual(partsOf(found.told), told)
    })

    test(`${title} among several: what clients are told of is what any number of servers may have`, async (t) => {
      const other = extended(isOfSessions, { experimental, extensions: vendor })
      const found = await askIn(t, { s: extended(isOfSessions), other }, ask)
      assert.deepEqual(partsOf(found.shown), among)
      assert.deepEqual(partsOf(found.told), told)
    })
  }
})

test('experimental capabilities that are none are not shown', async (t) => {
  const { shown } = await askIn(t, { s: extended(true, { experimental: {} }) }, ofSession)
  assert.deepEqual(partsOf(shown), {})
})
