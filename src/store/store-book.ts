// Keeps the book of the sessions of several instances in their store.

import { parse, write } from '../jsonrpc/text.js'
import { putNewest } from '../runtime/limited-table.js'
import type { SessionBook, SessionNotes } from '../transports/http-server/session-ids.js'
import type { Sealer } from './keys.js'
import { notesIn } from './session-book.js'
import type { Store } from './store.js'

/** The most changes that wait until the store is available again. */
const UNWRITTEN_MAX = 10_000

/** Any value. The existence of the key says that the session has ended. */
const ENDED = Buffer.of(1)

/** Seals the notes, because they contain the URIs of resources. */
export class StoreBook implements SessionBook {
  readonly #store: Store
  readonly #sealer: Sealer
  readonly #maxAgeMs: () => number
  /** The values that the store does not have yet, by key. */
  readonly #unwritten = new Map<string, Buffer>()

  constructor(store: Store, sealer: Sealer, maxAgeMs: () => number) {
    this.#store = store
    this.#sealer = sealer
    this.#maxAgeMs = maxAgeMs
  }

  /** Rejects with StoreAway, because a session that may have ended must not continue. */
  async read(hash: string): Promise<SessionNotes | 'ended' | undefined> {
    const [ended, sealed] = await Promise.all([
      this.#store.get(endedKey(hash)),
      this.#store.get(notesKey(hash)),
    ])
    if (ended !== undefined || this.#unwritten.has(endedKey(hash))) return 'ended'
    const opened = sealed && this.#sealer.open(sealed, notesKey(hash))
    return opened && notesIn(parse(opened.toString()))
  }

  write(hash: string, notes: SessionNotes): void {
    const value = this.#sealer.seal(Buffer.from(write(notes)), notesKey(hash))
    this.#put(notesKey(hash), value).catch(() => {})
  }

  end(hash: string): Promise<void> {
    return this.#put(endedKey(hash), ENDED)
  }

  /** Writes all values that the store does not have yet. */
  async flush(): Promise<void> {
    await Promise.all([...this.#unwritten].map(([key, value]) => this.#write(key, value)))
  }

  #put(key: string, value: Buffer): Promise<void> {
    putNewest(this.#unwritten, key, value, UNWRITTEN_MAX)
    return this.#write(key, value)
  }

  async #write(key: string, value: Buffer): Promise<void> {
    await this.#store.put(key, value, Math.max(1, this.#maxAgeMs()))
    if (this.#unwritten.get(key) === value) this.#unwritten.delete(key)
  }
}

function endedKey(hash: string): string {
  return `ended:${hash}`
}

function notesKey(hash: string): string {
  return `said:${hash}`
}
