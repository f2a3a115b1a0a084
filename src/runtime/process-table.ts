// The processes of the system by their numbers: of servers, of what they have started, and of owners of what lies on the disk.

import { readFileSync, readdirSync } from 'node:fs'
import process from 'node:process'

export interface ProcessRow {
  readonly pid: number
  readonly parent: number
  readonly group: number
  readonly session: number
  /** In clock ticks since the boot. Another process that gets the same number later has another start. */
  readonly startedAt: string
}

/** One process, on Linux; undefined when it is gone, and where there is no `/proc`. */
export function readProcess(pid: number): ProcessRow | undefined {
  const stat = readProcFile(`/proc/${pid}/stat`)
  if (stat === '') return undefined
  // The name may hold anything, so it is what stands behind it that counts: state, parent, group, session, …
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ', 20)
  const [, parent = 0, group = 0, session = 0] = fields.map(Number)
  const startedAt = fields[19]
  return startedAt === undefined ? undefined : { pid, parent, group, session, startedAt }
}

/** The numbers of all processes that this one sees, on Linux; or those in the `/proc` of another namespace. */
export function processIds(proc = '/proc'): number[] {
  return readdirSync(proc).flatMap((name) => (/^\d+$/.test(name) ? Number(name) : []))
}

export function readProcesses(): ProcessRow[] {
  return processIds().flatMap((pid) => readProcess(pid) ?? [])
}

/** The rows for which `isMeant` holds, and those of all their descendants. */
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

/** A file of `/proc`; empty for a process that has ended meanwhile. */
export function readProcFile(path: string): string {
  try {
    return readFileSync(path, 'latin1')
  } catch {
    return ''
  }
}

/** Signals a process, or with a negative number its group. False when there is no such process, or it belongs to another user. */
export function signalProcess(pid: number, signal: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(pid, signal)
  } catch {
    return false
  }
}
