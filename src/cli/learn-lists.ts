// The detached process of a warm-up; `warm-up.ts` explains why it exists.

import process from 'node:process'
import { setTimeout } from 'node:timers/promises'
import { refuseLoop } from '../config/proxy-chain.js'
import { selectSchema } from '../config/config.js'
import { FileLock } from '../runtime/file-lock.js'
import { StartGate } from '../upstream/server/start-gate.js'
import { limits } from '../limits.js'
import { loadWithSecrets } from './load.js'
import { tryServer, withChildren } from './server-trials.js'
import { keptLock, unlistedServers } from './warm-up.js'

const WARM_UP_MS = 120_000

/** The proxy or its guardian ends servers within this time, also servers that are being installed. */
const PREDECESSOR_MS = 1500

const LOOK_MS = 200

/** Keeps the lists of servers of which nothing is kept. @returns the exit code */
export async function learnLists(path: string, name: string): Promise<number> {
  const endsAt = Date.now() + WARM_UP_MS
  const config = await loadWithSecrets({ path: path === '' ? undefined : path }, { schema: name })
  const schema = selectSchema(config, name)
  refuseLoop(config, [schema.name], process.env)
  return withChildren(config, [schema.name], async ({ runtime, interrupted }) => {
    const lock = new FileLock(keptLock(config, schema, process.env), runtime)
    if (!lock.tryAcquire()) return 0
    try {
      await setTimeout(PREDECESSOR_MS)
      const gate = new StartGate(config.processesMax ?? limits.upstream.processesMax, runtime)
      const servers = unlistedServers(config, schema, process.env)
      const options = { runtime, profile: undefined, gate }
      const all = Promise.all(servers.map((server) => tryServer(config, schema, server, options)))
      const isOver = async (): Promise<void> => {
        while (Date.now() < endsAt && lock.isHeld) await setTimeout(LOOK_MS)
      }
      await Promise.race([all, isOver(), interrupted])
      return 0
    } finally {
      lock.release()
    }
  })
}
