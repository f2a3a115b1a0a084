// A configuration that leads to itself, as a person writes it who moves a client's file as it is.

import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { cli, itEcho } from './support/programs.js'
import { type Scope, type Spawned, scratch, spawnProgram } from './support/spawned.js'

const node = process.execPath
const again = /is served already by the proxy that started this one/

function start(scope: Scope, path: string, ...more: readonly string[]): Spawned {
  return spawnProgram(scope, node, [cli, '--stdio', '--config', path, ...more])
}

async function toolsOf({ client }: Spawned): Promise<string[]> {
  await client.open()
  return client.toolNames()
}

const to = (path: string, name: string): unknown => ({
  mcpServers: {
    next: { command: node, args: [cli, '--stdio', '-c', path], restart: false },
    [name]: itEcho(),
  },
  startupGraceMs: 60_000,
})

describe('a configuration that contains the proxy itself', () => {
  test('by the variable, which no key of the server can take away, starts no second round', async (t) => {
    const path = join(scratch(t), 'config.json')
    const env = { MCPS_PROXY_CONFIG: path, MCPS_PROXY_CHAIN: '' }
    const self = { command: node, args: [cli, '--stdio'], env, restart: false }
    writeFileSync(path, JSON.stringify({ mcpServers: { self, echo: itEcho() }, startupGraceMs: 60_000 }))
    const proxy = start(t, path)
    const tools = await toolsOf(proxy)
    assert(tools.length > 0 && tools.every((name) => name.startsWith('echo__')), tools.join())
    assert.match(proxy.stderr, again)
  })

  test('of two files ends where it would begin again', async (t) => {
    const folder = scratch(t)
    const [one, other] = [join(folder, 'one.json'), join(folder, 'other.json')]
    writeFileSync(one, JSON.stringify(to(other, 'first')))
    writeFileSync(other, JSON.stringify(to(one, 'second')))
    const proxy = start(t, one)
    const servers = (await toolsOf(proxy)).map((name) => name.split('__').slice(0, -1).join('/'))
    assert.deepEqual([...new Set(servers)].toSorted(), ['first', 'next/second'])
  })
})
