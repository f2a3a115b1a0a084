// Three gateways with one key and one store, which a test ends, stops and starts again.

import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { freePort } from '../../integration/support/free-port.js'
import { tokenOf } from '../../integration/support/gateway.js'
import { cli } from '../../integration/support/programs.js'
import { type Scope, scratch } from '../../integration/support/spawned.js'
import { Ledger } from './ledger.js'
import { Relay } from '../../support/relay.js'
import { Restartable } from './restartable.js'

/** The users of a cluster, and their tokens. */
export const tokens = { ann: 'ann-0123456789abcdef', bob: 'bob-0123456789abcdef' } as const

const labels = ['a', 'b', 'c'] as const

/** The keys of a cluster; it begins with the first. */
export const [stateKey, otherKey] = [
  'a key of the cluster, number 1',
  'a key of the cluster, number 2',
] as const

export interface Cluster {
  readonly ledger: Ledger
  readonly instances: readonly Restartable[]
  readonly ports: readonly number[]
  readonly redis: Restartable
  /** The way of the first instance to the store. */
  readonly relay: Relay
}

/** Starts a store and three gateways; all is gone after the scope. */
export async function startCluster(scope: Scope): Promise<Cluster> {
  const ledger = new Ledger(scope)
  const redis = await startRedis(scope)
  const relay = await Relay.open(scope, redis.port)
  const config = join(scratch(scope), 'config.json')
  writeFileSync(config, JSON.stringify(configOf(ledger)))
  const instances: Restartable[] = []
  for (const label of labels) {
    const port = await freePort()
    const store = label === 'a' ? relay.port : redis.port
    const env = {
      HOME: scratch(scope),
      MCPS_PROXY_INSTANCE: label,
      MCPS_PROXY_STATE_KEY: stateKey,
      MCPS_PROXY_STORE: `redis://127.0.0.1:${store}`,
    }
    const args = [cli, 'http', '--config', config, '--port', String(port)]
    instances.push(new Restartable(scope, { command: process.execPath, args, env, port }))
  }
  await Promise.all(instances.map((each) => each.start()))
  return { ledger, redis, relay, instances, ports: instances.map(({ port }) => port) }
}

function configOf(ledger: Ledger): Readonly<Record<string, unknown>> {
  return {
    mcpServers: { ledger: ledger.server({ prefix: false, describe: false }) },
    server: {
      allowedHosts: ['127.0.0.1', 'front'],
      drainDelay: 1000,
      // Calls of a crowd take their time on a busy machine.
      drainTimeout: 15_000,
      previousStateKey: `\${PREVIOUS_KEY:-${otherKey}}`,
      tokens: Object.entries(tokens).map(([name, token]) => tokenOf(name, token)),
    },
  }
}

/** Acknowledged writes are in the file of the store, which the system keeps when the process is killed. */
async function startRedis(scope: Scope): Promise<Restartable> {
  const port = await freePort()
  const args = ['--port', String(port), '--bind', '127.0.0.1', '--dir', scratch(scope), '--save', '']
  const durable = ['--appendonly', 'yes']
  const redis = new Restartable(scope, { command: 'redis-server', args: [...args, ...durable], port })
  await redis.start()
  return redis
}
