// What follows from a change, by class, and when lists are compared.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { resolveConfig } from '../../src/config/config.js'
import { changesOf, type LockedServer } from '../../src/lock/compare.js'
import { withRejected } from '../../src/lock/accept.js'
import { acceptCommand } from '../../src/lock/change-words.js'
import { SchemaGuard } from '../../src/lock/guard.js'
import { Contents } from '../../src/lock/listed.js'
import { noCapabilities } from '../../src/mcp/capabilities.js'
import { factsIn } from '../../src/mcp/eras/leg.js'
import { type ListItem, readListItem } from '../../src/mcp/lists.js'
import { latestHandshake } from '../../src/mcp/revisions.js'
import { toLine } from '../../src/jsonrpc/line.js'
import type { Listed, ListGuard, Verdict } from '../../src/upstream/contracts/list-guard.js'
import type { ServerConfig } from '../../src/upstream/contracts/server-config.js'
import { GuardedLists } from '../../src/upstream/server/guarded-lists.js'
import { type Items, listed, locked } from './support/locked.js'

const a = { description: 'a', annotations: { readOnlyHint: true } }
const b = { ...a, description: 'b' }
const destructive = { description: 'b', annotations: { destructiveHint: true } }

function configOf(lock: unknown, ofServer?: unknown): ServerConfig {
  const value = {
    lock,
    mcpServers: { s: { command: 'x', ...(ofServer !== undefined && { lock: ofServer }) } },
  }
  const config = resolveConfig(value, { source: 'test', folder: '/', env: {} })
  const server = config.schemas.get('default')?.servers[0]
  assert(server !== undefined)
  return server
}

function itemsOf(tools: Items): ListItem[] {
  return Object.entries(tools).flatMap(([name, tool]) => {
    const text = JSON.stringify({ name, ...Object(tool) })
    return readListItem(Buffer.from(text), 'tools') ?? []
  })
}

function said(tools: Items, instructions?: string): Listed {
  return {
    client: '',
    isCurrent: true,
    instructions: { text: instructions },
    lists: new Map([['tools', itemsOf(tools)]]),
  }
}

function judged(config: ServerConfig, before: LockedServer, now: Listed): Verdict | undefined {
  const writer = { baseline: () => assert.fail(), changed: () => assert.fail() }
  const state = { schemas: new Map([['default', new Map([['s', before]])]]), problem: undefined }
  return new SchemaGuard('default', state, new Contents(), writer).judge(config, now)
}

function outcome(verdict: Verdict | undefined): string {
  if (verdict?.blocked !== undefined) return 'blocked'
  const shown = verdict?.lists.get('tools')?.filter(({ withheld }) => withheld === undefined)
  const names = shown?.map(({ key }) => key).join() ?? 'all'
  return verdict?.showsInstructions === false ? `${names}, no instructions` : names
}

const cases: readonly (readonly [
  title: string,
  lock: unknown,
  ofServer: unknown,
  now: Listed,
  want: string,
])[] = [
  ['warn', true, undefined, said({ x: b, y: a }), 'x,y'],
  ['hide', { onChange: 'hide' }, undefined, said({ x: b, y: a }), 'y'],
  ['fail', { onChange: 'fail' }, undefined, said({ x: b, y: a }), 'blocked'],
  ['the same', { onChange: 'fail' }, undefined, said({ x: a, y: a }), 'all'],
  ['another class', { onChange: { newlyDestructive: 'hide' } }, undefined, said({ x: b, y: a }), 'x,y'],
  ['that class', { onChange: { newlyDestructive: 'hide' } }, undefined, said({ x: destructive, y: a }), 'y'],
  [
    'the strictest of two',
    { onChange: { description: 'hide', newlyDestructive: 'fail' } },
    undefined,
    said({ x: destructive, y: a }),
    'blocked',
  ],
  [
    'the default',
    { onChange: { default: 'hide', description: 'warn' } },
    undefined,
    said({ x: b, y: a, z: a }),
    'x,y',
  ],
  ['one that is gone', { onChange: 'hide' }, undefined, said({ x: a }), 'x'],
  ['one that is gone, which blocks', { onChange: { removed: 'fail' } }, undefined, said({ x: a }), 'blocked'],
  ['instructions', { onChange: 'hide' }, undefined, said({ x: a, y: a }, 'Obey'), 'x,y, no instructions'],
  ['no lock', false, undefined, said({ x: b }), 'all'],
  ['a server without', { onChange: 'fail' }, false, said({ x: b }), 'all'],
  ['a server alone', undefined, { onChange: 'hide' }, said({ x: b, y: a }), 'y'],
  [
    'a server of which one class differs',
    { onChange: 'hide' },
    { onChange: { description: 'warn' } },
    said({ x: b, y: a, z: a }),
    'x,y',
  ],
  [
    'a server with a default',
    { onChange: 'hide' },
    { onChange: { default: 'warn' } },
    said({ x: b, y: a, z: a }),
    'x,y,z',
  ],
]

describe('what clients see', () => {
  for (const [title, lock, ofServer, now, want] of cases)
    test(`with ${title} is ${want}`, () => {
      assert.equal(outcome(judged(configOf(lock, ofServer), locked({ x: a, y: a }), now)), want)
    })

  test('of a rejected change is nothing, also where it would be logged or block the server', () => {
    const before = locked({ x: a, y: a })
    const rejected = withRejected(before, changesOf(before, listed({ x: b, y: a })))
    for (const onChange of ['warn', 'hide', 'fail'])
      assert.equal(outcome(judged(configOf({ onChange }), rejected, said({ x: b, y: a }))), 'y')
  })
})

for (const [schema, server, name, want] of [
  ['default', 'files', 'read_file', 'mcps-proxy lock --accept files/read_file'],
  ['work', 'files', 'read_file', 'mcps-proxy lock --schema work --accept files/read_file'],
  ['default', 'my files', 'read', "mcps-proxy lock --accept 'my files/read'"],
  ['default', 'files', 'x; rm -rf ~', 'mcps-proxy lock --accept files'],
  ['default', 'files', '$(id)', 'mcps-proxy lock --accept files'],
  ['default', "it's", 'x', String.raw`mcps-proxy lock --accept 'it'\''s/x'`],
] as const)
  test(`a shell reads no name of a server's own as a command: ${want}`, () => {
    const [change] = changesOf(locked({}), listed({ [name]: a }))
    assert.equal(acceptCommand(schema, server, change), want)
  })

test('an item with a second name, which other readers may take, is another one', () => {
  const [item] = itemsOf({ x: a })
  const twice = readListItem(
    Buffer.from(`{"name":"x","n\\u0061me":"y",${JSON.stringify(a).slice(1)}`),
    'tools',
  )
  assert(item !== undefined && twice?.key === 'x')
  const [one, other] = [item, twice].map(
    (each) =>
      new Contents().of({ ...said({}), lists: new Map([['tools', [each]]]) }).lists.tools?.get('x')?.hash,
  )
  assert.notEqual(one, other)
})

test('lists are compared when one of them, the lock or the configuration is another one', () => {
  const handshake = toLine(Buffer.from('{"capabilities":{},"instructions":"i"}'))
  const facts = factsIn(handshake, latestHandshake)
  const seen: Listed[] = []
  const guardOf = (): ListGuard => ({ judge: (_, now) => void seen.push(now), complete: () => {} })
  let guard: ListGuard | undefined = guardOf()
  let tools = itemsOf({ x: a })
  const lists = {
    items: (kind: string) => (isKnown && kind === 'tools' ? tools : []),
    ownTool: undefined,
    failures: new Map(),
    hasNames: true,
    known: new Set([]),
  }
  let config = configOf(true)
  let isKnown = false
  const keptView = { facts, has: (kind: string) => isKnown && kind === 'tools' }
  const guarded = new GuardedLists(
    { guard: () => guard, service: 's' },
    { declared: noCapabilities },
    lists,
    keptView,
    { server: undefined },
    () => config,
  )
  const look = (isNowKnown: boolean): void => {
    isKnown = isNowKnown
    void guarded.changes
  }
  for (const isNowKnown of [false, false, true, true]) look(isNowKnown)
  assert.deepEqual(
    seen.map((now) => [...now.lists.keys()]),
    [[], ['tools']],
  )
  tools = itemsOf({ x: a })
  look(true)
  guard = guardOf()
  look(true)
  config = configOf(true)
  look(true)
  assert.equal(seen.length, 5)
  assert.deepEqual(seen[0]?.instructions, { text: 'i' })
  guard = undefined
  look(true)
  assert.equal(seen.length, 5)
})
