// The viewers of the inspector, and their cost for the other clients.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { type CallEvent, memoryPair } from '../../src/index.js'
import { BATCH_MS } from '../../src/inspector/feed.js'
import { Inspector, VIEWERS_MAX } from '../../src/inspector/inspector.js'
import type { FeedLine } from '../../src/inspector/protocol.js'
import { Peer } from '../../src/jsonrpc/peer.js'
import type { LiveTap, TapSwitch } from '../../src/jsonrpc/wire-tap.js'
import type { LogRecord } from '../../src/index.js'
import { Status } from '../../src/inspector/status.js'
import { MessageRedactor } from '../../src/inspector/redaction.js'
import { Ring } from '../../src/inspector/ring.js'
import { UsageCounts } from '../../src/inspector/usage.js'
import { Taps } from '../../src/proxy/common.js'
import { callEvent } from '../proxy/support/call-event.js'
import { FakeRuntime } from '../upstream/support/fake-runtime.js'
import { client, invocation, server } from './support.js'

/** A viewer that may leave its lines unread. */
class Reader {
  unsentBytes = 0
  readonly lines: FeedLine[] = []

  isEnded = false

  end(): void {
    this.isEnded = true
  }

  write(pieces: readonly Uint8Array[]): void {
    for (const line of Buffer.concat(pieces).toString().trim().split('\n')) this.lines.push(JSON.parse(line))
  }

  /** Older rows, in order. */
  get older(): string[] {
    const batches = this.lines.map((line) => ('older' in line ? line.older.map(({ text }) => text) : []))
    return batches.toReversed().flat()
  }

  get frames(): string[] {
    return this.lines.flatMap((line) => ('frames' in line ? line.frames.map(({ text }) => text) : []))
  }
}

/** A tap's place that says whether it is taken. */
class Place implements TapSwitch {
  tap: LiveTap | undefined

  on(tap: LiveTap): void {
    this.tap = tap
  }

  off(): void {
    this.tap = undefined
  }

  say(text: string): void {
    this.tap?.wire(client, 'in', Buffer.from(text), true, 1)
  }
}

function scene(historyBytes?: number): { runtime: FakeRuntime; place: Place; inspector: Inspector } {
  const runtime = new FakeRuntime()
  const place = new Place()
  const inspector = new Inspector({ runtime, redacts: true, historyBytes, invocation })
  inspector.tapSwitch(place)
  return { runtime, place, inspector }
}

test('the tap of the inspector is there while somebody looks, and for thirty seconds after', async () => {
  const { runtime, place, inspector } = scene()
  place.say('unseen')
  const reader = new Reader()
  const end = inspector.view(reader)
  place.say('seen')
  await runtime.pass(BATCH_MS, BATCH_MS)
  assert.deepEqual(reader.frames, ['seen'])
  end()
  await runtime.pass(29_000)
  place.say('late')
  const second = new Reader()
  inspector.view(second)()
  assert.deepEqual(second.frames, ['seen', 'late'])
  await runtime.pass(30_000)
  assert.deepEqual([place.tap, inspector.ring.bytes], [undefined, 0])
})

test('the tap of the inspector is there from the start if the configuration asks for a history', async () => {
  const { runtime, place, inspector } = scene(1e6)
  place.say('early')
  const reader = new Reader()
  inspector.view(reader)()
  await runtime.pass(60_000)
  assert.deepEqual(reader.frames, ['early'])
  place.say('more')
  assert.equal(inspector.ring.next, 3)
})

describe('a feed', () => {
  test('is refused to one viewer past the limit', () => {
    const { inspector } = scene()
    const ends = Array.from({ length: VIEWERS_MAX }, () => inspector.view(new Reader()))
    assert.equal(inspector.isFull, true)
    ends[0]?.()
    assert.equal(inspector.isFull, false)
  })

  test('ends with the proxy, and none begins afterwards', async () => {
    const { runtime, place, inspector } = scene()
    const reader = new Reader()
    inspector.view(reader)
    inspector.close()
    await runtime.pass(1000, 100)
    assert.deepEqual([reader.isEnded, place.tap], [true, undefined])
    assert.equal(inspector.isFull, true)
  })

  test('skips what has left the ring while its viewer read nothing, and slows nobody', async () => {
    const { runtime, place, inspector } = scene()
    const [slow, quick] = [new Reader(), new Reader()]
    inspector.view(slow)
    inspector.view(quick)
    slow.unsentBytes = 2 * 1024 * 1024
    for (let batch = 0; batch < 90; batch++) {
      for (let at = 0; at < 500; at++) place.say(`${batch} ${at}`)
      await runtime.pass(100, 100)
    }
    assert.equal(quick.frames.length, 45_000)
    assert.equal(slow.lines.length, 0)
    slow.unsentBytes = 0
    await runtime.pass(8000, 100)
    assert.deepEqual(slow.lines[0], { skipped: 25_000 })
    assert.equal(slow.frames.length, 20_000)
  })

  test('has the newest rows first, and all 20,000 within two seconds', async () => {
    const { runtime, place, inspector } = scene(1e7)
    for (let at = 1; at <= 20_000; at++) place.say(String(at))
    const reader = new Reader()
    inspector.view(reader)
    assert.equal(reader.frames.at(-1), '20000')
    place.say('new')
    await runtime.pass(2000, 10)
    assert(reader.frames.includes('new'))
    assert.deepEqual([reader.older.length, reader.older[0], reader.older.at(-1)], [19_399, '2', '19400'])
  })
})

function talk(taps: Taps): { near: Peer<never>; far: Peer<never> } {
  const [left, right] = memoryPair()
  const owner = {
    request() {},
    notification() {},
    stray() {},
    batch() {},
    malformed() {},
    failed() {},
    oversize() {},
    ended() {},
    closed() {},
  }
  const near = new Peer<never>(left, owner, { inflightMax: 3, watch: taps.watch(client) })
  const far = new Peer<never>(right, owner, { inflightMax: 3, watch: taps.watch(server) })
  near.start()
  far.start()
  return { near, far }
}

function tap(seen: string[], fails = false): LiveTap {
  return {
    wire: ({ connection }, direction, bytes) => {
      if (fails) throw new Error('full')
      seen.push(`${connection} ${direction} ${Buffer.from(bytes).toString().length}`)
    },
    forward: () => undefined,
    ended: (connection) => void seen.push(`${connection} ended`),
  }
}

test('the state of a server has the time of its lists, and no secret in the reason', async () => {
  const runtime = new FakeRuntime()
  const redactor = new MessageRedactor(true)
  redactor.addSecrets(['the-secret'])
  const status = new Status(runtime, redactor, new Ring())
  const gauges = { inFlight: 1, queued: 2, slots: 5, restarts: 3, memoryBytes: 4 }
  const none = { connectedAtMs: undefined, revision: undefined, evidence: undefined }
  const change = { kind: 'tools', name: 'x', change: 'new' } as const
  const facts = {
    name: 'files',
    kind: 'stdio',
    state: 'error',
    error: 'no the-secret',
    pids: [7],
    tools: 5,
  } as const
  const proxy = {
    status: () => [{ ...facts, ...none, gauges, changes: [change], leftOut: 2 }],
    sessions: () => [],
    restart: unused,
    stop: unused,
  }
  status.proxies = new Map([['work', proxy]])
  const [row] = (await status.report()).servers
  assert.deepEqual(row, {
    schema: 'work',
    name: 'files',
    kind: 'stdio',
    state: 'error',
    error: 'no [redacted]',
    tools: 5,
    inFlight: 1,
    queued: 2,
    slots: 5,
    restarts: 3,
    pids: [7],
    memoryBytes: 4,
    changes: 1,
    leftOut: 2,
  })
})

function unused(): Promise<void> {
  return Promise.resolve()
}

test('the switch of taps shows connections that are open, beside the tap of the options', async () => {
  const fixed: string[] = []
  const taps = new Taps({ wire: ({ direction }) => void fixed.push(direction) }, new FakeRuntime(), () => {})
  const { near } = talk(taps)
  near.notify('a')
  const seen: string[] = []
  taps.on(tap(seen))
  near.notify('b')
  await near.close()
  taps.off()
  assert.deepEqual(seen, ['1 out 30', '1 ended'])
  assert.deepEqual(fixed, ['out', 'out'])
})

test('the switch of taps takes a tap away that fails, and passes the message', async () => {
  const log: LogRecord[] = []
  const taps = new Taps(undefined, new FakeRuntime(), (record) => log.push(record))
  const { near } = talk(taps)
  taps.on(tap([], true))
  near.notify('a')
  near.notify('b')
  assert.deepEqual([near.open, log.length], [true, 1])
  assert.match(log[0]?.message ?? '', /inspector has failed.*full/)
  await near.close()
})

function event(more: Partial<CallEvent>): CallEvent {
  return callEvent({ method: 'tools/call', server: 'a', ...more })
}

test('the usage counts calls of each tool, server, client and view, and their errors', () => {
  const usage = new UsageCounts(new MessageRedactor(true))
  usage.count(event({ name: 'a__x', clientName: 'ann', ms: 1, argumentBytes: 4, resultBytes: 8 }))
  usage.count(event({ name: 'a__x', clientName: 'ann', ms: 100, argumentBytes: 4, isToolError: true }))
  usage.count(event({ name: 'a__x', clientName: 'bob', outcome: 'cancelled' }))
  usage.count(event({ name: 'a__x', clientName: 'bob', view: 'profile:p', outcome: 'failed' }))
  usage.count(event({ method: 'tools/list', name: undefined, clientName: undefined }))
  const rows = usage.report()
  const facts = rows.map(({ what, client, view, calls, errors }) => [what, client, view, calls, errors])
  assert.deepEqual(facts, [
    ['a__x', 'ann', '', 2, 1],
    ['a__x', 'bob', '', 1, 0],
    ['a__x', 'bob', 'profile:p', 1, 1],
    ['tools/list', '', '', 1, 0],
  ])
  assert.deepEqual([rows[0]?.argumentBytes, rows[0]?.resultBytes], [8, 10])
  const times = rows[0]?.times ?? []
  const isNear = times.map(([ms, count]) => [ms >= (ms < 50 ? 1 : 100), ms < 130, count])
  assert.deepEqual(isNear, [
    [true, true, 1],
    [true, true, 1],
  ])
})

test('the usage of one name past the limit counts among others', () => {
  const usage = new UsageCounts(new MessageRedactor(true))
  for (let n = 0; n < 2003; n++) usage.count(event({ name: `t${n}` }))
  const rows = usage.report()
  assert.deepEqual([rows.length, rows.at(-1)?.what, rows.at(-1)?.calls], [2001, 'others', 3])
})
