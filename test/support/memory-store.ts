// A store in memory, for several instances in one process.

import { putNewest } from '../../src/runtime/limited-table.js'
import type { Runtime } from '../../src/runtime/runtime.js'
import { ALL, type Bucket, type Store, StoreAway, type TakenTokens } from '../../src/store/store.js'

interface Entry {
  readonly value: Buffer
  readonly endsAtMs: number
}

interface Level {
  readonly tokens: number
  readonly atMs: number
}

/** More than any test or simulation needs. The oldest entry is dropped. */
const ENTRIES_MAX = 100_000

/** The shared contents of the stores of all instances. */
export class SharedMemory {
  readonly entries = new Map<string, Entry>()
  readonly levels = new Map<string, Level>()
  readonly receivers = new Map<
    MemoryStore,
    { readonly instance: string; readonly take: (message: Buffer) => void }
  >()
}

/** The store of one instance. */
export class MemoryStore implements Store {
  onChange: () => void = () => {}
  readonly #shared: SharedMemory
  readonly #runtime: Pick<Runtime, 'now' | 'setTimer'>
  #isAway = false

  constructor(shared: SharedMemory, runtime: Pick<Runtime, 'now' | 'setTimer'>) {
    this.#shared = shared
    this.#runtime = runtime
  }

  get isAway(): boolean {
    return this.#isAway
  }

  set isAway(isAway: boolean) {
    if (this.#isAway === isAway) return
    this.#isAway = isAway
    this.onChange()
  }

  get(key: string): Promise<Buffer | undefined> {
    return this.#asked(() => this.#find(key))
  }

  put(key: string, value: Buffer, ttlMs: number): Promise<void> {
    return this.#asked(() => this.#put(key, value, ttlMs))
  }

  add(key: string, value: Buffer, ttlMs: number): Promise<boolean> {
    return this.#asked(() => {
      if (this.#find(key) !== undefined) return false
      this.#put(key, value, ttlMs)
      return true
    })
  }

  delete(key: string): Promise<void> {
    return this.#asked(() => void this.#shared.entries.delete(key))
  }

  take(key: string, { perMinute, burst }: Bucket, want: number): Promise<TakenTokens> {
    return this.#asked(() => {
      const { levels } = this.#shared
      const atMs = this.#runtime.now()
      const perMs = perMinute / 60_000
      const last = levels.get(key) ?? { tokens: burst, atMs }
      const tokens = Math.min(burst, last.tokens + (atMs - last.atMs) * perMs)
      const taken = Math.min(want, Math.floor(tokens))
      const left = tokens - taken
      putNewest(levels, key, { tokens: left, atMs }, ENTRIES_MAX)
      return { taken, waitMs: left >= 1 ? 0 : Math.ceil((1 - left) / perMs) }
    })
  }

  send(to: string, message: Buffer): Promise<void> {
    return this.#asked(() => {
      for (const [store, { instance, take }] of this.#shared.receivers)
        if (to === ALL || to === instance)
          this.#runtime.setTimer(0, () => {
            if (this.#shared.receivers.has(store)) take(message)
          })
    })
  }

  receive(instance: string, take: (message: Buffer) => void): Promise<void> {
    return this.#asked(() => void this.#shared.receivers.set(this, { instance, take }))
  }

  close(): Promise<void> {
    this.#shared.receivers.delete(this)
    return Promise.resolve()
  }

  #asked<T>(answer: () => T): Promise<T> {
    return this.#isAway ? Promise.reject(new StoreAway()) : Promise.resolve(answer())
  }

  #find(key: string): Buffer | undefined {
    const entry = this.#shared.entries.get(key)
    return entry !== undefined && entry.endsAtMs > this.#runtime.now() ? entry.value : undefined
  }

  #put(key: string, value: Buffer, ttlMs: number): void {
    const endsAtMs = this.#runtime.now() + ttlMs
    putNewest(this.#shared.entries, key, { value, endsAtMs }, ENTRIES_MAX)
  }
}
