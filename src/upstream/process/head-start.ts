// Child processes that are spawned before the proxy is loaded.
//
// A child needs longer to start than the proxy does, so at the command line they
// start side by side. Whoever spawns the same command then gets the child that
// runs already. Where descriptors are few, none starts before the proxy is loaded.

import { write } from '../../jsonrpc/text.js'
import { spawnSpec } from './environment.js'
import type { Child, Runtime } from '../../runtime/runtime.js'
import { leavesRoomToLoad } from './descriptors.js'
import type { ServerConfig, StdioServerConfig } from '../contracts/server-config.js'

/** Starts the first child of every server, with these marks; gives the runtime that hands them out. */
export function headStart(
  servers: readonly ServerConfig[],
  runtime: Runtime,
  marks: Readonly<Record<string, string>>,
): Runtime {
  const started = new Map<string, Child[]>()
  const early = servers.filter(startsEarly)
  if (!leavesRoomToLoad(early.length)) return runtime
  for (const server of early) {
    const spec = spawnSpec(server, runtime.env, marks)
    const key = write(spec)
    started.set(key, [...(started.get(key) ?? []), runtime.spawn(spec)])
  }
  return { ...runtime, spawn: (spec) => started.get(write(spec))?.shift() ?? runtime.spawn(spec) }
}

function startsEarly(server: ServerConfig): server is StdioServerConfig {
  return server.kind === 'stdio' && !server.disabled && !server.lazy && server.unavailable === undefined
}
