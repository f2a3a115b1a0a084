// Three instances with one key and one store: any of them serves every session, and none does anything twice.
//
// PROOF=full: 200 clients and a hundred faults behind each balancer, in place of a few.

import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { after, before, describe, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { at, textAt } from '../integration/support/json.js'
import { until } from '../integration/support/waiting.js'
import type { EventReader } from '../transports/support/http.js'
import { missing } from '../integration/support/sdk-v2.js'
import { roundRobins } from './support/balancers.js'
import { type Cluster, otherKey, paths, startCluster, stateKey } from './support/cluster.js'
import { countsOf, wrongCalls } from './support/ledger.js'
import { type Crowd, connectAll, stopAll } from './support/ledger-clients.js'
import { goesOn } from './support/progress.js'
import { tellRedis } from './support/redis.js'
import type { Restartable } from './support/restartable.js'
import { RawSession, bearer, initialize, lastIdOf, messageOf, unique } from './support/raw-session.js'
import { suiteScope } from './support/suite-scope.js'

const isFull = process.env['PROOF'] === 'full'
const askable = { elicitation: { form: {} } }

/** Two different instances each. */
const pairs = [
  [0, 1],
  [1, 2],
  [2, 0],
] as const

type Behaviour = (cluster: Cluster, one: number, other: number) => Promise<void>

const has = (cluster: Cluster, line: string): Promise<void> =>
  until(() => cluster.ledger.lines.includes(line))

/** A call that its server has begun, and holds. */
async function held(
  cluster: Cluster,
  session: RawSession,
  port: number,
  id: number,
): Promise<{ readonly n: string; readonly call: EventReader }> {
  const n = unique()
  const call = await session.stream(port, id, 'hold', { n })
  await has(cluster, `run ${n}`)
  return { n, call }
}

/** What happens at the port of one instance after a session was opened at that of another. */
const behaviours: readonly (readonly [string, Behaviour])[] = [
  [
    'a call',
    async (_cluster, one, other) => {
      const session = await RawSession.open(one)
      for (const port of [other, one, other]) await serves(session, port)
    },
  ],
  [
    'the answer to a question, and progress of it',
    async (cluster, one, other) => {
      const session = await RawSession.open(one, { capabilities: askable })
      const n = unique()
      const call = await session.stream(one, 7, 'ask', { n })
      const question = messageOf(await call.next())
      assert.equal(textAt(question, 'params', 'message'), n)
      const progressToken = at(question, 'params', '_meta', 'progressToken')
      const told = await session.notify(other, 'notifications/progress', { progressToken, progress: 1 })
      assert.equal(told.status, 202, told.body)
      await has(cluster, `progress of ${n}`)
      const result = { action: 'accept', content: { value: `value-of-${n}` } }
      const answer = JSON.stringify({ jsonrpc: '2.0', id: at(question, 'id'), result })
      assert.equal((await session.send(other, answer)).status, 202)
      const said = messageOf(await call.next())
      assert.equal(textAt(said, 'result', 'content', 0, 'text'), `value-of-${n}`)
      assert.ok(cluster.ledger.lines.includes(`answered ${n} value-of-${n}`))
    },
  ],
  [
    'the end of a call that its client cancels',
    async (cluster, one, other) => {
      const session = await RawSession.open(one)
      const { n, call } = await held(cluster, session, one, 3)
      const told = await session.notify(other, 'notifications/cancelled', { requestId: 3 })
      assert.equal(told.status, 202)
      await has(cluster, `cancelled ${n}`)
      assert.equal(await call.next(), undefined)
    },
  ],
  [
    'the answer to a call whose stream was cut',
    async (cluster, one, other) => {
      const session = await RawSession.open(one)
      const { n, call } = await held(cluster, session, one, 4)
      const last = await lastIdOf(call)
      call.cut()
      const resumed = await session.listen(other, last)
      assert.equal(resumed.response.statusCode, 200)
      await session.call(one, 5, 'release', { of: n })
      const answer = messageOf(await resumed.next())
      assert.deepEqual([at(answer, 'id'), textAt(answer, 'result', 'content', 0, 'text')], [4, n])
      assert.equal(await resumed.next(), undefined)
    },
  ],
  [
    'what was said on the stream of the session while it was cut',
    async (_cluster, one, other) => {
      const session = await RawSession.open(one)
      const uri = 'ledger://a'
      await session.request(one, 1, 'resources/subscribe', { uri })
      const stream = await session.listen(one)
      await session.call(one, 2, 'touch', { uri })
      assert.equal(textAt(messageOf(await stream.next()), 'method'), 'notifications/resources/updated')
      const last = await lastIdOf(stream)
      stream.cut()
      await session.call(one, 3, 'touch', { uri })
      const resumed = await session.listen(other, last)
      assert.equal(resumed.response.statusCode, 200)
      assert.equal(textAt(messageOf(await resumed.next()), 'method'), 'notifications/resources/updated')
      resumed.cut()
    },
  ],
  [
    'a call of a process that one session has for itself',
    async (_cluster, one, other) => {
      const session = await RawSession.open(one, { path: paths.apart })
      const value = unique()
      await session.call(one, 1, 'keep', { value })
      assert.equal(await session.call(other, 1, 'kept'), value)
      const strange = await RawSession.open(other, { path: paths.apart })
      assert.equal(await strange.call(one, 1, 'kept'), '')
    },
  ],
  [
    'the end of a session',
    async ({ ports }, one, other) => {
      for (const path of [paths.shared, paths.apart]) {
        const session = await RawSession.open(one, { path })
        await serves(session, other)
        assert.equal((await session.delete(other)).status, 200)
        for (const port of ports) {
          await until404(session, port)
          assert.equal((await session.delete(port)).status, 404)
        }
      }
    },
  ],
  [
    'ids that are not its own: forged, of another user, of another path',
    async (_cluster, one, other) => {
      const session = await RawSession.open(one)
      const { id } = session
      const ended = await RawSession.open(one)
      await ended.delete(one)
      const middle = Math.floor(id.length / 2)
      const changed = (at: number): string =>
        id.slice(0, at) + (id[at] === 'A' ? 'B' : 'A') + id.slice(at + 1)
      const forged = [
        new RawSession(changed(middle)),
        new RawSession(changed(id.indexOf('.') + 6)),
        new RawSession(`other${id.slice(1)}`),
        new RawSession(id.slice(0, -4)),
        new RawSession(`a.${randomBytes(200).toString('base64url')}`),
        new RawSession(id, { user: 'bob' }),
        new RawSession(id, { path: paths.other }),
        new RawSession(id, { path: paths.apart }),
        ended,
      ]
      const refused = await Promise.all(
        [one, other].flatMap((port) => forged.map((each) => each.request(port, 1, 'tools/list'))),
      )
      const whole = refused.map(({ status, body }) => `${status} ${body}`)
      assert.match(whole[0] ?? '', /^404 .*Session not found/)
      assert.equal(new Set(whole).size, 1, whole.join('\n'))
      assert.equal((await session.request(other, 1, 'tools/list')).status, 200)
    },
  ],
]

/** A call of the session has its own answer there. */
async function serves(session: RawSession, port: number): Promise<void> {
  const n = unique()
  assert.equal(await session.call(port, 1, 'add', { n }), n)
}

/** An instance hears of the end of a session a moment later. */
async function until404(session: RawSession, port: number): Promise<void> {
  while ((await session.request(port, 2, 'tools/list')).status !== 404) await delay(20)
}

const { scope, end } = suiteScope()
let cluster: Cluster
before(async () => {
  cluster = await startCluster(scope)
})
after(end)

describe('at another instance', () => {
  for (const [title, run] of behaviours)
    test(title, { timeout: 20_000 }, async () => {
      for (const [one, other] of pairs) await run(cluster, cluster.ports[one] ?? 0, cluster.ports[other] ?? 0)
    })
})

/** Resumes a stream as the official clients do, which try three times, a second after each other. */
async function resumedAs(session: RawSession, port: number, lastId: string): Promise<EventReader> {
  for (let tries = 1; ; tries++) {
    const reader = await session.listen(port, lastId)
    if (reader.response.statusCode === 200) return reader
    reader.cut()
    assert.ok(tries < 3, `the stream is refused with ${reader.response.statusCode}`)
    await delay(1000)
  }
}

/** A session that one instance has opened, and that is used at another one when the first is gone. */
const losses: readonly (readonly [string, Behaviour])[] = [
  [
    'a call is told that it was lost, and its session goes on',
    async (cluster, one, other) => {
      const { ledger, instances } = cluster
      const session = await RawSession.open(one)
      const { n, call } = await held(cluster, session, one, 9)
      const last = await lastIdOf(call)
      const stream = await session.listen(one)
      const lastOfStream = await lastIdOf(stream)
      await instances.find(({ port }) => port === one)?.end('SIGKILL')
      const resumed = await resumedAs(session, other, last)
      const answer = messageOf(await resumed.next())
      assert.deepEqual([at(answer, 'id'), at(answer, 'error', 'data', 'reason')], [9, 'instance-lost'])
      const goesOn = await resumedAs(session, other, lastOfStream)
      goesOn.cut()
      await serves(session, other)
      assert.equal(ledger.lines.filter((line) => line === `run ${n}`).length, 1)
    },
  ],
  [
    'a session that had a process for itself is over',
    async ({ instances }, one, other) => {
      const session = await RawSession.open(one, { path: paths.apart })
      await session.call(other, 1, 'keep', { value: unique() })
      const owner = instances.find(({ port }) => port === one)
      await owner?.end('SIGKILL')
      await until404(session, other)
      await owner?.start()
      for (const port of [one, other]) await until404(session, port)
    },
  ],
]

describe('without the instance that opened it', () => {
  for (const [title, run] of losses)
    test(title, { timeout: 40_000 }, async () => {
      const [one = 0, other = 0] = cluster.ports
      try {
        await run(cluster, one, other)
      } finally {
        for (const each of cluster.instances) if (!each.isRunning) await each.start()
      }
    })
})

/** How the store goes away, and comes back. */
const absences: readonly (readonly [
  string,
  (cluster: Cluster) => void | Promise<void>,
  (cluster: Cluster) => void | Promise<void>,
])[] = [
  ['is killed', ({ redis }) => void redis.end('SIGKILL'), ({ redis }) => redis.start()],
  ['is stopped', ({ redis }) => redis.signal('SIGSTOP'), ({ redis }) => redis.signal('SIGCONT')],
  ['is cut off', ({ relay }) => relay.cut(), ({ relay }) => relay.mend()],
]

describe('while the store', () => {
  for (const [title, goAway, comeBack] of absences)
    test(`${title}, known sessions go on and new ones are refused`, { timeout: 40_000 }, async () => {
      const [one = 0, other = 0] = cluster.ports
      const session = await RawSession.open(one)
      const ended = await RawSession.open(one)
      for (const port of [one, other]) await serves(session, port)
      await ended.delete(one)
      await goAway(cluster)
      let refused = await initialize(one)
      while (refused.status === 200) refused = await initialize(one)
      assert.equal(refused.status, 503, refused.body)
      assert.ok(Number(refused.headers['retry-after']) >= 1)
      for (const port of [one, one, other]) await serves(session, port)
      await comeBack(cluster)
      while ((await initialize(one)).status !== 200) await delay(50)
      for (const port of cluster.ports) await until404(ended, port)
      for (const port of cluster.ports) await serves(session, port)
    })
})

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

/** How often each of them happens, one kind after the other. */
const times: Readonly<Record<string, number>> = isFull
  ? { 'kill -9 of an instance': 100, 'kill -9 of the store': 20 }
  : {}

/** What depends on the balancer happens behind each of them; the rest behind one, unless it is the full proof. */
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
  headersOf: (index) => bearer(index % 4 < 2 ? 'ann' : 'bob'),
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
