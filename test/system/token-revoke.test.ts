// `token revoke` on a gateway of several that share redis-server.

import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import process from 'node:process'
import { test } from 'node:test'
import { bearer, gatewayOf, tokenOf } from '../integration/support/gateway.js'
import { cli, itServer } from '../integration/support/programs.js'
import { type Scope, scratch } from '../integration/support/spawned.js'
import { until } from '../store/store-contract.js'
import { listen, message, send } from '../transports/support/http.js'
import { startRedis } from './support/redis.js'

type Config = Readonly<Record<string, unknown>>

function configOf(instance: string, redis: number): Config {
  return {
    mcpServers: { it: itServer() },
    server: {
      instance,
      stateKey: 'a key of all instances',
      store: `redis://127.0.0.1:${redis}`,
      tokens: ['ann', 'bob'].map((name) => tokenOf(name, name)),
    },
  }
}

/** Runs the command on a file with this configuration. */
function revoke(scope: Scope, config: Config, env: object = {}): { status: number | null; said: string } {
  const file = join(scratch(scope), 'config.json')
  writeFileSync(file, JSON.stringify(config))
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    [cli, 'token', 'revoke', 'ann', '--config', file],
    { encoding: 'utf8', env: { PATH: process.env['PATH'], ...env } },
  )
  return { status, said: stdout + stderr }
}

async function statusOf(port: number, token: string): Promise<number> {
  return (await send(port, { body: message('tools/list', 1), headers: bearer(token) })).status
}

test('token revoke ends the token at all instances, and at those that start later', async (t) => {
  const redis = await startRedis(t)
  const ports: number[] = []
  for (const instance of ['a', 'b']) ports.push((await gatewayOf(t, configOf(instance, redis.port))).port)
  const streams = await Promise.all(
    ports.map(async (port) => {
      const body = message('initialize', 0, { protocolVersion: '2025-11-25' })
      const { headers } = await send(port, { body, headers: bearer('ann') })
      const id = String(headers['mcp-session-id'])
      return listen(port, { 'mcp-session-id': id, ...bearer('ann') })
    }),
  )
  assert.deepEqual(revoke(t, configOf('c', redis.port)), { status: 0, said: 'ann is revoked\n' })
  for (const stream of streams) assert.equal(await stream.next(), undefined, 'the session has ended')
  const later = await gatewayOf(t, configOf('d', redis.port))
  for (const port of [...ports, later.port]) {
    await until(async () => (await statusOf(port, 'ann')) === 401)
    assert.equal(await statusOf(port, 'bob'), 200)
  }
})
