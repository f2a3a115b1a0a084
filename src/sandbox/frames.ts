// What the service and the agent in a machine say to each other: frames of bytes on two streams.
//
// A frame is `u32 length of the payload, u8 kind, u32 channel`, big-endian, and the payload. The service chooses
// the channels, one for each program that it starts; the agent chooses those of connections, which have kinds of their
// own, one for each program that connects to its port. Each side sends on a stream of a channel no more than the
// other has said it can take (`CHANNEL_WINDOW`, `CONNECTION_WINDOW`), so neither ever holds more than that.
//
// The agent runs among foreign code, which can write its memory. So the service believes nothing that it
// says but lengths within these limits.

import { Buffer } from 'node:buffer'

/** From the service to the agent. */
export const agentOrders = {
  /** Texts: program, number of arguments, arguments, variables as `NAME=value`. */
  start: 1,
  input: 2,
  inputEnd: 3,
  interrupt: 4,
  kill: 5,
  /** `u8 stream, u32 cost`: what the service has taken from a stream. */
  taken: 6,
} as const

/** From the agent to the service. */
export const agentReports = {
  /** On channel 0, once: programs may be started. */
  ready: 16,
  output: 17,
  errors: 18,
  /** `u32 cost`: what the program has taken of its input. */
  inputTaken: 19,
  /** Texts: exit code, signal, why it was not started; the last frame of its channel. */
  exit: 20,
} as const

/** From the service to the agent, of a connection. */
export const connectionOrders = {
  /** Bytes for the program. */
  deliver: 32,
  deliverEnd: 33,
  /** `u32 cost`: what the service has taken of the program's bytes. */
  sentTaken: 34,
  /** The last frame of the service. */
  drop: 35,
} as const

/** From the agent to the service, of a connection. */
export const connectionReports = {
  open: 48,
  /** Bytes of the program. */
  sent: 49,
  sentEnd: 50,
  /** `u32 cost`: what the program has taken. */
  delivered: 51,
  /** The last frame of the channel: the program has closed it, or it was dropped. */
  gone: 52,
} as const

/** Which of the two outputs a `taken` is about. */
export const outputStreams = { output: 1, errors: 2 } as const

/** The longest payload but that of `start`. */
export const FRAME_BYTES_MAX: number = 64 * 1024

/** The longest `start`: what Linux gives to a program as arguments and variables. */
export const START_BYTES_MAX: number = 4 * 1024 * 1024

/** What may be on its way on one stream of a channel, as `frameCost` counts. */
export const CHANNEL_WINDOW: number = 256 * 1024

/** The same for a connection, of which there are more. */
export const CONNECTION_WINDOW: number = 128 * 1024

/** Of one machine, at once; the agent refuses others. */
export const CONNECTIONS_MAX = 64

/** What a frame costs besides its payload: a thousand tiny frames take memory too. */
const FRAME_COST = 256

const HEADER_BYTES = 9

export interface AgentFrame {
  readonly kind: number
  readonly channel: number
  readonly payload: Buffer
}

/** What a payload of so many bytes takes of the window. */
export function frameCost(bytes: number): number {
  return bytes + FRAME_COST
}

export function encodeFrame(kind: number, channel: number, payload: Uint8Array = new Uint8Array()): Buffer {
  const frame = Buffer.allocUnsafe(HEADER_BYTES + payload.length)
  frame.writeUInt32BE(payload.length, 0)
  frame.writeUInt8(kind, 4)
  frame.writeUInt32BE(channel, 5)
  frame.set(payload, HEADER_BYTES)
  return frame
}

/** A frame that says how much was taken. */
export function costPayload(cost: number): Buffer {
  const payload = Buffer.allocUnsafe(4)
  payload.writeUInt32BE(cost, 0)
  return payload
}

/** Bytes as payloads that a frame may have. */
export function payloadsOf(bytes: Buffer): Buffer[] {
  const payloads: Buffer[] = []
  for (let at = 0; at < bytes.length; at += FRAME_BYTES_MAX)
    payloads.push(bytes.subarray(at, at + FRAME_BYTES_MAX))
  return payloads
}

/** Texts of any content in one payload. */
export function encodeTexts(texts: readonly string[]): Buffer {
  const parts = texts.flatMap((text) => {
    const bytes = Buffer.from(text)
    const length = Buffer.allocUnsafe(4)
    length.writeUInt32BE(bytes.length, 0)
    return [length, bytes]
  })
  return Buffer.concat(parts)
}

/** Undefined when it is no payload of texts. */
export function decodeTexts(payload: Buffer): string[] | undefined {
  const texts: string[] = []
  let at = 0
  while (at < payload.length) {
    if (at + 4 > payload.length) return undefined
    const end = at + 4 + payload.readUInt32BE(at)
    if (end > payload.length) return undefined
    texts.push(payload.toString('utf8', at + 4, end))
    at = end
  }
  return texts
}

/** Cuts a stream of bytes into frames. */
export class AgentFrameReader {
  readonly #payloadMax: number
  #rest: Buffer = Buffer.alloc(0)

  constructor(payloadMax: number) {
    this.#payloadMax = payloadMax
  }

  /** The frames that are complete now; a longer payload than allowed gives undefined, and nothing can be read any more. */
  push(chunk: Buffer): AgentFrame[] | undefined {
    const bytes = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk])
    const frames: AgentFrame[] = []
    let at = 0
    while (bytes.length - at >= HEADER_BYTES) {
      const length = bytes.readUInt32BE(at)
      if (length > this.#payloadMax) return undefined
      const start = at + HEADER_BYTES
      if (bytes.length < start + length) break
      const payload = bytes.subarray(start, start + length)
      frames.push({ kind: bytes.readUInt8(at + 4), channel: bytes.readUInt32BE(at + 5), payload })
      at = start + length
    }
    this.#rest = bytes.subarray(at)
    return frames
  }
}
