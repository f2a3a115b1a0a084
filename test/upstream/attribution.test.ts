// Which abandoned calls a server may still ask or log for.

import { strict as assert } from 'node:assert'
import { describe, test } from 'node:test'
import { readFrame } from '../../src/jsonrpc/frame.js'
import { toLine } from '../../src/jsonrpc/line.js'
import { numericId } from '../../src/jsonrpc/request-id.js'
import { Call, type ClientPort } from '../../src/calls/call.js'
import { CallDeadline } from '../../src/calls/call-deadline.js'
import { noCapabilities } from '../../src/mcp/capabilities.js'
import { latestStateless } from '../../src/mcp/revisions.js'
import { Attribution } from '../../src/upstream/server/attribution.js'

const limits = { max: 3, logMs: 5000, askMs: 60_000 }

const nothing = (): void => {}

function client(serial: number, isSeveral = false): ClientPort {
  return {
    serial,
    profile: { revision: latestStateless, capabilities: noCapabilities, isSeveral },
    questions: { ask: () => false, withdraw: nothing, owes: () => false, forget: nothing },
    tell: nothing,
    log: nothing,
    listens: false,
    listsChanged: nothing,
  }
}

function call(
  of: ClientPort,
  { askable = true, logLevel }: { askable?: boolean; logLevel?: string } = {},
): Call {
  const frame = readFrame(toLine(Buffer.from('{"jsonrpc":"2.0","id":1,"method":"tools/call"}')))
  assert(frame.kind === 'request')
  const row = { method: 'tools/call', route: { to: 'name', list: 'tools' }, askable } as const
  const owner = { settled: () => undefined }
  return new Call(frame, row, of, new CallDeadline(0), owner, { ...of.profile, logLevel })
}

const attribution = (clock: { now(): number }): Attribution =>
  new Attribution(() => [], { only: undefined }, limits, clock)

const [ann, bob, everybody] = [client(1), client(2), client(3, true)]

const cases: readonly {
  readonly title: string
  readonly abandoned: Call
  readonly afterMs?: number
  readonly next: ClientPort
  readonly asks: boolean
  readonly logs: boolean
}[] = [
  { title: 'of another client', abandoned: call(ann), next: bob, asks: true, logs: false },
  { title: 'of the same client', abandoned: call(ann), next: ann, asks: false, logs: false },
  {
    title: 'of clients that share a principal',
    abandoned: call(everybody),
    next: everybody,
    asks: true,
    logs: false,
  },
  {
    title: 'that cannot be asked for',
    abandoned: call(ann, { askable: false }),
    next: bob,
    asks: false,
    logs: false,
  },
  {
    title: 'with a log level',
    abandoned: call(ann, { logLevel: 'info' }),
    next: bob,
    asks: true,
    logs: true,
  },
  {
    title: 'after 5 s',
    abandoned: call(ann, { logLevel: 'info' }),
    afterMs: 5000,
    next: bob,
    asks: true,
    logs: false,
  },
  {
    title: 'after 60 s',
    abandoned: call(ann, { logLevel: 'info' }),
    afterMs: 60_000,
    next: bob,
    asks: false,
    logs: false,
  },
]

describe('an abandoned call', () => {
  for (const { title, abandoned, afterMs = 0, next, asks, logs } of cases)
    test(title, () => {
      let now = 1000
      const calls = attribution({ now: () => now })
      calls.abandon(numericId(1), abandoned)
      now += afterMs
      assert.deepEqual([calls.mayConcernOthers(next), calls.mayLogForOthers(next)], [asks, logs])
    })

  test('is known by its stream until the server answers it, whatever it was', () => {
    let now = 1000
    const calls = attribution({ now: () => now })
    calls.abandon(numericId(1), call(ann, { askable: false }))
    now += 10 * limits.askMs
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
    for (const [id, of] of [ann, bob, bob, bob].entries()) calls.abandon(numericId(id), call(of))
    assert.equal(calls.mayConcernOthers(bob), false)
    assert.equal(calls.mayConcernOthers(ann), true)
  })
})
