// One request, from its head to its handler.

import type { Buffer } from 'node:buffer'
import type { Duplex } from 'node:stream'
import type { BodySink } from '../http1/reader.js'
import type { Refusal } from './refusal.js'
import type { RequestHead } from './request-head.js'
import type { HttpResponse } from './response.js'

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
  /** Reads a body that has not come with the head, from now on. */
  readBody(sink: RequestBodySink): void
}

export interface HttpRequest {
  readonly wire: RequestWire
  readonly head: RequestHead
  /** All of it, where it came with the head. */
  readonly body: Buffer | undefined
  readonly response: HttpResponse
}

/** Why a request is not served, if there is a reason; otherwise the response is on its way. */
export type ServeResult = Refusal | undefined | Promise<Refusal | undefined>
