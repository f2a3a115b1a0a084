// The kinds of servers that there are.

import type { PoolSurroundings } from './pool.js'
import type { ServerConfig } from './server-config.js'
import { open as openStdio } from './stdio.js'
import type { Upstream } from './upstream.js'

/** Opens a configured server; undefined when this version has no such kind. */
export function openUpstream(config: ServerConfig, around: PoolSurroundings): Upstream | undefined {
  return config.kind === 'stdio' ? openStdio(config, around) : undefined
}
