// What `--check` says of kept lists.

import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, describe, test } from 'node:test'
import type { Configuration } from '../../src/config/configuration.js'
import { loadConfig } from '../../src/config/config.js'
import { keptReport } from '../../src/cli/kept-report.js'
import { openKept } from '../../src/proxy/common.js'
import { realRuntime } from '../../src/real-runtime.js'
import type { ListKind } from '../../src/mcp/methods.js'
import type { KeptFacts } from '../../src/upstream/contracts/kept.js'
import { factsOf } from '../kept/support/facts.js'

const secret = 'sk-0123456789abcdef'

/** A home folder with a configuration in it. */
function homeWith(t: TestContext, value: unknown): { home: string; config: Configuration } {
  const home = mkdtempSync(join(tmpdir(), 'mcps-kept-'))
  t.after(() => rmSync(home, { recursive: true, force: true, maxRetries: 10 }))
  mkdirSync(join(home, '.mcps-proxy'))
  writeFileSync(join(home, '.mcps-proxy', 'config.json'), JSON.stringify(value))
  return { home, config: loadConfig({ env: { HOME: home } }) }
}

/** As a proxy of that home folder would. */
function keep(home: string, config: Configuration, facts: Record<string, KeptFacts>): void {
  const store = openKept(config, { keep: true }, { ...realRuntime(), env: { HOME: home } })
  for (const server of [...config.schemas.values()].flatMap(({ servers }) => servers))
    if (facts[server.name] !== undefined) store.of(server).keep(facts[server.name] ?? factsOf())
  store.close()
}

describe('the report of kept lists', () => {
  const mcpServers = {
    github: { command: 'x', args: [secret] },
    slow: { command: 'x' },
    fresh: { command: 'x' },
    off: { command: 'x', keep: false },
  }

  test('tells each server, and nothing that is secret', (t) => {
    const { home, config } = homeWith(t, { mcpServers })
    const { description } = factsOf('a', 'b')
    assert(description)
    const lists = new Map<ListKind, readonly Uint8Array[]>([
      ...description.lists,
      ['templates', [Buffer.from('{"uriTemplate":"x"}')]],
    ])
    keep(home, config, {
      github: { ...factsOf(), description: { ...description, lists } },
      slow: { failure: 'its own words', description: undefined },
      off: factsOf('a'),
    })
    const lines = keptReport(config, { HOME: home })
    assert.equal(lines[0], `kept lists in ${join(home, '.mcps-proxy', 'kept')}:`)
    const wanted = [
      /^ {2}github: 2 tools, 1 resource template$/,
      /^ {2}slow: failed at its last start, no lists$/,
      /^ {2}fresh: nothing yet$/,
      /^ {2}off: nothing, since "keep" is false$/,
    ]
    assert.equal(lines.length, 1 + wanted.length)
    for (const [at, pattern] of wanted.entries()) assert.match(lines[at + 1] ?? '', pattern)
    assert(!lines.join('\n').includes(secret))
  })

  test('is one line where nothing is kept', (t) => {
    const { home, config } = homeWith(t, { mcpServers: { fresh: { command: 'x' } } })
    assert.deepEqual(keptReport(config, { HOME: home }), [
      `kept lists in ${join(home, '.mcps-proxy', 'kept')}: none of these servers`,
    ])
  })
})
