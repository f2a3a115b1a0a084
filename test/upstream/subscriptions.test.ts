// Who follows a resource when several subscriptions of one client are under way.

import { strict as assert } from 'node:assert'
import { describe, test } from 'node:test'
import { readFrame } from '../../src/jsonrpc/frame.js'
import { toLine } from '../../src/jsonrpc/line.js'
import type { Call } from '../../src/calls/call.js'
import { LaneClients } from '../../src/upstream/server/lane-clients.js'
import { callOf, nobody } from './support/calls.js'

const uri = 'it://r'
const refusal = { code: -32_603, message: 'exited' }

const context = { service: 's', limits: { subscriptionsMax: 10 }, tell: () => {} }

function run() {
  const clients = new LaneClients(context)
  let last = 0
  const asks = (subscribes: boolean): Call => {
    const method = subscribes ? 'resources/subscribe' : 'resources/unsubscribe'
    const call = callOf(`${++last}`, 0, { method })
    return clients.passing(call, subscribes, () => undefined) ?? assert.fail('it is not passed on')
  }
  return { asks, follows: () => clients.resources.at(uri).has(nobody) }
}

function grant(call: Call): void {
  const frame = readFrame(toLine('{"jsonrpc":"2.0","id":1,"result":{}}'))
  assert(frame.kind === 'result')
  call.settle({ kind: 'answered', frame, edits: [], era: 'session' })
}

describe('two subscriptions of one client to one resource', () => {
  test('when both fail the client follows nothing', () => {
    const { asks, follows } = run()
    const calls = [asks(true), asks(true)]
    for (const call of calls) call.fail(refusal)
    assert(!follows())
  })

  test('when the first one fails and the second is granted the client follows it', () => {
    const { asks, follows } = run()
    const calls = [asks(true), asks(true)]
    calls[0]?.fail(refusal)
    assert(follows())
    grant(calls[1] ?? assert.fail())
    assert(follows())
  })

  test('one that is repeated after it was granted, and then fails, stays', () => {
    const { asks, follows } = run()
    grant(asks(true))
    asks(true).fail(refusal)
    assert(follows())
  })

  test('what is taken back meanwhile stays taken back', () => {
    const { asks, follows } = run()
    const call = asks(true)
    grant(asks(false))
    grant(call)
    assert(!follows())
  })
})

test('what reads the first lists is not counted among the clients that a message may be meant for', () => {
  const clients = new LaneClients(context)
  const [visitor, one, other] = [
    { ...nobody, serial: 0, asksNothing: true as const },
    nobody,
    { ...nobody, serial: 2 },
  ]
  const seen = [visitor, one, other].map((client) => {
    clients.add(client)
    return clients.only
  })
  assert.deepEqual(seen, [undefined, one, undefined])

  const alone = new LaneClients(context)
  alone.add(one)
  alone.add(visitor)
  assert.equal(alone.only, one)
  alone.remove(visitor)
  assert.equal(alone.only, one)
})
