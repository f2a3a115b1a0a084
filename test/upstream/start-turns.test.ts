import { strict as assert } from 'node:assert'
import { describe, test } from 'node:test'
import { type Lease, StartGate } from '../../src/upstream/server/start-gate.js'
import { libraryProxy } from '../integration/support/library.js'
import { FakeRuntime, polite } from './support/fake-runtime.js'

const world = (): { readonly runtime: FakeRuntime; readonly gate: StartGate } => {
  const runtime = new FakeRuntime()
  return { runtime, gate: new StartGate(Infinity, runtime) }
}

const applicant = {
  server: 's',
  installs: false,
  isShared: true,
  isWanted: () => true,
  isCalled: () => false,
  idleSince: () => undefined,
  vacate: async () => {},
}

describe('installs', () => {
  test('run two at a time, and one that takes long gives up its turn', async () => {
    const { runtime, gate } = world()
    const leases: Lease[] = []
    for (let n = 0; n < 6; n++)
      void gate.enter({ ...applicant, installs: true }).then((lease) => leases.push(lease))
    await runtime.pass(1, 1)
    assert.equal(leases.length, 2)
    leases[0]?.installed()
    leases[0]?.release()
    await runtime.pass(1, 1)
    assert.equal(leases.length, 3)
    await runtime.pass(20_000)
    assert.equal(leases.length, 5, 'two turns are over, and are given on once')
    leases[1]?.installed()
    await runtime.pass(1, 1)
    assert.equal(leases.length, 5, 'a turn that is over is not given on again')
  })

  const elsewhere: [title: string, state: { isBusy?: boolean; isWanted?: boolean; isCalled?: boolean }][] = [
    ['has ended', { isBusy: false }],
    ['goes on, and a call waits for the server', { isCalled: true }],
    ['goes on, and the start is given up', { isWanted: false }],
  ]
  for (const [title, change] of elsewhere)
    test(`wait for one in another process until that ${title}`, async () => {
      const runtime = new FakeRuntime()
      let state = { isBusy: true, isWanted: true, isCalled: false }
      const gate = new StartGate(Infinity, runtime, (server) => server === 's' && state.isBusy)
      let isAdmitted = false
      const [isWanted, isCalled] = [() => state.isWanted, () => state.isCalled]
      void gate
        .enter({ ...applicant, installs: true, isWanted, isCalled })
        .then(() => void (isAdmitted = true))
      await runtime.pass(30_000)
      assert.equal(isAdmitted, false)
      state = { ...state, ...change }
      await runtime.pass(500)
      assert.equal(isAdmitted, true)
    })

  test('of servers by npx do so until the servers are known', async (t) => {
    const runtime = new FakeRuntime()
    runtime.script = (method, params, child) =>
      method === 'initialize' ? undefined : polite(method, params, child)
    const servers = Object.fromEntries(
      ['a', 'b', 'c', 'd'].map((name) => [name, { command: 'npx', args: [name] }]),
    )
    const { attach } = await libraryProxy(t, { ...servers, e: { command: 'node' } }, { runtime })
    const { client } = await attach()
    void client.open().catch(() => {})
    await runtime.pass(1000)
    assert.equal(runtime.children.length, 3)
    const first = runtime.children.find(({ command }) => command === 'npx')
    first?.say(`{"jsonrpc":"2.0","id":${first.lastId},"result":${polite('initialize', {}, first)}}`)
    await runtime.pass(100)
    assert.equal(runtime.children.length, 4)
    await runtime.pass(20_000)
    assert.equal(runtime.children.length, 5)
    assert.ok(runtime.children.every(({ signals, stdin }) => signals === 0 && !stdin.writableEnded))
  })
})
