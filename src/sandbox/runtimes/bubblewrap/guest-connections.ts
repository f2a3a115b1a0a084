// The connections that programs of a machine have made to the port of its agent.
//
// Like all that the agent says they may be forged. How many there are and what each may hold is bounded here; what
// is asked for on them is judged by whoever accepts them.

import type { Buffer } from 'node:buffer'
import type { Readable, Writable } from 'node:stream'
import {
  CONNECTIONS_MAX,
  CONNECTION_WINDOW,
  connectionOrders,
  connectionReports,
  costPayload,
} from '../../frames.js'
import type { ProgramEnd } from '../../egress/egress-connection.js'
import { FramedReadable, FramedWritable } from './framed-streams.js'
import type { SendFrame } from './guest-channel.js'

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

  /** Nothing more comes, and nobody is there to be sent anything. */
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
