// Which process has something on the host that may outlive it: a folder, a control group.
//
// Numbers of processes are given again, and count in one namespace only. So an owner is told by its number, by when it
// started, and by where the number counts.

import { readlinkSync } from 'node:fs'
import { isPidFree, readProcFile, readProcess } from '../runtime/process-table.js'

/** The process, when it started, the boot of the machine, and the namespace of its number; of another process with the number it differs. */
export function ownerOf(pid: number): string {
  const boot = readProcFile('/proc/sys/kernel/random/boot_id').trim() || '-'
  return `${pid} ${startOf(pid) ?? exists(pid)} ${boot} ${namespaceOfPids()}`
}

/** The same for what does not outlive the boot, as a part of a file name. */
export function ownerInName(pid: number): string {
  return `${pid}.${startOf(pid) ?? '-'}.${namespaceNumber()}`
}

/** Whether the process that a file name tells has ended for certain; of another namespace nobody here knows. */
export function hasOwnerEnded(owner: string): boolean {
  const [, pid, started, namespace] = /^(\d+)\.(\d+)\.(\d+)$/.exec(owner) ?? []
  if (namespace === undefined || namespace !== namespaceNumber()) return false
  return (startOf(Number(pid)) ?? (isPidFree(Number(pid)) ? undefined : started)) !== started
}

/** When a process started, as the kernel counts; undefined when that cannot be read. */
export function startOf(pid: number): string | undefined {
  return readProcess(pid)?.startedAt
}

/** Where processes have no `/proc`. */
function exists(pid: number): string {
  return isPidFree(pid) ? 'gone' : 'there'
}

function namespaceNumber(): string {
  return /\d+/.exec(namespaceOfPids())?.[0] ?? '-'
}

function namespaceOfPids(): string {
  try {
    return readlinkSync('/proc/self/ns/pid')
  } catch {
    return '-'
  }
}
