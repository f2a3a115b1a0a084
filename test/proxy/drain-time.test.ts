// A session has one drain time, however its client ends it.

import { strict as assert } from 'node:assert'
import { test } from 'node:test'
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

test('a shorter drain time replaces a longer one, and not the other way', () => {
  const { clock, said, session } = draining()
  session.drain(0, 5000)
  session.drain(1, 100)
  session.drain(1, 9000)
  clock.advance(60_000)
  assert.deepEqual([said, clock.timers], [['gave up at 100'], 0])
})
