// The output of a call: the beginning and the end of two streams, and files with the whole of long ones.

import { Buffer } from 'node:buffer'
import type { Readable } from 'node:stream'
import { type Clock, within } from '../runtime/deadline.js'
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

// Output that keeps only its beginning and its end, in separate buffers, so that it does not hold the chunks that were read.

/** The two highest bits of a byte that continues a character in UTF-8. */
const CONTINUES = 0b10
const BITS_OF_CHARACTER = 6

const SIZE_FIRST = 1024

/** The last bytes of a stream, up to a limit. The buffer has room for twice as many, so that it moves them seldom. */
export class TailBuffer {
  readonly #bytesMax: number
  #bytes: Buffer = Buffer.alloc(0)
  #end = 0

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax
  }

  get length(): number {
    return Math.min(this.#end, this.#bytesMax)
  }

  push(chunk: Buffer): void {
    const last = chunk.subarray(Math.max(0, chunk.length - this.#bytesMax))
    if (this.#end + last.length > 2 * this.#bytesMax) {
      this.#bytes.copyWithin(0, this.#end - this.length, this.#end)
      this.#end = this.length
    }
    this.#bytes = appended(this.#bytes, this.#end, last, 2 * this.#bytesMax)
    this.#end += last.length
  }

  content(): Buffer {
    return this.#bytes.subarray(this.#end - this.length, this.#end)
  }

  clear(): void {
    this.#end = 0
  }
}

/** Bytes of one stream; beyond `bytesMax` it leaves the middle out. */
export class BoundedText {
  readonly #bytesMax: number
  readonly #half: number
  #head: Buffer = Buffer.alloc(0)
  readonly #tail: TailBuffer
  /** All bytes of the stream, kept or not. */
  bytes = 0

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax
    this.#half = Math.ceil(bytesMax / 2)
    this.#tail = new TailBuffer(this.#half)
  }

  get isCut(): boolean {
    return this.bytes > this.#bytesMax
  }

  /** Whether this many more bytes would exceed the limit. */
  wouldCut(bytes: number): boolean {
    return this.bytes + bytes > this.#bytesMax
  }

  /** The whole content, as long as nothing is cut. */
  content(): Buffer {
    return Buffer.concat([this.#first(), this.#tail.content()])
  }

  push(chunk: Buffer): void {
    const taken = chunk.subarray(0, Math.max(0, this.#half - this.bytes))
    this.#head = appended(this.#head, this.#first().length, taken, this.#half)
    this.bytes += chunk.length
    if (taken.length < chunk.length) this.#tail.push(chunk.subarray(taken.length))
  }

  #first(): Buffer {
    return this.#head.subarray(0, Math.min(this.bytes, this.#half))
  }

  /** `where` names the file with the whole output. */
  text(where: string | undefined): string {
    if (!this.isCut) return this.content().toString('utf8')
    const [head, tail] = [this.#first(), this.#tail.content()]
    const first = head.subarray(0, wholeEnd(head))
    const last = tail.subarray(wholeStart(tail))
    const cut = this.bytes - first.length - last.length
    const whole = where === undefined ? '' : `; the whole output is in ${where}`
    return `${first.toString('utf8')}\n[... ${cut} bytes are left out here${whole} ...]\n${last.toString('utf8')}`
  }
}

/** The buffer, or a larger one, with these bytes at `end`; it never grows beyond `bytesMax`. */
function appended(bytes: Buffer, end: number, chunk: Buffer, bytesMax: number): Buffer {
  const length = end + chunk.length
  const target =
    length <= bytes.length
      ? bytes
      : Buffer.alloc(Math.min(bytesMax, Math.max(length, 2 * bytes.length, SIZE_FIRST)))
  if (target !== bytes) bytes.copy(target)
  chunk.copy(target, end)
  return target
}

function continues(byte: number | undefined): boolean {
  return byte !== undefined && byte >> BITS_OF_CHARACTER === CONTINUES
}

/** The index at which the first whole character begins. */
function wholeStart(bytes: Buffer): number {
  let at = 0
  while (continues(bytes[at])) at++
  return at
}

/** The index at which the last character begins, which may be incomplete. */
function wholeEnd(bytes: Buffer): number {
  let at = bytes.length - 1
  while (at > 0 && continues(bytes[at])) at--
  return Math.max(0, at)
}
