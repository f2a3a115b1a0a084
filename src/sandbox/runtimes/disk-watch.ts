// Limits the disk space of machines.
//
// `du` measures one folder at a time, as a child with low priority: it follows no links, and uses no time or
// memory of the service. `du` does not count removed files that a program still has open. The watch therefore
// keeps a reserve: if the disk of the host is nearly full, it ends the machine that has written most.

import { readdir, statfs } from 'node:fs/promises'
import type { Runtime, Timer } from '../../runtime/runtime.js'
import { systemProgram } from '../host-program.js'

const LOOK_MS = 2000

/** The watch measures folders of idle machines once in this many rounds. */
const IDLE_ROUNDS = 5

/** A folder that takes longer has more files than a session may have. */
const DU_MS_MAX = 30_000

/** Each file takes an inode of the host, even an empty one. */
const FILES_MAX = 250_000

const MiB = 1024 * 1024
const GiB = 1024 * MiB

/** Sessions leave this share of the host's disk free, but no more than `RESERVE_BYTES_MAX`. */
const RESERVE_SHARE = 1 / 20
const RESERVE_BYTES_MAX = 2 * GiB

/** A machine that has written less since its start is not the one that fills the disk. */
const WRITTEN_BYTES_MIN = 16 * MiB

export interface WatchedFiles {
  readonly folder: string
  readonly diskGiB: number
  /** Bytes in the folder before the start. They are allowed, so that a full session can remove files. */
  readonly heldBytes: number
}

export interface WatchedMachine {
  /** Whether a call waits for programs of the machine. */
  isBusy(): boolean
  /** Bytes that the processes of the machine have written. Undefined if unknown. */
  written(): number | undefined
  /** Folders in memory. Their size limit does not limit the number of empty files. */
  readonly memoryFolders: readonly string[]
  /** Ends the machine because it reached a limit. `limit` names the limit in words. */
  full(limit: string): void
}

interface Watched {
  readonly machine: WatchedMachine
  readonly files: WatchedFiles
  /** Undefined before the first measurement. */
  bytes: number | undefined
}

export class DiskWatch {
  readonly #runtime: Runtime
  readonly #machines = new Set<Watched>()
  #timer: Timer | undefined
  #round = 0
  #isLooking = false

  constructor(runtime: Runtime) {
    this.#runtime = runtime
  }

  /** The bytes in a folder that no machine uses. A running machine would write faster than `du` measures. */
  async held(folder: string): Promise<number> {
    if ((await readdir(folder)).length === 0) return 0
    const kibibytes = await this.#du(['-skx'], folder)
    // A folder that takes too long gets no higher limit than others.
    return kibibytes === undefined || kibibytes === Infinity ? 0 : kibibytes * 1024
  }

  add(machine: WatchedMachine, files: WatchedFiles): () => void {
    const watched: Watched = { machine, files, bytes: undefined }
    this.#machines.add(watched)
    this.#later()
    return () => {
      this.#machines.delete(watched)
      if (this.#machines.size > 0) return
      this.#timer?.cancel()
      this.#timer = undefined
    }
  }

  #later(): void {
    if (this.#timer !== undefined || this.#isLooking || this.#machines.size === 0) return
    this.#timer = this.#runtime.setTimer(LOOK_MS, () => {
      this.#timer = undefined
      void this.#look()
    })
  }

  async #look(): Promise<void> {
    this.#isLooking = true
    try {
      const isWhole = this.#round++ % IDLE_ROUNDS === 0
      for (const watched of this.#machines) {
        await this.#keepReserve()
        if (isWhole || watched.bytes === undefined || watched.machine.isBusy()) await this.#lookAt(watched)
      }
    } finally {
      this.#isLooking = false
      this.#later()
    }
  }

  async #lookAt(watched: Watched): Promise<void> {
    const { folder, diskGiB, heldBytes } = watched.files
    const kibibytes = await this.#du(['-skx'], folder)
    const files = await this.#du(['-sx', '--inodes'], folder)
    const inMemory = await Promise.all(watched.machine.memoryFolders.map(filesOn))
    const bytes = (kibibytes ?? 0) * 1024
    watched.bytes = bytes
    if (bytes > Math.max(diskGiB * GiB, heldBytes)) this.#end(watched, `the disk limit of ${diskGiB} GiB`)
    else if (Math.max(files ?? 0, ...inMemory) > FILES_MAX)
      this.#end(watched, `the limit of ${FILES_MAX} files`)
  }

  /** The number that `du` prints. Undefined if the folder is gone, Infinity if it has too many files to count. */
  async #du(options: readonly string[], folder: string): Promise<number | undefined> {
    const measure = ['nice', 'du', ...options, '--', folder] as const
    const { stdout, isLate } = await systemProgram(this.#runtime, measure, DU_MS_MAX)
    if (isLate) return Infinity
    const [, number] = /^(\d+)\s/.exec(stdout) ?? []
    return number === undefined ? undefined : Number(number)
  }

  async #keepReserve(): Promise<void> {
    const [any] = this.#machines
    if (any === undefined || !(await isNearlyFull(any.files.folder))) return
    const [most] = Array.from(this.#machines).toSorted((one, other) => written(other) - written(one))
    if (most !== undefined && written(most) > WRITTEN_BYTES_MIN)
      this.#end(most, 'the reserve of free disk space on the host')
  }

  #end(watched: Watched, limit: string): void {
    if (this.#machines.delete(watched)) watched.machine.full(limit)
  }
}

function written({ machine, bytes = 0 }: Watched): number {
  return machine.written() ?? bytes
}

async function isNearlyFull(folder: string): Promise<boolean> {
  try {
    const { bavail, blocks, bsize } = await statfs(folder)
    return bavail * bsize < Math.min(blocks * bsize * RESERVE_SHARE, RESERVE_BYTES_MAX)
  } catch {
    return false
  }
}

async function filesOn(folder: string): Promise<number> {
  try {
    const { files, ffree } = await statfs(folder)
    return files - ffree
  } catch {
    return 0
  }
}
