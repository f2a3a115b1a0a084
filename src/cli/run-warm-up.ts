// The detached process of a warm-up; `warm-up.ts` says why there is one.

import process from 'node:process'
import { refuseLoop } from '../config/chain.js'
import { selectSchema } from '../config/config.js'
import { keptLock, unlistedServers } from '../proxy/kept-report.js'
import { listServers } from '../proxy/trial.js'
import { realRuntime } from '../real-runtime.js'
import { FileLock } from '../runtime/file-lock.js'
import { drainGiven } from '../upstream/process/detached.js'
import { Children } from './children.js'
import { loadWithSecrets } from './load.js'

/** In all: for the installs that were under way, and for the servers. */
const WARM_UP_MS = 120_000

/** How often the installs and the lock are looked at. */
const LOOK_MS = 200

/** Each install has a stdout and a stderr. */
const STREAMS = 2

/** `args` are the configuration (empty for the built-in search), the schema, and the processes of the installs. */
export async function runWarmUp([path = '', name = '', ...pids]: readonly string[]): Promise<number> {
  const endsAt = Date.now() + WARM_UP_MS
  drainGiven(pids.length * STREAMS)
  await ended(pids.map(Number), endsAt)
  const config = await loadWithSecrets({ path: path === '' ? undefined : path }, { schema: name })
  const schema = selectSchema(config, name)
  refuseLoop(config, [schema.name], process.env)
  const own = realRuntime()
  const lock = new FileLock(keptLock(config, process.env), own)
  if (!lock.tryTake()) return 0
  const children = new Children()
  try {
    const servers = unlistedServers(config, schema, process.env)
    if (servers.length > 0)
      await listServers(config, { ...schema, servers }, children.watch(own), over(lock, endsAt))
    return 0
  } finally {
    lock.free()
    children.kill()
    await own.close()
  }
}

/** Resolves when the time is over, or the lock is gone. */
async function over(lock: FileLock, endsAt: number): Promise<void> {
  while (lock.isHeld && Date.now() < endsAt) await new Promise((resolve) => setTimeout(resolve, LOOK_MS))
}

/** Resolves when these have ended; those that have not at the deadline are killed. */
async function ended(pids: readonly number[], endsAt: number): Promise<void> {
  let left = pids.filter(isAlive)
  while (left.length > 0 && Date.now() < endsAt) {
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS))
    left = left.filter(isAlive)
  }
  for (const pid of left) signal(-pid, 'SIGKILL')
}

function isAlive(pid: number): boolean {
  return signal(-pid, 0)
}

/** Whether there is such a group. */
function signal(pid: number, name: 'SIGKILL' | 0): boolean {
  try {
    return process.kill(pid, name)
  } catch {
    return false
  }
}
