// The processes of a server: its group, and the descendants of the processes in the group.
//
// Linux shows processes in `/proc`, other systems by `ps`, and Windows not at all. A process whose ancestors
// have all ended has no known origin, so the proxy does not find a deliberate daemon.

import { execFile } from 'node:child_process'
import { setImmediate as nextTurn } from 'node:timers/promises'
import {
  type ProcessRow,
  processIds,
  readProcFile,
  readProcess,
  readProcesses,
  signalProcess,
  withDescendants,
} from '../../runtime/process-table.js'

/** How many files are read in one turn of the event loop, in less than a millisecond. */
const FILES_PER_TURN = 20

/** The memory of several servers comes from one reading that is not older. */
const AGE_MS_MAX = 100

const OUTPUT_BYTES_MAX = 16 * 1024 * 1024

const KiB = 1024

/** A process, and its resident memory if the table has it. */
interface Row extends Omit<ProcessRow, 'session'> {
  readonly residentBytes?: number
}

export class ProcessTree {
  readonly #now: () => number
  readonly #platform: string
  #rows: Promise<readonly Row[] | undefined> = Promise.resolve(undefined)
  #readAt = -Infinity

  constructor(now: () => number, platform: string = process.platform) {
    this.#now = now
    this.#platform = platform
  }

  /** The group and its descendants, at most `ageMsMax` old; undefined if the system does not show them. */
  async of(group: number, ageMsMax = 0): Promise<readonly Row[] | undefined> {
    const since = this.#now() - ageMsMax
    // All servers that stop in one turn share a reading.
    await nextTurn()
    if (this.#readAt < since) {
      this.#readAt = this.#now()
      this.#rows = this.#read()
    }
    const rows = await this.#rows
    return rows && membersOf(rows, group)
  }

  /** The resident memory of the group and its descendants in bytes; undefined if the system hides it. */
  async memoryOf(group: number): Promise<number | undefined> {
    const rows = await this.of(group, AGE_MS_MAX)
    return rows?.reduce((total, { pid, residentBytes = residentOf(pid) }) => total + residentBytes, 0)
  }

  async #read(): Promise<readonly Row[] | undefined> {
    if (this.#platform === 'win32') return undefined
    return this.#platform === 'linux' ? readInTurns() : listProcesses()
  }
}

/** The process group of one child, and the descendants that have left it (`setsid`). */
export class ProcessGroup {
  readonly #group: number
  readonly #tree: ProcessTree
  /** By process id. A process stays here, because it cannot be found again after its parents have ended. */
  readonly #outside = new Map<number, Row>()

  constructor(group: number, tree: ProcessTree) {
    this.#group = group
    this.#tree = tree
  }

  /** Finds descendants outside of the group. Never rejects: without them, signals reach only the group. */
  async survey(): Promise<void> {
    const rows = (await this.#tree.of(this.#group).catch(() => undefined)) ?? []
    this.#keepOutside(rows)
  }

  /** Signals the group and its descendants; false for an empty group. Windows ends the children too. */
  signal(name: 'SIGTERM' | 'SIGKILL'): boolean {
    if (process.platform === 'win32') {
      endTree(this.#group)
      return true
    }
    if (process.platform === 'linux' && !isGroupEmpty(this.#group)) this.#surveyNow()
    for (const { pid, startedAt } of this.#outside.values()) {
      const isSame = process.platform !== 'linux' || readProcess(pid)?.startedAt === startedAt
      if (isSame) signalProcess(pid, name)
    }
    return signalProcess(-this.#group, name)
  }

  #surveyNow(): void {
    try {
      this.#keepOutside(membersOf(readProcesses(), this.#group))
    } catch {
      // Without free descriptors the search fails, which must not prevent the signal.
    }
  }

  #keepOutside(rows: readonly Row[]): void {
    for (const row of rows) if (row.group !== this.#group) this.#outside.set(row.pid, row)
  }
}

/** Whether the group has no process that the proxy may signal. */
export function isGroupEmpty(group: number): boolean {
  return !signalProcess(-group, 0)
}

export function endTree(pid: number, run: typeof execFile = execFile): void {
  // Without `/F`, only programs with a window end.
  run('taskkill', ['/T', '/F', '/PID', String(pid)], { windowsHide: true }, () => {
    // The process may have ended already.
  })
}

function membersOf(rows: readonly Row[], group: number): Row[] {
  return withDescendants(rows, (row) => row.group === group)
}

/** Reads all processes in slices, so that messages are not delayed. */
async function readInTurns(): Promise<readonly Row[]> {
  const rows: Row[] = []
  let files = 0
  for (const pid of processIds()) {
    if (++files % FILES_PER_TURN === 0) await nextTurn()
    const row = readProcess(pid)
    if (row !== undefined) rows.push(row)
  }
  return rows
}

/** Shared memory counts for each process. */
function residentOf(pid: number): number {
  const [, kilobytes] = /^VmRSS:\s+(\d+) kB/m.exec(readProcFile(`/proc/${pid}/status`)) ?? []
  return Number(kilobytes ?? 0) * KiB
}

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
