// A folder of kept files in memory, whose disk may be full or broken.

import type { KeptFileContent, KeptFileEntry, KeptFiles } from '../../../src/runtime/runtime.js'

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

  prepare(): Promise<string | undefined> {
    return Promise.resolve(this.troubles.folder)
  }

  read(name: string, bytesMax: number): KeptFileContent | undefined {
    this.reads.push(name)
    const found = this.stored.get(name)
    if (found === undefined || this.troubles.readsFail === true || found.bytes.length > bytesMax)
      return undefined
    return { bytes: Buffer.from(found.bytes), modifiedMs: found.modifiedMs }
  }

  async write(name: string, bytes: Uint8Array): Promise<void> {
    await Promise.resolve()
    if (this.troubles.writes !== undefined) throw new Error(this.troubles.writes)
    this.writes.push(name)
    this.stored.set(name, { bytes: Buffer.from(bytes), modifiedMs: this.#now() })
  }

  async create(name: string, bytes: Uint8Array): Promise<void> {
    if (this.stored.has(name)) throw new Error(`EEXIST: ${name}`)
    await this.write(name, bytes)
  }

  async touch(name: string, modifiedMs: number): Promise<void> {
    await Promise.resolve()
    const found = this.stored.get(name)
    if (found === undefined) throw new Error(`ENOENT: ${name}`)
    found.modifiedMs = modifiedMs
  }

  async remove(name: string): Promise<void> {
    await Promise.resolve()
    this.stored.delete(name)
  }

  list(): Promise<KeptFileEntry[]> {
    const entries = [...this.stored].map(([name, { bytes, modifiedMs }]) => ({
      name,
      bytes: bytes.length,
      modifiedMs,
    }))
    return Promise.resolve(entries)
  }
}
