// One program in a machine, as the service has it: three streams made of frames.

import { Buffer } from 'node:buffer'
import { Readable, Writable } from 'node:stream'
import {
  CHANNEL_WINDOW,
  FRAME_BYTES_MAX,
  agentOrders,
  agentReports,
  decodeTexts,
  frameCost,
  outputStreams,
} from '../../frames.js'
import type { GuestExit, GuestProcess } from '../../runtime.js'

/** Sends a frame of this channel; nothing once the machine is gone. */
export type SendFrame = (kind: number, payload?: Uint8Array) => void

/** What has been taken is told in steps, so that not every frame has an answer. */
const TAKEN_STEP = CHANNEL_WINDOW / 4

/** Of the reason that the agent gives; it may be anybody who gives it. */
const FAILURE_LENGTH_MAX = 500

/** A program that was asked for. */
export class GuestChannel implements GuestProcess {
  readonly stdin: Writable
  readonly exited: Promise<GuestExit>
  readonly #send: SendFrame
  readonly #output: ChannelOutput
  readonly #errors: ChannelOutput
  readonly #input: ChannelInput
  #exit: (exit: GuestExit) => void = () => {}

  constructor(send: SendFrame) {
    this.#send = send
    this.#input = new ChannelInput(send)
    this.#output = new ChannelOutput(send, outputStreams.output)
    this.#errors = new ChannelOutput(send, outputStreams.errors)
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

/** What a program writes, held until somebody reads it. */
class ChannelOutput {
  readonly stream: Readable
  readonly #send: SendFrame
  readonly #which: number
  #waiting: Buffer[] = []
  #isWanted = false
  /** Came, and not yet told as taken. */
  #outstanding = 0
  #untold = 0
  #isOver = false

  constructor(send: SendFrame, which: number) {
    this.#send = send
    this.#which = which
    this.stream = new Readable({
      highWaterMark: FRAME_BYTES_MAX,
      read: () => {
        this.#isWanted = true
        this.#deliver()
      },
    })
  }

  /** False for more than was allowed. */
  push(payload: Buffer): boolean {
    this.#outstanding += frameCost(payload.length)
    if (this.#outstanding > CHANNEL_WINDOW || payload.length === 0) return false
    this.#waiting.push(payload)
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
      this.#tell(frameCost(chunk.length))
      this.#isWanted = this.stream.push(chunk)
    }
    if (this.#isOver && this.#waiting.length === 0 && !this.stream.destroyed) this.stream.push(null)
  }

  #tell(cost: number): void {
    this.#untold += cost
    if (this.#untold < TAKEN_STEP || this.#isOver) return
    const payload = Buffer.allocUnsafe(5)
    payload.writeUInt8(this.#which, 0)
    payload.writeUInt32BE(this.#untold, 1)
    this.#outstanding -= this.#untold
    this.#untold = 0
    this.#send(agentOrders.taken, payload)
  }
}

/** What is written to a program, sent as it can take it. */
class ChannelInput {
  readonly stream: Writable
  readonly #send: SendFrame
  #outstanding = 0
  #waiting: { readonly parts: Buffer[]; readonly done: () => void } | undefined
  #isOver = false

  constructor(send: SendFrame) {
    this.#send = send
    this.stream = new Writable({
      write: (chunk: Buffer, _encoding, done) => {
        this.#waiting = { parts: partsOf(chunk), done }
        this.#deliver()
      },
      final: (done) => {
        this.#send(agentOrders.inputEnd)
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

  end(): void {
    this.#isOver = true
    this.#deliver()
    this.stream.destroy()
  }

  #deliver(): void {
    const waiting = this.#waiting
    if (waiting === undefined) return
    while (waiting.parts.length > 0 && !this.#isOver) {
      const cost = frameCost(waiting.parts[0]?.length ?? 0)
      if (this.#outstanding + cost > CHANNEL_WINDOW) return
      this.#outstanding += cost
      this.#send(agentOrders.input, waiting.parts.shift())
    }
    this.#waiting = undefined
    waiting.done()
  }
}

function partsOf(chunk: Buffer): Buffer[] {
  const parts: Buffer[] = []
  for (let at = 0; at < chunk.length; at += FRAME_BYTES_MAX)
    parts.push(chunk.subarray(at, at + FRAME_BYTES_MAX))
  return parts
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
