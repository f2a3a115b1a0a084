// Provides a front whose sessions outlive it with the keys of their ids and with their book.

import { randomBytes } from 'node:crypto'
import { dirname, join } from 'node:path'
import type { LogSink, Runtime } from '../runtime/runtime.js'
import { errorText } from '../text/error-text.js'
import type { SessionIds } from '../transports/http-server/session-ids.js'
import { keyIn } from './key-file.js'
import { newLabel, SealedIds } from './sealed-id.js'
import { type BookDisk, MemoryBook } from './session-book.js'

export interface SessionKeys {
  /** The first key seals, and all keys open. If the list is empty, the gateway makes a key. */
  readonly stateKeys: readonly string[]
  readonly sessionMaxAgeMs: number
}

export interface SessionPersistenceOptions {
  readonly keys: SessionKeys
  /** The name of this instance; undefined gives the process a random name. */
  readonly instance: string | undefined
  readonly runtime: Runtime
  readonly log: LogSink
  /** The folder of the book. The file of the key is beside this folder. Undefined keeps both in memory. */
  readonly disk: BookDisk | undefined
}

export class SessionPersistence {
  /** The name of this process among all processes with the keys. */
  readonly label: string
  readonly ids: SessionIds
  readonly book: MemoryBook
  /** Returns the keys of the configuration in force. */
  readonly secrets: () => readonly string[]
  readonly maxAgeMs: () => number
  #keys: SessionKeys
  /** The key of a gateway whose configuration has none. */
  #ownKeys: readonly string[] | undefined

  constructor(options: SessionPersistenceOptions) {
    const { runtime, instance, disk } = options
    this.#keys = options.keys
    const maxAgeMs = (): number => this.#keys.sessionMaxAgeMs
    const keys = (): readonly string[] => {
      const { stateKeys } = this.#keys
      return stateKeys.length > 0 ? stateKeys : (this.#ownKeys ??= [ownKey(options)])
    }
    this.secrets = keys
    this.maxAgeMs = maxAgeMs
    this.label = instance ?? newLabel(runtime)
    this.ids = new SealedIds({ keys, label: this.label, maxAgeMs, runtime })
    this.book = new MemoryBook(runtime, maxAgeMs, disk)
    // Makes the file at the start, when a person notices a failure.
    keys()
  }

  change(keys: SessionKeys): void {
    this.#keys = keys
  }
}

/** Returns the key in the file; a random key without a folder, or if the file is unusable. */
function ownKey({ disk, runtime, log }: SessionPersistenceOptions): string {
  const secret = runtime.secret ?? randomBytes
  try {
    const why = disk?.files.prepare()
    if (why !== undefined) throw new Error(why)
    if (disk !== undefined) return keyIn(join(dirname(disk.files.folder), 'state-key'), secret)
  } catch (error) {
    const message = `sessions end with this process, since their key is not kept: ${errorText(error)}`
    log({ level: 'warn', message })
  }
  return secret(KEY_BYTES).toString('base64url')
}

const KEY_BYTES = 32
