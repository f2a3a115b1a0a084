// The one drain time of a session, however its client says that it ends.

import { strict as assert } from 'node:assert'
import { describe, test } from 'node:test'
import { limits } from '../../src/limits.js'
import { Session } from '../../src/proxy/clients/session.js'
import { FakeClock } from '../upstream/support/fake-clock.js'

function draining() {
  const clock = new FakeClock()
  const said: string[] = []
  const runtime = { now: () => clock.now(), setTimer: clock.setTimer.bind(clock) }
  return {
    clock,
    said,
    session: new Session({ runtime, limits }, () => said.push(`gave up at ${clock.now()}`)),
  }
}

describe('a session that ends', () => {
  test('shutdown refuses calls and does not end the session; exit has code 0 after it', () => {
    const { clock, said, session } = draining()
    assert.equal(session.exitCode, 1)
    session.announceEnd()
    assert.deepEqual([session.isEnding, session.isDraining, session.exitCode], [true, false, 0])
    session.drain(0, 5000)
    assert.equal(session.isDraining, true)
    session.finish()
    clock.advance(60_000)
    assert.deepEqual(said, [])
    assert.equal(clock.timers, 0)
  })

  test('less patience counts, more does not', () => {
    const { clock, said, session } = draining()
    session.drain(0, 5000)
    session.drain(1, 100)
    session.drain(1, 9000)
    clock.advance(60_000)
    assert.deepEqual(said, ['gave up at 100'])
  })
})
