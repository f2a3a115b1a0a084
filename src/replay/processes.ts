// The processes that a replay has started, none of which outlives it.

import process from 'node:process'
import type { Runtime, SpawnSpec } from '../runtime/runtime.js'
import { ReplayProcess } from './replay-process.js'

/** Starts servers; each has a process group of its own, which no Ctrl-C reaches. */
export class Processes {
  readonly #runtime: Runtime
  readonly #running = new Set<ReplayProcess>()
  readonly #kill = (): void => {
    for (const server of this.#running) server.kill()
  }

  constructor(runtime: Runtime) {
    this.#runtime = runtime
    process.on('exit', this.#kill)
    process.on('SIGINT', interrupted)
    process.on('SIGTERM', interrupted)
  }

  start(spec: SpawnSpec): ReplayProcess {
    const server = new ReplayProcess(spec, this.#runtime)
    this.#running.add(server)
    void server.exited.then(() => this.#running.delete(server))
    return server
  }

  close(): void {
    process.off('exit', this.#kill)
    process.off('SIGINT', interrupted)
    process.off('SIGTERM', interrupted)
  }
}

function interrupted(): never {
  process.exit(130)
}
