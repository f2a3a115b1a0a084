import { strict as assert } from 'node:assert'
import { describe, test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { realRuntime } from '../../src/real-runtime.js'
import { setDeadline, within } from '../../src/runtime/deadline.js'
import type { Call } from '../../src/calls/call.js'
import { Deadlines } from '../../src/calls/call-deadline.js'
import { callOf } from './support/calls.js'
import { FakeClock } from './support/fake-clock.js'

interface Run {
  readonly clock: FakeClock
  readonly deadlines: Deadlines
  readonly start: (budget?: { timeoutMs: number; totalTimeoutMs: number }) => Call
  readonly expired: string[]
}

function run(times: { timeoutMs: number; totalTimeoutMs: number }): Run {
  const clock = new FakeClock()
  const calls = new Set<Call>()
  const expired: string[] = []
  const deadlines = new Deadlines(
    clock,
    () => calls,
    (call) => {
      calls.delete(call)
      expired.push(`${call.frame.id} ${call.deadline.budget} ${clock.now()}`)
    },
  )
  let last = 0
  const start = (own?: { timeoutMs: number; totalTimeoutMs: number }): Call => {
    const call = callOf(`${++last}`, clock.now())
    call.deadline.times = own ?? times
    calls.add(call)
    deadlines.watch(call)
    return call
  }
  return { clock, deadlines, start, expired }
}

describe('one deadline', () => {
  const cases: readonly (readonly [string, (clock: FakeClock) => FakeClock, number | undefined])[] = [
    ['fires at its time', (clock) => clock.advance(3000), 2000],
    ['fires when it is a little late', (clock) => clock.stop(3000), 3000],
    ['waits as long as it was late', (clock) => clock.stop(4000).advance(10_000), 6000],
    ['but five seconds at most', (clock) => clock.stop(600_000).advance(10_000), 605_000],
    ['and once', (clock) => clock.stop(4000).stop(600_000), 604_000],
    ['not before', (clock) => clock.stop(4000).advance(1999), undefined],
  ]
  for (const [title, run, wanted] of cases)
    test(title, () => {
      const clock = new FakeClock()
      let firedAt: number | undefined
      setDeadline(clock, 2000, () => (firedAt = clock.now()))
      run(clock)
      assert.equal(firedAt, wanted)
    })

  test('one that is cancelled while it is put off does not fire', () => {
    const clock = new FakeClock()
    const deadline = setDeadline(clock, 2000, () => assert.fail('it fired'))
    clock.stop(4000)
    deadline.cancel()
    clock.advance(10_000)
    assert.equal(clock.timers, 0)
  })

  test('a deadline in the past fires immediately', () => {
    const clock = new FakeClock()
    clock.advance(10_000)
    let fired = false
    setDeadline(clock, -5000, () => (fired = true))
    clock.advance(0)
    assert(fired)
  })

  test('an answer that comes after a stop wins over the deadline', async () => {
    const clock = new FakeClock()
    let resolve: ((answer: string) => void) | undefined
    const answer = within(new Promise<string>((settle) => (resolve = settle)), 2000, clock)
    clock.stop(5000)
    resolve?.('in time')
    assert.equal(await answer, 'in time')
    assert.equal(clock.timers, 0)
  })
})

describe('the deadlines of one holder', () => {
  test('each has its own, and a tool may have one of its own', () => {
    const { clock, start, expired } = run({ timeoutMs: 1000, totalTimeoutMs: 5000 })
    start()
    clock.advance(500)
    start({ timeoutMs: 100, totalTimeoutMs: 5000 })
    start({ timeoutMs: 60_000, totalTimeoutMs: 2000 })
    clock.advance(60_000)
    assert.deepEqual(expired, ['2 timeoutMs 600', '1 timeoutMs 1000', '3 totalTimeoutMs 2500'])
    assert.equal(clock.timers, 0)
  })

  test('progress moves the one and never the other', () => {
    const { clock, start, expired } = run({ timeoutMs: 1000, totalTimeoutMs: 3500 })
    const call = start()
    for (let i = 0; i < 10; i++) {
      clock.advance(900)
      call.deadline.extend(clock.now())
    }
    assert.deepEqual(expired, ['1 totalTimeoutMs 3500'])
  })

  test('a stop puts those off that would expire in that turn, and the others keep theirs', () => {
    const { clock, start, expired } = run({ timeoutMs: 2000, totalTimeoutMs: 60_000 })
    start()
    clock.advance(500)
    start({ timeoutMs: 30_000, totalTimeoutMs: 60_000 })
    clock.stop(4000)
    assert.deepEqual(expired, [])
    clock.advance(2499)
    assert.deepEqual(expired, [])
    clock.advance(60_000)
    assert.deepEqual(expired, ['1 timeoutMs 7000', '2 timeoutMs 30500'])
  })

  test('a deadline is extended only once', () => {
    const { clock, start, expired } = run({ timeoutMs: 2000, totalTimeoutMs: 60_000 })
    start()
    clock.stop(20_000)
    clock.stop(20_000)
    assert.deepEqual(expired, ['1 timeoutMs 40000'])
  })
})

const times = { timeoutMs: 1000, totalTimeoutMs: 20_000 }
const cases: readonly (readonly [string, (run: Run, call: Call) => void, readonly string[]])[] = [
  [
    'the time of a call stands still, and goes on where it was',
    ({ clock, deadlines }, call) => {
      clock.advance(300)
      call.deadline.pause(clock.now())
      clock.advance(5000)
      call.deadline.resume(clock.now())
      deadlines.watch(call)
    },
    ['1 timeoutMs 6000'],
  ],
  ['total time runs', ({ clock }, { deadline }) => deadline.pause(clock.now()), ['1 totalTimeoutMs 20000']],
  [
    'two questions at once count once, and the last that ends lets it go on',
    ({ clock, deadlines }, call) => {
      for (const act of ['pause', 'pause', 'resume', 'resume'] as const) {
        call.deadline[act](clock.now())
        clock.advance(2000)
      }
      deadlines.watch(call)
    },
    ['1 timeoutMs 8000'],
  ],
  [
    'progress begins the time anew, which then stands still as well',
    ({ clock, deadlines }, call) => {
      clock.advance(300)
      call.deadline.pause(clock.now())
      clock.advance(5000)
      call.deadline.extend(clock.now())
      clock.advance(5000)
      call.deadline.resume(clock.now())
      deadlines.watch(call)
    },
    ['1 timeoutMs 11300'],
  ],
  [
    'a call that ends where it was has its time again',
    ({ clock, deadlines }, call) => {
      call.deadline.pause(clock.now())
      call.deadline.pause(clock.now())
      clock.advance(3000)
      call.deadline.resumeAll(clock)
      deadlines.watch(call)
    },
    ['1 timeoutMs 4000'],
  ],
]
for (const [title, act, wanted] of cases)
  test(`while the client is asked, ${title}`, () => {
    const { start, ...rest } = run(times)
    act({ start, ...rest }, start())
    rest.clock.advance(60_000)
    assert.deepEqual(rest.expired, wanted)
  })

test('a delay beyond the limit of timers does not fire immediately', async () => {
  const timers = [2 ** 31 - 1, 2 ** 31, 2 ** 40, Infinity].map((ms) =>
    realRuntime().setTimer(ms, () => assert.fail(`${ms} fired`)),
  )
  await new Promise<void>((resolve) => realRuntime().setTimer(20, resolve))
  await turn()
  for (const timer of timers) timer.cancel()
})
