// Three instances with one key and one store, under load: faults lose no session, and no call runs twice.
// `integration/several-instances.test.ts` tests how an instance serves the sessions of the others.
//
// PROOF=full: 200 clients and a hundred faults behind each balancer, in place of a few.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { bearer } from '../integration/support/gateway.js'
import { missing } from '../integration/support/sdk-v2.js'
import { roundRobins } from './support/balancers.js'
import { type Cluster, otherKey, startCluster, stateKey, tokens } from './support/cluster.js'
import { countsOf, wrongCalls } from './support/ledger.js'
import { type Crowd, connectAll, stopAll } from './support/ledger-clients.js'
import { goesOn } from './support/progress.js'
import { tellRedis } from './support/redis.js'
import type { Restartable } from './support/restartable.js'

const isFull = process.env['PROOF'] === 'full'

/** Something goes wrong and is well again. */
type Fault = (cluster: Cluster, round: number) => Promise<void>

const instanceOf = ({ instances }: Cluster, round: number): Restartable => {
  const found = instances[round % instances.length]
  assert(found !== undefined)
  return found
}

const rollingRestart = async (cluster: Cluster, env: NodeJS.ProcessEnv): Promise<void> => {
  for (const each of cluster.instances) {
    await each.restart('SIGTERM', env)
    await delay(500)
  }
}

const faults: Readonly<Record<string, Fault>> = {
  'kill -9 of an instance': async (cluster, round) => {
    await instanceOf(cluster, round).end('SIGKILL')
    await delay(500)
    await instanceOf(cluster, round).start()
  },
  'SIGSTOP of an instance': async (cluster, round) => {
    instanceOf(cluster, round).signal('SIGSTOP')
    await delay(1500)
    instanceOf(cluster, round).signal('SIGCONT')
  },
  'kill -9 of the store': async ({ redis }) => {
    await redis.end('SIGKILL')
    await delay(500)
    await redis.start()
  },
  'a pause of the store': async ({ redis }) => {
    await tellRedis(redis.port, 'CLIENT PAUSE 1500 ALL')
    await delay(2000)
  },
  'a partition': async ({ relay }) => {
    relay.stall()
    await delay(1500)
    relay.mend()
  },
  'a rolling restart': (cluster) => rollingRestart(cluster, {}),
  // The new key must open on all instances before one of them seals with it.
  'a rotation of keys': async (cluster) => {
    await rollingRestart(cluster, { PREVIOUS_KEY: otherKey })
    await rollingRestart(cluster, { MCPS_PROXY_STATE_KEY: otherKey, PREVIOUS_KEY: stateKey })
    await rollingRestart(cluster, { MCPS_PROXY_STATE_KEY: stateKey, PREVIOUS_KEY: otherKey })
  },
}

/** The number of faults of each kind, one kind after the other. */
const times: Readonly<Record<string, number>> = isFull
  ? { 'kill -9 of an instance': 100, 'kill -9 of the store': 20 }
  : {}

/** Faults that depend on the balancer happen behind each balancer. Other faults happen behind one, except in the full proof. */
const ofBothBalancers: ReadonlySet<string> = new Set(['kill -9 of an instance', 'a rolling restart'])

/** These lose no call, but the answers to questions that come meanwhile, since the store carries them. */
const harmless: Readonly<Record<string, readonly string[]>> = {
  'a pause of the store': ['answer-lost'],
  'kill -9 of the store': ['answer-lost'],
  'a partition': ['answer-lost'],
  'a rolling restart': [],
}

/** A client that can be asked has a process on each instance, so that most cannot. */
const crowd: Crowd = {
  perVersion: isFull ? 100 : 5,
  isAskable: (index) => index % (isFull ? 10 : 4) === 1,
  headersOf: (index) => bearer(index % 4 < 2 ? tokens.ann : tokens.bob),
  pauseMs: isFull ? 500 : 40,
}

describe('under load', { skip: missing }, () => {
  for (const balancer of roundRobins)
    test(`behind ${balancer.title}`, async (t) => {
      const cluster = await startCluster(t)
      const { port } = await balancer.start(t, cluster.ports)
      const clients = await connectAll(t, port, crowd)
      for (const client of clients) client.start()
      const said = (): string => cluster.instances.map((each) => each.said.slice(-3000)).join('\n---\n')
      for (const [title, fault] of Object.entries(faults)) {
        if (!isFull && balancer.title === 'nginx' && !ofBothBalancers.has(title)) continue
        await goesOn(clients, { said: said() })
        const madeBefore = clients.map((client) => client.calls.length)
        for (let round = 0; round < (times[title] ?? (isFull ? 10 : 1)); round++) await fault(cluster, round)
        await goesOn(clients, { said: said() })
        const during = clients.flatMap(({ calls }, index) => calls.slice(madeBefore[index]))
        t.diagnostic(`${title}: ${JSON.stringify(countsOf(during))}`)
        const allowed = balancer.title === 'HAProxy' ? harmless[title] : undefined
        if (allowed !== undefined)
          assert.deepEqual(
            during.filter(({ end }) => end !== 'answered' && !allowed.includes(end)),
            [],
            title,
          )
      }
      const { calls, foreign } = await stopAll(clients)
      assert.deepEqual(wrongCalls(cluster.ledger.lines, calls), [])
      assert.deepEqual(foreign, [])
    })
})
