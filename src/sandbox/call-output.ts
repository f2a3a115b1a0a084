import { Buffer } from 'node:buffer'
import type { Readable } from 'node:stream'
import { StringDecoder } from 'node:string_decoder'

export type StreamName = 'stdout' | 'stderr'

const LAST_WORDS_MAX = 2000

export class CallOutput {
  readonly #texts: Readonly<Record<StreamName, BoundedText>>
  onOutput: (chunk: Buffer) => void = () => {}

  constructor(bytesMax: number) {
    this.#texts = { stdout: new BoundedText(bytesMax), stderr: new BoundedText(bytesMax) }
  }

  get isCut(): boolean {
    return this.#texts.stdout.isCut || this.#texts.stderr.isCut
  }

  get stdout(): string {
    return this.#texts.stdout.text()
  }

  get stderr(): string {
    return this.#texts.stderr.text()
  }

  /** The end of both streams, for an error message. */
  get lastWords(): string {
    const text = [this.stdout, this.stderr].filter((each) => each !== '').join('\n')
    return text.slice(-LAST_WORDS_MAX)
  }

  push(stream: StreamName, chunk: Buffer): void {
    this.#texts[stream].push(chunk)
    this.onOutput(chunk)
  }

  drain(stream: StreamName, source: Readable): void {
    source.on('data', (chunk: Buffer) => this.push(stream, chunk))
    source.on('error', () => undefined)
  }
}

const CHUNKS_MAX = 1000

/** The bytes of one stream; beyond `bytesMax` without the middle. Copies chunks, which are slices of large reads. */
export class BoundedText {
  readonly #bytesMax: number
  readonly #half: number
  #head: Buffer = Buffer.alloc(0)
  #tail: Buffer = Buffer.alloc(0)
  /** The bytes after the tail. */
  #recent: Buffer[] = []
  #recentBytes = 0
  /** The count of all bytes of the stream, kept or not. */
  bytes = 0

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax
    this.#half = Math.ceil(bytesMax / 2)
  }

  get isCut(): boolean {
    return this.bytes > this.#bytesMax
  }

  push(chunk: Buffer): void {
    this.bytes += chunk.length
    this.#recent.push(Buffer.from(chunk))
    this.#recentBytes += chunk.length
    if (this.#recentBytes > this.#half || this.#recent.length > CHUNKS_MAX) this.#join()
  }

  text(): string {
    this.#join()
    if (!this.isCut) return Buffer.concat([this.#head, this.#tail]).toString('utf8')
    // A character that the cut divides is dropped on both sides.
    const first = new StringDecoder('utf8').write(this.#head)
    const last = this.#tail.toString('utf8').replace(/^\uFFFD{1,3}/, '')
    const cut = this.bytes - this.#head.length - this.#tail.length
    return `${first}\n[... ${cut} bytes are left out here ...]\n${last}`
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
