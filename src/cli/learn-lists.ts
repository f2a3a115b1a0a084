// The detached process of a warm-up; `warm-up.ts` gives the reason for it.

import process from 'node:process'
import { refuseLoop } from '../config/proxy-chain.js'
import { selectSchema } from '../config/config.js'
import { realRuntime } from '../real-runtime.js'
import { within } from '../runtime/deadline.js'
import { FileLock } from '../runtime/file-lock.js'
import { drainGiven } from '../upstream/process/detached.js'
import { isGroupEmpty } from '../upstream/process/process-tree.js'
import { StartGate } from '../upstream/server/start-gate.js'
import { limits } from '../limits.js'
import { Children } from './shutdown.js'
import { loadWithSecrets } from './load.js'
import { tryServer } from './server-trials.js'
import { keptLock, unlistedServers } from './warm-up.js'

/** In all: for the installs that were under way, and for the servers. */
const WARM_UP_MS = 120_000

/** So long servers wait for the end of their installs. */
const INSTALL_MS = 20_000

const LOOK_MS = 200

const STREAMS = 2

/** Keeps what servers list of which nothing is kept; gives the exit code. `installs` are processes, by which servers are installed. */
export async function learnLists(
  path: string,
  name: string,
  installs: ReadonlyMap<number, string>,
): Promise<number> {
  const endsAt = Date.now() + WARM_UP_MS
  drainGiven(installs.size * STREAMS)
  const config = await loadWithSecrets({ path: path === '' ? undefined : path }, { schema: name })
  const schema = selectSchema(config, name)
  refuseLoop(config, [schema.name], process.env)
  const own = realRuntime()
  const lock = new FileLock(keptLock(config, process.env), own)
  const left = new Set(installs.keys())
  const installed = ended(left, endsAt)
  if (!lock.tryTake()) {
    await installed
    kill(left)
    return 0
  }
  const children = new Children()
  const installing = new Set(installs.values())
  const gate = new StartGate(config.processesMax ?? limits.upstream.processesMax, own)
  const learn = async (areInstalling: boolean): Promise<void> => {
    const unlisted = unlistedServers(config, schema, process.env)
    const servers = unlisted.filter((server) => installing.has(server.name) === areInstalling)
    const options = { runtime: children.watch(own), profile: undefined, gate }
    const all = servers.map((server) => tryServer(config, schema, server, options))
    await Promise.race([Promise.all(all), over(lock, endsAt)])
  }
  try {
    // A server that ignores the end of its stdin looks as if its install went on.
    const ready = within(installed, INSTALL_MS, own)
    await Promise.all([learn(false), ready.then(() => learn(true))])
    return 0
  } finally {
    lock.free()
    kill(left)
    children.kill()
    await own.close()
  }
}

/** Resolves when the time is over, or the lock is gone. */
async function over(lock: FileLock, endsAt: number): Promise<void> {
  while (lock.isHeld && Date.now() < endsAt) await new Promise((resolve) => setTimeout(resolve, LOOK_MS))
}

/** Resolves when these have ended, or at the deadline; those that have are taken out. */
async function ended(pids: Set<number>, endsAt: number): Promise<void> {
  while (pids.size > 0 && Date.now() < endsAt) {
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS))
    for (const pid of pids) if (isGroupEmpty(pid)) pids.delete(pid)
  }
}

function kill(pids: ReadonlySet<number>): void {
  for (const pid of pids)
    try {
      process.kill(-pid, 'SIGKILL')
    } catch {
      // The group has ended.
    }
}
