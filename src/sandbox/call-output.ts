// The output of a call: the beginning and the end of two streams, and files with the whole of long ones.

import { Buffer } from 'node:buffer'
import type { Readable } from 'node:stream'
import { StringDecoder } from 'node:string_decoder'
import { type Clock, within } from '../runtime/deadline.js'
import type { GuestProcess, Machine } from './runtime.js'

export type StreamName = 'stdout' | 'stderr'

const LAST_WORDS_MAX = 2000

export class CallOutput {
  readonly #newFile: ((stream: StreamName) => OutputFile) | undefined
  readonly #texts: Readonly<Record<StreamName, BoundedText>>
  readonly #files: Record<StreamName, OutputFile | undefined> = { stdout: undefined, stderr: undefined }
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
    return this.#texts.stdout.text(this.#files.stdout?.path)
  }

  get stderr(): string {
    return this.#texts.stderr.text(this.#files.stderr?.path)
  }

  /** The end of both streams, for an error message. */
  get lastWords(): string {
    const text = [this.stdout, this.stderr].filter((each) => each !== '').join('\n')
    return text.slice(-LAST_WORDS_MAX)
  }

  /** Returns false when the writer of a file is busy; the caller pauses its source until `onDrain` is called. */
  push(stream: StreamName, chunk: Buffer, onDrain: () => void): boolean {
    const text = this.#texts[stream]
    if (!text.isCut && text.wouldCut(chunk.length)) {
      this.#files[stream] = this.#newFile?.(stream)
      this.#files[stream]?.write(text.content(), () => {})
    }
    text.push(chunk)
    this.onOutput(chunk)
    return this.#files[stream]?.write(chunk, onDrain) ?? true
  }

  drain(stream: StreamName, source: Readable): void {
    source.on('data', (chunk: Buffer) => {
      if (!this.push(stream, chunk, () => source.resume())) source.pause()
    })
    source.on('error', () => undefined)
  }

  async end(): Promise<void> {
    await Promise.all([this.#files.stdout?.end(), this.#files.stderr?.end()])
  }
}

const FILE_BYTES_MAX = 16 * 1024 * 1024

const FOLDER = '.output'

/** The last bytes take a moment, unless a program inside has stopped the writer or put a pipe in its way. */
const END_WAIT_MS = 2000

/** A file that a program inside writes, since the host opens no path of a session. */
export class OutputFile {
  readonly path: string
  readonly #writer: GuestProcess
  readonly #clock: Clock
  #bytes = 0
  #isGone = false

  constructor(machine: Machine, name: string, clock: Clock) {
    this.#clock = clock
    this.path = `${machine.workspace}/${FOLDER}/${name}`
    const script = `mkdir -p ${FOLDER} && exec cat > ${FOLDER}/${name}`
    const writer = machine.run({ program: 'sh', args: ['-c', script] })
    this.#writer = writer
    writer.stdout.resume()
    writer.stderr.resume()
    const gone = (): void => {
      this.#isGone = true
      writer.stdin.emit('drain')
    }
    writer.stdin.on('error', gone)
    void writer.exited.then(gone)
  }

  /** Returns false when the writer is busy, and calls `onDrain` once it accepts more. */
  write(chunk: Buffer, onDrain: () => void): boolean {
    const room = FILE_BYTES_MAX - this.#bytes
    if (room <= 0 || this.#isGone) return true
    this.#bytes += Math.min(room, chunk.length)
    if (this.#writer.stdin.write(chunk.subarray(0, room)) || this.#isGone) return true
    this.#writer.stdin.once('drain', onDrain)
    return false
  }

  /** Resolves when the writer has written everything, or after a time limit, which ends the writer. */
  async end(): Promise<void> {
    this.#writer.stdin.end()
    if ((await within(this.#writer.exited, END_WAIT_MS, this.#clock)) === undefined) this.#writer.kill()
  }
}

const CHUNKS_MAX = 1000

/** Bytes of one stream; beyond `bytesMax` it leaves the middle out. It copies chunks, which are slices of large reads. */
export class BoundedText {
  readonly #bytesMax: number
  readonly #half: number
  #head: Buffer = Buffer.alloc(0)
  #tail: Buffer = Buffer.alloc(0)
  /** What follows the tail. */
  #recent: Buffer[] = []
  #recentBytes = 0
  /** All bytes of the stream, kept or not. */
  bytes = 0

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax
    this.#half = Math.ceil(bytesMax / 2)
  }

  get isCut(): boolean {
    return this.bytes > this.#bytesMax
  }

  /** Whether this many more bytes would exceed the limit. */
  wouldCut(bytes: number): boolean {
    return this.bytes + bytes > this.#bytesMax
  }

  push(chunk: Buffer): void {
    this.bytes += chunk.length
    this.#recent.push(Buffer.from(chunk))
    this.#recentBytes += chunk.length
    if (this.#recentBytes > this.#half || this.#recent.length > CHUNKS_MAX) this.#join()
  }

  content(): Buffer {
    this.#join()
    return Buffer.concat([this.#head, this.#tail])
  }

  /** `where` names the file with the whole output. */
  text(where: string | undefined): string {
    if (!this.isCut) return this.content().toString('utf8')
    this.#join()
    // Neither part shows the piece of a character at the cut.
    const first = new StringDecoder('utf8').write(this.#head)
    const last = this.#tail.toString('utf8').replace(/^\uFFFD{1,3}/, '')
    const cut = this.bytes - this.#head.length - this.#tail.length
    const whole = where === undefined ? '' : `; the whole output is in ${where}`
    return `${first}\n[... ${cut} bytes are left out here${whole} ...]\n${last}`
  }

  #join(): void {
    if (this.#recentBytes === 0) return
    const all = Buffer.concat([this.#tail, ...this.#recent])
    const room = this.#half - this.#head.length
    if (room > 0) this.#head = Buffer.concat([this.#head, all.subarray(0, room)])
    const later = all.subarray(room)
    this.#tail = later.length > this.#half ? Buffer.from(later.subarray(-this.#half)) : later
    this.#recent = []
    this.#recentBytes = 0
  }
}
