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
  test('exit has what is left of the time since shutdown, and no second one', () => {
    const { clock, said, session } = draining()
    session.shutDown(5000, () => said.push('shutdown answered'))
    clock.advance(3000)
    session.drain(0, 5000)
    clock.advance(60_000)
    assert.deepEqual(said, ['gave up at 5000'])
    assert.equal(session.rest(), true)
    assert.deepEqual(said, ['gave up at 5000', 'shutdown answered'])
    assert.equal(clock.timers, 0)
  })

  test('shutdown is answered once, and does not end the session', () => {
    const { said, session } = draining()
    session.shutDown(5000, () => said.push('shutdown answered'))
    assert.equal(session.rest(), false)
    assert.equal(session.rest(), false)
    assert.equal(session.owesShutdown, false)
    session.drain(0, 5000)
    assert.equal(session.rest(), true)
    assert.deepEqual(said, ['shutdown answered'])
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
