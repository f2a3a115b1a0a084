// The store as one instance of a simulated gateway reaches it: over a connection of its own, which keeps its order and takes
// its time. What several instances send arrives in any order.

import { MemoryStore, type SharedMemory } from '../support/memory-store.js'
import { ALL, type Bucket, type Store, StoreAway, type TakenTokens } from '../../src/store/store.js'
import type { SimContext } from './byte-flow.js'
import type { Random } from './random.js'

export class SimStore implements Store {
  onChange: () => void = () => {}
  readonly #context: SimContext
  readonly #delayMsMax: number
  readonly #random: Random
  readonly #inner: MemoryStore
  /** When the last command, reply and message arrive. */
  readonly #lastMs = { command: 0, reply: 0, message: 0 }
  /** The process at this end has ended. */
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

  /** Cuts the way to the store, or mends it. */
  set isAway(isAway: boolean) {
    if (!this.#isOver) this.#inner.isAway = isAway
  }

  get(key: string): Promise<Buffer | undefined> {
    return this.#ask(() => this.#inner.get(key))
  }

  put(key: string, value: Buffer, ttlMs: number): Promise<void> {
    return this.#ask(() => this.#inner.put(key, value, ttlMs))
  }

  add(key: string, value: Buffer, ttlMs: number): Promise<boolean> {
    return this.#ask(() => this.#inner.add(key, value, ttlMs))
  }

  delete(key: string): Promise<void> {
    return this.#ask(() => this.#inner.delete(key))
  }

  take(key: string, bucket: Bucket, want: number): Promise<TakenTokens> {
    return this.#ask(() => this.#inner.take(key, bucket, want))
  }

  send(to: string, message: Buffer): Promise<void> {
    if (to === ALL && this.#context.wrong.tellsNobody === true) return Promise.resolve()
    return this.#ask(() => this.#inner.send(to, message))
  }

  receive(instance: string, take: (message: Buffer) => void): Promise<void> {
    return this.#ask(() => this.#inner.receive(instance, take))
  }

  close(): Promise<void> {
    this.#isOver = true
    return this.#inner.close()
  }

  /** A reply that is lost says nothing of what became of its command. */
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
