import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { resolveConfig } from '../../src/config/config.js'
import { encodeLock, type LockedServer } from '../../src/lock/lock-file.js'
import { LockStore } from '../../src/lock/store.js'
import { type ListItem, readListItem } from '../../src/mcp/list-items.js'
import type { Listed, Verdict } from '../../src/upstream/contracts/list-guard.js'
import type { ServerConfig } from '../../src/upstream/contracts/server-config.js'
import { type Scope, scratch } from '../integration/support/spawned.js'
import { openRuntime } from '../support/open-runtime.js'
import { type Items, locked } from './support/locked.js'

const a = { description: 'a', annotations: { readOnlyHint: true } }
const b = { ...a, description: 'b' }

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
    instructions: { text: instructions },
    lists: new Map([['tools', itemsOf(tools)]]),
  }
}

/** The verdict with a lock of one server. */
function judged(t: Scope, config: ServerConfig, before: LockedServer, now: Listed): Verdict | undefined {
  const path = join(scratch(t), 'mcps.lock')
  writeFileSync(path, encodeLock(new Map([['default', new Map([['s', before]])]])))
  return new LockStore(path, openRuntime(t), () => assert.fail()).guard('default').judge(config, now)
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
  ['hide', { onChange: 'hide' }, undefined, said({ x: b, y: a, z: a }), 'y'],
  ['fail', { onChange: 'fail' }, undefined, said({ x: b, y: a }), 'blocked'],
  ['the same', { onChange: 'fail' }, undefined, said({ x: a, y: a }), 'all'],
  ['one that is gone', { onChange: 'fail' }, undefined, said({ x: a }), 'all'],
  ['instructions', { onChange: 'hide' }, undefined, said({ x: a, y: a }, 'Obey'), 'x,y, no instructions'],
  ['no lock', false, undefined, said({ x: b }), 'all'],
  ['a server without', { onChange: 'fail' }, false, said({ x: b }), 'all'],
  ['a server alone', undefined, { onChange: 'hide' }, said({ x: b, y: a }), 'y'],
  ['a server of another action', { onChange: 'fail' }, { onChange: 'warn' }, said({ x: b, y: a }), 'x,y'],
]

describe('what clients see', () => {
  for (const [title, lock, ofServer, now, want] of cases)
    test(`with ${title} is ${want}`, (t) =>
      assert.equal(outcome(judged(t, configOf(lock, ofServer), locked({ x: a, y: a }), now)), want))
})
