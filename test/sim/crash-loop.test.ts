// Ten minutes of a server that cannot be started, within seconds: how often it is
// tried, and what its clients are told meanwhile.

import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { inTurn } from './in-turn.js'
import { call } from './perform.js'
import { plainPlan, plainServer } from './plain-plan.js'
import { warm } from './warm.js'
import { World } from './world.js'

before(warm)

const MINUTES = 10

const A_MINUTE_MAX = 10

/** Calls that come while the breaker is open. */
const EVERY_MS = 1000

test('a server that cannot be started is tried a few times a minute, and its calls fail at once', () =>
  inTurn(() => {
    const world = new World(plainPlan({ servers: [plainServer('s0'), plainServer('s1')] }))
    const starts: number[] = []
    world.run(() => {
      const [server] = world.host.servers
      assert.ok(server !== undefined)
      world.pass(100)
      const client = world.attach(world.plan.clients[0] ?? assert.fail())
      world.pass(100)
      world.host.onSpawn = (name) => {
        if (name === 's0') starts.push(world.host.clock.now)
      }
      server.strike('enoent-on-restart', world.host.dice('fault'))
      // The first minute opens the breaker.
      world.pass(60_000)
      for (let minute = 1; minute < MINUTES; minute++) hammer(world, client)
    })
    assert.deepEqual(world.host.ledger.failures, [])
    for (let from = 0; from < starts.length; from++) {
      const first = starts[from] ?? 0
      const within = starts.filter((at) => at >= first && at < first + 60_000).length
      assert.ok(within <= A_MINUTE_MAX, `${within} starts in a minute`)
    }
    // It is tried all the time, so that it comes back by itself.
    assert.ok(starts.length >= 2 * (MINUTES - 1), `${starts.length} starts`)
  }))

/** A minute of calls to both servers: one fails at once, the other does not notice. */
function hammer(world: World, client: Parameters<typeof call>[1]): void {
  for (let ms = 0; ms < 60_000; ms += EVERY_MS) {
    const calledAt = world.host.clock.now
    const [down, well] = [0, 1].map((at) => call(world, client, at, { kind: 'echo', ms: 1, n: 1 }))
    world.pass(EVERY_MS)
    const [refused] = down?.answers ?? []
    assert.match(refused?.text ?? '', /"service":"s0","reason":"(unavailable|spawn-failed)"/)
    assert.ok((refused?.at ?? Infinity) - calledAt <= 10, 'it fails at once')
    assert.equal(well?.answers[0]?.ok, true)
  }
}
