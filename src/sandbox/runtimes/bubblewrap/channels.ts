// Streams whose bytes come and go in frames, within a window that each side keeps.

import { Buffer } from 'node:buffer'
import { Readable, Writable } from 'node:stream'
import type { ProgramEnd } from '../../egress/egress-connection.js'
import {
  CHANNEL_WINDOW,
  CONNECTIONS_MAX,
  CONNECTION_WINDOW,
  agentOrders,
  agentReports,
  connectionOrders,
  connectionReports,
  costPayload,
  decodeTexts,
  frameCost,
  outputStreams,
  payloadsOf,
} from '../../frames.js'
import type { GuestExit, GuestProcess } from '../../runtime.js'

/** Credit is given back in steps of the window, so that not every frame has an answer. */
const STEPS = 4

/** A payload is small that is less than this part of its read. */
const SMALL_SHARE = 2

/** A stream that comes in frames. At most the window and one chunk are held: credit is given for what a reader has taken. */
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
      // One chunk, so that bytes earn no credit before they are read.
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

/** Sends the frames of a stream, and its end. */
export interface FrameSender {
  send(payload: Buffer): void
  end(): void
}

/** A stream that is sent in frames, as far as the other side can take it. */
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

  /** The other side takes nothing any more. */
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

// One program in a machine, as the service has it: three streams made of frames.

/** Sends a frame of this channel; nothing once the machine is gone. */
export type SendFrame = (kind: number, payload?: Uint8Array) => void

/** Of the reason that the agent gives; a program may have forged it. */
const FAILURE_LENGTH_MAX = 500

/** A program that was asked for. */
export class GuestChannel implements GuestProcess {
  readonly stdin: Writable
  readonly exited: Promise<GuestExit>
  readonly #send: SendFrame
  readonly #output: FramedReadable
  readonly #errors: FramedReadable
  readonly #input: FramedWritable
  #exit: (exit: GuestExit) => void = () => {}

  constructor(send: SendFrame) {
    this.#send = send
    this.#input = new FramedWritable(CHANNEL_WINDOW, {
      send: (payload) => send(agentOrders.input, payload),
      end: () => send(agentOrders.inputEnd),
    })
    this.#output = outputOf(send, outputStreams.output)
    this.#errors = outputOf(send, outputStreams.errors)
    this.stdin = this.#input.stream
    this.exited = new Promise((resolve) => {
      this.#exit = resolve
    })
  }

  get stdout(): Readable {
    return this.#output.stream
  }

  get stderr(): Readable {
    return this.#errors.stream
  }

  interrupt(): void {
    this.#send(agentOrders.interrupt)
  }

  kill(): void {
    this.#send(agentOrders.kill)
  }

  /** A frame of this channel; gives the end when it is the last one, and false when no honest agent sends it. */
  take(kind: number, payload: Buffer): GuestExit | boolean {
    switch (kind) {
      case agentReports.output:
        return this.#output.push(payload)
      case agentReports.errors:
        return this.#errors.push(payload)
      case agentReports.inputTaken:
        return payload.length === 4 && this.#input.taken(payload.readUInt32BE(0))
      case agentReports.exit:
        return exitOf(payload) ?? false
      default:
        return false
    }
  }

  /** Nothing more comes. */
  end(exit: GuestExit): void {
    this.#input.end()
    this.#output.end()
    this.#errors.end()
    this.#exit(exit)
  }
}

function outputOf(send: SendFrame, which: number): FramedReadable {
  return new FramedReadable(CHANNEL_WINDOW, (cost) => {
    const payload = Buffer.allocUnsafe(5)
    payload.writeUInt8(which, 0)
    payload.writeUInt32BE(cost, 1)
    send(agentOrders.taken, payload)
  })
}

function exitOf(payload: Buffer): GuestExit | undefined {
  const [code, signal, failure, ...rest] = decodeTexts(payload) ?? []
  if (code === undefined || signal === undefined || failure === undefined || rest.length > 0) return undefined
  if (failure !== '') {
    return { code: undefined, signal: undefined, failure: printable(failure.slice(0, FAILURE_LENGTH_MAX)) }
  }
  if (/^\d{1,3}$/.test(code) && signal === '') return { code: Number(code), signal: undefined }
  if (code === '' && /^SIG[A-Z\d]{1,12}$/.test(signal)) return { code: undefined, signal }
  return undefined
}

function printable(text: string): string {
  return text.replaceAll(/\p{Cc}/gu, ' ')
}

// The connections that programs of a machine have made to the port of its agent.
//
// Like all that the agent says they may be forged. How many there are and what each may hold is bounded here; what
// is asked for on them is judged by the proxy that accepts them.

/** Takes a connection of a program. */
export type AcceptConnection = (program: ProgramEnd) => void

/** By their channels, until the agent has said that they are gone. */
export class GuestConnections {
  readonly #connections = new Map<number, GuestConnection>()
  readonly #accept: AcceptConnection
  readonly #send: (kind: number, channel: number, payload?: Uint8Array) => void

  constructor(accept: AcceptConnection, send: (kind: number, channel: number, payload?: Uint8Array) => void) {
    this.#accept = accept
    this.#send = send
  }

  /** A frame of a connection; false when no honest agent sends it. */
  take(kind: number, channel: number, payload: Buffer): boolean {
    if (kind === connectionReports.open) return payload.length === 0 && this.#open(channel)
    const connection = this.#connections.get(channel)
    if (connection === undefined) return false
    if (kind !== connectionReports.gone) return connection.take(kind, payload)
    this.#connections.delete(channel)
    connection.end()
    return payload.length === 0
  }

  /** The machine is gone. */
  end(): void {
    for (const connection of this.#connections.values()) connection.end()
    this.#connections.clear()
  }

  #open(channel: number): boolean {
    if (this.#connections.size >= CONNECTIONS_MAX || this.#connections.has(channel)) return false
    const connection = new GuestConnection((kind, payload) => {
      if (this.#connections.get(channel) === connection) this.#send(kind, channel, payload)
    })
    this.#connections.set(channel, connection)
    this.#accept(connection)
    return true
  }
}

class GuestConnection implements ProgramEnd {
  readonly gone: Promise<void>
  readonly #send: SendFrame
  readonly #input: FramedReadable
  readonly #output: FramedWritable
  #hasEnded = false
  #isDropped = false
  #end: () => void = () => {}

  constructor(send: SendFrame) {
    this.#send = send
    this.#input = new FramedReadable(CONNECTION_WINDOW, (cost) => {
      send(connectionOrders.sentTaken, costPayload(cost))
    })
    this.#output = new FramedWritable(CONNECTION_WINDOW, {
      send: (payload) => send(connectionOrders.deliver, payload),
      end: () => send(connectionOrders.deliverEnd),
    })
    this.gone = new Promise((resolve) => {
      this.#end = resolve
    })
  }

  get input(): Readable {
    return this.#input.stream
  }

  get output(): Writable {
    return this.#output.stream
  }

  drop(): void {
    if (this.#isDropped) return
    this.#isDropped = true
    this.#send(connectionOrders.drop)
    this.#close()
  }

  /** False for what no honest agent sends; after a drop it may not have heard of it yet. */
  take(kind: number, payload: Buffer): boolean {
    switch (kind) {
      case connectionReports.sent:
        return !this.#hasEnded && this.#input.push(payload)
      case connectionReports.sentEnd:
        return payload.length === 0 && this.#endInput()
      case connectionReports.delivered:
        return payload.length === 4 && this.#output.taken(payload.readUInt32BE(0))
      default:
        return false
    }
  }

  /** The program is gone: nothing more comes, and nothing can be sent. */
  end(): void {
    this.#isDropped = true
    this.#close()
    this.#end()
  }

  #endInput(): boolean {
    if (this.#hasEnded) return false
    this.#hasEnded = true
    this.#input.end()
    return true
  }

  #close(): void {
    this.#input.stream.destroy()
    this.#output.end()
  }
}
