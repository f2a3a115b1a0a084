// Streams whose bytes come and go in frames, within a window that each side keeps.

import { Buffer } from 'node:buffer'
import { Readable, Writable } from 'node:stream'
import { frameCost, payloadsOf } from '../../frames.js'

/** What has been taken is told in steps of the window, so that not every frame has an answer. */
const STEPS = 4

/** A payload is small that is less than this part of its read. */
const SMALL_SHARE = 2

/** What comes in frames. At most the window and one chunk are held: credit is given for what a reader has taken. */
export class FramedReadable {
  readonly stream: Readable
  readonly #window: number
  readonly #tell: (cost: number) => void
  #waiting: Buffer[] = []
  #isWanted = false
  /** Came, and not yet told as taken. */
  #outstanding = 0
  #untold = 0
  #isOver = false

  /** `tell` says how much was taken. */
  constructor(window: number, tell: (cost: number) => void) {
    this.#window = window
    this.#tell = tell
    this.stream = new Readable({
      // One chunk, so that what nobody reads earns no credit.
      highWaterMark: 1,
      read: () => {
        this.#isWanted = true
        this.#deliver()
      },
    })
  }

  /** False for more than was allowed. */
  push(payload: Buffer): boolean {
    this.#outstanding += frameCost(payload.length)
    if (this.#outstanding > this.#window || payload.length === 0) return false
    this.#waiting.push(owned(payload))
    this.#deliver()
    return true
  }

  end(): void {
    this.#isOver = true
    this.#deliver()
  }

  #deliver(): void {
    while (this.#isWanted) {
      const chunk = this.#waiting.shift()
      if (chunk === undefined) break
      this.#took(frameCost(chunk.length))
      this.#isWanted = this.stream.push(chunk)
    }
    if (this.#isOver && this.#waiting.length === 0 && !this.stream.destroyed) this.stream.push(null)
  }

  #took(cost: number): void {
    this.#untold += cost
    if (this.#untold < this.#window / STEPS || this.#isOver) return
    const told = this.#untold
    this.#outstanding -= told
    this.#untold = 0
    this.#tell(told)
  }
}

/** A small payload is copied, so that it does not hold the read that it came with. */
function owned(payload: Buffer): Buffer {
  return payload.length * SMALL_SHARE < payload.buffer.byteLength ? Buffer.from(payload) : payload
}

/** What a frame is made of, and the last one. */
export interface FrameSender {
  send(payload: Buffer): void
  end(): void
}

/** What is written, sent as it can be taken. */
export class FramedWritable {
  readonly stream: Writable
  readonly #window: number
  readonly #sender: FrameSender
  #outstanding = 0
  #waiting: { readonly parts: Buffer[]; readonly done: () => void } | undefined
  #isOver = false

  constructor(window: number, sender: FrameSender) {
    this.#window = window
    this.#sender = sender
    this.stream = new Writable({
      write: (chunk: Buffer, _encoding, done) => {
        this.#waiting = { parts: payloadsOf(chunk), done }
        this.#deliver()
      },
      final: (done) => {
        sender.end()
        done()
      },
    })
    // A program may end before it has read everything.
    this.stream.on('error', () => undefined)
  }

  /** False for more than was sent, and for nothing: there would be no end of it. */
  taken(cost: number): boolean {
    this.#outstanding -= cost
    if (this.#outstanding < 0 || cost === 0) return false
    this.#deliver()
    return true
  }

  /** Nobody takes anything any more. */
  end(): void {
    this.#isOver = true
    this.#deliver()
    this.stream.destroy()
  }

  #deliver(): void {
    const waiting = this.#waiting
    if (waiting === undefined) return
    for (let [part] = waiting.parts; part !== undefined && !this.#isOver; [part] = waiting.parts) {
      const cost = frameCost(part.length)
      if (this.#outstanding + cost > this.#window) return
      this.#outstanding += cost
      waiting.parts.shift()
      this.#sender.send(part)
    }
    this.#waiting = undefined
    waiting.done()
  }
}
