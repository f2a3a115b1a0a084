// Processes that descend from a server but have left its group (`setsid`).
//
// A server that stops in order has had its chance to end them, and may have meant
// them to stay. One that has to be ended has not: they would be nobody's.

import { type ProcessRow, readProcess } from '../../runtime/process-table.js'
import { readProcesses, readProcessesNow } from './proc.js'

/** The strays of one process group, as they were found last. */
export class Strays {
  readonly #group: number
  #found: readonly ProcessRow[] = []

  constructor(group: number) {
    this.#group = group
  }

  /** Looks for them; finds nobody where the system does not tell who descends from whom. */
  async find(): Promise<void> {
    if (process.platform !== 'linux') return
    this.#found = outside(await readProcesses(), this.#group)
  }

  /** The same in this turn, for somebody who has no other. */
  findNow(): void {
    if (process.platform !== 'linux') return
    this.#found = outside(readProcessesNow(), this.#group)
  }

  /** Signals those who are still who they were. */
  signal(name: 'SIGTERM' | 'SIGKILL'): void {
    for (const { pid, startedAt } of this.#found) {
      if (readProcess(pid)?.startedAt === startedAt) signalOne(pid, name)
    }
  }
}

/** Who is not in the group, but has an ancestor in it. */
function outside(rows: readonly ProcessRow[], group: number): ProcessRow[] {
  const kin = new Set(rows.filter((row) => row.group === group).map(({ pid }) => pid))
  for (let before = -1; before < kin.size;) {
    before = kin.size
    for (const { pid, parent } of rows) if (kin.has(parent)) kin.add(pid)
  }
  return rows.filter((row) => kin.has(row.pid) && row.group !== group)
}

function signalOne(pid: number, name: 'SIGTERM' | 'SIGKILL'): void {
  try {
    process.kill(pid, name)
  } catch {
    // It has ended, or is somebody else's now.
  }
}
