// Which calls wait for which servers, until when, and in which order they continue.

import { strict as assert } from 'node:assert'
import { describe, test } from 'node:test'
import type { Call, ClientPort } from '../../../src/calls/call.js'
import { answerAt, listTimes, ListWaits, type Wanted } from '../../../src/proxy/routing/list-waits.js'
import type { CallTarget, Lane } from '../../../src/upstream/contracts/upstream.js'
import { limits } from '../../../src/limits.js'
import { callOf, nobody } from '../../upstream/support/calls.js'
import { FakeRuntime } from '../../upstream/support/fake-runtime.js'
import { FakeServer, type Lists } from '../support/fake-server.js'
import { routingOf } from '../support/stage.js'

const GRACE_MS = 5000
const BYTES_MAX = 1000

/** Two servers that start, and the order in which waiting calls continue. */
class Stage {
  readonly runtime = new FakeRuntime()
  readonly events: string[] = []
  readonly a = new FakeServer('a', { tools: ['x'] }, [], { starts: true })
  readonly b = new FakeServer('b', { tools: ['y'] }, [], { starts: true })
  lanes: readonly Lane[] = [this.a.lane, this.b.lane]
  readonly waits: ListWaits
  #calls = 0

  constructor(client: Pick<ClientPort, 'profile'> = nobody) {
    this.waits = new ListWaits(this, client, {
      ...routingOf(this.runtime),
      startupGraceMs: () => GRACE_MS,
      limits: { ...limits, session: { ...limits.session, waitingBytesMax: BYTES_MAX } },
    })
  }

  /** With `bytes`, the message of the call is so long. */
  call(bytes = 0): Call {
    const number = ++this.#calls
    const length = bytes - callOf('1', 0).bytes - 1
    const id = bytes === 0 ? String(number) : `"${'x'.repeat(length)}"`
    const settled = ({ kind }: { readonly kind: string }): void => void this.events.push(`${kind} ${number}`)
    return callOf(id, this.runtime.now(), { settled })
  }

  list(name: string, call = this.call()): Call {
    this.waits.whenListable(call, 'tools', () => this.events.push(name))
    return call
  }

  resource(name: string, lanes?: readonly Lane[]): void {
    this.waits.whenListed(this.call(), ['resources'], () => this.events.push(name), lanes && (() => lanes))
  }

  /** A call of a tool that one of these servers may have. */
  tool(name: string, servers: readonly FakeServer[], call = this.call()): Call {
    const lanes = servers.map(({ lane }) => lane)
    const wanted: Wanted = {
      kind: 'tools',
      name,
      isListed: () => false,
      candidates: () => ({
        lanes: this.lanes.filter((lane) => lanes.includes(lane)),
        isClaimed: servers.length === 1,
      }),
    }
    this.waits.whenNamed(call, wanted, () => this.events.push(name))
    return call
  }
}

const start = async ({ runtime, waits }: Stage, server: FakeServer): Promise<void> => {
  server.start()
  waits.runDue()
  await runtime.pass(0)
}

type Begin = (stage: Stage) => void

const cases: readonly (readonly [string, Begin, readonly string[], readonly string[], readonly string[]])[] =
  [
    ['a list waits for both', (it) => it.list('list'), [], ['list'], ['list']],
    ['a resource waits for both', (it) => it.resource('r'), [], ['r'], ['r']],
    ['a resource of a server waits for that', (it) => it.resource('r', [it.a.lane]), ['r'], ['r'], ['r']],
    ['a name of a server waits for that', (it) => it.tool('x', [it.a]), ['x'], ['x'], ['x']],
    ['a name waits for all that may have it', (it) => it.tool('x', [it.a, it.b]), [], ['x'], []],
  ]

for (const [title, begin, afterA, afterBoth, afterGrace] of cases)
  test(`of two servers that start, ${title}`, async () => {
    const stage = new Stage()
    begin(stage)
    assert.deepEqual(stage.events, [])
    await start(stage, stage.a)
    assert.deepEqual(stage.events, afterA)
    await start(stage, stage.b)
    assert.deepEqual(stage.events, afterBoth)

    const late = new Stage()
    begin(late)
    await start(late, late.a)
    await late.runtime.pass(GRACE_MS)
    assert.deepEqual(late.events, afterGrace)
  })

test('calls that wait for the same of two servers go on in the order in which they came', async () => {
  const stage = new Stage()
  stage.tool('first', [stage.a, stage.b])
  stage.list('second')
  stage.tool('third', [stage.b])
  await start(stage, stage.a)
  await start(stage, stage.b)
  assert.deepEqual(stage.events.toSorted(), ['first', 'second', 'third'])
  const found = stage.events.filter((name) => name !== 'second')
  assert.deepEqual(found, ['first', 'third'])
})

describe('a call that waits', () => {
  test('by a name fails when its time is over', async () => {
    const stage = new Stage()
    const { deadline } = stage.tool('x', [stage.a])
    await stage.runtime.pass(deadline.endsAt - stage.runtime.now())
    assert.deepEqual(stage.events, ['failed 1'])
  })

  test('as a list is given up, and the next list waits', async () => {
    const stage = new Stage()
    stage.list('first').cancel(undefined)
    stage.list('second')
    assert.deepEqual(stage.events, ['cancelled 1'])
    await start(stage, stage.a)
    await start(stage, stage.b)
    assert.deepEqual(stage.events, ['cancelled 1', 'second'])
  })

  test('of a client that has left holds no timer and keeps nothing waiting', async () => {
    const stage = new Stage()
    const { clock } = stage.runtime
    const quiet = stage.waits.quiet()
    assert.equal(clock.timers, 1)
    stage.waits.close()
    await quiet
    assert.equal(clock.timers, 0)
  })

  for (const [over, wanted] of [
    [0, []],
    [1, ['failed 2', 'failed 3']],
  ] as const)
    test(`finds no room above a limit of bytes: ${over} above it`, () => {
      const stage = new Stage()
      const { bytes } = stage.list('first')
      const more = BYTES_MAX - bytes + over
      stage.list('second', stage.call(more))
      if (over > 0) stage.tool('third', [stage.a], stage.call(more))
      assert.deepEqual(stage.events, wanted)
    })
})

function kept(lists: Lists): CallTarget {
  const { lane } = new FakeServer('kept', lists, [])
  return { ...lane, view: { ...lane.view, wasKept: true } }
}

test('a kept list of a server without tools does not make an empty list of tools out of a first list', () => {
  const { lane: coming } = new FakeServer('coming', {}, [], { starts: true })
  const times = { isConfigured: false, ms: 8000 }
  assert.equal(answerAt([kept({ tools: ['x'] }), coming], 'tools', times), 1500)
  assert.equal(answerAt([kept({ prompts: ['p'] }), coming], 'tools', times), 8000)
  assert.equal(answerAt([kept({ tools: ['x'] }), coming], 'prompts', times), 1500)
})

function listed(tools: readonly string[]): CallTarget {
  const { lane } = new FakeServer('listed', { tools }, [])
  return { ...lane, view: { ...lane.view, listedAt: () => 0 } }
}

test('an empty list of tools does not end the wait for servers with tools', () => {
  const { lane: coming } = new FakeServer('coming', {}, [], { starts: true })
  const times = { isConfigured: false, ms: 28_000 }
  assert.equal(answerAt([listed(['x']), coming], 'tools', times), 3000)
  assert.equal(answerAt([listed([]), coming], 'tools', times), 28_000)
})

test('a client on stdio has waited while the process began', () => {
  assert.equal(listTimes('codex-mcp-client', false, undefined, 3000).ms, 5000)
  assert.equal(listTimes('mcp', false, undefined, 4000).ms, 0)
  assert.equal(listTimes('mcp', false, 7000, 4000).ms, 7000)
})
