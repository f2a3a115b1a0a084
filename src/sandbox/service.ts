// A sandbox service: one runtime, its sessions, and the connected clients.

import type { Connection } from '../jsonrpc/connection.js'
import type { LogSink, Runtime, Timer } from '../runtime/runtime.js'
import type { ServerAbout } from '../upstream/contracts/upstream.js'
import type { SandboxSettings } from '../upstream/contracts/sandbox-config.js'
import type { RuntimeProbe, SandboxRuntime } from './runtime.js'
import { type ProbedRuntime, chooseRuntime } from './runtimes.js'
import { SandboxServer, type ServedSandbox } from './server.js'
import { Sessions } from './sessions.js'
import { toolsOf } from './tools.js'
import { Turns } from './runs.js'
import { errorText } from '../text/error-text.js'

/** The most large reads of all sessions that run, and that wait, at a time. */
const LARGE_READS_MAX = 4
const LARGE_READS_WAITING_MAX = 64

export interface ServiceParts {
  readonly settings: SandboxSettings
  readonly runtime: Runtime
  readonly log: LogSink
  /** The folder for files of sessions; undefined selects the folder of the runtime. */
  readonly stateFolder?: string
}

/**
 * Chooses a usable runtime, and removes the remains of dead services.
 *
 * @throws NoRuntimeError
 */
export async function openService(
  parts: ServiceParts,
  choose: () => Promise<ProbedRuntime> = () =>
    chooseRuntime(parts.settings.runtime, { ...parts.settings, stateFolder: undefined, ...parts }),
): Promise<SandboxService> {
  const found = await choose()
  await found.runtime.sweep()
  return new SandboxService(parts, found.runtime, found.probe)
}

/** Serves connections until it is closed. */
export class SandboxService {
  readonly facts: ServerAbout
  readonly #sandbox: SandboxRuntime
  readonly #served: ServedSandbox
  readonly #servers = new Set<SandboxServer>()
  readonly #timers = new Set<Timer>()
  readonly #log: LogSink
  #closing: Promise<void> | undefined

  constructor({ settings, runtime, log }: ServiceParts, sandbox: SandboxRuntime, probe: RuntimeProbe) {
    const tools = toolsOf(settings)
    const { id, isolation } = sandbox
    const network = sandbox.fixedNetwork ?? settings.network.kind
    this.facts = { runtime: id, isolation, network, tools: tools.map((tool) => tool.name) }
    const largeReads = new Turns(LARGE_READS_MAX, LARGE_READS_WAITING_MAX)
    this.#sandbox = sandbox
    this.#log = log
    const sessions = new Sessions(settings, sandbox, runtime, log)
    this.#served = { settings, sessions, runtime, tools, log, about: this.facts, largeReads }
    this.#every(settings.cleanupIntervalMs, () => sessions.endExpired())
    this.#every(settings.orphanCleanupIntervalMs, () => void this.#sweep())
    const limits = probe.kind === 'usable' ? `, limits by ${probe.limits}` : ''
    log({
      level: 'info',
      message: `sandbox runtime ${id}: isolation ${isolation}, network ${network}${limits}`,
    })
  }

  /** Serves one client; resolves when the client has gone. */
  serve(connection: Connection): Promise<void> {
    return new Promise((resolve) => {
      const server: SandboxServer = new SandboxServer(connection, this.#served, () => {
        this.#servers.delete(server)
        resolve()
      })
      this.#servers.add(server)
      server.start()
    })
  }

  /** Starts a session of each template and ends it; returns a line for each that cannot be started. */
  async trial(): Promise<readonly string[]> {
    const { settings, sessions } = this.#served
    const problems: string[] = []
    for (const { name } of settings.templates) {
      const { session } = sessions.open({ id: undefined, owner: '', template: name, flavor: undefined })
      const started = session.useMachine(new AbortController().signal, async () => '')
      const problem = await started.catch((error: unknown) => errorText(error))
      if (problem) problems.push(`template ${name}: ${problem}`)
      await sessions.stop(session.facts.id, '')
    }
    return problems
  }

  /** Ends every session and its programs; a second call waits for the same end. */
  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  async #close(): Promise<void> {
    for (const timer of this.#timers) timer.cancel()
    await this.#served.sessions.close()
    await Promise.all([...this.#servers].map((server) => server.close()))
    await this.#sandbox.close()
  }

  async #sweep(): Promise<void> {
    try {
      await this.#sandbox.sweep()
    } catch (error) {
      const message = 'what other services left behind could not be removed'
      this.#log({ level: 'warn', message, details: { error } })
    }
  }

  #every(delayMs: number, run: () => void): void {
    const timer = this.#served.runtime.setTimer(delayMs, () => {
      this.#timers.delete(timer)
      this.#every(delayMs, run)
      run()
    })
    this.#timers.add(timer)
  }
}
