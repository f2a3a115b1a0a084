// Reads processes from `/proc`, on Linux.

import { readdirSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { type ProcessRow, readProcFile, readProcess } from '../../runtime/process-table.js'

/** Files that are read between two turns of the event loop: less than a millisecond. */
const FILES_PER_TURN = 20

const KiB = 1024

/** All processes, read in slices so that messages go on. */
export async function readProcesses(): Promise<readonly ProcessRow[]> {
  const rows: ProcessRow[] = []
  let files = 0
  for (const name of readdirSync('/proc')) {
    const pid = Number(name)
    if (!Number.isInteger(pid)) continue
    if (++files % FILES_PER_TURN === 0) await turn()
    const row = readProcess(pid)
    if (row !== undefined) rows.push(row)
  }
  return rows
}

/** All processes, in this turn. */
export function readProcessesNow(): readonly ProcessRow[] {
  const rows = readdirSync('/proc').map((name) =>
    /^\d+$/.test(name) ? readProcess(Number(name)) : undefined,
  )
  return rows.filter((row) => row !== undefined)
}

/** Resident memory, in bytes; what is shared with others counts in each of them. */
export function residentBytes(pid: number): number {
  const status = readProcFile(`/proc/${pid}/status`)
  const own = residentIn(status)
  if (own !== undefined || !/^State:\s+Z/m.test(status)) return own ?? 0
  // Its first thread has ended, and shows no memory; the others may go on.
  const threads = namesIn(`/proc/${pid}/task`).map((thread) =>
    residentIn(readProcFile(`/proc/${pid}/task/${thread}/status`)),
  )
  return threads.find((bytes) => bytes !== undefined) ?? 0
}

function residentIn(status: string): number | undefined {
  return kilobytes(status, /^VmRSS:\s+(\d+) kB/m)
}

/** Resident memory, in bytes, with a fair share of what is shared; undefined where the kernel does not tell. */
export async function shareBytes(pid: number): Promise<number | undefined> {
  try {
    return kilobytes(await readFile(`/proc/${pid}/smaps_rollup`, 'latin1'), /^Pss:\s+(\d+) kB/m)
  } catch {
    return undefined
  }
}

function kilobytes(text: string, pattern: RegExp): number | undefined {
  const found = pattern.exec(text)?.[1]
  return found === undefined ? undefined : Number(found) * KiB
}

function namesIn(path: string): string[] {
  try {
    return readdirSync(path)
  } catch {
    return []
  }
}

async function turn(): Promise<void> {
  await new Promise<void>((resolve) => {
    setImmediate(resolve)
  })
}
