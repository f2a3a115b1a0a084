// Bytes between the two ends of a stream. They arrive in order, late, and in pieces of any size.

import type { Clock } from './clock.js'
import type { Ledger } from './ledger.js'
import type { Random } from './random.js'
import type { Trace } from './trace.js'
import type { Wrong } from './wrong.js'
import { Readable, Writable } from 'node:stream'

export interface FlowShape {
  readonly chunkMax: number
  /** The longest delay of a piece behind the one before. */
  readonly delayMsMax: number
}

export interface SimContext {
  readonly clock: Clock
  readonly trace: Trace
  readonly ledger: Ledger
  /** The random sequence with this name. */
  readonly dice: (name: string) => Random
  /** The faults of the proxy, in a run that must find them. */
  readonly wrong: Wrong
}

export type FlowSink = { bytes(chunk: Buffer): void; end(): void }

export class ByteFlow {
  readonly name: string
  readonly #context: SimContext
  readonly #random: Random
  readonly #shape: FlowShape
  readonly #sink: FlowSink
  #queue: Buffer[] = []
  readonly #empty: (() => void)[] = []
  bytes = 0
  ending = false
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

  add(chunk: Buffer): void {
    if (this.ending || this.#over || chunk.length === 0) return
    this.#queue.push(chunk)
    this.bytes += chunk.length
    this.#schedule()
  }

  /** Calls back once all bytes have arrived. */
  whenEmpty(empty: () => void): void {
    if (this.bytes === 0) empty()
    else this.#empty.push(empty)
  }

  end(): void {
    if (this.ending) return
    this.ending = true
    this.#schedule()
  }

  open(on: boolean): void {
    this.#open = on
    this.#schedule()
  }

  /** Slows the flow to one byte in `ms`. Undefined restores the drawn speed. */
  pace(ms: number | undefined): void {
    this.#paceMs = ms
  }

  cut(): void {
    this.#over = true
    this.#queue = []
    this.bytes = 0
  }

  #schedule(): void {
    if (this.#scheduled || this.#over || !this.#open) return
    if (this.bytes === 0 && !this.ending) return
    this.#scheduled = true
    const delayMs = this.#paceMs ?? this.#random.next() * this.#shape.delayMsMax
    this.#context.clock.after(delayMs, () => this.#arrive())
  }

  #arrive(): void {
    this.#scheduled = false
    if (this.#over || !this.#open) return
    if (this.bytes === 0) return this.#finish()
    const chunk = this.#take()
    this.#context.trace.note(this.name, chunk)
    this.#sink.bytes(chunk)
    if (this.bytes === 0) for (const empty of this.#empty.splice(0)) this.#context.clock.after(0, empty)
    this.#schedule()
  }

  #finish(): void {
    this.#over = true
    this.#context.trace.note(this.name, 'EOF')
    this.#sink.end()
  }

  #take(): Buffer {
    // Long messages come in longer pieces. Otherwise the run would consist of nothing but pieces.
    const longest = Math.max(this.#shape.chunkMax, this.bytes >> 2)
    const most = this.#paceMs === undefined ? Math.min(longest, this.bytes) : 1
    const wanted = most === this.bytes && this.#random.chance(0.5) ? most : this.#random.int(1, most)
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
    this.bytes -= wanted
    // A copy, as a read from the kernel would be: the two ends share no memory.
    return Buffer.concat(parts, wanted)
  }
}

// The proxy's ends of simulated streams. They have the capacity, the errors and the endings of pipes.

export interface PipeShape extends FlowShape {
  /** Bytes that the pipe holds before its writer waits. */
  readonly capacity: number
}

export class WritableEnd {
  readonly flow: ByteFlow
  readonly stream: Writable
  readonly #capacity: number
  #blocked: ((error?: Error) => void) | undefined
  #broken = false
  taken = 0

  constructor(context: SimContext, name: string, shape: PipeShape, reader: FlowSink) {
    this.#capacity = shape.capacity
    this.flow = new ByteFlow(context, name, shape, {
      bytes: (chunk) => {
        reader.bytes(chunk)
        this.#release()
      },
      end: () => reader.end(),
    })
    this.stream = new Writable({
      // Far below the proxy's threshold for backpressure, as with real streams.
      highWaterMark: 1024,
      write: (chunk: Buffer, _encoding, done) => this.#write(chunk, done),
      final: (done) => {
        this.flow.end()
        done()
      },
      destroy: (error, done) => {
        this.flow.end()
        done(error)
      },
    })
  }

  break(): void {
    this.#broken = true
    this.flow.cut()
    const blocked = this.#blocked
    this.#blocked = undefined
    blocked?.(systemError('EPIPE', 'write EPIPE'))
  }

  #write(chunk: Buffer, done: (error?: Error) => void): void {
    if (this.#broken) return done(systemError('EPIPE', 'write EPIPE'))
    this.taken += chunk.length
    this.flow.add(Buffer.from(chunk))
    if (this.flow.bytes <= this.#capacity) done()
    else this.#blocked = done
  }

  #release(): void {
    if (this.#blocked === undefined || this.flow.bytes > this.#capacity) return
    const done = this.#blocked
    this.#blocked = undefined
    done()
  }
}

export class ReadableEnd {
  readonly flow: ByteFlow
  readonly stream: Readable
  readonly #marks: Mark[] = []
  #added = 0

  constructor(context: SimContext, name: string, shape: FlowShape) {
    this.flow = new ByteFlow(context, name, shape, {
      bytes: (chunk) => {
        this.#arriving()
        if (!this.stream.push(chunk)) this.flow.open(false)
      },
      end: () => this.stream.push(null),
    })
    this.flow.open(false)
    this.stream = new Readable({
      // No buffer here: bytes that the proxy does not read stay in the flow.
      highWaterMark: 1,
      read: () => {
        this.#mark()
        this.flow.open(true)
      },
      destroy: (error, done) => {
        this.flow.cut()
        done(error)
      },
    })
  }

  /** `read` is called when the proxy has read the whole chunk, `arrives` just before it does. */
  add(chunk: Buffer, read: () => void, arrives?: () => void): void {
    this.flow.add(chunk)
    this.#added += chunk.length
    this.#marks.push({ end: this.#added, read, arrives })
  }

  #arriving(): void {
    const arrived = this.#added - this.flow.bytes
    for (const mark of this.#marks) {
      if (mark.end > arrived) return
      mark.arrives?.()
      mark.arrives = undefined
    }
  }

  /** A reader that requests more has read everything that has arrived. */
  #mark(): void {
    const arrived = this.#added - this.flow.bytes
    while ((this.#marks[0]?.end ?? Infinity) <= arrived) this.#marks.shift()?.read()
  }
}

type Mark = { readonly end: number; readonly read: () => void; arrives: (() => void) | undefined }

export function systemError(code: string, message: string): Error {
  return Object.assign(new Error(message), { code })
}
