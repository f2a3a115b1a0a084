// The processes of the system.

import { readFileSync, readdirSync } from 'node:fs'
import process from 'node:process'

export interface ProcessRow {
  readonly pid: number
  readonly parent: number
  readonly group: number
  readonly session: number
  /** In clock ticks since the boot. A later process with the same id has another start time. */
  readonly startedAt: string
}

/** Reads one process on Linux; undefined if it has ended, or without `/proc`. */
export function readProcess(pid: number): ProcessRow | undefined {
  const stat = readProcFile(`/proc/${pid}/stat`)
  if (stat === '') return undefined
  // The name may contain any characters, so parse the fields after it: state, parent, group, session, …
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ', 20)
  const [, parent = 0, group = 0, session = 0] = fields.map(Number)
  const startedAt = fields[19]
  return startedAt === undefined ? undefined : { pid, parent, group, session, startedAt }
}

/** The ids of all processes that this process sees, on Linux; or those in the `/proc` of another namespace. */
export function processIds(proc = '/proc'): number[] {
  return readdirSync(proc).flatMap((name) => (/^\d+$/.test(name) ? Number(name) : []))
}

export function readProcesses(): ProcessRow[] {
  return processIds().flatMap((pid) => readProcess(pid) ?? [])
}

/** Returns the rows for which `isMeant` is true, with all their descendants. */
export function withDescendants<Row extends Pick<ProcessRow, 'pid' | 'parent'>>(
  rows: readonly Row[],
  isMeant: (row: Row) => boolean,
): Row[] {
  const found = new Set(rows.filter(isMeant).map(({ pid }) => pid))
  for (let before = -1; before < found.size;) {
    before = found.size
    for (const { pid, parent } of rows) if (found.has(parent)) found.add(pid)
  }
  return rows.filter(({ pid }) => found.has(pid))
}

/** Reads a file of `/proc`; empty if the process has ended. */
export function readProcFile(path: string): string {
  try {
    return readFileSync(path, 'latin1')
  } catch {
    return ''
  }
}

/** Signals a process, or its group if `pid` is negative. Returns false without the process or the permission. */
export function signalProcess(pid: number, signal: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(pid, signal)
  } catch {
    return false
  }
}
