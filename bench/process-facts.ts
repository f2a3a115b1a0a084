// The facts of the kernel about one process: processor time and resident memory.
//
// Linux only; elsewhere the figures that need them are left out, with a message.

import { readFileSync, readdirSync } from 'node:fs'

function read(path: string): string | undefined {
  try {
    return readFileSync(path, 'latin1')
  } catch {
    return undefined
  }
}

function threadSeconds(path: string): number | undefined {
  const first = read(path)?.split(' ')[0]
  return first === undefined || first === '' ? undefined : Number(first) / 1e9
}

/**
 * Processor time, user and system, of all threads of a process so far; undefined where the kernel does not say.
 * `schedstat` counts nanoseconds.
 */
export function cpuSeconds(pid: number): number | undefined {
  let threads: string[]
  try {
    threads = readdirSync(`/proc/${pid}/task`)
  } catch {
    return undefined
  }
  let sum = 0
  for (const thread of threads) {
    const seconds = threadSeconds(`/proc/${pid}/task/${thread}/schedstat`)
    if (seconds === undefined) return undefined
    sum += seconds
  }
  return sum
}

/** VmRSS in bytes; undefined where the kernel does not say. */
export function residentBytes(pid: number): number | undefined {
  const kilobytes = /^VmRSS:\s+(\d+) kB/m.exec(read(`/proc/${pid}/status`) ?? '')?.[1]
  return kilobytes === undefined ? undefined : Number(kilobytes) * 1024
}
