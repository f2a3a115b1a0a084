// A server over HTTP that is started for a transcript, and stopped after it.

import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { hostAndPort } from '../transports/http-client/address.js'
import type { Runtime } from '../runtime/runtime.js'
import type { PreparedLaunch } from './launch.js'
import { ReplayProcess } from './replay-process.js'

/** A port that was free may be taken before the server has it. */
const ATTEMPTS_MAX = 3

/** How often its port is tried. */
const TRY_MS = 25

/** A server that did not begin to listen. */
export class HostError extends Error {
  override readonly name = 'HostError'
  readonly stderr: string

  constructor(problem: string, stderr: string) {
    super(problem)
    this.stderr = stderr
  }
}

/** A running server, with its address. */
export class HttpHost {
  readonly #process: ReplayProcess
  readonly #launch: PreparedLaunch
  readonly url: URL

  /**
   * `prepare` chooses a port, and what listens on it within `timeoutMs`.
   *
   * @throws HostError when it does not listen in time, or ends
   */
  static async start(
    prepare: () => Promise<PreparedLaunch>,
    runtime: Runtime,
    timeoutMs: number,
  ): Promise<HttpHost> {
    for (let attempt = 1; ; attempt++) {
      const host = new HttpHost(await prepare(), runtime)
      const problem = await host.#problem(runtime, timeoutMs)
      if (problem === undefined) return host
      await host.stop()
      const isTaken = host.stderr.includes('EADDRINUSE') && attempt < ATTEMPTS_MAX
      if (!isTaken) throw new HostError(problem, host.stderr)
    }
  }

  private constructor(launch: PreparedLaunch, runtime: Runtime) {
    assert(launch.url !== undefined)
    this.#launch = launch
    this.url = launch.url
    this.#process = new ReplayProcess(launch.spec, runtime)
  }

  get stderr(): string {
    return this.#process.stderr
  }

  async stop(): Promise<void> {
    await this.#process.terminate()
    await this.#launch.dispose()
  }

  /** The reason for which it cannot be reached. */
  async #problem(runtime: Runtime, timeoutMs: number): Promise<string | undefined> {
    const deadline = runtime.now() + timeoutMs
    while (runtime.now() < deadline) {
      if (await isListening(this.url)) return undefined
      // It is tried again a little later, unless it ends.
      if ((await this.#process.exit(TRY_MS)) !== undefined) return this.#process.endedWhy()
    }
    return `the server did not listen on ${this.url.host} within ${timeoutMs} ms`
  }
}

/** Whether a server listens at an address. */
function isListening(url: URL): Promise<boolean> {
  const socket = connect(hostAndPort(url))
  const isOpen = new Promise<boolean>((resolve) => {
    socket.once('connect', () => resolve(true))
    socket.once('error', () => resolve(false))
  })
  return isOpen.finally(() => socket.destroy())
}
