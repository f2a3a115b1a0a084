// The kind `sandbox`: the bundled program `sandbox.js`, started like any other server on stdio.

import { join } from 'node:path'
import process from 'node:process'
import { programFolder } from '../../folder.js'
import { write } from '../../jsonrpc/text.js'
import { Redactor } from '../../text/redactor.js'
import { settingsVariable } from '../contracts/sandbox-config.js'
import type { SandboxServerConfig, StdioServerConfig } from '../contracts/server-config.js'
import type { ServerAbout, Upstream } from '../contracts/upstream.js'
import { Server } from '../server/server.js'
import { ServerProcess } from '../process/process.js'
import { SandboxLeg } from './sandbox-leg.js'
import type { ProxyContext } from '../server/context.js'

/** Every session has a separate queue. */
const CONCURRENCY = 1024

/** Before it is started again after a crash. */
const RESTART_DELAY_MS = 1000

const STOP_TIMEOUT_MS = 5000

const MiB = 1024 ** 2

/** Of the program itself, without its sessions. */
const OWN_BYTES_MAX = 1024 * MiB

export function openSandbox(config: SandboxServerConfig, around: ProxyContext): Upstream {
  const { runtime, log, limits, marks } = around
  const discretion = new Redactor(config.secrets, (added) => around.onSecrets?.(added, config.name))
  const program = programConfig(config, marks)
  let about: ServerAbout | undefined
  const behaviour = {
    ...program,
    discretion,
    // It asks nothing, so calls of several clients need not wait for each other.
    namesCalls: true,
    staysForClients: true,
    mirrors: false,
    probeMs: Infinity,
    eraMs: Infinity,
    dial: () => new ServerProcess(program, limits, runtime, log, discretion),
    about: () => about,
  }
  const leg: ProxyContext['leg'] = (spoken, memory) =>
    new SandboxLeg(around.leg(spoken, memory), config.sandbox.sessions === 'client', (own) => {
      about = own
    })
  return new Server(config, behaviour, { ...around, leg })
}

/** The program as a server on stdio. */
function programConfig(
  config: SandboxServerConfig,
  marks: Readonly<Record<string, string>>,
): StdioServerConfig {
  const { sandbox, ...common } = config
  const { memoryMiBMax } = sandbox
  return {
    ...common,
    kind: 'stdio',
    command: process.execPath,
    args: [join(programFolder, 'sandbox.js')],
    env: { [settingsVariable]: write(sandbox), ...marks },
    // It finds container engines and the systemd of its user by variables of many names.
    inheritEnv: true,
    cwd: process.cwd(),
    restart: true,
    restartDelayMs: RESTART_DELAY_MS,
    crashesMax: undefined,
    concurrency: CONCURRENCY,
    processes: 1,
    isolation: 'shared',
    idleTimeoutMs: undefined,
    stopTimeoutMs: STOP_TIMEOUT_MS,
    memoryLimitBytes: memoryMiBMax === undefined ? undefined : memoryMiBMax * MiB + OWN_BYTES_MAX,
    sandbox: undefined,
    onTimeout: 'cancel',
  }
}
