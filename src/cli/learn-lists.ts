// The detached process of a warm-up; `warm-up.ts` gives the reason for it.

import process from 'node:process'
import { refuseLoop } from '../config/proxy-chain.js'
import { selectSchema } from '../config/config.js'
import { realRuntime } from '../real-runtime.js'
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

/** So long for an install: a server may have answered before its process came here, and then it says nothing more. */
const INSTALL_MS = 45_000

const LOOK_MS = 200

const STREAMS = 2

/** Keeps what servers list of which nothing is kept; gives the exit code. `installs` are processes, by which servers are installed. */
export async function learnLists(
  path: string,
  name: string,
  installs: ReadonlyMap<number, string>,
): Promise<number> {
  const endsAt = Date.now() + WARM_UP_MS
  const starts = [...installs].map(([pid, server], at) => {
    void drainGiven(at * STREAMS + 1)
    return { pid, server, spoken: drainGiven(at * STREAMS) }
  })
  const config = await loadWithSecrets({ path: path === '' ? undefined : path }, { schema: name })
  const schema = selectSchema(config, name)
  refuseLoop(config, [schema.name], process.env)
  const own = realRuntime()
  const lock = new FileLock(keptLock(config, schema, process.env), own)
  const isOwner = lock.tryTake()
  const goesOn = (): boolean => Date.now() < endsAt && (!isOwner || lock.isHeld)
  const installsEndAt = Date.now() + INSTALL_MS
  const installing = starts.map(async ({ pid, server, spoken }) => {
    await installOver(pid, spoken, () => goesOn() && Date.now() < installsEndAt)
    return server
  })
  if (!isOwner) {
    await Promise.all(installing)
    return 0
  }
  const children = new Children()
  const gate = new StartGate(config.processesMax ?? limits.upstream.processesMax, own)
  const learn = async (isMeant: (server: string) => boolean): Promise<void> => {
    const servers = unlistedServers(config, schema, process.env).filter((server) => isMeant(server.name))
    const options = { runtime: children.watch(own), profile: undefined, gate }
    const all = servers.map((server) => tryServer(config, schema, server, options))
    await Promise.race([Promise.all(all), until(() => !goesOn())])
  }
  const areInstalled = installing.map((each) => each.then((server) => learn((name) => name === server)))
  const installed = new Set(installs.values())
  try {
    await Promise.all([learn((server) => !installed.has(server)), ...areInstalled])
    return 0
  } finally {
    lock.free()
    children.kill()
    await own.close()
  }
}

async function until(isOver: () => boolean): Promise<void> {
  while (!isOver()) await new Promise((resolve) => setTimeout(resolve, LOOK_MS))
}

/** Resolves when the process of an install has ended, or its server has answered, although its stdin has ended. */
async function installOver(pid: number, spoken: Promise<void>, goesOn: () => boolean): Promise<void> {
  let hasSpoken = false
  void spoken.then(() => (hasSpoken = true))
  await until(() => hasSpoken || isGroupEmpty(pid) || !goesOn())
  try {
    process.kill(-pid, 'SIGKILL')
  } catch {
    // The group has ended.
  }
}
