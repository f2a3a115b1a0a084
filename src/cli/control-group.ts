// Checks whether the control group of this process has room for all server processes that may run.

import { join } from 'node:path'
import { readTextFile } from '../runtime/read-file.js'

/** The cost of one server process, measured with servers on Node.js: its threads, and its private memory. */
const tasksPerProcess = 11
const bytesPerProcess = 23_000_000
const ownTasks = 40
const ownBytes = 200_000_000

const FILE_BYTES_MAX = 65_536

/** The files of cgroup v2, and how much of each limit a process needs. */
const limits = [
  { file: 'pids.max', remedy: 'TasksMax= or --pids-limit', perProcess: tasksPerProcess, own: ownTasks },
  { file: 'memory.max', remedy: 'MemoryMax= or --memory', perProcess: bytesPerProcess, own: ownBytes },
]

/** A warning for each limit that is too small for `processesMax` processes. `root` is `/` except in tests. */
export function tightLimits(processesMax: number, root = '/'): string[] {
  return limits.flatMap(({ file, remedy, perProcess, own }) => {
    const limit = limitIn(root, file)
    const fitting = Math.max(1, Math.floor((limit - own) / perProcess))
    if (fitting >= processesMax) return []
    const needed = own + processesMax * perProcess
    return [
      `${file} of the control group is ${limit}, and ${processesMax} processes of servers (processesMax) need about ${needed}: ` +
        `raise ${remedy}, or set "processesMax" to ${fitting}`,
    ]
  })
}

/** The limit for the group of this process; Infinity without cgroup v2, and for `max`. */
function limitIn(root: string, file: string): number {
  const [, path = ''] = /^0::(\/.*)$/m.exec(textOf(join(root, 'proc/self/cgroup'))) ?? []
  return Number(textOf(join(root, 'sys/fs/cgroup', path, file))) || Infinity
}

function textOf(path: string): string {
  const file = readTextFile(path, FILE_BYTES_MAX)
  return file.kind === 'read' ? file.text : ''
}
