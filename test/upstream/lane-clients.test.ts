import { strict as assert } from 'node:assert'
import { test } from 'node:test'
import { LaneClients } from '../../src/upstream/server/lane-clients.js'
import { nobody } from './support/calls.js'

const context = { service: 's', limits: { subscriptionsMax: 10 }, tell: () => {} }

test('what reads the first lists is not counted among the clients that a message may be meant for', () => {
  const clients = new LaneClients(context)
  const [visitor, one, other] = [
    { ...nobody, serial: 0, isWarmUp: true as const },
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
