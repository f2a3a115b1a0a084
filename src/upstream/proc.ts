// What Linux tells of processes in `/proc`.

import { readFileSync, readdirSync } from 'node:fs'
import { readFile } from 'node:fs/promises'

/** Files that are read between two turns of the event loop: less than a millisecond. */
const FILES_PER_TURN = 20

const KiB = 1024

/** The processes of every process group, read in slices so that messages go on. */
export async function processGroups(): Promise<ReadonlyMap<number, readonly number[]>> {
  const groups = new Map<number, number[]>()
  let files = 0
  for (const name of readdirSync('/proc')) {
    const pid = Number(name)
    if (!Number.isInteger(pid)) continue
    if (++files % FILES_PER_TURN === 0) await turn()
    const group = groupOf(pid)
    if (group === undefined) continue
    const members = groups.get(group)
    if (members === undefined) groups.set(group, [pid])
    else members.push(pid)
  }
  return groups
}

/** Resident memory, in bytes; what is shared with others counts in each of them. */
export function residentBytes(pid: number): number {
  return kilobytes(read(`/proc/${pid}/status`), /^VmRSS:\s+(\d+) kB/m) ?? 0
}

/** Resident memory, in bytes, with a fair share of what is shared; undefined where the kernel does not tell. */
export async function shareBytes(pid: number): Promise<number | undefined> {
  try {
    return kilobytes(await readFile(`/proc/${pid}/smaps_rollup`, 'latin1'), /^Pss:\s+(\d+) kB/m)
  } catch {
    return undefined
  }
}

/** The fields behind the name, which may hold anything: state, parent, group. */
function groupOf(pid: number): number | undefined {
  const stat = read(`/proc/${pid}/stat`)
  const group = stat.slice(stat.lastIndexOf(')') + 2).split(' ', 3)[2]
  return group === undefined ? undefined : Number(group)
}

function kilobytes(text: string, pattern: RegExp): number | undefined {
  const found = pattern.exec(text)?.[1]
  return found === undefined ? undefined : Number(found) * KiB
}

/** Empty for a process that has ended meanwhile. */
function read(path: string): string {
  try {
    return readFileSync(path, 'latin1')
  } catch {
    return ''
  }
}

async function turn(): Promise<void> {
  await new Promise<void>((resolve) => {
    setImmediate(resolve)
  })
}
