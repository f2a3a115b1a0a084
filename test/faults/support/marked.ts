// Processes that belong to a run, wherever they are: what they inherited tells.

import { readFileSync, readdirSync } from 'node:fs'

/** The variable that a server of a run gets, and everything that it starts inherits. */
export const markName = 'FAULTS_MARK'

/** A process of a run. */
export interface MarkedProcess {
  readonly pid: number
  readonly command: string
}

/** Who carries this mark in its environment; needs Linux. */
export function marked(mark: string): MarkedProcess[] {
  const wanted = `${markName}=${mark}`
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => read(`/proc/${pid}/environ`).split('\0').includes(wanted))
    .map((pid) => ({ pid: Number(pid), command: read(`/proc/${pid}/cmdline`).replaceAll('\0', ' ').trim() }))
}

/** Empty for a process that has ended meanwhile, or that is somebody else's. */
function read(path: string): string {
  try {
    return readFileSync(path, 'latin1')
  } catch {
    return ''
  }
}

/** Waits until nobody carries the mark; gives who still does after `waitMs`. */
export async function leftAfter(mark: string, waitMs: number): Promise<MarkedProcess[]> {
  const endsAt = performance.now() + waitMs
  let left = marked(mark)
  while (left.length > 0 && performance.now() < endsAt) {
    await new Promise((resolve) => setTimeout(resolve, 50))
    left = marked(mark)
  }
  return left
}

/** Ends them, so that a run which failed leaves nothing behind either. */
export function killMarked(mark: string): void {
  for (const { pid } of marked(mark)) {
    try {
      process.kill(pid, 'SIGKILL')
    } catch {
      // It ended by itself.
    }
  }
}
