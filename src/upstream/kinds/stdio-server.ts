// The kind `stdio`: servers that run as child processes.

import { join } from 'node:path'
import process from 'node:process'
import { Readable } from 'node:stream'
import { programFolder } from '../../folder.js'
import { write } from '../../jsonrpc/text.js'
import { Redactor } from '../../text/redactor.js'
import { Server } from '../server/configured-server.js'
import { signalProcess } from '../../runtime/process-table.js'
import type { Child, ChildExit } from '../../runtime/runtime.js'
import { thatServer } from '../contracts/upstream-error.js'
import type { ProxyContext } from '../server/context.js'
import { isInstaller } from '../process/installers.js'
import { ServerProcess } from '../process/process.js'
import { confinedVariable } from '../contracts/sandbox-config.js'
import type { ProcessSandbox, StdioServerConfig } from '../contracts/server-config.js'
import type { RunningProcess } from '../contracts/upstream.js'

export function openStdio(config: StdioServerConfig, around: ProxyContext): Server {
  const { limits, marks } = around
  const { name } = config
  const redactor = new Redactor(config.secrets, (added) => around.onSecrets?.(added, name))
  const start = (adopted?: Child): ServerProcess => {
    const walled = confined(config)
    // The variables of the proxy replace those of the configuration.
    const marked = { ...walled, env: { ...walled.env, ...marks } }
    return new ServerProcess(marked, around, redactor, adopted)
  }
  const behaviour = {
    ...config,
    redactor,
    questionsNameTheirCall: false,
    installs: isInstaller(config.command, config.args),
    // Half of the start time is left for `initialize`.
    probeMs: Math.min(limits.probeMs, config.startTimeoutMs / 2),
    dial: () => start(),
    adopt: (running: RunningProcess) => start(childOf(name, running)),
  }
  const { crashesMax = limits.restart.crashesMax } = config
  const restart = { ...limits.restart, crashesMax }
  return new Server(config, behaviour, { ...around, limits: { ...limits, restart } })
}

/** `sandbox.js exec` starts and confines a program with a sandbox. */
function confined(config: StdioServerConfig): StdioServerConfig {
  const { sandbox, command, args, cwd, env } = config
  if (sandbox === undefined) return config
  const policy = write({ ...sandbox, cwd })
  const program = join(programFolder, 'sandbox.js')
  const variables = isInstaller(command, args) ? { ...npmVariables(sandbox), ...env } : env
  return {
    ...config,
    env: { [confinedVariable]: write(variables) },
    command: process.execPath,
    args: [program, 'exec', '--policy', policy, '--', command, ...args],
  }
}

/** Without a network, npm tries the registry for over a minute at every start, in spite of its cache. */
function npmVariables({ network }: ProcessSandbox): Readonly<Record<string, string>> {
  if (network === 'host') return {}
  return network === 'none' ? { npm_config_offline: 'true' } : { npm_config_prefer_offline: 'true' }
}

/**
 * Adapts a running process. Signals go to its process group if it leads one, else to the process alone.
 *
 * @throws UpstreamError if the streams of the process cannot be used
 */
function childOf(service: string, running: RunningProcess): Child {
  const { pid, stdin, stdout, stderr, exitCode, signalCode } = running
  const refused = (why: string): Error => thatServer(service, 'spawn-failed', `cannot be adopted: ${why}`)
  if (stdin === null || stdout === null) throw refused("start it with stdio: ['pipe', 'pipe', …]")
  if (stdout.readableEncoding !== null) throw refused('its stdout must give bytes, without setEncoding')
  let isOver = false
  const exited = new Promise<ChildExit>((resolve) => {
    const end = (code: number | null, signal: string | null): void => {
      isOver = true
      resolve({ code: code ?? undefined, signal: signal ?? undefined, spawnError: undefined })
    }
    if (exitCode === null && signalCode === null) running.once('exit', end)
    else end(exitCode, signalCode)
  })
  return {
    pid,
    stdin,
    stdout,
    stderr: stderr ?? Readable.from([]),
    exited,
    signal: (name) => !isOver && signalled(running, name),
  }
}

/** A process group has the number of the process only where the process leads it. */
function signalled(running: RunningProcess, name: 'SIGTERM' | 'SIGKILL'): boolean {
  return (running.pid !== undefined && signalProcess(-running.pid, name)) || running.kill(name)
}
