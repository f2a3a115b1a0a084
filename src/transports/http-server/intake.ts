// The requests of one connection, one after the other.
//
// HTTP/1.1 lets a client send the next request before it has the answer to the
// last. Few clients do that, and attackers who hide one request in the body of another do. So bytes behind a request are
// not read until it is answered, and never if that answer ends the connection.

import { Buffer } from 'node:buffer'
import type { FrontSocket, RequestBodySink } from './request.js'
import type { FrontChannel } from './channel.js'
import type { RequestHead } from './request-head.js'
import { RequestReader, type RequestLimits, type RequestSink } from './request-reader.js'

/** The number of pieces that are read of one connection in a turn, so that a client with many small pieces delays no other. */
const PIECES_MAX = 512

/** To serve a request costs as much as so many pieces of a body. */
const PIECES_PER_REQUEST = 128

const NOTHING = Buffer.alloc(0)
const CONTINUE = Buffer.from('HTTP/1.1 100 Continue\r\n\r\n')

/** Reads one socket, and pauses while no request can be handled. */
export class Intake implements RequestSink {
  readonly #socket: FrontSocket
  readonly #channel: FrontChannel
  readonly #reader: RequestReader
  #body: RequestBodySink | undefined
  /** Bytes that came and were not taken. */
  #rest: Buffer = NOTHING
  #isTaking = false
  #isPaused = false
  /** Pieces since the last chunk came, or since it went on with the next turn. */
  #pieces = 0
  /** It has taken much in this turn, and goes on in another. */
  #isYielding = false
  /** The client waits to be told to go on. */
  #isExpected = false
  #isOver = false

  constructor(socket: FrontSocket, limits: RequestLimits, channel: FrontChannel) {
    this.#socket = socket
    this.#channel = channel
    this.#reader = new RequestReader(limits)
  }

  /** Whether nothing of a request has come. */
  get isResting(): boolean {
    return this.#reader.isResting && this.#rest.length === 0
  }

  /** Whether the request has come whole. */
  get isWhole(): boolean {
    return this.#reader.isWhole
  }

  /** Whether it has not come whole, and its body has no reader. */
  get isLeft(): boolean {
    return !this.#reader.isWhole && this.#body === undefined
  }

  take(chunk: Buffer): void {
    if (this.#isOver) return
    this.#rest = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk])
    this.#pieces = 0
    this.#goOn()
  }

  /** Reads the body that did not come with its head; `expects` when its client waits for a word before it sends it. */
  readBody(sink: RequestBodySink, expects: boolean): void {
    if (this.#isOver) return sink.gone()
    this.#body = sink
    this.#isExpected = expects
    this.#goOn()
  }

  /** The request is answered, and has come whole: the next may come. */
  next(): void {
    this.#reader.next()
    this.#goOn()
  }

  /** Nothing that comes counts any more. */
  end(): void {
    this.#isOver = true
    this.#rest = NOTHING
    this.#body?.gone()
    this.#body = undefined
  }

  // RequestSink

  head(head: RequestHead, body: Buffer | undefined): void {
    this.#pieces += PIECES_PER_REQUEST
    this.#channel.begins(head, body)
  }

  data(chunk: Buffer): void {
    this.#isExpected = false
    this.#body?.data(chunk)
  }

  /** Takes the available bytes while there is a reader for them. */
  #goOn(): void {
    if (this.#isTaking) return
    this.#isTaking = true
    try {
      while (this.#rest.length > 0 && this.#wants && !this.#mustYield()) this.#takeSome()
    } catch (error) {
      this.#channel.failed(error)
    } finally {
      this.#isTaking = false
    }
    if (this.#isExpected && this.#rest.length === 0) {
      this.#isExpected = false
      this.#socket.write(CONTINUE)
    }
    this.#pause(this.#rest.length > 0)
  }

  get #wants(): boolean {
    if (this.#isOver || this.#reader.isWhole) return false
    return this.#reader.isInBody ? this.#body !== undefined : this.#channel.isOpen
  }

  #mustYield(): boolean {
    if (this.#pieces < PIECES_MAX) return false
    if (this.#isYielding) return true
    this.#isYielding = true
    this.#channel.later(() => {
      this.#isYielding = false
      this.#pieces = 0
      this.#goOn()
    })
    return true
  }

  #takeSome(): void {
    this.#pieces++
    const bytes = this.#rest
    this.#rest = NOTHING
    this.#rest = this.#reader.take(bytes, this)
    if (!this.#reader.isWhole || this.#body === undefined) return
    const body = this.#body
    this.#body = undefined
    this.#isExpected = false
    this.#channel.whole()
    body.end()
  }

  #pause(on: boolean): void {
    if (this.#isOver || on === this.#isPaused) return
    this.#isPaused = on
    if (on) this.#socket.pause()
    else this.#socket.resume()
  }
}
