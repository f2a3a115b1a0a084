// One program in a machine, as the service has it: three streams made of frames.

import { Buffer } from 'node:buffer'
import type { Readable, Writable } from 'node:stream'
import { CHANNEL_WINDOW, agentOrders, agentReports, decodeTexts, outputStreams } from '../../frames.js'
import type { GuestExit, GuestProcess } from '../../runtime.js'
import { FramedReadable, FramedWritable } from './framed-streams.js'

/** Sends a frame of this channel; nothing once the machine is gone. */
export type SendFrame = (kind: number, payload?: Uint8Array) => void

/** Of the reason that the agent gives; it may be anybody who gives it. */
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
