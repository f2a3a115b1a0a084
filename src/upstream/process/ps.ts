// Reads processes from `ps`, where there is no `/proc`.

import { execFile } from 'node:child_process'

const OUTPUT_BYTES_MAX = 16 * 1024 * 1024

const KiB = 1024

/** Resident memory of every process group, in bytes; undefined where `ps` cannot be run. */
export async function residentByGroup(): Promise<ReadonlyMap<number, number> | undefined> {
  const output = await ps()
  if (output === undefined) return undefined
  const groups = new Map<number, number>()
  for (const line of output.split('\n')) {
    const [group = Number.NaN, kilobytes = Number.NaN] = line.trim().split(/\s+/).map(Number)
    if (Number.isInteger(group) && Number.isInteger(kilobytes))
      groups.set(group, (groups.get(group) ?? 0) + kilobytes * KiB)
  }
  return groups
}

async function ps(): Promise<string | undefined> {
  return new Promise((resolve) => {
    const limits = { maxBuffer: OUTPUT_BYTES_MAX, timeout: 5000 }
    try {
      execFile('ps', ['-A', '-o', 'pgid=', '-o', 'rss='], limits, (error, stdout) =>
        resolve(error === null ? stdout : undefined),
      )
    } catch {
      resolve(undefined)
    }
  })
}
