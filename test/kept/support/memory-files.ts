// A folder of kept files in memory, whose disk may be full or broken.

import type { KeptFiles } from '../../../src/runtime/runtime.js'

/** The faults of the disk. */
export interface DiskTroubles {
  /** Why the folder cannot be made. */
  folder?: string | undefined
  /** Why nothing can be written. */
  writes?: string | undefined
  readsFail?: boolean
}

interface Stored {
  bytes: Buffer
  modifiedMs: number
}

/** One folder; `troubles` may be changed at any time. */
export class MemoryFiles implements KeptFiles {
  readonly folder: string = '/home/it/.mcps-proxy/kept'
  readonly stored: Map<string, Stored> = new Map()
  readonly troubles: DiskTroubles = {}
  /** Names of the files that were written, in order. */
  readonly writes: string[] = []
  readonly reads: string[] = []
  readonly #now: () => number

  constructor(now: () => number = () => 0) {
    this.#now = now
  }

  prepare(): string | undefined {
    return this.troubles.folder
  }

  read(name: string, bytesMax: number): Buffer | undefined {
    this.reads.push(name)
    const found = this.stored.get(name)
    if (found === undefined || this.troubles.readsFail === true) return undefined
    return found.bytes.length > bytesMax ? Buffer.alloc(0) : Buffer.from(found.bytes)
  }

  write(name: string, bytes: Uint8Array): void {
    if (this.troubles.writes !== undefined) throw new Error(this.troubles.writes)
    this.writes.push(name)
    this.stored.set(name, { bytes: Buffer.from(bytes), modifiedMs: this.#now() })
  }

  append(name: string, bytes: Uint8Array): void {
    this.write(name, Buffer.concat([this.stored.get(name)?.bytes ?? Buffer.alloc(0), bytes]))
  }

  removeUnused(sinceMs: number): void {
    for (const [name, { modifiedMs }] of this.stored) if (modifiedMs < sinceMs) this.stored.delete(name)
  }
}
