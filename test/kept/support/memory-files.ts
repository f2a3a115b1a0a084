// A folder of kept files in memory, whose disk may be full or broken.

import type { KeptFileContent, KeptFiles } from '../../../src/runtime/runtime.js'

/** What is wrong with the disk. */
export interface DiskTroubles {
  /** Why the folder cannot be made. */
  folder?: string | undefined
  /** Why nothing can be written. */
  writes?: string | undefined
  readsFail?: boolean
}

interface Stored {
  bytes: Buffer
  version: number
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
  /** Is called between the read and the write of a file. */
  between: () => void = () => {}
  readonly #now: () => number
  #versions = 0

  constructor(now: () => number = () => 0) {
    this.#now = now
  }

  prepare(): Promise<string | undefined> {
    return Promise.resolve(this.troubles.folder)
  }

  read(name: string, bytesMax: number): KeptFileContent | undefined {
    this.reads.push(name)
    const found = this.stored.get(name)
    if (found === undefined || this.troubles.readsFail === true) return undefined
    const bytes = found.bytes.length > bytesMax ? Buffer.alloc(0) : Buffer.from(found.bytes)
    return { bytes, version: String(found.version) }
  }

  async write(name: string, bytes: Uint8Array, before: string | undefined): Promise<boolean> {
    await Promise.resolve()
    this.between()
    if (this.troubles.writes !== undefined) throw new Error(this.troubles.writes)
    const there = this.stored.get(name)
    // A file that cannot be read is replaced.
    if (this.troubles.readsFail !== true && (there && String(there.version)) !== before) return false
    this.writes.push(name)
    this.stored.set(name, {
      bytes: Buffer.from(bytes),
      version: ++this.#versions,
      modifiedMs: this.#now(),
    })
    return true
  }

  async removeUnused(sinceMs: number): Promise<void> {
    await Promise.resolve()
    for (const [name, { modifiedMs }] of this.stored) if (modifiedMs < sinceMs) this.stored.delete(name)
  }
}
