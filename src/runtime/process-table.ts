// The processes of the system by their numbers: of servers, of what they have started, and of owners of what lies on the disk.

import { readFileSync } from 'node:fs'

/** A process, as it was when it was looked at. */
export interface ProcessRow {
  readonly pid: number
  readonly parent: number
  readonly group: number
  /** With its number, what tells it from another one that gets the same number later: as the kernel counts since the boot. */
  readonly startedAt: string
}

/** One process, on Linux; undefined when it is gone, and where there is no `/proc`. */
export function readProcess(pid: number): ProcessRow | undefined {
  const stat = readProcFile(`/proc/${pid}/stat`)
  if (stat === '') return undefined
  // The name may hold anything, so it is what stands behind it that counts: state, parent, group, …
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ', 20)
  const [, parent, group] = fields.map(Number)
  const startedAt = fields[19]
  if (parent === undefined || group === undefined || startedAt === undefined) return undefined
  return { pid, parent, group, startedAt }
}

/** A file of `/proc`; empty for a process that has ended meanwhile. */
export function readProcFile(path: string): string {
  try {
    return readFileSync(path, 'latin1')
  } catch {
    return ''
  }
}
