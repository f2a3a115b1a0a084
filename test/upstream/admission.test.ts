import { strict as assert } from 'node:assert'
import { test } from 'node:test'
import { type Lease, StartGate } from '../../src/upstream/server/start-gate.js'
import { FakeRuntime, settled } from './support/fake-runtime.js'

/** Processes that fill all places, each with the time since which it is idle. */
async function full(idle: readonly (number | undefined)[]) {
  const runtime = new FakeRuntime()
  const gate = new StartGate(idle.length, runtime)
  const gone: number[] = []
  const common = {
    server: 's',
    isShared: false,
    installs: false,
    isWanted: () => true,
    vacate: async () => {},
  }
  for (const [index, since] of idle.entries()) {
    const isShared = since === SHARED
    const idleSince = (): number | undefined => since
    const vacate = async (): Promise<void> => {
      gone.push(index)
      lease.release()
    }
    const entering = gate.enter({ ...common, isShared, isCalled: () => false, idleSince, vacate })
    await runtime.pass(1, 1)
    const lease = await entering
  }
  const apply = async (isCalled = true): Promise<string> => {
    const entering = gate.enter({ ...common, isCalled: () => isCalled, idleSince: () => undefined }).then(
      () => 'admitted',
      (error: Error) => error.message,
    )
    await runtime.pass(1, 1)
    return await entering
  }
  return { gone, apply }
}

/** The number of clients of a shared process. */
const SHARED = 1

const REFUSED = (count: number): string =>
  `'s' cannot be started: ${count} processes run already, which is processesMax`

/** The title, the idle times, whether a call waits, the answer, and the ended processes. */
const cases: readonly [string, readonly (number | undefined)[], boolean, string, readonly number[]][] = [
  ['the one that has been idle for longest', [undefined, 9, 8], true, 'admitted', [2]],
  ['one client before that of several', [SHARED, 9], true, 'admitted', [1]],
  ['several clients', [SHARED, undefined], true, 'admitted', [0]],
  ['none, while all are at work and no call waits', [undefined], false, REFUSED(1), []],
  ['none for a start that no call waits for', [9, 8], false, REFUSED(2), []],
]

for (const [title, idle, isCalled, answer, gone] of cases)
  test(`a process that finds no place gets that of ${title}`, async () => {
    const world = await full(idle)
    assert.deepEqual([await world.apply(isCalled), world.gone], [answer, gone])
  })

test('a process that finds no place waits until one ends or is idle, or no call waits for it', async () => {
  const runtime = new FakeRuntime()
  const gate = new StartGate(1, runtime)
  const answers: string[] = []
  let idle: number | undefined
  let isCalled = true
  const leases = new Map<string, Lease>()
  const apply = (name: string): Promise<Lease | undefined> =>
    gate
      .enter({
        server: name,
        installs: false,
        isShared: true,
        isWanted: () => true,
        isCalled: () => isCalled,
        idleSince: () => (leases.has(name) ? idle : undefined),
        vacate: async () => leases.get(name)?.release(),
      })
      .then(
        (lease) => {
          answers.push(name)
          leases.set(name, lease)
          gate.changed()
          return lease
        },
        (error: Error) => void answers.push(error.message),
      )
  const first = await apply('a')
  const all = [apply('b'), apply('c'), apply('d')]
  gate.changed()
  await runtime.pass(5, 1)
  assert.deepEqual(answers, ['a'])
  first?.release()
  await settled()
  assert.deepEqual(answers, ['a', 'b'])
  idle = 1
  gate.changed()
  await runtime.pass(5, 1)
  assert.deepEqual([...answers].sort(), ['a', 'b', 'c', 'd'])
  idle = undefined
  all.push(apply('s'))
  isCalled = false
  gate.changed()
  await runtime.pass(5, 1)
  await Promise.all(all)
  assert.deepEqual(answers.slice(4), [REFUSED(1)])
})
