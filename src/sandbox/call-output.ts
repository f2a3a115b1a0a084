// The output of a call: the beginning and the end of two streams, and files with the whole of long ones.

import type { Buffer } from 'node:buffer'
import type { Readable } from 'node:stream'
import { type Clock, within } from '../runtime/deadline.js'
import { BoundedText } from './bounded-text.js'
import type { GuestProcess, Machine } from './runtime.js'

export type StreamName = 'stdout' | 'stderr'

/** The most UTF-16 units of the last output that an error repeats. */
const LAST_WORDS_MAX = 2000

export class CallOutput {
  readonly #newFile: ((stream: StreamName) => OutputFile) | undefined
  readonly #texts: Readonly<Record<StreamName, BoundedText>>
  readonly #files = new Map<StreamName, OutputFile>()
  /** Called with every chunk. */
  onOutput: (chunk: Buffer) => void = () => {}

  /** `newFile` makes a file for the whole of a stream; absent when the runtime keeps no such files. */
  constructor(bytesMax: number, newFile?: (stream: StreamName) => OutputFile) {
    this.#newFile = newFile
    this.#texts = { stdout: new BoundedText(bytesMax), stderr: new BoundedText(bytesMax) }
  }

  get isCut(): boolean {
    return this.#texts.stdout.isCut || this.#texts.stderr.isCut
  }

  get stdout(): string {
    return this.#textOf('stdout')
  }

  get stderr(): string {
    return this.#textOf('stderr')
  }

  /** The end of both streams, for an error message. */
  get lastWords(): string {
    const text = [this.stdout, this.stderr].filter((each) => each !== '').join('\n')
    return text.slice(-LAST_WORDS_MAX)
  }

  /** Returns the file whose writer is busy; the caller must pause its source until `onDrain`. */
  push(stream: StreamName, chunk: Buffer): OutputFile | undefined {
    const text = this.#texts[stream]
    const isLong = text.wouldCut(chunk.length)
    const file = isLong ? (this.#files.get(stream) ?? this.#open(stream, text.content())) : undefined
    text.push(chunk)
    this.onOutput(chunk)
    return file === undefined || file.write(chunk) ? undefined : file
  }

  drain(stream: StreamName, source: Readable): void {
    source.on('data', (chunk: Buffer) => {
      const full = this.push(stream, chunk)
      if (full === undefined) return
      source.pause()
      full.onDrain(() => source.resume())
    })
    source.on('error', () => undefined)
  }

  /** Resolves when the files are written. */
  async end(): Promise<void> {
    await Promise.all([...this.#files.values()].map((file) => file.end()))
  }

  #open(stream: StreamName, before: Buffer): OutputFile | undefined {
    const file = this.#newFile?.(stream)
    if (file === undefined) return undefined
    this.#files.set(stream, file)
    file.write(before)
    return file
  }

  #textOf(stream: StreamName): string {
    return this.#texts[stream].text(this.#files.get(stream)?.path)
  }
}

// The whole of an output that is too long for a result, in a file of the session.

/** The most bytes of such a file. */
const FILE_BYTES_MAX = 16 * 1024 * 1024

/** The folder for such files, relative to that of the session. */
const FOLDER = '.output'

/** The last bytes take a moment, unless a program inside has stopped the writer or put a pipe in its way. */
const END_WAIT_MS = 2000

/** A file that a program inside writes, since the host opens no path of a session. */
export class OutputFile {
  /** The path as programs inside see it. */
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

  /** Returns false when the caller must wait for the writer. */
  write(chunk: Buffer): boolean {
    const room = FILE_BYTES_MAX - this.#bytes
    if (room <= 0 || this.#isGone) return true
    this.#bytes += Math.min(room, chunk.length)
    return this.#writer.stdin.write(chunk.subarray(0, room)) || this.#isGone
  }

  /** Calls `drained` once, when the writer accepts more. */
  onDrain(drained: () => void): void {
    this.#writer.stdin.once('drain', drained)
  }

  /** Resolves when the writer has written everything, or after a time limit, which ends the writer. */
  async end(): Promise<void> {
    this.#writer.stdin.end()
    if ((await within(this.#writer.exited, END_WAIT_MS, this.#clock)) === undefined) this.#writer.kill()
  }
}
