// Streams whose bytes travel in frames, within a window that each side keeps.

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

/** The reader grants credit in steps of the window, so that not every frame causes a reply. */
const STEPS = 4

/** A payload below this share of its read counts as small. */
const SMALL_SHARE = 2

/**
 * A stream that arrives in frames. It holds at most the window and one chunk, since it grants credit only for bytes already read.
 */
export class FramedReadable {
  readonly stream: Readable
  readonly #window: number
  readonly #tell: (cost: number) => void
  #waiting: Buffer[] = []
  #isWanted = false
  /** Bytes received for which no credit has been granted. */
  #outstanding = 0
  #untold = 0
  #isOver = false

  /** `tell` grants credit for this many bytes. */
  constructor(window: number, tell: (cost: number) => void) {
    this.#window = window
    this.#tell = tell
    this.stream = new Readable({
      // The stream holds one chunk, so that bytes earn no credit before a reader takes them.
      highWaterMark: 1,
      read: () => {
        this.#isWanted = true
        this.#deliver()
      },
    })
  }

  /** Returns false when the payload is empty or exceeds the window. */
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

/** Copies a small payload, so that it does not keep the whole read in memory. */
function owned(payload: Buffer): Buffer {
  return payload.length * SMALL_SHARE < payload.buffer.byteLength ? Buffer.from(payload) : payload
}

/** Sends the frames of a stream, and its end. */
export interface FrameSender {
  send(payload: Buffer): void
  end(): void
}

/** A stream that is sent in frames, within the window of the other side. */
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
    // A program may end before it has read all its input.
    this.stream.on('error', () => undefined)
  }

  /** Returns false for more credit than was used, and for none, which the agent could send without end. */
  taken(cost: number): boolean {
    this.#outstanding -= cost
    if (this.#outstanding < 0 || cost === 0) return false
    this.#deliver()
    return true
  }

  /** The other side reads no more. */
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

// One program in a machine, as the service sees it: three streams made of frames.

/** Sends a frame of this channel; does nothing once the machine is gone. */
export type SendFrame = (kind: number, payload?: Uint8Array) => void

/** The most characters of the reason that the agent reports; a program may have forged it. */
const FAILURE_LENGTH_MAX = 500

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

  /** Handles a frame of this channel; returns the exit for the last one, and false for a frame that no honest agent sends. */
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

  /** Ends all streams with this exit. */
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
// A program may forge them, as it may forge all frames of the agent. This file bounds their number and the bytes of each; the
// proxy that accepts them judges the requests.

export type AcceptConnection = (program: ProgramEnd) => void

/** The connections by channel, until the agent reports that they are gone. */
export class GuestConnections {
  readonly #connections = new Map<number, GuestConnection>()
  readonly #accept: AcceptConnection
  readonly #send: (kind: number, channel: number, payload?: Uint8Array) => void

  constructor(accept: AcceptConnection, send: (kind: number, channel: number, payload?: Uint8Array) => void) {
    this.#accept = accept
    this.#send = send
  }

  /** Handles a frame of a connection; returns false for a frame that no honest agent sends. */
  take(kind: number, channel: number, payload: Buffer): boolean {
    if (kind === connectionReports.open) return payload.length === 0 && this.#open(channel)
    const connection = this.#connections.get(channel)
    if (connection === undefined) return false
    if (kind !== connectionReports.gone) return connection.take(kind, payload)
    this.#connections.delete(channel)
    connection.end()
    return payload.length === 0
  }

  /** Ends all connections when the machine is gone. */
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

  /** Returns false for a frame that no honest agent sends; after a drop, the agent may send frames until it has read the order. */
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

  /** The program is gone: the connection receives and sends nothing more. */
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
