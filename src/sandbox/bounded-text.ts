// Output of which only the beginning and the end are kept, in buffers of its own: what was read is not held.

import { Buffer } from 'node:buffer'

/** In UTF-8, a byte that continues a character. */
const CONTINUES = 0b10
const BITS_OF_CHARACTER = 6

const SIZE_FIRST = 1024

/** The first bytes of a stream, up to a limit. */
export class HeadBuffer {
  readonly #bytesMax: number
  #bytes: Buffer = Buffer.alloc(0)
  #length = 0

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax
  }

  get length(): number {
    return this.#length
  }

  /** Gives how many of the bytes it has taken. */
  push(chunk: Buffer): number {
    const taken = Math.min(chunk.length, this.#bytesMax - this.#length)
    this.#bytes = grown(this.#bytes, this.#length + taken, this.#bytesMax)
    chunk.copy(this.#bytes, this.#length, 0, taken)
    this.#length += taken
    return taken
  }

  content(): Buffer {
    return this.#bytes.subarray(0, this.#length)
  }
}

/** The last bytes of a stream, up to a limit, in a ring. */
export class TailBuffer {
  readonly #bytesMax: number
  #bytes: Buffer = Buffer.alloc(0)
  #length = 0
  /** Where the next byte goes, once the ring is full. */
  #at = 0

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax
  }

  get length(): number {
    return this.#length
  }

  push(chunk: Buffer): void {
    const last = chunk.subarray(Math.max(0, chunk.length - this.#bytesMax))
    const room = Math.min(last.length, this.#bytesMax - this.#length)
    this.#bytes = grown(this.#bytes, this.#length + room, this.#bytesMax)
    last.copy(this.#bytes, this.#length, 0, room)
    this.#length += room
    for (let from = room; from < last.length;) {
      const count = Math.min(last.length - from, this.#bytesMax - this.#at)
      last.copy(this.#bytes, this.#at, from, from + count)
      this.#at = (this.#at + count) % this.#bytesMax
      from += count
    }
  }

  content(): Buffer {
    return Buffer.concat([this.#bytes.subarray(this.#at, this.#length), this.#bytes.subarray(0, this.#at)])
  }

  clear(): void {
    this.#length = 0
    this.#at = 0
  }
}

/** Bytes of one stream; beyond `bytesMax` the middle is left out. */
export class BoundedText {
  readonly #bytesMax: number
  readonly #head: HeadBuffer
  readonly #tail: TailBuffer
  /** Of the stream, kept or not. */
  bytes = 0

  constructor(bytesMax: number) {
    const half = Math.ceil(bytesMax / 2)
    this.#bytesMax = bytesMax
    this.#head = new HeadBuffer(half)
    this.#tail = new TailBuffer(half)
  }

  get isCut(): boolean {
    return this.bytes > this.#bytesMax
  }

  /** Whether so many bytes more would be too many. */
  wouldCut(bytes: number): boolean {
    return this.bytes + bytes > this.#bytesMax
  }

  /** Everything, while nothing is cut. */
  content(): Buffer {
    return Buffer.concat([this.#head.content(), this.#tail.content()])
  }

  push(chunk: Buffer): void {
    this.bytes += chunk.length
    const taken = this.#head.push(chunk)
    if (taken < chunk.length) this.#tail.push(chunk.subarray(taken))
  }

  /** `where` says where the whole lies. */
  text(where: string | undefined): string {
    if (!this.isCut) return this.content().toString('utf8')
    const [head, tail] = [this.#head.content(), this.#tail.content()]
    const first = head.subarray(0, wholeEnd(head))
    const last = tail.subarray(wholeStart(tail))
    const cut = this.bytes - first.length - last.length
    const whole = where === undefined ? '' : `; the whole output is in ${where}`
    return `${first.toString('utf8')}\n[... ${cut} bytes are left out here${whole} ...]\n${last.toString('utf8')}`
  }
}

/** A buffer of at least this length, with the same bytes. */
function grown(bytes: Buffer, length: number, bytesMax: number): Buffer {
  if (length <= bytes.length) return bytes
  const larger = Buffer.alloc(Math.min(bytesMax, Math.max(length, 2 * bytes.length, SIZE_FIRST)))
  bytes.copy(larger)
  return larger
}

function continues(byte: number | undefined): boolean {
  return byte !== undefined && byte >> BITS_OF_CHARACTER === CONTINUES
}

/** Where the first whole character begins. */
function wholeStart(bytes: Buffer): number {
  let at = 0
  while (continues(bytes[at])) at++
  return at
}

/** Where the last character begins, which may not be whole. */
function wholeEnd(bytes: Buffer): number {
  let at = bytes.length - 1
  while (at > 0 && continues(bytes[at])) at--
  return Math.max(0, at)
}
