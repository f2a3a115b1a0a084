// The ends of simulated streams that the proxy holds: what Node would give it for
// a pipe, with the capacity, the errors and the endings of one.

import { Readable, Writable } from 'node:stream'
import { type SimContext, ByteFlow, type FlowShape, type FlowSink } from './byte-flow.js'

export interface PipeShape extends FlowShape {
  /** Bytes that a pipe holds before its writer waits. */
  readonly capacity: number
}

/** What the proxy writes and a script reads. */
export class WritableEnd {
  readonly flow: ByteFlow
  readonly stream: Writable
  readonly #capacity: number
  #blocked: ((error?: Error) => void) | undefined
  #broken = false
  #taken = 0

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
      // Far below what the proxy takes for congestion, as with real streams.
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

  /** Bytes that the pipe has taken in all. */
  get taken(): number {
    return this.#taken
  }

  /** The reader has closed its end. */
  break(): void {
    this.#broken = true
    this.flow.cut()
    const blocked = this.#blocked
    this.#blocked = undefined
    blocked?.(systemError('EPIPE', 'write EPIPE'))
  }

  #write(chunk: Buffer, done: (error?: Error) => void): void {
    if (this.#broken) return done(systemError('EPIPE', 'write EPIPE'))
    this.#taken += chunk.length
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

/** What a script writes and the proxy reads. */
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
      // Nothing is kept here: what the proxy does not read stays on its way.
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

  /** `read` is called when the proxy has read the whole chunk, `arrives` when it is about to. */
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

  /** Whoever asks for more has read all that has arrived. */
  #mark(): void {
    const arrived = this.#added - this.flow.bytes
    while ((this.#marks[0]?.end ?? Infinity) <= arrived) this.#marks.shift()?.read()
  }

  /** The writer has gone without a word. */
  reset(): void {
    this.flow.cut()
    this.stream.destroy(systemError('ECONNRESET', 'read ECONNRESET'))
  }
}

/** The end of something that was added. */
interface Mark {
  readonly end: number
  readonly read: () => void
  arrives: (() => void) | undefined
}

/** An error as the system's own calls give it. */
export function systemError(code: string, message: string): Error {
  return Object.assign(new Error(message), { code })
}
