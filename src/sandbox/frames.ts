// The protocol between the service and the agent in a machine: frames of bytes on two streams.
//
// A frame is `u32 length of the payload, u8 kind, u32 channel`, big-endian, and the payload. The service chooses the channels of
// programs, one for each program that it starts. The agent chooses the channels of connections, one for each program that
// connects to its port; connections have separate kinds. Each side sends on a stream of a channel no more than the other side has
// granted (`CHANNEL_WINDOW`, `CONNECTION_WINDOW`), so neither side holds more than that.
//
// The agent runs beside foreign code, which can write its memory. The service therefore trusts only lengths within these limits.

import { Buffer } from 'node:buffer'

/** Frames from the service to the agent. */
export const agentOrders = {
  /** Texts: program, number of arguments, arguments, variables as `NAME=value`. */
  start: 1,
  input: 2,
  inputEnd: 3,
  interrupt: 4,
  kill: 5,
  /** `u8 stream, u32 cost`: credit for a stream that the service has read. */
  taken: 6,
} as const

/** Frames from the agent to the service. */
export const agentReports = {
  /** Sent on channel 0, once: programs can be started. */
  ready: 16,
  output: 17,
  errors: 18,
  /** `u32 cost`: credit for input that the program has read. */
  inputTaken: 19,
  /** Texts: exit code, signal, reason of a failed start; the last frame of its channel. */
  exit: 20,
} as const

/** Frames from the service to the agent about a connection. */
export const connectionOrders = {
  /** Bytes for the program. */
  deliver: 32,
  deliverEnd: 33,
  /** `u32 cost`: credit for bytes of the program that the service has read. */
  sentTaken: 34,
  /** The last frame of the service. */
  drop: 35,
} as const

/** Frames from the agent to the service about a connection. */
export const connectionReports = {
  open: 48,
  /** Bytes of the program. */
  sent: 49,
  sentEnd: 50,
  /** `u32 cost`: credit for bytes that the program has read. */
  delivered: 51,
  /** The last frame of the channel: the program has closed the connection, or the service has dropped it. */
  gone: 52,
} as const

/** The stream of a `taken` frame. */
export const outputStreams = { output: 1, errors: 2 } as const

/** The most bytes of a payload other than `start`. */
export const FRAME_BYTES_MAX: number = 64 * 1024

/** The most bytes of a `start`: the limit of Linux for arguments and variables. */
export const START_BYTES_MAX: number = 4 * 1024 * 1024

/** The most bytes in transit on one stream of a channel, as `frameCost` counts. */
export const CHANNEL_WINDOW: number = 256 * 1024

/** The same limit for a connection; a machine has more of them. */
export const CONNECTION_WINDOW: number = 128 * 1024

/** The most connections of one machine at a time; the agent refuses others. */
export const CONNECTIONS_MAX = 64

/** The cost of a frame in addition to its payload: a thousand tiny frames take memory too. */
const FRAME_COST = 256

const HEADER_BYTES = 9

export interface AgentFrame {
  readonly kind: number
  readonly channel: number
  readonly payload: Buffer
}

/** The part of the window that a payload of this many bytes uses. */
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

/** The payload of a frame that grants credit. */
export function costPayload(cost: number): Buffer {
  const payload = Buffer.allocUnsafe(4)
  payload.writeUInt32BE(cost, 0)
  return payload
}

/** Splits bytes into payloads of allowed length. */
export function payloadsOf(bytes: Buffer): Buffer[] {
  const payloads: Buffer[] = []
  for (let at = 0; at < bytes.length; at += FRAME_BYTES_MAX)
    payloads.push(bytes.subarray(at, at + FRAME_BYTES_MAX))
  return payloads
}

/** Encodes texts with any content in one payload. */
export function encodeTexts(texts: readonly string[]): Buffer {
  const parts = texts.flatMap((text) => {
    const bytes = Buffer.from(text)
    const length = Buffer.allocUnsafe(4)
    length.writeUInt32BE(bytes.length, 0)
    return [length, bytes]
  })
  return Buffer.concat(parts)
}

/** Returns undefined for a payload that does not hold texts. */
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

export class AgentFrameReader {
  readonly #payloadMax: number
  #rest: Buffer = Buffer.alloc(0)

  constructor(payloadMax: number) {
    this.#payloadMax = payloadMax
  }

  /** Returns the frames that are complete; returns undefined after a payload above the limit, and the reader is useless then. */
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
