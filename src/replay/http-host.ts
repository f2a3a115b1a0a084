// A server over HTTP that is started for a transcript, and stopped after it.

import type { Runtime } from '../runtime/runtime.js'
import type { Launch } from './launch.js'
import { isListening } from './port.js'
import type { Processes } from './processes.js'
import type { ReplayProcess } from './replay-process.js'

/** A port that was free may be taken before the server has it. */
const ATTEMPTS_MAX = 3

/** A server that did not begin to listen. */
export class HostError extends Error {
  override readonly name = 'HostError'
  readonly stderr: string

  constructor(problem: string, stderr: string) {
    super(problem)
    this.stderr = stderr
  }
}

export interface HostParts {
  readonly processes: Processes
  readonly runtime: Runtime
  /** How long the server may take to listen. */
  readonly timeoutMs: number
  /** Chooses a port, and what listens on it. */
  prepare(): Promise<Launch & { readonly url: URL }>
}

/** A running server, with its address. */
export class HttpHost {
  readonly url: URL
  readonly #process: ReplayProcess
  readonly #launch: Launch

  /** @throws HostError when it does not listen in time, or ends */
  static async start(parts: HostParts): Promise<HttpHost> {
    for (let attempt = 1; ; attempt++) {
      const launch = await parts.prepare()
      const host = new HttpHost(launch.url, parts.processes.start(launch.spec), launch)
      const problem = await host.#problem(parts)
      if (problem === undefined) return host
      await host.stop()
      const isTaken = host.stderr.includes('EADDRINUSE') && attempt < ATTEMPTS_MAX
      if (!isTaken) throw new HostError(problem, host.stderr)
    }
  }

  private constructor(url: URL, process: ReplayProcess, launch: Launch) {
    this.url = url
    this.#process = process
    this.#launch = launch
  }

  get stderr(): string {
    return this.#process.stderr
  }

  async stop(): Promise<void> {
    await this.#process.terminate()
    await this.#launch.dispose()
  }

  /** Why nobody can reach it. */
  async #problem({ runtime, timeoutMs }: HostParts): Promise<string | undefined> {
    let isOver = false
    void this.#process.exited.then(() => (isOver = true))
    if (await isListening(this.url, runtime, runtime.now() + timeoutMs, () => isOver)) return undefined
    if (isOver) return this.#process.endedWhy()
    return `the server did not listen on ${this.url.host} within ${timeoutMs} ms`
  }
}
