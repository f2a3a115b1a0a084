// Somebody else who calls and pings all the time, on a thread of its own: whoever reads
// a long answer keeps its own thread busy, and would measure that.

import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import { resolve } from 'node:path'
import type { BesideTold } from '../programs/beside.js'

const program = resolve(import.meta.dirname, '../programs/beside.js')

export class Beside {
  readonly #worker: Worker

  private constructor(worker: Worker) {
    this.#worker = worker
  }

  /** Resolves once it is at it. */
  static async begin(port: number): Promise<Beside> {
    const worker = new Worker(program, { workerData: port })
    await once(worker, 'message')
    return new Beside(worker)
  }

  /** How long each call took, in milliseconds, and how many failed. */
  async end(): Promise<BesideTold> {
    const told = new Promise<BesideTold>((done, fail) => {
      this.#worker.once('message', (value: BesideTold) => done(value))
      this.#worker.once('error', fail)
    })
    this.#worker.postMessage('end', [])
    return told
  }
}
