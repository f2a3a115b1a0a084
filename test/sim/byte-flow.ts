// Bytes on their way from one end of a stream to the other: they arrive in order,
// in pieces of any size, and later.

import type { Clock } from './clock.js'
import type { Random } from './random.js'
import type { Trace } from './trace.js'
import type { Wrong } from './wrong.js'

/** How a stream carries its bytes. */
export interface FlowShape {
  /** No piece is longer. */
  readonly chunkMax: number
  /** How much later than the one before a piece arrives, at most. */
  readonly delayMsMax: number
}

/** What all streams of one simulation share. */
export interface SimContext {
  readonly clock: Clock
  readonly trace: Trace
  /** The dice of whoever has this name. */
  readonly dice: (name: string) => Random
  /** What the proxy does wrong, in a run that must find it. */
  readonly wrong: Wrong
}

export interface FlowSink {
  bytes(chunk: Buffer): void
  /** Every byte has arrived, and no more will come. */
  end(): void
}

/** One direction of one stream. */
export class ByteFlow {
  readonly name: string
  readonly #context: SimContext
  readonly #random: Random
  readonly #shape: FlowShape
  readonly #sink: FlowSink
  #queue: Buffer[] = []
  readonly #empty: (() => void)[] = []
  #bytes = 0
  #ending = false
  #over = false
  #open = true
  #scheduled = false
  #paceMs: number | undefined

  constructor(context: SimContext, name: string, shape: FlowShape, sink: FlowSink) {
    this.name = name
    this.#context = context
    this.#random = context.dice(name)
    this.#shape = shape
    this.#sink = sink
  }

  /** Bytes that have left and not arrived. */
  get bytes(): number {
    return this.#bytes
  }

  /** Nothing more will be added. */
  get ending(): boolean {
    return this.#ending
  }

  /** Nothing will arrive any more. */
  get over(): boolean {
    return this.#over
  }

  add(chunk: Buffer): void {
    if (this.#ending || this.#over || chunk.length === 0) return
    this.#queue.push(chunk)
    this.#bytes += chunk.length
    this.#schedule()
  }

  /** Calls back once everything that was added has arrived. */
  whenEmpty(empty: () => void): void {
    if (this.#bytes === 0) empty()
    else this.#empty.push(empty)
  }

  /** No more bytes will be added. */
  end(): void {
    if (this.#ending) return
    this.#ending = true
    this.#schedule()
  }

  /** Whether the receiver takes bytes. */
  open(on: boolean): void {
    this.#open = on
    this.#schedule()
  }

  /** One byte in so many milliseconds, or as drawn. */
  pace(ms: number | undefined): void {
    this.#paceMs = ms
  }

  /** Drops what is on its way. */
  cut(): void {
    this.#over = true
    this.#queue = []
    this.#bytes = 0
  }

  #schedule(): void {
    if (this.#scheduled || this.#over || !this.#open) return
    if (this.#bytes === 0 && !this.#ending) return
    this.#scheduled = true
    const delayMs = this.#paceMs ?? this.#random.next() * this.#shape.delayMsMax
    this.#context.clock.after(delayMs, () => this.#arrive())
  }

  #arrive(): void {
    this.#scheduled = false
    if (this.#over || !this.#open) return
    if (this.#bytes === 0) return this.#finish()
    const chunk = this.#take()
    this.#context.trace.note(this.name, chunk)
    this.#sink.bytes(chunk)
    if (this.#bytes === 0) for (const empty of this.#empty.splice(0)) this.#context.clock.after(0, empty)
    this.#schedule()
  }

  #finish(): void {
    this.#over = true
    this.#context.trace.note(this.name, 'EOF')
    this.#sink.end()
  }

  #take(): Buffer {
    // Long messages come in longer pieces, or the pieces would be all there is time for.
    const longest = Math.max(this.#shape.chunkMax, this.#bytes >> 2)
    const most = this.#paceMs === undefined ? Math.min(longest, this.#bytes) : 1
    const wanted = most === this.#bytes && this.#random.chance(0.5) ? most : this.#random.int(1, most)
    const parts: Buffer[] = []
    let missing = wanted
    while (missing > 0) {
      const first = this.#queue[0]
      if (first === undefined) break
      if (first.length <= missing) this.#queue.shift()
      else this.#queue[0] = first.subarray(missing)
      parts.push(first.subarray(0, missing))
      missing -= Math.min(first.length, missing)
    }
    this.#bytes -= wanted
    // A copy, as a read from the system is: nobody shares memory with the other end.
    return Buffer.concat(parts, wanted)
  }
}
