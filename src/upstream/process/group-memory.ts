// The memory of a process group.
//
// Servers are looked at one by one, but all processes of the machine have to be
// read for it; so those who ask at about the same time share one reading.

import type { ProcessRow } from '../../runtime/process-table.js'
import { readProcesses, residentBytes, shareBytes } from './proc.js'
import { residentByGroup } from './ps.js'

/** How long one reading is good for. */
const AGE_MS_MAX = 500

/** The memory of process groups, as the system tells it. */
export class GroupMemory {
  readonly #proc: Shared<readonly ProcessRow[]>
  readonly #ps: Shared<ReadonlyMap<number, number> | undefined>
  readonly #platform: string

  constructor(now: () => number, platform: string = process.platform) {
    this.#proc = new Shared(readProcesses, now)
    this.#ps = new Shared(residentByGroup, now)
    this.#platform = platform
  }

  /** In bytes; from `exactBytes` on what processes share counts once, where the system tells. Undefined where it tells nothing. */
  async of(group: number, exactBytes: number): Promise<number | undefined> {
    if (this.#platform === 'win32') return undefined
    if (this.#platform !== 'linux') return this.#told(group)
    const rows = await this.#proc.read()
    const members = rows.filter((row) => row.group === group).map(({ pid }) => pid)
    const rough = sum(members.map((pid) => residentBytes(pid)))
    if (rough < exactBytes) return rough
    return sum(await Promise.all(members.map(async (pid) => (await shareBytes(pid)) ?? residentBytes(pid))))
  }

  async #told(group: number): Promise<number | undefined> {
    const groups = await this.#ps.read()
    return groups === undefined ? undefined : (groups.get(group) ?? 0)
  }
}

/** What takes time to read, read once for all who ask meanwhile or soon after. */
class Shared<T> {
  readonly #read: () => Promise<T>
  readonly #now: () => number
  #reading: Promise<T> | undefined
  #staleAt = 0

  constructor(read: () => Promise<T>, now: () => number) {
    this.#read = read
    this.#now = now
  }

  read(): Promise<T> {
    if (this.#reading !== undefined && this.#now() < this.#staleAt) return this.#reading
    this.#staleAt = this.#now() + AGE_MS_MAX
    this.#reading = this.#read()
    return this.#reading
  }
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, each) => total + each, 0)
}
