// The kind `stdio`: servers that run as child processes.

import { TransportError } from '../../jsonrpc/errors.js'
import { errorText } from '../../text/error-text.js'
import { Redactor } from '../../text/redactor.js'
import { Server } from '../server/server.js'
import { LazyValue } from '../../runtime/lazy.js'
import type { Runtime, Timer } from '../../runtime/runtime.js'
import { RemoteConnection } from '../../transports/http-client/remote-connection.js'
import type { Dialed, DialEnd } from '../contracts/dial.js'
import { fromTransport } from '../contracts/errors.js'
import type { ProxyContext, ServerLogins } from '../server/context.js'
import { confined } from './confined.js'
import { isInstaller } from '../process/installers.js'
import { type ProcessSurroundings, ServerProcess } from '../process/process.js'
import { childOf, type RunningProcess } from '../contracts/running-process.js'
import type { LoginVariable, StdioServerConfig } from '../contracts/server-config.js'
import type { Upstream } from '../contracts/upstream.js'

export function openStdio(config: StdioServerConfig, around: ProxyContext): Upstream {
  const { runtime, log, limits, marks } = around
  const discretion = new Redactor(config.secrets, (added) => around.onSecrets?.(added, config.name))
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
    dial: () => dial(config, surroundings),
    ...(config.loginVariables && { logins: loginsOf(config.loginVariables, runtime) }),
    adopt: (running: RunningProcess) =>
      new ServerProcess(config, surroundings, childOf(config.name, running)),
  }
  const restart = { ...limits.restart, ...config.restartLimits }
  return new Server(config, behaviour, { ...around, limits: { ...limits, restart } })
}

function dial(config: StdioServerConfig, around: ProcessSurroundings): Dialed {
  const { loginVariables: logins, env } = config
  if (logins === undefined) return new ServerProcess(confined(config), around)
  const { runtime, log, discretion } = around
  const values = import('../../login/server-token.js').then(({ loginEnvironment }) =>
    loginEnvironment(logins, runtime, (level, message) => log({ level, service: config.name, message })),
  )
  return new LateProcess(config.name, values, (found) => {
    for (const value of found.values()) discretion.add(value)
    return new ServerProcess(confined({ ...config, env: { ...env, ...Object.fromEntries(found) } }), around)
  })
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
    ask: () => {},
    tool: undefined,
    close: () => {},
  }
}

/** A process whose variables are fetched before it starts; takes its messages until then. */
class LateProcess implements Dialed {
  readonly connection: RemoteConnection
  readonly ended: Promise<DialEnd>
  readonly #started: Promise<ServerProcess | undefined>
  #process: ServerProcess | undefined
  #isStopped = false

  /** `start` is called unless it is stopped before `values` resolve. */
  constructor(
    service: string,
    values: Promise<ReadonlyMap<string, string>>,
    start: (values: ReadonlyMap<string, string>) => ServerProcess,
  ) {
    const started = values.then((found) => {
      if (this.#isStopped) throw new TransportError('TRANSPORT_CLOSED', 'it was stopped before it started')
      this.#process = start(found)
      return this.#process
    })
    this.#started = started.catch(() => undefined)
    this.connection = new RemoteConnection(started.then(({ connection }) => ({ connection })))
    this.ended = started.then(
      ({ ended }) => ended,
      (error: unknown) => {
        const cause =
          error instanceof TransportError ? error : new TransportError('TRANSPORT_TOKEN', errorText(error))
        const { reason, message, details } = fromTransport(service, cause)
        return { reason, message, details }
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
