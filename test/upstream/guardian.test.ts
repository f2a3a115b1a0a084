import { strict as assert } from 'node:assert'
import { describe, test } from 'node:test'
import type { LogRecord } from '../../src/runtime/runtime.js'
import { Guardian, type GuardianShell } from '../../src/upstream/process/guardian.js'
import { FakeClock } from './support/fake-clock.js'

/** A shell that only records its input. */
class FakeShell implements GuardianShell {
  readonly pid = 1
  readonly ended: Promise<string | undefined>
  backlogBytes = 0
  told = ''
  isAtEnd = false
  isKilled = false
  die: (error?: string) => void = () => undefined

  constructor() {
    this.ended = new Promise((resolve) => (this.die = resolve))
  }

  write(line: string): void {
    this.told += line
  }

  end(): void {
    this.isAtEnd = true
    this.die()
  }

  kill(): void {
    this.isKilled = true
    this.die()
  }

  /** The process groups that it would end now. */
  get groups(): number[] {
    const groups = new Set<number>()
    for (const line of this.told.split('\n')) {
      const [what, group] = line.split(' ')
      if (what === '+') groups.add(Number(group))
      if (what === '-') groups.delete(Number(group))
    }
    return [...groups]
  }
}

function scene() {
  const clock = new FakeClock()
  const shells: FakeShell[] = []
  const log: LogRecord[] = []
  const occupied = new Set<number>()
  /** The start of a shell throws one. */
  const failures: Error[] = []
  const runtime = { now: () => clock.now(), random: () => 0.5, setTimer: clock.setTimer.bind(clock) }
  const guardian = new Guardian(
    runtime,
    (record) => log.push(record),
    () => {
      const [failure] = failures
      if (failure !== undefined) throw failure
      const shell = new FakeShell()
      shells.push(shell)
      return shell
    },
    (group) => !occupied.has(group),
  )
  const pass = async (ms: number): Promise<void> => {
    const end = clock.now() + ms
    while (clock.now() < end) {
      const isDue = clock.isDue(1)
      clock.advance(1)
      if (isDue) await settled()
    }
  }
  return { failures, guardian, shells, log, occupied, pass }
}

/** Announces a server to the guardian, as its start does. */
function start(guardian: Guardian, group: number): void {
  guardian.announce()
  guardian.add(group)
}

/** Runs everything that needs no time. */
async function settled(): Promise<void> {
  await new Promise((resolve) => setImmediate(resolve))
}

describe('the guardian', () => {
  test('starts before the first server, and is notified of every server before and after its fork', () => {
    const { guardian, shells } = scene()
    assert.equal(shells.length, 0)
    assert.deepEqual(guardian.announce(), { MCPS_PROXY_START: 'i' })
    assert.equal(shells[0]?.told, '? MCPS_PROXY_START=i\n')
    guardian.add(11)
    start(guardian, 12)
    guardian.announce()
    guardian.withdraw()
    const told = '? MCPS_PROXY_START=i\n+ 11\n? MCPS_PROXY_START=i\n+ 12\n? MCPS_PROXY_START=i\n?\n'
    assert.equal(shells[0]?.told, told)
    assert.equal(shells.length, 1)
  })

  test('is notified that a group has ended only when it has no process', async () => {
    const { guardian, shells, occupied, pass } = scene()
    occupied.add(11)
    start(guardian, 11)
    await settled()
    guardian.remove(11)
    await pass(1000)
    assert.deepEqual(shells[0]?.groups, [11])
    occupied.delete(11)
    await pass(2000)
    assert.deepEqual(shells[0]?.groups, [])
  })

  test('gives up a group that cannot be ended', async () => {
    const { guardian, shells, occupied, pass } = scene()
    occupied.add(11)
    start(guardian, 11)
    await settled()
    guardian.remove(11)
    await pass(120_000)
    assert.deepEqual(shells[0]?.groups, [])
  })

  test('that was killed is started again and gets every group', async () => {
    const { guardian, shells, pass } = scene()
    start(guardian, 11)
    start(guardian, 12)
    await settled()
    guardian.remove(11)
    shells[0]?.die()
    await settled()
    await pass(999)
    assert.equal(shells.length, 1, 'one that keeps dying takes no time')
    await pass(1)
    assert.equal(shells.length, 2)
    assert.deepEqual(shells[1]?.groups, [12])
    start(guardian, 13)
    assert.deepEqual(shells[1]?.groups, [12, 13])
  })

  test('that cannot be started for lack of descriptors is tried again', async () => {
    const it = scene()
    it.failures.push(new Error('EMFILE'))
    start(it.guardian, 11)
    await settled()
    assert.equal(it.shells.length, 0)
    it.failures.pop()
    await it.pass(20_000)
    assert.deepEqual(it.shells[0]?.groups, [11])
  })

  test('does without /bin/sh, and says so once', async () => {
    const { guardian, shells, log, pass } = scene()
    start(guardian, 11)
    await settled()
    shells[0]?.die('ENOENT')
    await settled()
    start(guardian, 12)
    guardian.remove(11)
    await pass(100_000)
    assert.equal(shells.length, 1)
    const levels = log.map(({ level }) => level)
    assert.deepEqual(levels, ['debug'])
    assert.match(log[0]?.message ?? '', /\/bin\/sh/)
  })

  test('that does not read is replaced', async () => {
    const { guardian, shells, pass } = scene()
    start(guardian, 11)
    await settled()
    const [stuck] = shells
    if (stuck !== undefined) stuck.backlogBytes = 1_000_000
    start(guardian, 12)
    await settled()
    await pass(1000)
    assert.equal(stuck?.isKilled, true)
    assert.deepEqual(shells[1]?.groups, [11, 12])
  })

  test('ends when it is closed, and does not come back', async () => {
    const { guardian, shells, occupied, pass } = scene()
    start(guardian, 11)
    start(guardian, 12)
    await settled()
    occupied.add(12)
    await guardian.close()
    assert.equal(shells[0]?.isAtEnd, true)
    assert.deepEqual(shells[0]?.groups, [12], 'whoever is still there is left to it')
    start(guardian, 13)
    await settled()
    await pass(100_000)
    assert.equal(shells.length, 1)
  })
})
