// Who descends from a process, on Linux, and how much memory each of them has.
//
// Whoever has left a process group is found too. Where a child has a process namespace of its own, everybody in it
// descends from the child: who loses a parent gets the first process of the namespace for one.

import type { Descendant } from '../../runtime/runtime.js'
import { type ProcessRow, readProcess } from '../../runtime/process-table.js'
import { readProcesses, residentBytes, shareBytes } from './proc.js'

/** The process and all that descend from it, read in slices so that messages go on. */
export async function descendantsOf(root: number): Promise<readonly Descendant[]> {
  const rows = await readProcesses()
  return rowsBelow(rows, root).map(({ pid, startedAt }) => ({
    pid,
    startedAt,
    residentBytes: residentBytes(pid),
    shareBytes: () => shareBytes(pid),
  }))
}

/** SIGKILL to a process that still is who it was and descends from the root. */
export function endDescendant(root: number, { pid, startedAt }: Pick<Descendant, 'pid' | 'startedAt'>): void {
  if (readProcess(pid)?.startedAt !== startedAt || !descends(pid, root)) return
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // It has ended.
  }
}

function rowsBelow(rows: readonly ProcessRow[], root: number): ProcessRow[] {
  const kin = new Set([root])
  for (let before = -1; before < kin.size;) {
    before = kin.size
    for (const { pid, parent } of rows) if (kin.has(parent)) kin.add(pid)
  }
  return rows.filter(({ pid }) => kin.has(pid))
}

function descends(pid: number, root: number): boolean {
  let row = readProcess(pid)
  while (row !== undefined && row.pid !== root && row.parent > 1) row = readProcess(row.parent)
  return row?.pid === root
}
