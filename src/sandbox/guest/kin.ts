// Who belongs to a program: its descendants, and those who have left them but carry its mark.

import { readFileSync, readdirSync } from 'node:fs'
import process from 'node:process'

/** The variable by which processes of one call are known when their parents are gone. */
export const callMark = 'SANDBOX_CALL'

interface GuestProcessRow {
  readonly pid: number
  readonly parent: number
  readonly session: number
}

/** The processes of the call whose first process this is, with it. */
export function kinOf(first: number, call: number): number[] {
  const rows = allProcesses()
  const kin = new Set(
    rows
      .filter(({ pid, session }) => pid === first || session === first || isMarked(pid, call))
      .map(({ pid }) => pid),
  )
  for (let before = -1; before < kin.size;) {
    before = kin.size
    for (const { pid, parent } of rows) if (kin.has(parent)) kin.add(pid)
  }
  kin.delete(process.pid)
  return [...kin]
}

export function signalProcess(pid: number, signal: 'SIGSTOP' | 'SIGKILL'): void {
  try {
    process.kill(pid, signal)
  } catch {
    // It has ended.
  }
}

function allProcesses(): GuestProcessRow[] {
  return readdirSync('/proc').flatMap((name) => {
    if (!/^\d+$/.test(name)) return []
    const stat = read(`/proc/${name}/stat`)
    // The name may hold anything, so it is what stands behind it that counts: state, parent, group, session.
    const [, parent, , session] = stat.slice(stat.lastIndexOf(')') + 2).split(' ', 4)
    return stat === '' ? [] : [{ pid: Number(name), parent: Number(parent), session: Number(session) }]
  })
}

function isMarked(pid: number, call: number): boolean {
  return read(`/proc/${pid}/environ`).split('\0').includes(`${callMark}=${call}`)
}

/** Empty for a process that has ended meanwhile, or that does not let itself be read. */
function read(path: string): string {
  try {
    return readFileSync(path, 'latin1')
  } catch {
    return ''
  }
}
