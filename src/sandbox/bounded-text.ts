// Output of which only the beginning and the end are kept.

import { Buffer } from 'node:buffer'

/** In UTF-8, a byte that continues a character. */
const CONTINUES = 0b10
const BITS_OF_CHARACTER = 6

/** Bytes of one stream; beyond `bytesMax` the middle is left out. */
export class BoundedText {
  readonly #bytesMax: number
  #head: Buffer[] = []
  #headBytes = 0
  #tail: Buffer[] = []
  #tailBytes = 0
  /** Of the stream, kept or not. */
  bytes = 0

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax
  }

  get isCut(): boolean {
    return this.bytes > this.#bytesMax
  }

  /** Everything, while nothing is cut. */
  get chunks(): readonly Buffer[] {
    return [...this.#head, ...this.#tail]
  }

  push(chunk: Buffer): void {
    const room = this.#half - this.#headBytes
    this.bytes += chunk.length
    if (room > 0) {
      this.#head.push(chunk.subarray(0, room))
      this.#headBytes += Math.min(room, chunk.length)
    }
    if (chunk.length > room) this.#pushTail(chunk.subarray(Math.max(0, room)))
  }

  /** `where` says where the whole lies. */
  text(where: string | undefined): string {
    if (!this.isCut) return Buffer.concat(this.chunks).toString('utf8')
    const head = Buffer.concat(this.#head)
    const tail = Buffer.concat(this.#tail)
    const first = head.subarray(0, wholeEnd(head))
    const last = tail.subarray(wholeStart(tail, tail.length - this.#half))
    const cut = this.bytes - first.length - last.length
    const whole = where === undefined ? '' : `; the whole output is in ${where}`
    return `${first.toString('utf8')}\n[... ${cut} bytes are left out here${whole} ...]\n${last.toString('utf8')}`
  }

  get #half(): number {
    return Math.ceil(this.#bytesMax / 2)
  }

  #pushTail(chunk: Buffer): void {
    this.#tail.push(chunk)
    this.#tailBytes += chunk.length
    for (let [first] = this.#tail; first !== undefined; [first] = this.#tail) {
      if (this.#tailBytes - first.length < this.#half) return
      this.#tailBytes -= first.length
      this.#tail.shift()
    }
  }
}

function continues(byte: number | undefined): boolean {
  return byte !== undefined && byte >> BITS_OF_CHARACTER === CONTINUES
}

/** Where the first whole character at or behind `from` begins. */
function wholeStart(bytes: Buffer, from: number): number {
  let at = from
  while (continues(bytes[at])) at++
  return at
}

/** Where the last character begins, which may not be whole. */
function wholeEnd(bytes: Buffer): number {
  let at = bytes.length - 1
  while (at > 0 && continues(bytes[at])) at--
  return Math.max(0, at)
}
