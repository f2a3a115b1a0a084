// A configuration that leads to itself, for example a client's file that was moved unchanged.

import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { cli, itEcho } from './support/programs.js'
import { scratch, spawnProgram } from './support/spawned.js'

/** A server, and the proxy of another file, which no key of the configuration hides from that one. */
const to = (path: string, name: string): object => ({
  mcpServers: {
    next: {
      command: process.execPath,
      args: [cli, '--stdio', '-c', path],
      env: { MCPS_PROXY_CHAIN: '' },
      restart: false,
    },
    [name]: itEcho(),
  },
  startupGraceMs: 60_000,
})

test('a configuration of two files that lead to each other ends where it would begin again', async (t) => {
  const folder = scratch(t)
  const [one, other] = [join(folder, 'one.json'), join(folder, 'other.json')]
  writeFileSync(one, JSON.stringify(to(other, 'first')))
  writeFileSync(other, JSON.stringify(to(one, 'second')))
  const proxy = spawnProgram(t, process.execPath, [cli, '--stdio', '--config', one])
  await proxy.client.open()
  const servers = (await proxy.client.toolNames()).map((name) => name.split('__').slice(0, -1).join('/'))
  assert.deepEqual([...new Set(servers)].toSorted(), ['first', 'next/second'])
  assert.match(proxy.stderr, /is served already by the proxy that started this one/)
})
