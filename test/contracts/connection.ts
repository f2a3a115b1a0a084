// The contract of `Connection`, for every transport.

import assert from 'node:assert/strict'
import { Buffer } from 'node:buffer'
import { setImmediate as turn } from 'node:timers/promises'
import { test } from 'node:test'
import type { Connection, Sink } from '../../src/jsonrpc/connection.js'
import { toLine } from '../../src/jsonrpc/line.js'
import { type Message, splice } from '../../src/jsonrpc/splice.js'
import type { Scope } from '../support/scope.js'
import { send } from '../transports/support/sending.js'

/** Two connected ends. `cut` drops the channel without closing it, if the transport allows that. */
export interface Pair {
  readonly left: Connection
  readonly right: Connection
}

/** A sink that records events and lets a test wait for them. */
export class Recorder implements Sink {
  readonly events: string[] = []
  readonly wired: Record<'in' | 'out', Uint8Array[]> = { in: [], out: [] }
  wire?: Sink['wire']
  failed = (id: string | undefined, error: { readonly code: string }): void => {
    this.#add(`failed ${id} ${error.code}`)
  }
  /** Called with each event, before waiting tests continue. */
  on: (event: string) => void = () => {}
  #waiting: { readonly until: (event: string) => boolean; readonly resolve: () => void }[] = []

  message(line: Buffer): void {
    this.#add(`message ${line.toString()}`)
  }

  oversize(id: string | undefined, bytes: number, isCall: boolean): void {
    this.#add(`oversize ${id} ${bytes} ${isCall}`)
  }

  drained(): void {
    this.#add('drained')
  }

  ended(): void {
    this.#add('ended')
  }

  closed(cause: { readonly code: string } | undefined): void {
    this.#add(`closed ${cause?.code}`)
  }

  /** Also records the bytes on the wire. */
  watching(): this {
    this.wire = (direction, bytes) => {
      this.wired[direction].push(Buffer.from(bytes))
    }
    return this
  }

  /** Resolves once `times` events with this prefix have come, including earlier ones. */
  seen(start: string, times = 1): Promise<void> {
    const count = (): number => this.events.filter((event) => event.startsWith(start)).length
    if (count() >= times) return Promise.resolve()
    return new Promise((resolve) => {
      this.#waiting.push({ until: () => count() >= times, resolve })
    })
  }

  #add(event: string): void {
    this.events.push(event)
    this.on(event)
    for (const { until, resolve } of this.#waiting) if (until(event)) resolve()
  }
}

export function message(text: string): Message {
  return splice(toLine(text), [])
}

export interface ContractOptions {
  /** The event at the right end after the left one has closed. */
  readonly end?: string
  /** Wraps a value in a message, if the transport parses messages. */
  readonly carry?: (value: string) => string
  readonly inOrder?: boolean
  /** Whether only the connection buffers what the other end does not read, or the kernel too. */
  readonly buffers?: 'own' | 'system-too'
  /** Whether the right end can pause the left one. */
  readonly stops?: boolean
  /** The unit in which the tap reports bytes. */
  readonly taps?: 'messages' | 'reads'
}

interface Ends extends Pair {
  readonly near: Recorder
  readonly far: Recorder
  readonly start: () => void
}

export function holdsConnectionContract(
  kind: string,
  open: (scope: Scope) => Pair | Promise<Pair>,
  {
    carry = (value) => value,
    inOrder = true,
    buffers = 'own',
    end = 'closed undefined',
    stops = true,
    taps = 'messages',
  }: ContractOptions = {},
): void {
  const say = (value: string): Message => message(carry(value))
  const big = say(`"${'x'.repeat(1_000_000)}"`)
  const heard = (value: string): string => `message ${carry(value)}`
  const arranged = (events: readonly string[]): readonly string[] => (inOrder ? events : [...events].sort())

  const holds = (title: string, check: (ends: Ends) => Promise<void>, skip: string | false = false): void =>
    void test(`${kind}: ${title}`, { skip }, async (t) => {
      const { left, right } = await open(t)
      const [near, far] = [new Recorder(), new Recorder()]
      const start = (): void => {
        left.start(near)
        right.start(far)
      }
      await check({ left, right, near, far, start })
      await left.close()
    })

  holds('messages arrive whole, in order, in both directions', async ({ left, right, near, far, start }) => {
    start()
    const texts = ['{"a":1}', '{"text":"é😀\\n"}', '[1.0]', `"${'x'.repeat(200_000)}"`, '0']
    for (const text of texts) send(left, say(text))
    send(right, say('"back"'))
    await Promise.all([far.seen('message', texts.length), near.seen('message')])
    assert.deepEqual(arranged(far.events), arranged(texts.map(heard)))
    assert.deepEqual(near.events, [heard('"back"')])
  })

  holds('the tap is told whether it sees one message', async ({ left, near, far, start }) => {
    const seen: string[] = []
    const see = (direction: 'in' | 'out', bytes: Uint8Array, whole: boolean): void =>
      void seen.push(`${direction} ${whole} ${Buffer.from(bytes).toString().replace(/\n$/, '')}`)
    near.wire = see
    far.wire = see
    start()
    send(left, say('"one"'))
    await far.seen('message')
    const whole = taps === 'messages'
    const ours = seen.filter((each) => each.includes('"one"')).toSorted()
    assert.deepEqual(ours, [`in ${whole} ${carry('"one"')}`, `out ${whole} ${carry('"one"')}`])
  })

  holds('is silent until it starts, and delivers nothing within start or send', async (ends) => {
    const { left, right, near, far } = ends
    left.start(near)
    send(left, say('1'))
    await turn()
    right.start(far)
    send(left, say('2'))
    assert.deepEqual(far.events, [])
    await far.seen('message', 2)
    assert.deepEqual(arranged(far.events), [heard('1'), heard('2')])
  })

  holds("what is delivered is the receiver's to keep", async ({ left, far, start }) => {
    const kept: Buffer[] = []
    const tell = far.message.bind(far)
    far.message = (line) => {
      kept.push(line)
      tell(line)
    }
    start()
    for (let i = 0; i < 100; i++) {
      send(left, say(`"${i} ${'x'.repeat(i)}"`))
      if (i % 7 === 0) await turn()
    }
    await far.seen('message', 100)
    const found = kept.map((line) => `message ${line.toString()}`)
    assert.deepEqual(found, far.events)
  })

  holds(
    'close sends what is queued, then ends both sides once',
    async ({ left, right, near, far, start }) => {
      start()
      for (let i = 0; i < 100; i++) send(left, say(String(i)))
      await Promise.all([left.close(), left.close()])
      await far.seen('message', 100)
      // The close of one end may close the other end as well.
      if (end !== 'closed undefined') await far.seen('closed')
      await right.close()
      await Promise.all([near.seen('closed'), far.seen('closed')])
      await left.close()
      assert.deepEqual(near.events, ['closed undefined'])
      const told = far.events.filter((event) => event !== 'ended')
      assert.equal(told.pop(), end)
      assert.deepEqual(arranged(told), arranged(Array.from({ length: 100 }, (_, i) => heard(String(i)))))
    },
  )

  holds('once closed it takes nothing, and says so to nobody', async ({ left, near, start }) => {
    start()
    await left.close()
    send(left, say('1'))
    left.read(false)
    left.read(true)
    await turn()
    assert.deepEqual(near.events, ['closed undefined'])
    assert.equal(left.congested, false)
  })

  const skip = stops ? false : 'a client is never stopped'
  const titleOfStop = 'nothing is delivered while reading is off, and nothing is lost'
  const isStopped = async ({ left, right, far, start }: Ends): Promise<void> => {
    right.read(false)
    start()
    for (const text of ['1', '2', '3']) send(left, say(text))
    for (let i = 0; i < 5; i++) await turn()
    assert.deepEqual(far.events, [])
    right.read(true)
    await far.seen('message', 3)
    assert.deepEqual(arranged(far.events), [heard('1'), heard('2'), heard('3')])
  }
  holds(titleOfStop, isStopped, skip)

  const isCongested = async ({ left, right, near, far, start }: Ends): Promise<void> => {
    right.read(false)
    start()
    send(left, big)
    if (buffers === 'own') assert.ok(left.backlogBytes >= 1_000_000)
    while (!left.congested) {
      send(left, big)
      await turn()
    }
    assert.ok(left.backlogBytes > 1_000_000)
    send(left, say('"last"'))
    right.read(true)
    await Promise.all([near.seen('drained'), far.seen(heard('"last"'))])
    assert.equal(left.congested, false)
    assert.equal(left.backlogBytes, 0)
    if (buffers === 'own') assert.deepEqual(near.events, ['drained'])
  }
  holds('says that it is congested, and when it no longer is', isCongested, skip)

  holds('closing while a message is being delivered stops the rest', async ({ left, right, far, start }) => {
    start()
    const closed = new Promise<void>((resolve) => {
      far.on = (event) => {
        if (event === heard('2')) void right.close().then(resolve)
      }
    })
    for (let i = 1; i <= 3; i++) send(left, say(String(i)))
    await closed
    assert.equal(far.events.at(-1), 'closed undefined')
    assert.equal(far.events.filter((event) => event.startsWith('closed')).length, 1)
  })

  for (const way of ['in', 'out'] as const)
    holds(`a tap that throws on what goes ${way} lets nothing pass`, async (ends) => {
      const { left, right, near, far, start } = ends
      const tapped = way === 'in' ? far : near
      tapped.wire = (direction) => {
        if (direction === way) throw new Error('disk full')
      }
      start()
      send(left, say('"secret"'))
      send(left, say('"secret"'))
      await tapped.seen('closed')
      await right.close()
      assert.deepEqual(tapped.events, ['closed TRANSPORT_TAP'])
      const passed = far.events.filter((event) => event.startsWith('message'))
      assert.deepEqual(passed, [])
    })
}
