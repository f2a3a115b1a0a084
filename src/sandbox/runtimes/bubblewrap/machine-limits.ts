// The limits of one machine: who holds each, and which of them was reached.
//
// The control group is asked where there is one. Elsewhere the processes of the machine are looked at, and the
// largest is ended when all of them together have too much. The disk is always looked at.

import { statfs } from 'node:fs/promises'
import { join } from 'node:path'
import type { Child, Descendant, Runtime, Timer } from '../../../runtime/runtime.js'
import type { GuestExit, MachineFlavor } from '../../runtime.js'
import { type DiskUse, ENTRIES_MAX, diskUse } from './disk-use.js'
import type { LimitCounts, MachineGroup } from './machine-group.js'

const MiB = 1024 * 1024
const GiB = 1024 * MiB

/** How often the processes of a machine are looked at while a program runs, and while none does. */
const MEMORY_LOOK_MS = 200
const MEMORY_REST_MS = 2000

/** The same for its files. */
const DISK_LOOK_MS = 1000
const DISK_REST_MS = 10_000

/** Of the disk limit: when so much of the host's disk was taken since the last look, there is another one. */
const DISK_STEP_SHARE = 1 / 4

/** Folders in memory: their size does not bound how many files without content there are, and each takes a kilobyte of the kernel. */
const MEMORY_FOLDERS = ['tmp', 'dev/shm']

/** A look that takes long is rarer: the service has something else to do. */
const LOOK_SHARE = 1 / 20

/** Of the limit, from where on what is shared must not count twice. */
const ROUGH_SHARE = 0.8

/** Of the processes allowed; with so many, one that ends in failure was most likely refused another. */
const CROWD_SHARE = 0.9

export interface MachineLimitsParts {
  readonly runtime: Runtime
  readonly child: Child
  readonly flavor: MachineFlavor
  readonly group: MachineGroup | undefined
  /** The folder of the session, on the host. */
  readonly folder: string
  /** A process of the host that sees what the machine sees. */
  readonly first: { readonly pid: number }
  isBusy(): boolean
  /** The files are too many, too large or too deep; the machine has to end. */
  full(limit: string): void
}

/** Watches one machine until it is stopped. */
export class MachineLimits {
  readonly #parts: MachineLimitsParts
  readonly #timers = new Map<'memory' | 'disk', Timer>()
  #counts: LimitCounts = { memory: 0, processes: 0 }
  /** Without a group: how often the watch has ended a process, and has seen as many as may be. */
  #ended = 0
  #crowds = 0
  /** What was on the disk at the start may stay: a session that is full must be able to remove files. */
  #diskBytesMax: number
  #isStopped = false
  /** Of the disk of the host, at the last look. */
  #freeBytes = Infinity

  constructor(parts: MachineLimitsParts) {
    this.#parts = parts
    this.#diskBytesMax = parts.flavor.diskGiB * GiB
    if (parts.group === undefined) this.#later('memory', () => this.#lookAtMemory())
  }

  /** Resolves when it is known what is on the disk already. */
  async begin(): Promise<void> {
    const use = await diskUse(this.#parts.folder, [])
    this.#diskBytesMax = Math.max(this.#diskBytesMax, use.bytes)
    this.#later('disk', () => this.#lookAtDisk())
  }

  stop(): void {
    this.#isStopped = true
    for (const timer of this.#timers.values()) timer.cancel()
  }

  /** Begins to count for a program. */
  mark(): LimitCounts {
    this.#counts = this.#now()
    return this.#counts
  }

  /** Which limit was reached since then, when the end looks like it. */
  explain(exit: GuestExit, since: LimitCounts): GuestExit {
    if (exit.code === 0) return exit
    const limit = this.reached(since) ?? this.#refused(exit)
    return limit === undefined ? exit : { ...exit, limit }
  }

  /** In words; undefined when none was. */
  reached(since: LimitCounts): string | undefined {
    const { memory, processes } = this.#now()
    if (memory > since.memory) return `the memory limit of ${this.#parts.flavor.memoryMiB} MiB`
    if (processes > since.processes) return this.#processLimit()
    return undefined
  }

  #refused({ failure }: GuestExit): string | undefined {
    return failure?.endsWith('EAGAIN') === true ? this.#processLimit() : undefined
  }

  #processLimit(): string {
    return `the limit of ${this.#parts.flavor.pids} processes`
  }

  #now(): LimitCounts {
    return this.#parts.group?.counts() ?? { memory: this.#ended, processes: this.#crowds }
  }

  async #lookAtMemory(): Promise<void> {
    const { child, flavor, runtime } = this.#parts
    const startedAt = runtime.now()
    const all = (await child.descendants?.()) ?? []
    if (all.length > flavor.pids * CROWD_SHARE) this.#crowds++
    const limitBytes = flavor.memoryMiB * MiB
    const rough = sum(all.map(({ residentBytes }) => residentBytes))
    if (rough > limitBytes * ROUGH_SHARE && (await exactBytes(all)) > limitBytes) this.#endLargest(all)
    this.#later('memory', () => this.#lookAtMemory(), runtime.now() - startedAt)
  }

  #endLargest(all: readonly Descendant[]): void {
    const [largest] = all.toSorted((a, b) => b.residentBytes - a.residentBytes)
    if (largest === undefined || this.#isStopped) return
    this.#ended++
    this.#parts.child.endDescendant?.(largest)
  }

  async #lookAtDisk(): Promise<void> {
    const { child, runtime } = this.#parts
    const startedAt = runtime.now()
    this.#freeBytes = await freeBytes(this.#parts.folder)
    const all = (await child.descendants?.()) ?? []
    const use = await diskUse(
      this.#parts.folder,
      all.map(({ pid }) => pid),
    )
    const limit = this.#exceeded(use) ?? (await this.#crowded())
    if (limit !== undefined && !this.#isStopped) this.#parts.full(limit)
    this.#later('disk', () => this.#lookAtDisk(), runtime.now() - startedAt)
  }

  #exceeded({ bytes, tooMany }: DiskUse): string | undefined {
    if (tooMany !== undefined) return tooMany
    return bytes > this.#diskBytesMax ? `the disk limit of ${this.#parts.flavor.diskGiB} GiB` : undefined
  }

  /** The root of a machine cannot be changed from inside, so the paths lead to its own folders. */
  async #crowded(): Promise<string | undefined> {
    const root = `/proc/${this.#parts.first.pid}/root`
    const counts = await Promise.all(MEMORY_FOLDERS.map((folder) => filesOn(join(root, folder))))
    return sum(counts) > ENTRIES_MAX ? `the limit of ${ENTRIES_MAX} files` : undefined
  }

  #later(what: 'memory' | 'disk', look: () => Promise<void>, tookMs = 0): void {
    if (this.#isStopped) return
    const [leastMs, restMs] =
      what === 'memory' ? [MEMORY_LOOK_MS, MEMORY_REST_MS] : [DISK_LOOK_MS, DISK_REST_MS]
    const busyMs = Math.max(leastMs, tookMs / LOOK_SHARE)
    let restedMs = 0
    // A machine that rests is looked at again as soon as it is busy.
    const wait = (): void => {
      const timer = this.#parts.runtime.setTimer(leastMs, () => void rested())
      this.#timers.set(what, timer)
    }
    const rested = async (): Promise<void> => {
      restedMs += leastMs
      const isDue = restedMs >= (this.#parts.isBusy() ? busyMs : Math.max(restMs, busyMs))
      if (isDue || (what === 'disk' && (await this.#isFilling()))) await look()
      else if (!this.#isStopped) wait()
    }
    wait()
  }

  /** Who has so many files that they are rarely looked at must not use the time to fill the disk. */
  async #isFilling(): Promise<boolean> {
    if ((await this.#crowded()) !== undefined) return true
    const takenBytes = this.#freeBytes - (await freeBytes(this.#parts.folder))
    return takenBytes > this.#parts.flavor.diskGiB * GiB * DISK_STEP_SHARE
  }
}

async function exactBytes(all: readonly Descendant[]): Promise<number> {
  return sum(await Promise.all(all.map(async (one) => (await one.shareBytes()) ?? one.residentBytes)))
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, each) => total + each, 0)
}

/** Of the disk on which a folder is. */
async function freeBytes(folder: string): Promise<number> {
  try {
    const { bavail, bsize } = await statfs(folder)
    return bavail * bsize
  } catch {
    // It was removed; there is nothing to look at any more.
    return Infinity
  }
}

/** Of the file system that is mounted there. */
async function filesOn(folder: string): Promise<number> {
  try {
    const { files, ffree } = await statfs(folder)
    return files - ffree
  } catch {
    // The machine has ended.
    return 0
  }
}
