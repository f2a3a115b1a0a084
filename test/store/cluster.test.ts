// Instances that share a store: messages, channels, and what happens when one of them or the store is gone.

import assert from 'node:assert/strict'
import { Buffer } from 'node:buffer'
import { describe, test } from 'node:test'
import { realClock } from '../../src/runtime/deadline.js'
import { Cluster } from '../../src/store/cluster.js'
import { MemoryStore, SharedMemory } from '../support/memory-store.js'
import type { Scope } from '../support/scope.js'
import type { PeerChannel, PeerSink } from '../../src/transports/http-server/peers.js'
import { until } from './store-contract.js'

const secret = 'the secret of all instances'

type Instance = Awaited<ReturnType<typeof instance>>

/** One end of a channel, and the bytes that it received. */
class End implements PeerSink {
  channel: PeerChannel | undefined
  text = ''
  bytes = 0
  hasEnded = false
  isGone = false
  isHolding = false

  data(bytes: Buffer): void {
    if (bytes.length < 1000) this.text += bytes.toString()
    this.bytes += bytes.length
    if (!this.isHolding) this.channel?.onConsumed(bytes.length)
  }

  end(): void {
    this.hasEnded = true
  }

  gone(): void {
    this.isGone = true
  }

  drained(): void {}
}

async function instance(scope: Scope, shared: SharedMemory, label: string, log: string[] = [], key = secret) {
  const store = new MemoryStore(shared, realClock)
  const cluster = new Cluster({
    label,
    store,
    secrets: () => [key],
    runtime: realClock,
    log: ({ message }) => log.push(message),
  })
  /** The ends of the channels that other instances have opened, and the messages to all instances. */
  const ends: End[] = []
  const told: string[] = []
  cluster.serve({
    opened: (channel) => {
      const end = new End()
      end.channel = channel
      ends.push(end)
      return end
    },
    onMessage: (bytes) => told.push(bytes.toString()),
  })
  await cluster.start()
  scope.after(() => cluster.close())
  return { cluster, store, ends, told }
}

async function opened(from: Instance, to: string): Promise<End> {
  const end = new End()
  end.channel = await from.cluster.open(to, end)
  assert.ok(end.channel)
  return end
}

/** Two instances, and the log of the second. */
async function pair(t: Scope) {
  const shared = new SharedMemory()
  const log: string[] = []
  const [a, b] = [await instance(t, shared, 'a'), await instance(t, shared, 'b', log)]
  return { shared, a, b, log }
}

/** Two instances, and a channel that the first has opened and the second has accepted. */
async function channel(t: Scope) {
  const { shared, a, b, log } = await pair(t)
  const end = await opened(a, 'b')
  end.channel?.write([Buffer.from('x')])
  await until(() => b.ends.length === 1)
  const [other] = b.ends
  assert.ok(other)
  return { shared, a, b, end, other, log }
}

describe('a channel between two instances', () => {
  test('carries bytes both ways, each direction with its end', async (t) => {
    const { a, b } = await pair(t)
    const end = await opened(a, 'b')
    end.channel?.write([Buffer.from('one '), Buffer.from('two')])
    end.channel?.end()
    await until(() => b.ends[0]?.hasEnded === true)
    assert.equal(b.ends[0]?.text, 'one two')
    b.ends[0]?.channel?.write([Buffer.from('back')])
    b.ends[0]?.channel?.end()
    await until(() => end.hasEnded)
    assert.equal(end.text, 'back')
    assert.equal(end.isGone || b.ends[0]?.isGone, false)
  })

  test('needs no message more once both directions have ended', async (t) => {
    const { a, end, other } = await channel(t)
    const sent: string[] = []
    const send = a.store.send.bind(a.store)
    a.store.send = (to, message) => {
      sent.push(to)
      return send(to, message)
    }
    // A response cuts its channel when its connection closes.
    end.end = () => {
      end.hasEnded = true
      end.channel?.cut()
    }
    end.channel?.end()
    await until(() => other.hasEnded)
    other.channel?.end()
    await until(() => end.hasEnded)
    assert.deepEqual(sent, ['b'])
  })

  test('leads nowhere where no instance has the name', async (t) => {
    const a = await instance(t, new SharedMemory(), 'a')
    assert.equal(await a.cluster.open('b', new End()), undefined)
  })

  for (const side of ['the one that has opened it', 'the other one'])
    test(`is gone for the other side when ${side} cuts it`, async (t) => {
      const { end, other } = await channel(t)
      const [cutter, cut] = side === 'the other one' ? [other, end] : [end, other]
      cutter.channel?.cut()
      await until(() => cut.isGone)
      assert.equal(cutter.isGone, false)
    })

  test('holds back what the other side does not take, and sends the rest once it does', async (t) => {
    const { end, other } = await channel(t)
    other.isHolding = true
    const total = 8 * 1024 * 1024
    end.channel?.write([Buffer.alloc(total)])
    end.channel?.end()
    await until(() => other.bytes > 1024 * 1024)
    assert.ok(other.bytes < total && (end.channel?.unsentBytes ?? 0) > 0)
    other.isHolding = false
    other.channel?.onConsumed(other.bytes)
    await until(() => other.hasEnded)
    assert.equal(other.bytes, total + 1)
    assert.equal(end.channel?.unsentBytes, 0)
  })

  test('is gone when its instance does not take the first message', async (t) => {
    const { shared, a, b } = await pair(t)
    // It runs by its lease, and reads nothing.
    shared.receivers.delete(b.store)
    const end = await opened(a, 'b')
    end.channel?.write([Buffer.from('x')])
    await until(() => end.isGone)
  })

  test('is gone on both sides when one of them loses the store, and a new one leads there again', async (t) => {
    const { a, b, end, other, log } = await channel(t)
    b.store.isAway = true
    assert.equal(other.isGone, true)
    assert.equal(b.cluster.isAway, true)
    b.store.isAway = false
    await until(() => end.isGone)
    assert.deepEqual(log, [
      'the store cannot be used: new sessions are refused until it can be',
      'the store can be reached again',
    ])
    const again = await opened(a, 'b')
    again.channel?.write([Buffer.from('again')])
    await until(() => b.ends.length === 2)
    assert.equal(b.ends[1]?.text, 'again')
  })

  test('is gone on both sides when one of them was stopped for longer than its lease', async (t) => {
    const { shared, a, end, other } = await channel(t)
    a.store.put = () => Promise.resolve()
    shared.entries.delete('instance:a')
    await until(() => other.isGone)
    await until(() => end.isGone)
  })

  test('is gone when its instance has ended', async (t) => {
    const { shared, b, end } = await channel(t)
    shared.receivers.delete(b.store)
    shared.entries.delete('instance:b')
    await until(() => end.isGone)
  })
})

describe('messages', () => {
  test('to all reach every other instance', async (t) => {
    const shared = new SharedMemory()
    const [a, b, c] = [
      await instance(t, shared, 'a'),
      await instance(t, shared, 'b'),
      await instance(t, shared, 'c'),
    ]
    const topics: string[] = []
    b.cluster.on('topic', (bytes) => topics.push(bytes.toString()))
    a.cluster.broadcast(Buffer.from('to all'))
    a.cluster.broadcast(Buffer.from('about it'), 'topic')
    await until(() => b.told.length === 1 && c.told.length === 1 && topics.length === 1)
    assert.deepEqual([a.told, b.told, c.told, topics], [[], ['to all'], ['to all'], ['about it']])
  })

  const forgeries: readonly (readonly [string, (bytes: Buffer) => Buffer])[] = [
    ['that came before', (bytes) => bytes],
    ['with a byte changed', (bytes) => Buffer.from(bytes.map((byte, at) => (at === 40 ? byte ^ 1 : byte)))],
    ['that is no message', () => Buffer.from('not sealed')],
  ]
  for (const [title, forged] of forgeries)
    test(`${title} are dropped`, async (t) => {
      const { shared, a, b } = await pair(t)
      const seen: Buffer[] = []
      const spy = new MemoryStore(shared, realClock)
      await spy.receive('b', (message) => seen.push(message))
      a.cluster.broadcast(Buffer.from('once'))
      await until(() => seen.length === 1 && b.told.length === 1)
      await spy.send('b', forged(seen[0] ?? Buffer.alloc(0)))
      a.cluster.broadcast(Buffer.from('then'))
      await until(() => b.told.length > 1)
      assert.deepEqual(b.told, ['once', 'then'])
      await spy.close()
    })

  test('of an instance with another key are dropped, which is said once', async (t) => {
    const { shared, a, b, log } = await pair(t)
    const other = await instance(t, shared, 'other', [], 'another secret altogether')
    other.cluster.broadcast(Buffer.from('forged'))
    a.cluster.broadcast(Buffer.from('right'))
    await until(() => b.told.length > 0)
    assert.deepEqual(b.told, ['right'])
    assert.deepEqual(log, [
      'an instance with another server.stateKey is on this store: neither serves sessions of the other',
    ])
  })
})

test('an instance says once that another one has its name', async (t) => {
  const shared = new SharedMemory()
  const log: string[] = []
  await instance(t, shared, 'twin', log)
  await instance(t, shared, 'twin')
  await until(() => log.length > 0)
  assert.match(log[0] ?? '', /"twin"/)
})
