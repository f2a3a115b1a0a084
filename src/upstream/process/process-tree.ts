// The processes of a server: its group, and what descends from a process of it, as the system tells.
//
// Linux tells by `/proc`, other systems by `ps`, Windows not at all. A process whose parents have all ended descends
// from nothing that is known: a deliberate daemon is not found.

import { execFile } from 'node:child_process'
import {
  type ProcessRow,
  processIds,
  readProcFile,
  readProcess,
  readProcesses,
  withDescendants,
} from '../../runtime/process-table.js'

/** Files that are read between two turns of the event loop: less than a millisecond. */
const FILES_PER_TURN = 20

/** Servers whose memory is looked at together share one reading. */
const AGE_MS_MAX = 100

const OUTPUT_BYTES_MAX = 16 * 1024 * 1024

const KiB = 1024

/** A process, and its resident memory where the table has it. */
interface Row extends Omit<ProcessRow, 'session'> {
  readonly residentBytes?: number
}

/** The table of processes of this machine. */
export class ProcessTree {
  readonly #now: () => number
  readonly #platform: string
  #reading: Promise<readonly Row[] | undefined> | undefined
  #staleAt = 0
  /** The reading that begins in the next turn. */
  #coming: Promise<readonly Row[] | undefined> | undefined

  constructor(now: () => number, platform: string = process.platform) {
    this.#now = now
    this.#platform = platform
  }

  /** The group and its descendants as they are now; undefined where the system does not tell. */
  async of(group: number): Promise<readonly Row[] | undefined> {
    this.#coming ??= turn().then(() => {
      this.#coming = undefined
      return this.#read()
    })
    const rows = await this.#coming
    return rows && membersOf(rows, group)
  }

  /** The resident memory of the group and its descendants, in bytes; undefined where the system does not tell. */
  async memoryOf(group: number): Promise<number | undefined> {
    const rows = await this.#recentRows()
    return rows && totalOf(membersOf(rows, group))
  }

  #recentRows(): Promise<readonly Row[] | undefined> {
    if (this.#reading !== undefined && this.#now() < this.#staleAt) return this.#reading
    this.#staleAt = this.#now() + AGE_MS_MAX
    this.#reading = this.#read()
    return this.#reading
  }

  async #read(): Promise<readonly Row[] | undefined> {
    if (this.#platform === 'win32') return undefined
    return this.#platform === 'linux' ? readInTurns() : listProcesses()
  }
}

/** The processes that descend from a server and have left its group (`setsid`), as they were found last. */
export class Orphans {
  readonly #group: number
  readonly #tree: ProcessTree
  #found: readonly Row[] = []

  constructor(group: number, tree: ProcessTree) {
    this.#group = group
    this.#tree = tree
  }

  async find(): Promise<void> {
    this.#found = this.#outside((await this.#tree.of(this.#group)) ?? [])
  }

  /** The same in this turn, for a caller that has no other; on Linux alone. */
  findNow(): void {
    if (process.platform !== 'linux') return
    this.#found = this.#outside(membersOf(readProcesses(), this.#group))
  }

  /** Signals those that still are the processes that were found. */
  signal(name: 'SIGTERM' | 'SIGKILL'): void {
    for (const { pid, startedAt } of this.#found) {
      const isSame = process.platform !== 'linux' || readProcess(pid)?.startedAt === startedAt
      if (isSame) signalOne(pid, name)
    }
  }

  #outside(rows: readonly Row[]): Row[] {
    return rows.filter(({ group }) => group !== this.#group)
  }
}

/** The processes of a group, and those that have one of them as an ancestor. */
function membersOf(rows: readonly Row[], group: number): Row[] {
  return withDescendants(rows, (row) => row.group === group)
}

function totalOf(rows: readonly Row[]): number {
  return rows.reduce((total, { pid, residentBytes = residentOf(pid) }) => total + residentBytes, 0)
}

/** All processes, read in slices so that messages go on. */
async function readInTurns(): Promise<readonly Row[]> {
  const rows: Row[] = []
  let files = 0
  for (const pid of processIds()) {
    if (++files % FILES_PER_TURN === 0) await turn()
    const row = readProcess(pid)
    if (row !== undefined) rows.push(row)
  }
  return rows
}

/** Memory that processes share counts in each of them. */
function residentOf(pid: number): number {
  const [, kilobytes] = /^VmRSS:\s+(\d+) kB/m.exec(readProcFile(`/proc/${pid}/status`)) ?? []
  return Number(kilobytes ?? 0) * KiB
}

/** Undefined where `ps` cannot be run. */
function listProcesses(): Promise<readonly Row[] | undefined> {
  const columns = ['pid=', 'ppid=', 'pgid=', 'rss=', 'lstart='].flatMap((column) => ['-o', column])
  return new Promise((resolve) => {
    const limits = { maxBuffer: OUTPUT_BYTES_MAX, timeout: 5000 }
    try {
      execFile('ps', ['-A', ...columns], limits, (error, output) =>
        resolve(error === null ? output.split('\n').flatMap((line) => rowOf(line) ?? []) : undefined),
      )
    } catch {
      resolve(undefined)
    }
  })
}

function rowOf(line: string): Row | undefined {
  const [pid = '', parent = '', group = '', kilobytes = '', ...startedAt] = line.trim().split(/\s+/)
  if (startedAt.length === 0) return undefined
  return {
    pid: Number(pid),
    parent: Number(parent),
    group: Number(group),
    residentBytes: Number(kilobytes) * KiB,
    startedAt: startedAt.join(' '),
  }
}

function signalOne(pid: number, name: 'SIGTERM' | 'SIGKILL'): void {
  try {
    process.kill(pid, name)
  } catch {
    // It has ended, or belongs to another user now.
  }
}

async function turn(): Promise<void> {
  await new Promise<void>((resolve) => {
    setImmediate(resolve)
  })
}
