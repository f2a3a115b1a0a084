// Finds the processes of a run by an environment variable that they inherit.

import { readFileSync, readdirSync } from 'node:fs'

/** A server of a run gets this variable, and its descendants inherit it. */
export const markName = 'FAULTS_MARK'

export interface MarkedProcess {
  readonly pid: number
  readonly command: string
}

/** The processes with this mark in their environment. Needs Linux. */
export function marked(mark: string): MarkedProcess[] {
  const wanted = `${markName}=${mark}`
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => read(`/proc/${pid}/environ`).split('\0').includes(wanted))
    .map((pid) => ({ pid: Number(pid), command: read(`/proc/${pid}/cmdline`).replaceAll('\0', ' ').trim() }))
}

/** Empty for a process that has ended, or that belongs to another user. */
function read(path: string): string {
  try {
    return readFileSync(path, 'latin1')
  } catch {
    return ''
  }
}

/** Waits until no process has the mark. Resolves with those that remain after `waitMs`. */
export async function leftAfter(mark: string, waitMs: number): Promise<MarkedProcess[]> {
  const endsAt = performance.now() + waitMs
  let left = marked(mark)
  while (left.length > 0 && performance.now() < endsAt) {
    await new Promise((resolve) => setTimeout(resolve, 50))
    left = marked(mark)
  }
  return left
}

/** Cleans up after a run that failed. */
export function killMarked(mark: string): void {
  for (const { pid } of marked(mark))
    try {
      process.kill(pid, 'SIGKILL')
    } catch {
      // The process has already ended.
    }
}
