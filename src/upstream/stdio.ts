// The kind `stdio`: servers that run as child processes.

import { Pool, type PoolSurroundings } from './pool.js'
import { ServerProcess } from './process.js'
import type { StdioServerConfig } from './server-config.js'
import type { Upstream } from './upstream.js'

export function open(config: StdioServerConfig, around: PoolSurroundings): Upstream {
  const { runtime, log, limits } = around
  const surroundings = { ...limits, runtime, log }
  const pooling = { ...config, dial: () => new ServerProcess(config, surroundings) }
  return new Pool(config, pooling, around)
}
