// Several instances of a gateway behind one balancer. They share a key and a store, and each may end at any time.

import { createHash } from 'node:crypto'
import { type Gateway, openGateway } from '../../src/gateway/gateway.js'
import type { McpProxy } from '../../src/proxy/proxy-interface.js'
import type { Child, Runtime, Timer } from '../../src/runtime/runtime.js'
import { SharedMemory, MemoryStore } from '../support/memory-store.js'
import { StoreAway, ALL, type Store } from '../../src/store/store.js'
import { configurationOf, limitsOf, readConfiguration } from './configuration.js'
import type { Host } from './host.js'
import type { InstancesPlan, OpOf, Plan } from './plan.js'
import { failedSpawn } from './stdio-server.js'
import type { World } from './world.js'
import type { SimContext } from './byte-flow.js'
import type { Random } from './random.js'

const GRACE_MS = 3000
const AGAIN_MS = 1000
const STATE_KEY = 'the key of all instances'

export class Instances {
  readonly #world: World
  readonly #plan: InstancesPlan
  readonly #shared = new SharedMemory()
  readonly #places: Instance[] = []
  readonly #leaving = new Set<Promise<void>>()
  #started = 0
  #isClosing = false

  constructor(world: World, plan: InstancesPlan) {
    this.#world = world
    this.#plan = plan
    const { host } = world
    host.front.isKept = true
    host.front.hasBound = world.plan.servers.some(({ isolation }) => isolation === 'session')
    host.ledger.isSeveral = true
    for (let at = 0; at < plan.count; at++) this.#start(at)
  }

  get proxy(): McpProxy | undefined {
    return this.#places.flatMap(({ gateway }) => gateway?.proxies.get('default') ?? [])[0]
  }

  get isUp(): boolean {
    return this.#places.every(({ gateway }) => gateway !== undefined)
  }

  get labels(): readonly string[] {
    return this.#places.map(({ label }) => label)
  }

  restart({ instance, how }: OpOf<'restart'>): void {
    const at = instance % this.#plan.count
    const before = this.#places[at]
    const { disturbances, now } = this.#world.host.ledger
    disturbances.push(now)
    if (how === 'kill') before?.kill()
    else if (before !== undefined) {
      const left = before.drain().finally(() => this.#leaving.delete(left))
      this.#leaving.add(left)
    }
    this.#start(at)
  }

  /** Cuts an instance from the store for some seconds. */
  away({ instance, seconds }: OpOf<'away'>): void {
    const { host } = this.#world
    const { store } = this.#places[instance % this.#plan.count] ?? {}
    if (store === undefined) return
    host.ledger.disturbances.push(host.clock.now)
    store.isAway = true
    host.clock.after(seconds * 1000, () => {
      store.isAway = false
      host.ledger.disturbances.push(host.clock.now)
    })
  }

  calm(): void {
    for (const { store } of this.#places) store.isAway = false
  }

  async close(): Promise<void> {
    this.#world.host.front.isKept = false
    this.#isClosing = true
    await Promise.all([...this.#leaving, ...this.#places.map((each) => each.drain())])
  }

  #start(at: number): void {
    const { host, plan, audit, counted, thrown } = this.#world
    const { ledger } = host
    const label = `i${this.#started++}`
    const store = new SimStore(this.#shared, host, label, this.#plan.delayMsMax)
    const instance = new Instance(label, host, store)
    this.#places[at] = instance
    // A gateway cannot start without its store, so it is started again later.
    const fail = (error: unknown): void => {
      instance.kill()
      if (!ledger.isDisturbed) return thrown(error)
      host.clock.after(AGAIN_MS, () => {
        if (!this.#isClosing && this.#places[at] === instance) this.#start(at)
      })
    }
    instance.open(plan, audit.ended).then((gateway) => counted.listen(gateway), fail)
  }
}

class Instance {
  readonly label: string
  readonly store: SimStore
  gateway: Gateway | undefined
  readonly #host: Host
  #opened: Promise<Gateway> | undefined
  #isOver = false
  readonly #timers = new Set<Timer>()
  readonly #children = new Set<Child>()

  constructor(label: string, host: Host, store: SimStore) {
    this.label = label
    this.#host = host
    this.store = store
  }

  async open(plan: Plan, ended: World['audit']['ended']): Promise<Gateway> {
    const tokens = plan.clients
      .flatMap(({ http }) => http?.token ?? [])
      .map((name) => ({ name, sha256: createHash('sha256').update(name).digest('hex') }))
    const server = { stateKey: STATE_KEY, instance: this.label, tokens }
    const configuration = readConfiguration({ ...configurationOf(plan), server })
    this.#opened = openGateway(configuration, {
      runtime: this.#runtime(),
      log: (record) => {
        if (this.#isOver) return
        this.#host.log({ ...record, message: `${this.label}: ${record.message}` })
        const { error } = record.details ?? {}
        const isAway = error instanceof StoreAway && this.#host.ledger.isDisturbed
        if (record.message.includes('failed inside') && !isAway)
          this.#host.ledger.fail('fault', `${record.message} ${String(error)}`)
      },
      on: { call: (event) => void (this.#isOver || ended(event)) },
      keep: false,
      limits: limitsOf(plan.limits),
      store: this.store,
    })
    const gateway = await this.#opened
    this.gateway = gateway
    return gateway
  }

  /** SIGKILL: the process ends without notifying its peers. */
  kill(): void {
    this.#isOver = true
    this.#host.trace.note(this.label, 'is killed')
    for (const timer of this.#timers) timer.cancel()
    for (const child of this.#children) child.signal('SIGKILL')
    void this.store.close()
    this.#host.front.kill(this.label)
  }

  async drain(): Promise<void> {
    if (this.#isOver) return
    this.#host.front.leaves(this.label)
    const gateway = await this.#opened?.catch(() => undefined)
    await gateway?.close(GRACE_MS)
  }

  #runtime(): Runtime {
    const { runtime, front, dice } = this.#host
    const secrets = dice(`${this.label} secrets`)
    const chance = dice(`${this.label} chance`)
    return {
      ...runtime,
      random: () => chance.next(),
      secret: (bytes) => Buffer.from(Array.from({ length: bytes }, () => secrets.below(256))),
      // An instance that is killed while it starts never listens.
      listen: (server) => (this.#isOver ? new Promise(() => {}) : front.listen(server, this.label)),
      setTimer: (delayMs, fire) => {
        if (this.#isOver) return { cancel: () => {} }
        const own: Timer = runtime.setTimer(delayMs, () => {
          this.#timers.delete(own)
          fire()
        })
        this.#timers.add(own)
        return own
      },
      spawn: (spec) => {
        if (this.#isOver) return failedSpawn('ESRCH')
        const child = runtime.spawn(spec)
        this.#children.add(child)
        return child
      },
    }
  }
}

// The connection of one instance to the store. It keeps the order of its messages and delays them. Messages of
// several instances arrive in any order.

class SimStore implements Store {
  onChange: () => void = () => {}
  readonly get: Store['get'] = (key) => this.#ask(() => this.#inner.get(key))
  readonly put: Store['put'] = (key, value, ttlMs) => this.#ask(() => this.#inner.put(key, value, ttlMs))
  readonly add: Store['add'] = (key, value, ttlMs) => this.#ask(() => this.#inner.add(key, value, ttlMs))
  readonly delete: Store['delete'] = (key) => this.#ask(() => this.#inner.delete(key))
  readonly take: Store['take'] = (key, bucket, want) => this.#ask(() => this.#inner.take(key, bucket, want))
  readonly receive: Store['receive'] = (to, take) => this.#ask(() => this.#inner.receive(to, take))
  readonly send: Store['send'] = (to, message) => {
    const isVain = to === ALL && this.#context.wrong.tellsNobody === true
    return isVain ? Promise.resolve() : this.#ask(() => this.#inner.send(to, message))
  }
  readonly #context: SimContext
  readonly #delayMsMax: number
  readonly #random: Random
  readonly #inner: MemoryStore
  /** When the last command, reply and message arrive. */
  readonly #lastMs = { command: 0, reply: 0, message: 0 }
  #isOver = false

  constructor(shared: SharedMemory, context: SimContext, label: string, delayMsMax: number) {
    this.#context = context
    this.#delayMsMax = delayMsMax
    this.#random = context.dice(`${label} store`)
    this.#inner = new MemoryStore(shared, {
      now: () => context.clock.now,
      setTimer: (_, fire) => this.#later('message', fire),
    })
    this.#inner.onChange = () => this.onChange()
  }

  get isAway(): boolean {
    return this.#inner.isAway
  }

  set isAway(isAway: boolean) {
    if (!this.#isOver) this.#inner.isAway = isAway
  }

  close(): Promise<void> {
    this.#isOver = true
    return this.#inner.close()
  }

  /** When the reply is lost, the command may or may not have been executed. */
  #ask<T>(command: () => Promise<T>): Promise<T> {
    if (this.isAway) return Promise.reject(new StoreAway())
    return new Promise((resolve, reject) => {
      const reply = (value: T): void => (this.isAway ? reject(new StoreAway()) : resolve(value))
      this.#later('command', () => {
        if (!this.#isOver) command().then((value) => this.#later('reply', () => reply(value)), reject)
      })
    })
  }

  #later(what: 'command' | 'reply' | 'message', run: () => void): { cancel(): void } {
    const { clock } = this.#context
    const atMs = clock.now + this.#random.next() * this.#delayMsMax
    this.#lastMs[what] = Math.max(this.#lastMs[what], atMs)
    return clock.after(this.#lastMs[what] - clock.now, run)
  }
}
