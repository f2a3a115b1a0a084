// Connects the instances of a front that share a store: finds running instances, and carries messages between them.
//
// Each start of an instance has a mark, which its lease in the store contains. A message is sealed for one mark,
// so that only that start can open it, and numbered, so that it counts once. An instance that loses the store
// takes a new mark. Messages on the way are lost, and the other instances notice the new mark in the lease.

import { randomBytes } from 'node:crypto'
import { parse, write } from '../jsonrpc/text.js'
import { repeat, setDeadline } from '../runtime/deadline.js'
import { putNewest } from '../runtime/limited-table.js'
import type { LogSink, Runtime, Timer } from '../runtime/runtime.js'
import type { PeerChannel, PeerHandlers, Peers, PeerSink } from '../transports/http-server/peers.js'
import { Channel, type ChannelWire } from './channel.js'
import { Sealer } from './keys.js'
import { ALL, type Store, StoreAway } from './store.js'

export interface ClusterOptions {
  /** The unique name of this instance. */
  readonly label: string
  readonly store: Store
  /** The secrets of the configuration in force. */
  readonly secrets: () => readonly string[]
  readonly runtime: Pick<Runtime, 'now' | 'setTimer' | 'secret'>
  readonly log: LogSink
}

const LEASE_MS = 10_000
/** A store that returns may have lost the leases. Every instance writes its lease again within this time. */
const RETURN_MS = 3000
/** How long a claim stays in the store, and the most claims that this instance remembers. */
const CLAIM_MS = 24 * 3_600_000
const CLAIMS_MAX = 4096
const RENEWAL_MS = 2000
/** An instance that does not acknowledge a first message within this time counts as gone. */
const TAKEN_MS = 2000
/** An instance acknowledges a request that it has not answered within this time. */
const ACKNOWLEDGED_MS = 250
/** The most unacknowledged bytes of all channels together. They occupy memory of the store. */
const ON_THE_WAY_BYTES_MAX = 67_108_864 // 64 MiB
/** With so many channels, an instance opens no more; with twice as many, it accepts none. */
const CHANNELS_MAX = 2048
const BROADCAST_BYTES_MAX = 65_536 // 64 KiB
/** The most messages to all instances that wait while the store is away. */
const PENDING_BROADCASTS_MAX = 256
/** The most addresses and senders whose last message number an instance remembers. */
const SENDERS_MAX = 4096
const MARK_BYTES = 9
const LINE_FEED = 10

/** One start of an instance. */
interface Peer {
  readonly label: string
  readonly mark: string
}

/** `isOpener`: the sender has opened the channel. The opener numbers its channels. */
interface Head extends Peer {
  readonly number: number
  readonly kind: string
  readonly channel: number
  readonly isOpener: boolean
  /** The number of acknowledged bytes, or 1 for the last message of a direction. */
  readonly value: number
}

/** The mark of the running instance with a name, undefined if none runs, and the time of the look-up. */
interface Lease {
  readonly mark: Promise<string | undefined>
  readonly atMs: number
}

type Handler = (bytes: Buffer) => void

/** The connection of this instance to the store and to other instances. */
export interface ClusterStatus {
  readonly instance: string
  /** How long the store has been away, in milliseconds; 0 while it is available. */
  readonly awayMs: number
  /** Requests that this instance has forwarded to other instances. */
  readonly forwards: number
  /** Commands that the store has answered, and their total time in milliseconds. */
  readonly commands: number
  readonly commandsMs: number
}

export class Cluster implements Peers {
  readonly label: string
  readonly store: Store
  /** Called when the store is available again, to write the changes that it missed. */
  onReturn: () => Promise<void> = () => Promise.resolve()
  readonly #options: ClusterOptions
  readonly #sealer: Sealer
  #mark = ''
  /** The number of the last message to each address, and from each sender. */
  readonly #sent = new Map<string, number>()
  readonly #received = new Map<string, number>()
  readonly #leases = new Map<string, Lease>()
  readonly #channels = new Map<string, OpenChannel>()
  readonly #topics = new Map<string, Handler>()
  /** Sends the messages to all instances that wait for the store. */
  #pendingBroadcasts: (() => Promise<void>)[] = []
  #opened: PeerHandlers['opened'] | undefined
  #lastChannel = 0
  #forwards = 0
  #onTheWayBytes = 0
  #renewal: Timer | undefined
  #awaySinceMs: number | undefined
  #backAtMs = -Infinity
  readonly #claims = new Map<string, true>()
  #hasTwin = false
  #hasStranger = false

  constructor(options: ClusterOptions) {
    const { label, store, secrets, runtime } = options
    this.label = label
    this.store = store
    this.#options = options
    this.#sealer = new Sealer(secrets, 'store', runtime)
    this.#newMark()
  }

  get isAway(): boolean {
    return this.store.isAway
  }

  status(): ClusterStatus {
    const { count = 0, sumMs = 0 } = this.store.latency ?? {}
    const since = this.#awaySinceMs
    const awayMs = since === undefined ? 0 : Math.max(1, this.#options.runtime.now() - since)
    return { instance: this.label, awayMs, forwards: this.#forwards, commands: count, commandsMs: sumMs }
  }

  /** Rejects with StoreAway. */
  async start(): Promise<void> {
    const { store, label, runtime } = this.#options
    store.onChange = (cause) => this.#changed(cause)
    await store.receive(label, (message) => this.#take(message))
    await this.#renew()
    // This message lets instances with another key notice this instance.
    this.broadcast(Buffer.alloc(0), 'start')
    this.#renewal = repeat(runtime, RENEWAL_MS, () => void this.#watch().catch(() => {}))
  }

  async close(): Promise<void> {
    this.#renewal?.cancel()
    for (const { channel } of this.#channels.values()) channel.cut()
    const { store, label } = this.#options
    if (!this.#hasTwin) await store.delete(leaseOf(label)).catch(() => {})
    await store.close()
  }

  serve({ opened, onMessage }: PeerHandlers): void {
    this.#opened = opened
    this.on('http', onMessage)
  }

  /** Sets the handler of messages to all instances with this topic. */
  on(topic: string, handler: Handler): void {
    this.#topics.set(topic, handler)
  }

  broadcast(bytes: Buffer, topic = 'http'): void {
    if (bytes.length > BROADCAST_BYTES_MAX) return
    const text = Buffer.concat([Buffer.from(`${topic}\n`), bytes])
    const send = (): Promise<void> =>
      this.#send(ALL, { kind: 'tell', channel: 0, isOpener: true, value: 0 }, text)
    // The message may report the end of a session, which the other instances must learn.
    const keep = (): void =>
      void (this.#pendingBroadcasts.length < PENDING_BROADCASTS_MAX && this.#pendingBroadcasts.push(send))
    if (this.isAway) keep()
    else send().catch(keep)
  }

  async open(label: string, sink: PeerSink): Promise<PeerChannel | undefined> {
    if (this.isAway || this.#channels.size >= CHANNELS_MAX) throw new StoreAway()
    const mark = await this.#markOf(label)
    const { now } = this.#options.runtime
    if (mark === undefined && now() - this.#backAtMs < RETURN_MS) throw new StoreAway()
    if (mark === undefined) return undefined
    this.#forwards++
    const open = this.#channelTo({ label, mark }, ++this.#lastChannel, true)
    open.channel.sink = sink
    open.patience = setDeadline(this.#options.runtime, TAKEN_MS, () => giveUp(open))
    return open.channel
  }

  claim(name: string): void {
    putNewest(this.#claims, name, true, CLAIMS_MAX)
    this.store.put(name, Buffer.from(this.label), CLAIM_MS).catch(() => {})
  }

  async holderOf(name: string): Promise<string | undefined> {
    return this.#claims.has(name) ? this.label : (await this.store.get(name))?.toString()
  }

  #channelTo(peer: Peer, number: number, isOpener: boolean): OpenChannel {
    const key = keyOf(peer, number, isOpener)
    const send = (kind: string, value: number, bytes?: Buffer): void => {
      const head = { kind, channel: number, isOpener, value }
      this.#send(addressOf(peer), head, bytes).catch(() => open.channel.lost())
    }
    const wire: ChannelWire = {
      hasRoom: () => this.#onTheWayBytes < ON_THE_WAY_BYTES_MAX,
      data: (bytes, isLast) => {
        send(isOpener && !open.hasSent ? 'open' : 'data', Number(isLast), bytes)
        open.hasSent = true
        if (!isOpener) open.patience?.cancel()
      },
      taken: (bytes) => send('taken', bytes),
      cut: () => send('cut', 0),
      count: (bytes) => this.#count(bytes),
      onEnd: () => {
        open.patience?.cancel()
        this.#channels.delete(key)
      },
    }
    const open: OpenChannel = { peer, channel: new Channel(wire), hasSent: false, patience: undefined }
    this.#channels.set(key, open)
    return open
  }

  #count(bytes: number): void {
    const wasFull = this.#onTheWayBytes >= ON_THE_WAY_BYTES_MAX
    this.#onTheWayBytes += bytes
    if (!wasFull || this.#onTheWayBytes >= ON_THE_WAY_BYTES_MAX) return
    for (const { channel } of this.#channels.values()) channel.flush()
  }

  // Leases.

  async #renew(): Promise<void> {
    await this.store.put(leaseOf(this.label), Buffer.from(this.#mark), LEASE_MS)
  }

  async #watch(): Promise<void> {
    const lease = await this.store.get(leaseOf(this.label))
    if (lease !== undefined && lease.toString() !== this.#mark && !this.#hasTwin) {
      this.#hasTwin = true
      const message = `another instance is named "${this.label}" too: give each a server.instance of its own`
      this.#options.log({ level: 'error', message })
    }
    await this.#renew()
    const peers = new Set([...this.#channels.values()].map(({ peer }) => peer.label))
    for (const label of peers) {
      const mark = await this.#lookUp(label)
      for (const open of this.#channels.values())
        if (open.peer.label === label && open.peer.mark !== mark) giveUp(open)
    }
  }

  /** Returns the mark of the running instance with this name. */
  #markOf(label: string): Promise<string | undefined> {
    const lease = this.#leases.get(label)
    const isFresh = lease !== undefined && this.#options.runtime.now() - lease.atMs < RENEWAL_MS
    return isFresh ? lease.mark : this.#lookUp(label)
  }

  /** Later requests wait for the same reply, so that a cancellation does not overtake its request. */
  #lookUp(label: string): Promise<string | undefined> {
    const mark = this.store.get(leaseOf(label)).then((value) => value?.toString())
    const lease = { mark, atMs: this.#options.runtime.now() }
    putNewest(this.#leases, label, lease, SENDERS_MAX)
    const forget = (): void => void (this.#leases.get(label) === lease && this.#leases.delete(label))
    mark.then((found) => found === undefined && forget(), forget)
    return mark
  }

  #changed(cause?: unknown): void {
    const { log, runtime } = this.#options
    if (!this.isAway) {
      this.#awaySinceMs = undefined
      log({ level: 'info', message: 'the store can be reached again' })
      return void this.#comeBack().catch(() => {})
    }
    this.#awaySinceMs = runtime.now()
    const message = 'the store cannot be used: new sessions are refused until it can be'
    log({ level: 'error', message, details: { error: cause } })
    this.#newMark()
    for (const { channel } of this.#channels.values()) channel.lost()
  }

  /** Tells the other instances of ended sessions only after the store contains the ends. */
  async #comeBack(): Promise<void> {
    this.#backAtMs = this.#options.runtime.now()
    await this.#renew()
    await this.onReturn()
    for (const send of this.#pendingBroadcasts.splice(0)) send().catch(() => {})
  }

  #newMark(): void {
    const { secret = randomBytes } = this.#options.runtime
    this.#mark = secret(MARK_BYTES).toString('base64url')
    this.#sent.clear()
  }

  // Messages.

  #send(to: string, head: Omit<Head, 'number' | keyof Peer>, bytes?: Buffer): Promise<void> {
    const number = (this.#sent.get(to) ?? 0) + 1
    putNewest(this.#sent, to, number, SENDERS_MAX)
    const { kind, channel, isOpener, value } = head
    const line = write([this.label, this.#mark, number, kind, channel, isOpener, value])
    const opened = Buffer.concat([Buffer.from(`${line}\n`), bytes ?? Buffer.alloc(0)])
    const [label = to] = to.split(' ')
    return this.store.send(label, this.#sealer.seal(opened, to))
  }

  #take(message: Buffer): void {
    const own = addressOf({ label: this.label, mark: this.#mark })
    try {
      for (const address of [own, ALL]) {
        const opened = this.#sealer.open(message, address)
        if (opened !== undefined) return this.#takeOpened(opened, address)
      }
      if (this.#hasStranger || this.#sealer.knows(message)) return
      this.#hasStranger = true
      const text =
        'an instance with another server.stateKey is on this store: neither serves sessions of the other'
      this.#options.log({ level: 'error', message: text })
    } catch (error) {
      const text = 'a message of another instance cannot be handled'
      this.#options.log({ level: 'error', message: text, details: { error } })
    }
  }

  #takeOpened(opened: Buffer, address: string): void {
    const end = opened.indexOf(LINE_FEED)
    const head = headIn(opened.toString('utf8', 0, end))
    if (head === undefined || head.label === this.label) return
    const from = `${addressOf(head)} ${address}`
    const last = this.#received.get(from)
    if (last !== undefined && head.number <= last) return
    putNewest(this.#received, from, head.number, SENDERS_MAX)
    const isGap = last !== undefined && head.number > last + 1
    if (isGap && address !== ALL) this.#loseAllOf(head)
    const bytes = opened.subarray(end + 1)
    if (address === ALL) this.#onMessage(bytes)
    else this.#onChannel(head, bytes)
  }

  #onMessage(bytes: Buffer): void {
    const end = bytes.indexOf(LINE_FEED)
    this.#topics.get(bytes.toString('utf8', 0, end))?.(bytes.subarray(end + 1))
  }

  #onChannel(head: Head, bytes: Buffer): void {
    const isLast = head.value === 1
    const key = keyOf(head, head.channel, !head.isOpener)
    const known = this.#channels.get(key)
    if (head.kind === 'open' && known === undefined) return this.#accept(head, bytes, isLast)
    if (known === undefined) {
      if (head.kind !== 'data') return
      const answer = { kind: 'cut', channel: head.channel, isOpener: !head.isOpener, value: 0 }
      return void this.#send(addressOf(head), answer).catch(() => {})
    }
    // Any message shows that the other instance has received the first one.
    if (!head.isOpener) known.patience?.cancel()
    if (head.kind === 'data') known.channel.received(bytes, isLast)
    else if (head.kind === 'taken') known.channel.wasTaken(head.value)
    else if (head.kind === 'cut') known.channel.lost()
  }

  #accept(head: Head, bytes: Buffer, isLast: boolean): void {
    const open = this.#channelTo({ label: head.label, mark: head.mark }, head.channel, false)
    const { channel } = open
    if (this.#opened === undefined || this.#channels.size > 2 * CHANNELS_MAX) return channel.cut()
    open.patience = this.#options.runtime.setTimer(ACKNOWLEDGED_MS, () => {
      const taken = { kind: 'taken', channel: head.channel, isOpener: false, value: 0 }
      this.#send(addressOf(head), taken).catch(() => channel.lost())
    })
    channel.sink = this.#opened(channel)
    channel.received(bytes, isLast)
  }

  #loseAllOf({ label, mark }: Peer): void {
    for (const open of this.#channels.values())
      if (open.peer.label === label && open.peer.mark === mark) giveUp(open)
  }
}

interface OpenChannel {
  readonly peer: Peer
  readonly channel: Channel
  hasSent: boolean
  /** The opener's deadline for the first message back; on the other side, the delay of an acknowledgement. */
  patience: Timer | undefined
}

/** Also cuts the channel, because the other instance may only be suspended and would wait for this end later. */
function giveUp({ channel }: OpenChannel): void {
  channel.cut()
  channel.sink.gone()
}

function leaseOf(label: string): string {
  return `instance:${label}`
}

function addressOf({ label, mark }: Peer): string {
  return `${label} ${mark}`
}

/** `isOpener`: this instance has opened the channel. */
function keyOf(peer: Peer, number: number, isOpener: boolean): string {
  return `${addressOf(peer)} ${isOpener ? 'to' : 'from'} ${number}`
}

function headIn(line: string): Head | undefined {
  const parts = parse(line)
  const [label, mark, number, kind, channel, isOpener, value]: readonly unknown[] = Array.isArray(parts)
    ? parts
    : []
  if (typeof label !== 'string' || typeof mark !== 'string' || typeof kind !== 'string') return undefined
  if (typeof number !== 'number' || typeof channel !== 'number' || typeof value !== 'number') return undefined
  return { label, mark, number, kind, channel, isOpener: isOpener === true, value }
}
