// One request and its body.

import type { Buffer } from 'node:buffer'
import type { Duplex } from 'node:stream'
import type { BodySink } from '../http1/body-reader.js'
import type { RequestHead } from './request-head.js'

/** A connection as a listening server gives it; what is missing is not asked for. */
export type FrontSocket = Duplex & {
  readonly remoteAddress?: string | undefined
  setTimeout?(ms: number): unknown
}

/** The reader of a body in pieces; `end` or `gone` is called once. */
export interface RequestBodySink extends BodySink {
  end(): void
  /** There will be no end. */
  gone(): void
}

/** The connection of a request. */
export interface RequestWire {
  readonly socket: FrontSocket
  readBody(sink: RequestBodySink): void
}

export class HttpRequest {
  readonly head: RequestHead
  /** All of it, where it came with the head. */
  readonly body: Buffer | undefined
  readonly #wire: RequestWire

  constructor(wire: RequestWire, head: RequestHead, body: Buffer | undefined) {
    this.#wire = wire
    this.head = head
    this.body = body
  }

  get method(): string {
    return this.head.method
  }

  get target(): string {
    return this.head.target
  }

  get socket(): FrontSocket {
    return this.#wire.socket
  }

  /** Reads a body that has not come with the head, from now on. */
  readBy(sink: RequestBodySink): void {
    this.#wire.readBody(sink)
  }
}
