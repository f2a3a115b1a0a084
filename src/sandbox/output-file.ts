// The whole of an output that is too long for a result, in a file of the session.

import type { Buffer } from 'node:buffer'
import type { Clock } from '../runtime/deadline.js'
import { within } from '../runtime/within.js'
import type { GuestProcess, Machine } from './runtime.js'

/** A file in a session is as long as this at most. */
const FILE_BYTES_MAX = 16 * 1024 * 1024

/** The folder for such files, in that of the session. */
const FOLDER = '.output'

/** What is left to write takes a moment, unless somebody inside has stopped the writer or put a pipe in its way. */
const END_WAIT_MS = 2000

/** Is written by a program inside, since the host opens no path of a session. */
export class OutputFile {
  /** As programs inside see it. */
  readonly path: string
  readonly #writer: GuestProcess
  readonly #clock: Clock
  #bytes = 0
  #isGone = false

  constructor(machine: Machine, name: string, clock: Clock) {
    this.#clock = clock
    this.path = `${machine.workspace}/${FOLDER}/${name}`
    const script = `mkdir -p ${FOLDER} && exec cat > ${FOLDER}/${name}`
    this.#writer = machine.run({ program: 'sh', args: ['-c', script] })
    this.#writer.stdout.resume()
    this.#writer.stderr.resume()
    this.#writer.stdin.on('error', () => {
      this.#isGone = true
    })
    void this.#writer.exited.then(() => {
      this.#isGone = true
      this.#writer.stdin.emit('drain')
    })
  }

  /** False when the writer wants to be waited for. */
  write(chunk: Buffer): boolean {
    const room = FILE_BYTES_MAX - this.#bytes
    if (room <= 0 || this.#isGone) return true
    this.#bytes += Math.min(room, chunk.length)
    return this.#writer.stdin.write(chunk.subarray(0, room)) || this.#isGone
  }

  /** Calls once when it takes more. */
  onDrain(drained: () => void): void {
    this.#writer.stdin.once('drain', drained)
  }

  /** Resolves when everything is written, or nobody is left who does so within a reasonable time. */
  async end(): Promise<void> {
    this.#writer.stdin.end()
    if ((await within(this.#writer.exited, END_WAIT_MS, this.#clock)) === undefined) this.#writer.kill()
  }
}
