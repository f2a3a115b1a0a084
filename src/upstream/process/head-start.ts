// Child processes that are spawned before the proxy is loaded.
//
// A child needs longer to start than the proxy does, so at the command line they
// start side by side. Whoever spawns the same command then gets the child that
// runs already.

import { write } from '../../jsonrpc/text.js'
import { spawnSpec } from './environment.js'
import type { Child, Runtime } from '../../runtime/runtime.js'
import type { ServerConfig } from '../contracts/server-config.js'

/** Starts the first child of every server, with these marks; gives the runtime that hands them out. */
export function headStart(
  servers: readonly ServerConfig[],
  runtime: Runtime,
  marks: Readonly<Record<string, string>>,
): Runtime {
  const started = new Map<string, Child[]>()
  for (const server of servers) {
    if (server.kind !== 'stdio' || server.disabled || server.lazy || server.unavailable !== undefined)
      continue
    const spec = spawnSpec(server, runtime.env, marks)
    const key = write(spec)
    started.set(key, [...(started.get(key) ?? []), runtime.spawn(spec)])
  }
  return { ...runtime, spawn: (spec) => started.get(write(spec))?.shift() ?? runtime.spawn(spec) }
}
