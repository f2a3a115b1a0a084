// What a call writes: two streams, each with its beginning and its end, and as a whole in a file where it is long.

import type { Buffer } from 'node:buffer'
import type { Readable } from 'node:stream'
import { BoundedText } from './bounded-text.js'
import type { OutputFile } from './output-file.js'

/** Of which stream. */
export type StreamName = 'stdout' | 'stderr'

export interface OutputTerms {
  readonly bytesMax: number
  /** A file for the whole of a stream; absent where nobody can keep it. */
  readonly file: ((stream: StreamName) => OutputFile) | undefined
}

/** How much an error repeats of what was written last, in UTF-16 units. */
const LAST_WORDS_MAX = 2000

/** The output of one call, while it comes. */
export class CallOutput {
  readonly #terms: OutputTerms
  readonly #texts: Readonly<Record<StreamName, BoundedText>>
  readonly #files = new Map<StreamName, OutputFile>()
  /** Gets everything that comes. */
  onOutput: (chunk: Buffer) => void = () => {}

  constructor(terms: OutputTerms) {
    this.#terms = terms
    this.#texts = { stdout: new BoundedText(terms.bytesMax), stderr: new BoundedText(terms.bytesMax) }
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

  /** The end of both streams, for an error. */
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

  /** Reads a stream to its end. */
  drain(stream: StreamName, source: Readable): void {
    source.on('data', (chunk: Buffer) => {
      const full = this.push(stream, chunk)
      if (full === undefined) return
      source.pause()
      full.onDrain(() => source.resume())
    })
    source.on('error', () => undefined)
  }

  /** Resolves when its files are written. */
  async end(): Promise<void> {
    await Promise.all([...this.#files.values()].map((file) => file.end()))
  }

  #open(stream: StreamName, before: Buffer): OutputFile | undefined {
    const file = this.#terms.file?.(stream)
    if (file === undefined) return undefined
    this.#files.set(stream, file)
    file.write(before)
    return file
  }

  #textOf(stream: StreamName): string {
    return this.#texts[stream].text(this.#files.get(stream)?.path)
  }
}
