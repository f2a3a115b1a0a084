// A stream in which the output of each piece of code ends with a mark.
//
// A mark is a NUL and a nonce that nobody inside knows before it is there. Everything else is output.

import { Buffer } from 'node:buffer'
import type { Readable } from 'node:stream'

const NUL = 0
const LF = 0x0a

/** The line behind a mark has a few flags; whatever is longer comes from elsewhere. */
const LINE_BYTES_MAX = 1024

/** Who reads the output; false when the stream is to rest until `resume`. */
export type TakeOutput = (chunk: Buffer) => boolean

interface Awaited {
  readonly mark: Buffer
  /** Whether a line stands behind the mark. */
  readonly hasLine: boolean
  /** What comes from now on is other output. */
  readonly passed: () => void
  readonly found: (line: string) => void
  /** What was read behind the mark; undefined before it was found. */
  line: Buffer | undefined
}

/** Reads a stream for ever. */
export class MarkedStream {
  readonly #source: Readable
  readonly #take: TakeOutput
  /** What may be the beginning of a mark. */
  #held = Buffer.alloc(0)
  #awaited: Awaited | undefined

  constructor(source: Readable, take: TakeOutput) {
    this.#source = source
    this.#take = take
    source.on('data', (chunk: Buffer) => this.#read(chunk))
    source.on('error', () => undefined)
    source.on('end', () => this.#ended())
  }

  /**
   * Resolves with the line behind the mark when that has come.
   *
   * `passed` is called between the output before the mark and the output behind it.
   */
  until(nonce: string, hasLine: boolean, passed: () => void): Promise<string> {
    const mark = Buffer.from(`\0${nonce}`)
    return new Promise((found) => {
      this.#awaited = { mark, hasLine, passed, found, line: undefined }
    })
  }

  resume(): void {
    this.#source.resume()
  }

  #read(chunk: Buffer): void {
    const awaited = this.#awaited
    if (awaited?.line !== undefined) return this.#readLine(awaited, awaited.line, chunk)
    const text = this.#held.length === 0 ? chunk : Buffer.concat([this.#held, chunk])
    this.#held = Buffer.alloc(0)
    if (awaited === undefined) return this.#output(text)
    const at = text.indexOf(awaited.mark)
    if (at !== -1) {
      this.#output(text.subarray(0, at))
      awaited.passed()
      return this.#readLine(awaited, Buffer.alloc(0), text.subarray(at + awaited.mark.length))
    }
    const end = beginningOf(awaited.mark, text)
    this.#held = Buffer.from(text.subarray(end))
    this.#output(text.subarray(0, end))
  }

  #readLine(awaited: Awaited, before: Buffer, chunk: Buffer): void {
    const line = awaited.hasLine ? Buffer.concat([before, chunk]) : Buffer.alloc(0)
    const end = line.indexOf(LF)
    if (awaited.hasLine && end === -1 && line.length <= LINE_BYTES_MAX) {
      awaited.line = line
      return
    }
    this.#awaited = undefined
    const rest = awaited.hasLine ? line.subarray(end === -1 ? line.length : end + 1) : chunk
    awaited.found(awaited.hasLine && end <= LINE_BYTES_MAX ? line.toString('utf8', 0, Math.max(0, end)) : '')
    if (rest.length > 0) this.#read(rest)
  }

  #output(text: Buffer): void {
    if (text.length > 0 && !this.#take(text)) this.#source.pause()
  }

  #ended(): void {
    this.#output(this.#held)
    this.#held = Buffer.alloc(0)
  }
}

/** Where the text ends but for what may be the beginning of the mark. */
function beginningOf(mark: Buffer, text: Buffer): number {
  const from = Math.max(0, text.length - mark.length + 1)
  for (let at = text.indexOf(NUL, from); at !== -1; at = text.indexOf(NUL, at + 1)) {
    if (mark.subarray(0, text.length - at).equals(text.subarray(at))) return at
  }
  return text.length
}
