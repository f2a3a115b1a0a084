// The kind `stdio`: servers that run as child processes.

import { join } from 'node:path'
import process from 'node:process'
import { Readable } from 'node:stream'
import { programFolder } from '../../folder.js'
import { TransportError } from '../../jsonrpc/errors.js'
import { write } from '../../jsonrpc/text.js'
import { errorText } from '../../text/error-text.js'
import { Redactor } from '../../text/redactor.js'
import { Server } from '../server/server.js'
import { LazyValue } from '../../runtime/lazy.js'
import type { Child, ChildExit, Runtime, Timer } from '../../runtime/runtime.js'
import { PendingConnection } from '../../transports/pending-connection.js'
import type { Dialed, DialEnd } from '../contracts/dial.js'
import { fromTransport, thatServer } from '../contracts/errors.js'
import type { ProxyContext, ServerLogins } from '../server/context.js'
import { isInstaller } from '../process/installers.js'
import { ServerProcess } from '../process/process.js'
import { confinedVariable } from '../contracts/sandbox-config.js'
import type { LoginVariable, ProcessSandbox, StdioServerConfig } from '../contracts/server-config.js'
import type { RunningProcess, Upstream } from '../contracts/upstream.js'

/** Values of variables, by their names. */
type Variables = ReadonlyMap<string, string>

export function openStdio(config: StdioServerConfig, around: ProxyContext): Upstream {
  const { runtime, log, limits, marks } = around
  const { name, loginVariables: logins } = config
  const discretion = new Redactor(config.secrets, (added) => around.onSecrets?.(added, name))
  const start = (tokens: Variables = new Map(), adopted?: Child): ServerProcess => {
    for (const value of tokens.values()) discretion.add(value)
    // The variables of the proxy's own replace those of the configuration.
    const env = { ...config.env, ...Object.fromEntries(tokens) }
    const walled = confined({ ...config, env })
    const marked = { ...walled, env: { ...walled.env, ...marks } }
    return new ServerProcess(marked, limits, runtime, log, discretion, adopted)
  }
  const fetchTokens = async (waiting: readonly LoginVariable[]): Promise<Variables> => {
    const { loginEnvironment } = await import('../../login/server-token.js')
    return loginEnvironment(waiting, runtime, (level, message) => log({ level, service: name, message }))
  }
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
    dial: () => (logins === undefined ? start() : new LateProcess(name, fetchTokens(logins), start)),
    ...(logins && { logins: loginsOf(logins, runtime) }),
    adopt: (running: RunningProcess) => start(undefined, childOf(name, running)),
  }
  const { crashesMax = limits.restart.crashesMax } = config
  const restart = { ...limits.restart, crashesMax }
  return new Server(config, behaviour, { ...around, limits: { ...limits, restart } })
}

/** A program with walls is started by `sandbox.js exec`, which confines it. */
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

/** npm takes more than a minute to give up a registry without a network, and asks it at every start in spite of its cache. */
function npmVariables({ network }: ProcessSandbox): Readonly<Record<string, string>> {
  if (network === 'host') return {}
  return network === 'none' ? { npm_config_offline: 'true' } : { npm_config_prefer_offline: 'true' }
}

/** The program is started when one of its logins is made. */
function loginsOf(logins: readonly LoginVariable[], runtime: Runtime): ServerLogins {
  const watched = new LazyValue(async () => {
    const { watchLogins } = await import('../../login/server-token.js')
    return watchLogins(logins, runtime)
  })
  return {
    onChange: (wake) => {
      let isOver = false
      let timer: Timer | undefined
      void watched.get().then((watch) => {
        if (!isOver) timer = watch.next(wake)
      })
      return {
        cancel: () => {
          isOver = true
          timer?.cancel()
        },
      }
    },
    underWay: undefined,
    ask: () => {},
    tool: undefined,
    close: () => {},
  }
}

/** A process whose variables are fetched before it starts; takes its messages until then. */
class LateProcess implements Dialed {
  readonly connection: PendingConnection
  readonly ended: Promise<DialEnd>
  readonly #started: Promise<ServerProcess | undefined>
  #process: ServerProcess | undefined
  #isStopped = false

  /** `start` is called unless it is stopped before `values` resolve. */
  constructor(service: string, values: Promise<Variables>, start: (values: Variables) => ServerProcess) {
    const started = values.then((found) => {
      if (this.#isStopped) throw new TransportError('TRANSPORT_CLOSED', 'it was stopped before it started')
      this.#process = start(found)
      return this.#process
    })
    this.#started = started.catch(() => undefined)
    this.connection = new PendingConnection(started.then(({ connection }) => connection))
    this.ended = started.then(
      ({ ended }) => ended,
      (error: unknown) => {
        const isKnown = error instanceof TransportError
        return fromTransport(
          service,
          isKnown ? error : new TransportError('TRANSPORT_TOKEN', errorText(error)),
        )
      },
    )
  }

  get pid(): number | undefined {
    return this.#process?.pid
  }

  get memoryBytes(): number | undefined {
    return this.#process?.memoryBytes
  }

  async stop(): Promise<void> {
    this.#isStopped = true
    await (await this.#started)?.stop()
  }
}

/**
 * The same as a child of the proxy's own: signals go to its process group where it leads one, else to it alone.
 *
 * @throws UpstreamError when the proxy cannot speak with it
 */
function childOf(service: string, running: RunningProcess): Child {
  const { pid, stdin, stdout, stderr } = running
  const why = unusableFor(running)
  if (why !== undefined || stdin === null || stdout === null)
    throw thatServer(service, 'spawn-failed', `cannot be adopted: ${why}`)
  let isOver = false
  const exited = exitOf(running).finally(() => {
    isOver = true
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

function unusableFor({ stdin, stdout }: RunningProcess): string | undefined {
  if (stdin === null || stdout === null) return "start it with stdio: ['pipe', 'pipe', …]"
  return stdout.readableEncoding === null ? undefined : 'its stdout must give bytes, without setEncoding'
}

function exitOf(running: RunningProcess): Promise<ChildExit> {
  const { exitCode, signalCode } = running
  if (exitCode !== null || signalCode !== null) return Promise.resolve(exitWith(exitCode, signalCode))
  return new Promise((resolve) => {
    running.once('exit', (code, signal) => resolve(exitWith(code, signal)))
  })
}

function exitWith(code: number | null, signal: string | null): ChildExit {
  return { code: code ?? undefined, signal: signal ?? undefined, spawnError: undefined }
}

/** A process group has the number of the process only where the process leads it. */
function signalled(running: RunningProcess, name: 'SIGTERM' | 'SIGKILL'): boolean {
  try {
    if (running.pid !== undefined) return process.kill(-running.pid, name)
  } catch {
    // It is in the process group of the program that started it.
  }
  return running.kill(name)
}
