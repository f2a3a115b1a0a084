// A configuration that leads to itself, as a person writes it who moves a client's file as it is.

import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { type ServerEntry, cli, itEcho } from './support/programs.js'
import { type Scope, type Spawned, scratch, spawnProgram } from './support/spawned.js'

const node = process.execPath
const again = /is served already by the proxy that started this one/

/** A file that is written once its own path is known. */
function selfish(scope: Scope, write: (path: string) => unknown): string {
  const path = join(scratch(scope), 'config.json')
  writeFileSync(path, JSON.stringify(write(path)))
  return path
}

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
  const ways: [string, (path: string) => ServerEntry][] = [
    [
      'by the variable, which no key of the server can take away',
      (path) => ({
        command: node,
        args: [cli, '--stdio'],
        env: { MCPS_PROXY_CONFIG: path, MCPS_PROXY_CHAIN: '' },
      }),
    ],
  ]
  for (const [how, self] of ways)
    test(`${how} starts no second round, and the others work`, async (t) => {
      const path = selfish(t, (own) => ({
        mcpServers: { self: { ...self(own), restart: false }, echo: itEcho() },
        startupGraceMs: 60_000,
      }))
      const proxy = start(t, path)
      const tools = await toolsOf(proxy)
      assert.notEqual(tools.length, 0)
      assert.deepEqual(
        tools.filter((name) => !name.startsWith('echo__')),
        [],
      )
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
