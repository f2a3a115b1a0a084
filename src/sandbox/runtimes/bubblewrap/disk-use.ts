// What a machine has on the disk.
//
// Programs may change its folders while they are read. So each is opened by its name in one that is
// open, and never through a link: nobody is led out of the folder of the session.

import { constants } from 'node:fs'
import { type FileHandle, lstat, open, readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'

/** No session needs more; each open folder of a walk takes a descriptor of the service. */
const DEPTH_MAX = 100

/** Each takes an inode of the host, however small it is. */
export const ENTRIES_MAX = 250_000

/** `stat(2)`: of what blocks are counted. */
const BLOCK_BYTES = 512

/** After so many, others have their turn for certain. */
const ENTRIES_AT_ONCE = 200

export interface DiskUse {
  readonly bytes: number
  /** Which limit on names was reached, in words. */
  readonly tooMany: string | undefined
}

/** Of a folder, with files that were removed and that one of these processes still has open. */
export async function diskUse(
  folder: string,
  pids: readonly number[],
  entriesMax: number = ENTRIES_MAX,
): Promise<DiskUse> {
  const walk = new DiskWalk(entriesMax)
  const root = await opened(folder)
  if (root !== undefined) await walk.enter(root, 0)
  for (const pid of pids) await walk.addRemoved(pid)
  return { bytes: walk.bytes, tooMany: walk.tooMany }
}

class DiskWalk {
  bytes = 0
  tooMany: string | undefined
  readonly #entriesMax: number
  #device: number | undefined
  #entries = 0
  /** Files with several names, and removed ones that several have open, count once. */
  readonly #seen = new Set<number>()

  constructor(entriesMax: number) {
    this.#entriesMax = entriesMax
  }

  async enter(folder: FileHandle, depth: number): Promise<void> {
    try {
      // The folder that is open, whatever has its name by now.
      const path = `/proc/self/fd/${folder.fd}`
      this.#device ??= (await folder.stat()).dev
      const folders = await this.#addAll(path, await readdir(path))
      for (const name of folders) {
        if (depth >= DEPTH_MAX) this.tooMany ??= `the limit of ${DEPTH_MAX} folders in each other`
        if (this.tooMany !== undefined) return
        const next = await opened(join(path, name))
        if (next !== undefined) await this.enter(next, depth + 1)
      }
    } catch {
      // It was closed to its owner; what is in it counts when it is opened again.
    } finally {
      await folder.close()
    }
  }

  /** Removed files of this file system that a process has open: each thread may have descriptors of its own. */
  async addRemoved(pid: number): Promise<void> {
    const threads = `/proc/${pid}/task`
    for (const thread of await namesIn(threads)) await this.#addOpen(join(threads, thread, 'fd'))
  }

  async #addOpen(folder: string): Promise<void> {
    for (const name of await namesIn(folder)) {
      try {
        const stats = await stat(join(folder, name))
        if (stats.isFile() && stats.nlink === 0 && stats.dev === this.#device)
          this.#add(stats.ino, stats.blocks)
      } catch {
        // Closed meanwhile.
      }
    }
  }

  /** Gives the names of folders. */
  async #addAll(path: string, names: readonly string[]): Promise<string[]> {
    const folders: string[] = []
    for (let at = 0; at < names.length; at += ENTRIES_AT_ONCE) {
      const some = names.slice(at, at + ENTRIES_AT_ONCE)
      this.#entries += some.length
      if (this.#entries > this.#entriesMax) this.tooMany ??= `the limit of ${this.#entriesMax} files`
      if (this.tooMany !== undefined) return []
      await Promise.all(
        some.map(async (name) => {
          const stats = await lstat(join(path, name)).catch(() => undefined)
          // What is mounted there belongs to the host.
          if (stats === undefined || stats.dev !== this.#device) return
          this.#add(stats.ino, stats.blocks)
          if (stats.isDirectory()) folders.push(name)
        }),
      )
    }
    return folders
  }

  #add(inode: number, blocks: number): void {
    if (this.#seen.has(inode)) return
    this.#seen.add(inode)
    this.bytes += blocks * BLOCK_BYTES
  }
}

async function opened(path: string): Promise<FileHandle | undefined> {
  try {
    return await open(path, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW)
  } catch {
    return undefined
  }
}

async function namesIn(path: string): Promise<string[]> {
  try {
    return await readdir(path)
  } catch {
    return []
  }
}
