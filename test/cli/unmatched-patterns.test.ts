// Patterns of the configuration that match no tool: when they are reported, and when that is unknown.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { UnmatchedPatterns } from '../../src/cli/unmatched-patterns.js'
import { resolveConfig } from '../../src/config/config.js'
import type { Configuration } from '../../src/config/configuration.js'
import type { ServerEvent } from '../../src/index.js'
import { cli, itServer } from '../integration/support/programs.js'
import { configFile, spawnProgram } from '../integration/support/spawned.js'
import { until } from '../integration/support/waiting.js'

const configured = (more: object, a: object = {}): Configuration =>
  resolveConfig(
    { mcpServers: { a: { command: 'a', ...a }, b: { command: 'b' } }, ...more },
    { source: 'test', folder: '/', env: {} },
  )

function watched(config: Configuration) {
  const told: string[] = []
  const patterns = new UnmatchedPatterns(config, ({ level, message }) => {
    told.push(message.replace('configuration: ', `${level} `).replace(/, which[^;]*/, ''))
  })
  const of = { schema: 'default', kind: 'stdio', pid: 1, client: undefined, ms: 1, restarts: 0 } as const
  const facts = { revision: '2025-11-25', evidence: 'configured', state: 'ready' } as const
  const heard = (event: ServerEvent): void => {
    patterns.listeners.server?.({ ...of, state: 'starting', server: event.server })
    patterns.listeners.server?.(event)
  }
  return {
    told,
    patterns,
    ready: (server: string, tools: readonly string[]) => {
      const names = { tools, prompts: [], resources: [], templates: [] }
      heard({ ...of, ...facts, server, tools: tools.length, names })
    },
    failed: (server: string) =>
      heard({ ...of, state: 'failed', server, reason: 'exited', message: 'exited' }),
  }
}

const part = { tools: { allow: ['a__on*'], deny: ['a__tow'] } }
const limits = [{ tools: 'a__two', perMinute: 1 }]
const tow = 'warn profiles.part.tools.deny has "a__tow"; did you mean "a__two"?'

describe('patterns that fit no tool', () => {
  test('are named once, when every server has listed that they are for', () => {
    const { told, ready } = watched(configured({ limits, profiles: { part } }, { confirm: ['tow'] }))
    ready('a', ['one', 'two'])
    assert.deepEqual(told.splice(0), [`warn "confirm" of 'a' has "tow"; did you mean "two"?`])
    ready('b', ['other'])
    ready('b', ['other'])
    assert.deepEqual(told, [tow])
  })

  test('are named although a server is disabled, has no tools, or has failed, which may have those of its name', () => {
    const disabled = watched(configured({ limits, profiles: { part } }, { disabled: true }))
    disabled.ready('b', [])
    const all = 'mcps-proxy tools names them all'
    assert.deepEqual(disabled.told, [
      `warn profiles.part.tools.allow has "a__on*"; ${all}`,
      `warn profiles.part.tools.deny has "a__tow"; ${all}`,
      `warn limits[0].tools has "a__two"; ${all}`,
    ])
    const failing = watched(configured({ limits: [...limits, { tools: 'c__*', perMinute: 1 }] }))
    failing.failed('a')
    assert.deepEqual(failing.told, [])
    failing.ready('b', ['other'])
    assert.deepEqual(failing.told, [`warn limits[1].tools has "c__*"; ${all}`])
  })

  test('of a changed configuration are named by what is known, and the others not again', () => {
    const { told, patterns, ready } = watched(configured({ profiles: { part } }))
    for (const name of ['a', 'b']) ready(name, ['one', 'two'])
    assert.deepEqual(told.splice(0), [tow])
    patterns.use(configured({ profiles: { part }, limits: [{ tools: 'c__*', perMinute: 1 }] }))
    assert.deepEqual(told, ['warn limits[0].tools has "c__*"; mcps-proxy tools names them all'])
  })

  test('are warnings of a proxy that serves', async (t) => {
    const file = configFile(t, { s: { ...itServer(), confirm: ['nonse', 'nonc*'] } })
    const proxy = spawnProgram(t, process.execPath, [cli, '--stdio', '--config', file])
    await proxy.client.open()
    await proxy.client.request('tools/list')
    await until(() => proxy.stderr.includes('which fits none'))
    assert.match(proxy.stderr, /"level":"warn".*configuration: \\"confirm\\" of 's' has \\"nonse\\"/)
  })
})
