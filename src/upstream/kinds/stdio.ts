// The kind `stdio`: servers that run as child processes.

import { Redactor } from '../../text/redactor.js'
import { Server } from '../server/server.js'
import type { ProxyContext } from '../server/context.js'
import { confined } from './confined.js'
import { isInstaller } from '../process/installers.js'
import { ServerProcess } from '../process/process.js'
import { childOf, type RunningProcess } from '../contracts/running-process.js'
import type { StdioServerConfig } from '../contracts/server-config.js'
import type { Upstream } from '../contracts/upstream.js'

export function openStdio(config: StdioServerConfig, around: ProxyContext): Upstream {
  const { runtime, log, limits, marks } = around
  const discretion = new Redactor(config.secrets)
  const surroundings = { ...limits, runtime, log, discretion, marks }
  const behaviour = {
    ...config,
    discretion,
    namesCalls: false,
    installs: isInstaller(config.command, config.args),
    staysForClients: false,
    mirrors: false,
    // Half of the start time is left for `initialize`.
    probeMs: Math.min(limits.probeMs, config.startTimeoutMs / 2),
    // A program is what it is until it is started by another proxy.
    eraMs: Infinity,
    dial: () => new ServerProcess(confined(config), surroundings),
    adopt: (running: RunningProcess) =>
      new ServerProcess(config, surroundings, childOf(config.name, running)),
  }
  const restart = { ...limits.restart, ...config.restartLimits }
  return new Server(config, behaviour, { ...around, limits: { ...limits, restart } })
}
