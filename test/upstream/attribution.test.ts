// Abandoned calls that a server may still ask or log about.

import { strict as assert } from 'node:assert'
import { describe, test } from 'node:test'
import { numericId } from '../../src/jsonrpc/request-id.js'
import { Call, type ClientPort } from '../../src/calls/call.js'
import { CallDeadline } from '../../src/calls/call-deadline.js'
import { noCapabilities } from '../../src/mcp/capabilities.js'
import { latestStateless } from '../../src/mcp/revisions.js'
import { Attribution } from '../../src/upstream/server/attribution.js'
import { requestOf } from '../jsonrpc/support/frames.js'

const nothing = (): void => {}

function client(serial: number, isSeveral = false): ClientPort {
  return {
    serial,
    profile: { revision: latestStateless, capabilities: noCapabilities, isSeveral },
    questions: { ask: () => false, withdraw: nothing, isAwaitedBy: () => false, forget: nothing },
    tell: nothing,
    log: nothing,
    listens: false,
    listsChanged: nothing,
  }
}

function call(of: ClientPort, { isAskable = true }: { isAskable?: boolean } = {}): Call {
  const frame = requestOf('{"jsonrpc":"2.0","id":1,"method":"tools/call"}')
  const row = { method: 'tools/call', route: { to: 'name', list: 'tools' }, isAskable } as const
  const owner = { onSettled: () => undefined }
  return new Call(frame, row, of, new CallDeadline(0), owner, of.profile)
}

const attribution = (clock: { now(): number }): Attribution =>
  new Attribution(() => [], { only: undefined }, clock)

const [ann, bob, everybody] = [client(1), client(2), client(3, true)]

/** The title, the abandoned call, the time since then, the next client, and whether the call may concern it. */
const cases: readonly (readonly [string, Call, number, ClientPort, boolean])[] = [
  ['of another client', call(ann), 0, bob, true],
  ['of the same client', call(ann), 0, ann, false],
  ['of clients that share a principal', call(everybody), 0, everybody, true],
  ['that cannot be asked for', call(ann, { isAskable: false }), 0, bob, false],
  ['after 60 s', call(ann), 60_000, bob, false],
]

describe('an abandoned call', () => {
  for (const [title, abandoned, afterMs, next, asks] of cases)
    test(title, () => {
      let now = 1000
      const calls = attribution({ now: () => now })
      calls.abandon(numericId(1), abandoned)
      now += afterMs
      assert.equal(calls.mayConcernOthers(next), asks)
    })

  test('is known by its stream until the server answers it', () => {
    let now = 1000
    const calls = attribution({ now: () => now })
    calls.abandon(numericId(1), call(ann, { isAskable: false }))
    now += 600_000
    assert.equal(calls.mayConcernOthers(bob), false)
    assert.equal(calls.isAbandoned(numericId(1)), true)
    calls.answered(numericId(1))
    assert.equal(calls.isAbandoned(numericId(1)), false)
  })

  test('is over once the server answers it', () => {
    const calls = attribution({ now: () => 0 })
    calls.abandon(numericId(1), call(ann))
    calls.answered(numericId(1))
    assert.equal(calls.mayConcernOthers(bob), false)
  })

  test('is forgotten when there are more than may be remembered, the oldest first', () => {
    const calls = attribution({ now: () => 0 })
    for (let id = 0; id <= 1024; id++) calls.abandon(numericId(id), call(id === 0 ? ann : bob))
    assert.equal(calls.mayConcernOthers(bob), false)
    assert.equal(calls.mayConcernOthers(ann), true)
  })
})
