// Whether the control group of this process has room for as many processes of servers as the configuration allows.

import { join } from 'node:path'
import { readTextFile } from '../runtime/read-file.js'

/** The cost of one process of a server, measured with servers on Node.js: its threads, and its own memory. */
const tasksPerProcess = 11
const bytesPerProcess = 23_000_000
const ownTasks = 40
const ownBytes = 200_000_000

const FILE_BYTES_MAX = 65_536

/** The files of cgroup v2, with what each process takes of what they limit. */
const limits = [
  { file: 'pids.max', remedy: 'TasksMax= or --pids-limit', perProcess: tasksPerProcess, own: ownTasks },
  { file: 'memory.max', remedy: 'MemoryMax= or --memory', perProcess: bytesPerProcess, own: ownBytes },
]

/** A warning for each limit of the control group that `processesMax` processes do not fit. `root` is `/` outside of tests. */
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

/** The limit of the group of this process; Infinity without cgroup v2, and for `max`. */
function limitIn(root: string, file: string): number {
  const [, path = ''] = /^0::(\/.*)$/m.exec(textOf(join(root, 'proc/self/cgroup'))) ?? []
  return Number(textOf(join(root, 'sys/fs/cgroup', path, file))) || Infinity
}

function textOf(path: string): string {
  const file = readTextFile(path, FILE_BYTES_MAX)
  return file.kind === 'read' ? file.text : ''
}
