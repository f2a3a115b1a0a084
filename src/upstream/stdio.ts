// The kind `stdio`: servers that run as child processes.

import { Discretion } from '../transports/discretion.js'
import { Pool } from './pool.js'
import type { PoolSurroundings } from './pool-parts.js'
import { ServerProcess } from './process.js'
import { StackTraces } from './stack-traces.js'
import { type RunningProcess, childOf } from './running-process.js'
import type { StdioServerConfig } from './server-config.js'
import type { Upstream } from './upstream.js'

export interface StdioSurroundings extends PoolSurroundings {
  /** Variables of the proxy's own for every process that is started. */
  readonly marks: Readonly<Record<string, string>>
}

export function open(config: StdioServerConfig, around: StdioSurroundings): Upstream {
  const { runtime, log, limits, marks } = around
  const discretion = new Discretion(config.secrets)
  const traces = new StackTraces()
  const surroundings = { ...limits, runtime, log, discretion, marks, traces }
  const pooling = {
    ...config,
    discretion,
    dial: () => new ServerProcess(config, surroundings),
    adopt: (running: RunningProcess) =>
      new ServerProcess(config, surroundings, childOf(config.name, running)),
  }
  const restart = { ...limits.restart, ...config.restartLimits }
  return new Pool(config, pooling, { ...around, limits: { ...limits, restart } })
}
