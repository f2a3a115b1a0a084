// Output that keeps only its beginning and its end, in separate buffers, so that it does not hold the chunks that were read.

import { Buffer } from 'node:buffer'

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
